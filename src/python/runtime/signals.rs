//! Checks for Python signals during native work, so that Ctrl-C takes effect.

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

/// Interval at which a waiting thread checks for signals.
pub(crate) const SIGNAL_TICK: Duration = Duration::from_millis(50);

/// Number of rows between two signal checks. Processing them takes milliseconds.
const GLANCE: usize = 4096;

/// Runs `work` on a separate thread with the interpreter released, and checks for signals meanwhile.
///
/// A panic becomes an exception. An interrupted caller returns immediately, and the separate thread later drops the
/// result.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    attended(py, work, || Ok(()))
}

/// Progress of some work, and whether a caller still waits for it.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    done: AtomicUsize,
    of: AtomicUsize,
    is_given_up: AtomicBool,
}

impl Progress {
    /// Creates a progress of `count` steps, none of which is done.
    pub(crate) fn of(count: usize) -> Self {
        Self {
            of: AtomicUsize::new(count),
            ..Self::default()
        }
    }

    /// Counts one more step. Returns whether a caller still waits.
    pub(crate) fn count(&self) -> bool {
        self.done.fetch_add(1, Ordering::Relaxed);
        !self.is_given_up.load(Ordering::Relaxed)
    }

    /// Sets the progress.
    pub(crate) fn note(&self, done: usize, of: usize) {
        self.done.store(done, Ordering::Relaxed);
        self.of.store(of, Ordering::Relaxed);
    }

    /// Calls `seen` with the number of steps done and the total.
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

/// Runs `work` as [`interruptible`] does. Calls `seen` with the progress during the work and at its end.
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

/// Runs `work` as [`interruptible`] does. Calls `meanwhile` at every signal check; its error ends the wait.
pub(crate) fn attended<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    meanwhile: impl Fn() -> PyResult<()>,
) -> PyResult<T> {
    // The channel carries no result, so that its code is compiled once for all result types.
    let (tell, done) = mpsc::sync_channel(1);
    let made = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&made);
    let work = move || {
        let outcome = catch_unwind(AssertUnwindSafe(work))
            .unwrap_or_else(|panic| Err(Failure::of_panic(panic.as_ref())));
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        drop(slot);
        // The channel has no receiver any more if the caller was interrupted.
        let _ = tell.send(());
    };
    let name = "liqdata".to_owned();
    thread::Builder::new().name(name).spawn(work)?;
    // A receiver is not `Sync`, but the closure that waits with the interpreter released must be.
    let done = Mutex::new(done);
    let wait = || {
        let done = done.lock().unwrap_or_else(PoisonError::into_inner);
        done.recv_timeout(SIGNAL_TICK)
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

/// Checks for signals at every 4096th row, for loops that have the interpreter attached.
pub(crate) fn look_around(py: Python<'_>, row: usize) -> PyResult<()> {
    if row % GLANCE == GLANCE - 1 {
        py.check_signals()?;
    }
    Ok(())
}

/// A Python callback that receives progress, or `None`.
pub(crate) type Seen<'a, 'py> = Option<&'a Bound<'py, PyAny>>;
