//! Verifies archives, moves damaged files away, and replaces a missing journal.

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

/// Maximum time without a progress report. After it, the last report is repeated.
const AGAIN: Duration = Duration::from_millis(500);

/// Lists what is damaged, missing or unexpected in the archive at `path`. Calls `seen` with the number of files read
/// and the total, both including the journal. A repair reads all files again.
#[pyfunction]
#[pyo3(signature = (path, repair, seen=None))]
pub(crate) fn verify(
    py: Python<'_>,
    path: PathBuf,
    repair: bool,
    seen: Option<&Bound<'_, PyAny>>,
) -> PyResult<Table> {
    let (tell, progress) = mpsc::channel();
    let is_given_up = Arc::new(AtomicBool::new(false));
    let given_up = Arc::clone(&is_given_up);
    // If the caller is interrupted, it does not wait for a running commit. The work then ends soon and closes the
    // archive.
    let work = move || {
        let goes_on: GoesOn = Arc::new(move || !given_up.load(Ordering::Relaxed));
        Ok(findings(&path, repair, &goes_on, &|read, of| {
            // The channel has no receiver any more if the caller was interrupted.
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
        let news: Vec<(usize, usize)> = progress.try_iter().collect();
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
    let mut step = |read, of| {
        tell(read, of);
        goes_on()
    };
    let relisted = if repair {
        Archive::replace_missing_journal(path, &mut step)?
    } else {
        None
    };
    let archive = Archive::to_verify(path)?;
    archive.look_while(goes_on)?;
    tell(0, 1);
    // The total counts the journal, which is read first, and all other files.
    let mut all = 1;
    let folder = archive.path().to_owned();
    let mut found = archive.integrity().verify_observed(&mut |read, of| {
        all = 1 + of;
        step(1 + read, all)
    })?;
    // A repair reads all files again before it moves one. In an undamaged archive, a repair changes nothing.
    if repair && !found.is_sound() && goes_on() {
        drop(archive);
        tell(all, 2 * all);
        found = Archive::repair(path, &mut |read, _| step(all + read, 2 * all))?;
    }
    let listed = relisted.iter().flat_map(|new| new.findings(&folder));
    Ok(listed.chain(found.findings(&folder)).collect())
}
