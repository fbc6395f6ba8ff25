//! A server of a market, on a runtime thread of its own.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use tokio::sync::oneshot;

use super::logs;
use super::market::Market;
use crate::{market, server};

/// How often a closing thread looks whether the server has ended, and for signals.
const TICK: Duration = Duration::from_millis(5);

struct Running {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<std::io::Result<()>>,
    pid: u32,
}

/// A running server; it ends with [`Server::close`].
#[pyclass(frozen, module = "liqdata._core")]
pub(super) struct Server {
    address: SocketAddr,
    running: Mutex<Option<Running>>,
}

#[pymethods]
impl Server {
    #[new]
    fn new(py: Python<'_>, market: &Bound<'_, Market>, host: &str, port: u16) -> PyResult<Self> {
        let market = market.get().shared();
        let (address, running) = py.detach(|| start(market, host, port)).map_err(|error| {
            PyOSError::new_err(format!("cannot listen on {host}:{port}: {error}"))
        })?;
        Ok(Self {
            address,
            running: Mutex::new(Some(running)),
        })
    }

    /// Base address of the service.
    #[getter]
    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    #[getter]
    fn closed(&self) -> bool {
        self.running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_none()
    }

    /// Finishes the answers under way (5 s at most) and stops; again is harmless.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(Running { stop, thread, pid }) = self
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
        else {
            return Ok(());
        };
        if pid != std::process::id() {
            // After a fork the thread is the parent's; its handle must not be dropped here.
            std::mem::forget((stop, thread));
            return Ok(());
        }
        logs::deliver(py)?;
        let _ = stop.send(());
        while !thread.is_finished() {
            py.detach(|| std::thread::sleep(TICK));
            py.check_signals()?;
        }
        match thread.join() {
            Ok(ended) => Ok(ended?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn start(
    market: std::sync::Arc<market::Market>,
    host: &str,
    port: u16,
) -> std::io::Result<(SocketAddr, Running)> {
    let listener = TcpListener::bind((host, port))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("liqdata-server")
        .enable_all()
        .build()?;
    let (stop, stopped) = oneshot::channel();
    let thread = std::thread::Builder::new()
        .name("liqdata-server".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                let shutdown = async {
                    // A dropped sender means the same as a message: nobody wants the server any more.
                    let _ = stopped.await;
                };
                server::run(listener, server::router(market), shutdown).await
            })
        })?;
    Ok((
        address,
        Running {
            stop,
            thread,
            pid: std::process::id(),
        },
    ))
}
