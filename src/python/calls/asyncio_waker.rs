//! Wakes an asyncio event loop when calls finish. One byte on a socket pair announces all calls since the last wake-up.
//!
//! Runtime threads queue the token of a finished call and write a byte. The thread of the event loop empties the queue.
//! Rust owns both ends of the socket pair, so Python code need not close a socket at a particular time.

#[cfg(unix)]
use std::io::{Read, Write};
#[cfg(unix)]
use std::os::fd::AsRawFd;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

/// Tokens of finished calls, and the socket pair.
#[derive(Debug)]
pub(crate) struct Wakeup {
    finished: Mutex<Vec<u64>>,
    #[cfg(unix)]
    ends: (UnixStream, UnixStream),
}

impl Wakeup {
    /// Queues `token`. Called from runtime threads.
    pub(crate) fn finish(&self, token: u64) {
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        let first = finished.is_empty();
        finished.push(token);
        drop(finished);
        #[cfg(unix)]
        if first {
            // If the socket buffer is full, a wake-up is already pending.
            let _ = (&self.ends.0).write(&[1]);
        }
        #[cfg(not(unix))]
        let _ = first;
    }
}

/// The asyncio side of a [`Wakeup`]: a file descriptor to watch, and the queue of tokens.
#[pyclass(frozen, module = "liqdata._core")]
pub(crate) struct Bridge {
    wakeup: Arc<Wakeup>,
}

impl Bridge {
    pub(crate) fn wakeup(&self) -> Arc<Wakeup> {
        Arc::clone(&self.wakeup)
    }
}

#[pymethods]
impl Bridge {
    #[new]
    fn new() -> PyResult<Self> {
        #[cfg(unix)]
        {
            let ends = UnixStream::pair()?;
            ends.0.set_nonblocking(true)?;
            ends.1.set_nonblocking(true)?;
            Ok(Self {
                wakeup: Arc::new(Wakeup {
                    finished: Mutex::default(),
                    ends,
                }),
            })
        }
        #[cfg(not(unix))]
        Err(pyo3::exceptions::PyNotImplementedError::new_err(
            "no socket pair on this platform",
        ))
    }

    /// The descriptor that becomes readable when a call finishes.
    fn fileno(&self) -> i32 {
        #[cfg(unix)]
        return self.wakeup.ends.1.as_raw_fd();
        #[cfg(not(unix))]
        -1
    }

    /// Returns the tokens of calls that finished since the last call of this method.
    fn drain(&self) -> Vec<u64> {
        #[cfg(unix)]
        {
            let mut scratch = [0; 64];
            while matches!((&self.wakeup.ends.1).read(&mut scratch), Ok(read) if read == scratch.len())
            {
            }
        }
        std::mem::take(
            &mut *self
                .wakeup
                .finished
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }
}

/// Returns the waker and the token for a call that an event loop waits for. `None` without an event loop.
pub(crate) fn wakeup(bridge: Option<&Bound<'_, Bridge>>, token: u64) -> Option<(Arc<Wakeup>, u64)> {
    bridge.map(|bridge| (bridge.get().wakeup(), token))
}
