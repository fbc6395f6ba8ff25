//! Holding an archive against what was written, from Python.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::archive::{Archive, ArchiveError, Finding, GoesOn};
use crate::python::error;
use crate::python::rows::columns::Columns;
use crate::python::rows::rows::Table;
use crate::python::runtime::signals::attended;

/// How long nothing may be done before whoever looks is told again how far it is.
const AGAIN: Duration = Duration::from_millis(500);

/// What is damaged, missing or unexpected in the archive in the folder `path`; `seen` is told how many files have been read of
/// how many, the journal among them. A repair reads all of them again.
#[pyfunction]
#[pyo3(signature = (path, repair, seen=None))]
pub(crate) fn verify(
    py: Python<'_>,
    path: PathBuf,
    repair: bool,
    seen: Option<&Bound<'_, PyAny>>,
) -> PyResult<Table> {
    let (tell, told) = mpsc::channel();
    let is_given_up = Arc::new(AtomicBool::new(false));
    let given_up = Arc::clone(&is_given_up);
    // Who is interrupted waits for no commit: the work ends where it can, and lets the archive go.
    let work = move || {
        let goes_on: GoesOn = Arc::new(move || !given_up.load(Ordering::Relaxed));
        Ok(findings(&path, repair, &goes_on, &|read, of| {
            // Nobody listens where the caller was interrupted.
            let _ = tell.send((read, of));
        }))
    };
    let last: Cell<Option<((usize, usize), Instant)>> = Cell::new(None);
    let tell_on = || {
        let Some(seen) = seen else {
            return Ok(());
        };
        let long_since = last.get().filter(|(_, at)| at.elapsed() >= AGAIN);
        let again = long_since.map(|(how_far, _)| how_far);
        let news: Vec<(usize, usize)> = told.try_iter().collect();
        let again = again.filter(|_| news.is_empty());
        news.into_iter().chain(again).try_for_each(|how_far| {
            last.set(Some((how_far, Instant::now())));
            seen.call1(how_far).map(drop)
        })
    };
    let found = attended(py, work, tell_on);
    let found = found.and_then(|found| tell_on().map(|()| found));
    is_given_up.store(true, Ordering::Relaxed);
    let found = found?.map_err(|fault| error::archive(py, &fault))?;
    Ok(Columns::from(found).into())
}

fn findings(
    path: &Path,
    repair: bool,
    goes_on: &GoesOn,
    tell: &dyn Fn(usize, usize),
) -> Result<Vec<Finding>, ArchiveError> {
    if repair {
        Archive::finish_repair(path)?;
    }
    let archive = Archive::to_verify(path)?;
    archive.look_while(goes_on)?;
    tell(0, 1);
    // The journal, which is read first, and so many files.
    let mut all = 1;
    let folder = archive.path().to_owned();
    let mut found = archive.verify_observed(&mut |read, of| {
        all = 1 + of;
        tell(1 + read, all);
        goes_on()
    })?;
    // A repair reads everything again before it moves anything; nothing is done where nothing is wrong.
    if repair && !found.is_sound() && goes_on() {
        drop(archive);
        tell(all, 2 * all);
        found = Archive::repair_while(path, goes_on, &|read, _| tell(all + read, 2 * all))?;
    }
    Ok(found.findings(&folder))
}
