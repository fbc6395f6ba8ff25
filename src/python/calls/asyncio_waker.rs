//! Wakes an asyncio loop when calls finish: one byte on a socket pair for all calls since the last wake-up.
//!
//! Runtime threads queue a token and write a byte. The loop's own thread drains the queue. Both ends of the pair stay
//! in Rust, so no Python socket must be closed at a particular time.

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
            // A full pipe means that a wake-up is pending.
            let _ = (&self.ends.0).write(&[1]);
        }
        #[cfg(not(unix))]
        let _ = first;
    }
}

/// The asyncio side of a [`Wakeup`]: a file descriptor to watch, and the tokens of finished calls.
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

    /// The tokens of calls that finished since the last drain.
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

/// The waker and token for a call that an asyncio loop waits for.
pub(crate) fn wakeup(bridge: Option<&Bound<'_, Bridge>>, token: u64) -> Option<(Arc<Wakeup>, u64)> {
    bridge.map(|bridge| (bridge.get().wakeup(), token))
}
