//! Starts, reports and stops a collector. Its threads never attach to the interpreter.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::collect::{self, CollectError, CollectPlan, Settings, Status, VenueState};
use crate::market::{
    self, CollectedVenue, CollectorMonitor, CollectorStatus, MapRecorder, WantedMaps,
};
use crate::python::error;
use crate::python::error::Failure;
use crate::python::runtime::logs;
use crate::python::sources::market::Market;

/// Interval at which a closing thread checks for the end of the collector and for signals.
const TICK: Duration = Duration::from_millis(10);

/// Maximum time to store the last served maps when the collector stops.
const LAST_MAPS: Duration = Duration::from_secs(5);

/// The collector, or `None` once it is stopped.
type Running = Mutex<Option<collect::Collector>>;

/// A running collector; [`Collector::stop`] ends it.
#[pyclass(frozen, module = "liqdata._core")]
pub(crate) struct Collector {
    running: Arc<Running>,
    /// Records the maps that servers of this archive have sent to clients.
    maps: Mutex<Option<Arc<MapRecorder>>>,
    /// The maps to record, and their maximum size in bytes.
    wanted: (Vec<WantedMaps>, u64),
    /// The last status of the collector, once it is stopped.
    ended: Arc<Mutex<Option<Status>>>,
    pid: u32,
}

impl Drop for Collector {
    fn drop(&mut self) {
        if self.is_forked() {
            // Nothing is dropped in a forked child: the threads do not exist there, and a lock may be locked forever.
            let maps = self.maps.get_mut();
            std::mem::forget((
                Arc::clone(&self.running),
                maps.unwrap_or_else(PoisonError::into_inner).take(),
            ));
        }
    }
}

impl Collector {
    /// Whether this process is a forked child, in which the collector does not run.
    fn is_forked(&self) -> bool {
        self.pid != std::process::id()
    }

    fn look<T>(&self, look: impl FnOnce(&collect::Collector) -> T) -> Option<T> {
        if self.is_forked() {
            return None;
        }
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.as_ref().map(look)
    }

    fn maps(&self) -> MutexGuard<'_, Option<Arc<MapRecorder>>> {
        self.maps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the archive as a market. Wanted maps that servers of this market send are recorded.
    fn market_of(&self, collector: &collect::Collector) -> Result<market::Market, Failure> {
        let market = market::Market::open(collector.archive(), None)?.filled_by(Arc::new(Seen {
            running: Arc::downgrade(&self.running),
            pid: self.pid,
        }));
        let (wanted, bytes) = self.wanted.clone();
        if wanted.is_empty() || bytes == 0 {
            return Ok(market);
        }
        let mut maps = self.maps();
        let keeper = match &*maps {
            Some(keeper) => Arc::clone(keeper),
            None => Arc::new(MapRecorder::start(
                collector.archive(),
                collector.queue(),
                wanted,
                bytes,
            )?),
        };
        *maps = Some(Arc::clone(&keeper));
        Ok(market.keeping(keeper))
    }
}

#[pymethods]
impl Collector {
    #[new]
    #[pyo3(signature = (archive, exchanges, coins, settings, once, json=false, positions=false))]
    #[expect(clippy::too_many_arguments, reason = "each is one of a plan's")]
    fn new(
        py: Python<'_>,
        archive: std::path::PathBuf,
        exchanges: Vec<String>,
        coins: Vec<String>,
        settings: &str,
        once: bool,
        json: bool,
        positions: bool,
    ) -> PyResult<Self> {
        let settings = if json {
            Settings::read_json(settings)
        } else {
            Settings::read(settings)
        };
        let settings = settings.map_err(|fault| raised(py, CollectError::Settings(fault)))?;
        let maps = settings.maps.iter().map(|text| WantedMaps::read(text));
        let maps = maps.collect::<Result<Vec<_>, _>>();
        let maps = maps.map_err(|fault| error::bad_query(py, &fault))?;
        let wanted = (maps, settings.maps_bytes);
        let plan = CollectPlan {
            venues: exchanges,
            coins,
            positions,
            once,
            settings,
        };
        let collector = py
            .detach(|| collect::Collector::start(archive, &plan))
            .map_err(|fault| raised(py, fault))?;
        Ok(Self {
            running: Arc::new(Mutex::new(Some(collector))),
            maps: Mutex::default(),
            wanted,
            ended: Arc::default(),
            pid: std::process::id(),
        })
    }

