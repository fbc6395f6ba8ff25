//! Ctrl-C while the native half works: who waits or loops looks for signals now and then.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

use crate::python::error;
use crate::python::error::Failure;
use crate::python::runtime::logs;

/// How often a waiting thread looks for signals.
pub(crate) const SIGNAL_TICK: Duration = Duration::from_millis(50);

/// How many rows are read or made from one look for signals to the next; so many take milliseconds.
const GLANCE: usize = 4096;

/// Runs `work` with the interpreter released, on a thread of its own, and looks for signals meanwhile; a panic becomes an
/// exception. An interrupted caller goes at once, and what the work still makes is dropped where it is made. For what may
/// take longer than Ctrl-C may.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    attended(py, work, || Ok(()))
}

/// How far a work is, as it says itself while it works, and whether anybody still waits for it.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    done: AtomicUsize,
    of: AtomicUsize,
    is_given_up: AtomicBool,
}

impl Progress {
    /// Nothing is done of so many.
    pub(crate) fn of(count: usize) -> Self {
        Self {
            of: AtomicUsize::new(count),
            ..Self::default()
        }
    }

    /// One more is done; gives whether anybody waits for the rest.
    pub(crate) fn count(&self) -> bool {
        self.done.fetch_add(1, Ordering::Relaxed);
        !self.is_given_up.load(Ordering::Relaxed)
    }

    /// So many are done of so many.
    pub(crate) fn note(&self, done: usize, of: usize) {
        self.done.store(done, Ordering::Relaxed);
        self.of.store(of, Ordering::Relaxed);
    }

    /// Tells `seen` how many are done of how many.
    fn tell(&self, seen: Seen<'_, '_>) -> PyResult<()> {
        match (seen, self.of.load(Ordering::Relaxed)) {
            (Some(seen), of @ 1..) => {
                let done = self.done.load(Ordering::Relaxed).min(of);
                seen.call1((done, of)).map(drop)
            }
            _ => Ok(()),
        }
    }
}

/// As [`interruptible`]; `seen` is told meanwhile, and in the end, how far the work is.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    progress: &Arc<Progress>,
    seen: Seen<'_, '_>,
    work: impl FnOnce(&Progress) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let at_work = Arc::clone(progress);
    let made = attended(py, move || work(&at_work), || progress.tell(seen));
    if made.is_err() {
        progress.is_given_up.store(true, Ordering::Relaxed);
    }
    let made = made?;
    progress.tell(seen)?;
    Ok(made)
}

/// As [`interruptible`], and does something meanwhile, which may end the wait as well.
pub(crate) fn attended<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    meanwhile: impl Fn() -> PyResult<()>,
) -> PyResult<T> {
    // What it gives lies beside the channel, whose code would be made once for each kind of it otherwise.
    let (tell, told) = mpsc::sync_channel(1);
    let made = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&made);
    let work = move || {
        let outcome = catch_unwind(AssertUnwindSafe(work))
            .unwrap_or_else(|panic| Err(Failure::of_panic(panic.as_ref())));
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        drop(slot);
        // Nobody listens where the caller was interrupted.
        let _ = tell.send(());
    };
    let name = "liqdata".to_owned();
    thread::Builder::new().name(name).spawn(work)?;
    // A receiver is no thing to share, and the closure that waits without the interpreter is one.
    let told = Mutex::new(told);
    let wait = || {
        let told = told.lock().unwrap_or_else(PoisonError::into_inner);
        told.recv_timeout(SIGNAL_TICK)
    };
    let outcome = loop {
        match py.detach(wait) {
            Ok(()) => {
                let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
                break made.take().unwrap_or(Err(Failure::Cancelled));
            }
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals()?;
                meanwhile()?;
            }
            Err(RecvTimeoutError::Disconnected) => break Err(Failure::Cancelled),
        }
    };
    logs::deliver(py)?;
    outcome.map_err(|failure| error::python(py, &failure))
}

/// Looks for signals at every 4096th row, for loops that hold the interpreter.
pub(crate) fn look_around(py: Python<'_>, row: usize) -> PyResult<()> {
    if row % GLANCE == GLANCE - 1 {
        py.check_signals()?;
    }
    Ok(())
}

/// Somebody who is told, now and then, how many more rows a long work has done.
pub(crate) type Seen<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// As [`look_around`], and tells `seen`; of the rows behind the last glance [`look_back`] does.
pub(crate) fn look_on(py: Python<'_>, row: usize, seen: Seen<'_, '_>) -> PyResult<()> {
    look_around(py, row)?;
    match seen {
        Some(seen) if row % GLANCE == GLANCE - 1 => seen.call1((GLANCE,)).map(drop),
        _ => Ok(()),
    }
}

/// Tells `seen` of the last of so many rows.
pub(crate) fn look_back(rows: usize, seen: Seen<'_, '_>) -> PyResult<()> {
    match (rows % GLANCE, seen) {
        (rest @ 1.., Some(seen)) => seen.call1((rest,)).map(drop),
        _ => Ok(()),
    }
}
