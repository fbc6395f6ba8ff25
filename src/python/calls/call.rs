//! A running call: wait for its result, or cancel it.
//!
//! Runtime threads do the work and never attach to the interpreter. The caller waits with the interpreter released and
//! checks for signals every 50 ms. Ctrl-C therefore takes effect quickly, and interpreter shutdown never waits for a
//! thread.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use futures_util::FutureExt;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use tokio::task::AbortHandle;

use crate::python::calls::asyncio_waker::Wakeup;
use crate::python::calls::question::UnconvertedReply;
use crate::python::error;
use crate::python::error::Failure;
use crate::python::runtime::logs;
use crate::python::runtime::runtime;
use crate::python::runtime::runtime::Threads;
use crate::python::runtime::signals::SIGNAL_TICK;

/// The result of a call.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// One reply. `None` if a walk or a stream has ended.
    One(Option<Box<UnconvertedReply>>),
    /// Several replies, in the order of the queries.
    Many(Vec<UnconvertedReply>),
    /// The failure of one query, and the label that the caller gave that query.
    Failed(Failure, Option<String>),
}

#[derive(Debug)]
enum State {
    Running,
    Finished(Box<Outcome>),
    Taken,
}

#[derive(Debug)]
struct Slot {
    state: Mutex<State>,
    finished: Condvar,
    wakeup: Option<(Arc<Wakeup>, u64)>,
}

impl Slot {
    /// Stores the outcome, unless one is stored already.
    fn finish(&self, outcome: Outcome) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*state, State::Running) {
            return;
        }
        *state = State::Finished(Box::new(outcome));
        drop(state);
        self.finished.notify_all();
        if let Some((wakeup, token)) = &self.wakeup {
            wakeup.finish(*token);
        }
    }

    /// Waits for at most one signal interval. Returns whether the outcome is available.
    fn tick(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (state, _) = self
            .finished
            .wait_timeout_while(state, SIGNAL_TICK, |state| matches!(state, State::Running))
            .unwrap_or_else(PoisonError::into_inner);
        !matches!(*state, State::Running)
    }

    fn take(&self) -> State {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *state, State::Taken)
    }
}

/// A running call.
#[pyclass(frozen, module = "liqdata._core")]
pub(crate) struct Call {
    slot: Arc<Slot>,
    task: AbortHandle,
    pid: u32,
}

impl Call {
    /// Starts `work` on the runtime with several threads.
    pub(crate) fn begin(
        work: impl Future<Output = Outcome> + Send + 'static,
        wakeup: Option<(Arc<Wakeup>, u64)>,
    ) -> PyResult<Self> {
        Self::begin_on(Threads::Several, work, wakeup)
    }

    /// Starts `work` on a runtime with this many threads.
    pub(crate) fn begin_on(
        threads: Threads,
        work: impl Future<Output = Outcome> + Send + 'static,
        wakeup: Option<(Arc<Wakeup>, u64)>,
    ) -> PyResult<Self> {
        let slot = Arc::new(Slot {
            state: Mutex::new(State::Running),
            finished: Condvar::new(),
            wakeup,
        });
        let theirs = Arc::clone(&slot);
        let task = runtime::handle(threads)?.spawn(async move {
            let outcome = match AssertUnwindSafe(work).catch_unwind().await {
                Ok(outcome) => outcome,
                Err(panic) => Outcome::Failed(Failure::of_panic(panic.as_ref()), None),
            };
            theirs.finish(outcome);
        });
        Ok(Self {
            slot,
            task: task.abort_handle(),
            pid: std::process::id(),
        })
    }

    fn stop(&self) {
        self.slot.finish(Outcome::Failed(Failure::Cancelled, None));
        self.task.abort();
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // The threads of the task do not exist in a forked child.
        if self.pid == std::process::id() {
            self.task.abort();
        }
    }
}

#[pymethods]
impl Call {
    /// Waits for the result with the interpreter released. A result can be taken only once.
    fn wait(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if self.pid != std::process::id() {
            return Err(PyRuntimeError::new_err(
                "this call was started in the parent process, before a fork",
            ));
        }
        loop {
            let finished = py.detach(|| self.slot.tick());
            // Signals are checked before rows are taken, so that an interrupted caller leaves the rows to the next
            // caller.
            if let Err(signal) = py.check_signals() {
                self.stop();
                return Err(signal);
            }
            if finished {
                break;
            }
        }
        logs::deliver(py)?;
        match self.slot.take() {
            State::Finished(outcome) => match *outcome {
                Outcome::One(Some(answer)) => answer.into_python(py),
                Outcome::One(None) => Ok(py.None()),
                Outcome::Many(answers) => {
                    let made = PyList::empty(py);
                    for answer in answers {
                        made.append(answer.into_python(py)?)?;
                    }
                    Ok(made.into_any().unbind())
                }
                Outcome::Failed(failure, label) => {
                    let raised = error::python(py, &failure);
                    if let Some(label) = label {
                        error::note(py, &raised, &label);
                    }
                    Err(raised)
                }
            },
            State::Running | State::Taken => {
                Err(PyRuntimeError::new_err("the answer was already taken"))
            }
        }
    }

    /// Cancels the call. A thread that waits for it gets an error immediately.
    fn cancel(&self) {
        if self.pid == std::process::id() {
            self.stop();
        }
    }
}

/// Runs `work` with the interpreter released. A panic becomes an exception.
pub(crate) fn compute<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let outcome = py.detach(|| {
        catch_unwind(AssertUnwindSafe(work))
            .unwrap_or_else(|panic| Err(Failure::of_panic(panic.as_ref())))
    });
    logs::deliver(py)?;
    outcome.map_err(|failure| error::python(py, &failure))
}