    /// Returns the status as nested dicts. `None` in a forked child.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        if self.is_forked() {
            return Ok(None);
        }
        logs::deliver(py)?;
        let status = py.detach(|| {
            self.look(collect::Collector::status).or_else(|| {
                let ended = self.ended.lock();
                ended.unwrap_or_else(PoisonError::into_inner).clone()
            })
        });
        let Some(status) = status else {
            return Ok(None);
        };
        let dict = status_dict(py, &status)?;
        if let Some(maps) = &*self.maps() {
            let status = maps.status();
            dict.set_item("maps", status.recorded)?;
            dict.set_item("maps_lost", status.lost)?;
        }
        Ok(Some(dict))
    }

    /// Opens the archive as a market that grows with it. Wanted maps that servers of this market send are recorded.
    fn market(&self, py: Python<'_>) -> PyResult<Market> {
        let made = py.detach(|| self.look(|collector| self.market_of(collector)));
        match made {
            Some(Ok(market)) => Ok(market.into()),
            Some(Err(failure)) => Err(error::python(py, &failure)),
            None => Err(PyRuntimeError::new_err("the collector has been stopped")),
        }
    }

    /// Whether the collector has finished with every exchange, as happens with `once=True`.
    #[getter]
    fn over(&self) -> bool {
        self.look(collect::Collector::is_over).unwrap_or(true)
    }

    #[getter]
    fn closed(&self) -> bool {
        self.look(|_| ()).is_none()
    }

    /// Closes the connections, stores the received rows and closes the archive. Idempotent.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_forked() {
            // In a forked child, the threads and the archive belong to the parent.
            return Ok(());
        }
        let running = self
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(collector) = running else {
            return Ok(());
        };
        let maps = self.maps().take();
        let ended = Arc::clone(&self.ended);
        let stopping = std::thread::Builder::new()
            .name("liqdata-stop".to_owned())
            .spawn(move || {
                if let Some(maps) = maps {
                    maps.finish(LAST_MAPS);
                }
                let stopped = collector.stop();
                *ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(collector.status());
                stopped
            })?;
        let mut interrupted = Ok(());
        while !stopping.is_finished() {
            py.detach(|| std::thread::sleep(TICK));
            // Received rows are stored despite a signal. The exception of the first signal is raised afterwards.
            interrupted = interrupted.and(py.check_signals());
        }
        logs::deliver(py)?;
        match stopping.join() {
            Ok(ended) => {
                ended.map_err(|fault| PyOSError::new_err(fault.to_string()))?;
                interrupted
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Reports the status of the collector to its markets. Does not prevent the collector from stopping.
#[derive(Debug)]
struct Seen {
    running: Weak<Running>,
    pid: u32,
}

impl CollectorMonitor for Seen {
    fn collector_status(&self) -> Option<CollectorStatus> {
        // In a forked child, a lock may be locked forever.
        let running = self
            .running
            .upgrade()
            .filter(|_| self.pid == std::process::id())?;
        let running = running.lock().unwrap_or_else(PoisonError::into_inner);
        let status = running.as_ref()?.status();
        let venues = status.venues.into_iter().map(|venue| CollectedVenue {
            exchange: venue.exchange,
            is_live: venue.state == VenueState::Live,
            connections: venue.connections,
            last_received: venue.last_received,
            last_event: venue.last_event,
            events: venue.events,
            gaps: venue.gaps,
            rejected: venue.rejected,
            unpriced: venue.unpriced,
            quarantined: venue.quarantined,
            lost: venue.lost,
        });
        Some(CollectorStatus {
            venues: venues.collect(),
            waiting: status.waiting,
            is_stalled: status.trouble.is_some(),
        })
    }
}

fn raised(py: Python<'_>, fault: CollectError) -> PyErr {
    let message = fault.to_string();
    match fault {
        CollectError::Archive(fault) => error::archive(py, &fault),
        CollectError::Settings(_) | CollectError::Proxy(_) => {
            error::bad_query_said(py, "settings", &message)
        }
        CollectError::Venue(_) | CollectError::Closed { .. } | CollectError::NoPast => {
            error::bad_query_said(py, "exchanges", &message)
        }
        CollectError::Coin { .. } => error::bad_query_said(py, "symbols", &message),
        _ => PyOSError::new_err(message),
    }
}

/// Converts the status to nested dicts and lists.
fn status_dict<'py>(py: Python<'py>, status: &Status) -> PyResult<Bound<'py, PyDict>> {
    let text =
        serde_json::to_string(status).map_err(|fault| PyOSError::new_err(fault.to_string()))?;
    let read = py.import("json")?.call_method1("loads", (text,))?;
    Ok(read.cast_into::<PyDict>()?)
}
