//! Passes the messages of agents to a thread of Python, which waits for them on a file descriptor.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::python::calls::asyncio_waker::{Bridge, Wakeup};
use crate::server::{self, AgentAnswers, AgentCall, AgentReply, is_of_agents};

/// The number that announces the end of the server. Messages have others.
const END: u64 = 0;

/// Messages that Python has not taken yet.
struct Queue {
    calls: Mutex<HashMap<u64, AgentCall>>,
    wakeup: Arc<Wakeup>,
}

impl Queue {
    fn calls(&self) -> MutexGuard<'_, HashMap<u64, AgentCall>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AgentAnswers for Queue {
    fn ask(&self, number: u64, call: AgentCall) {
        self.calls().insert(number, call);
        self.wakeup.finish(number);
    }

    fn cancel(&self, number: u64) {
        self.calls().remove(&number);
        self.wakeup.finish(number);
    }
}

/// The messages of the agents of a server. `bridge` announces the number of each twice: when it arrives, and when its
/// answer is sent or its client has gone.
#[pyclass(frozen, module = "liqdata._core")]
pub(crate) struct Agents {
    queue: Arc<Queue>,
}

impl Agents {
    pub(crate) fn answers(&self) -> server::Agents {
        server::Agents::new(Arc::clone(&self.queue) as Arc<dyn AgentAnswers>)
    }
}

#[pymethods]
impl Agents {
    #[new]
    fn new(bridge: &Bound<'_, Bridge>) -> Self {
        Self {
            queue: Arc::new(Queue {
                calls: Mutex::default(),
                wakeup: bridge.get().wakeup(),
            }),
        }
    }

    /// Takes the message of this number. `None` if it was taken or its client has gone.
    fn take(&self, number: u64) -> Option<AgentMessage> {
        let call = self.queue.calls().remove(&number)?;
        Some(AgentMessage {
            call: Mutex::new(Some(call)),
        })
    }

    /// Announces the number 0, the end of the server.
    fn end(&self) {
        self.queue.wakeup.finish(END);
    }
}

/// A message of an agent; it has its place among the computed answers until it is answered or released.
#[pyclass(frozen, module = "liqdata._core")]
pub(crate) struct AgentMessage {
    call: Mutex<Option<AgentCall>>,
}

impl AgentMessage {
    fn call(&self) -> MutexGuard<'_, Option<AgentCall>> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl AgentMessage {
    /// The headers of the protocol.
    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let call = self.call();
        let headers = call.iter().flat_map(|call| &call.headers);
        headers
            .filter(|(name, _)| is_of_agents(name))
            .map(|(name, value)| {
                let name = PyBytes::new(py, name.as_str().as_bytes());
                (name, PyBytes::new(py, value.as_bytes()))
            })
            .collect()
    }

    /// One message in JSON.
    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let call = self.call();
        PyBytes::new(py, call.as_ref().map_or(&[], |call| &call.body))
    }

    /// Sends the answer.
    fn answer(&self, status: u16, content_type: Option<String>, body: Vec<u8>) {
        if let Some(call) = self.call().take() {
            call.answer(AgentReply {
                status,
                content_type,
                body,
            });
        }
    }

    /// Frees the place of a message that gets no answer. Collecting the object may come much later.
    fn release(&self) {
        drop(self.call().take());
    }
}
