//! Following the orders as they arrive, from a service or from a market in this process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use super::bridge::{Bridge, wakeup};
use super::call::{Call, Outcome, SIGNAL_TICK};
use super::columns::Columns;
use super::error::Failure;
use super::question::Answer;
use crate::api;
use crate::client::{self, Arrival};
use crate::market::{ArrivalId, Arrivals, Market, Revision};
use crate::model::Order;
use crate::server::Rejection;

/// Orders read from a market at a time.
const PAGE: usize = 1024;

/// What has been read and not been taken, and the place behind what has.
///
/// An answer whose caller went away while it was under way is found here by the next.
#[derive(Debug, Default)]
pub(super) struct Tray {
    batch: Option<Vec<Arrival>>,
    place: Option<String>,
}

impl Tray {
    fn lock(tray: &Mutex<Self>) -> MutexGuard<'_, Self> {
        tray.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what is there: the rows, and the id of each.
    pub(super) fn take(tray: &Mutex<Self>) -> (Columns, Vec<Option<String>>) {
        let mut tray = Self::lock(tray);
        let batch = tray.batch.take().unwrap_or_default();
        if let Some((Some(id), _)) = batch.last() {
            tray.place = Some(id.clone());
        }
        drop(tray);
        let (ids, orders): (Vec<_>, Vec<Order>) = batch.into_iter().unzip();
        (orders.into(), ids)
    }
}

/// Where the orders come from.
#[derive(Debug)]
enum Source {
    Service(Box<client::OrderStream>),
    Market(Tail),
    /// The stream has been closed.
    Ended,
}

impl Source {
    /// The next orders; none at the end.
    async fn next(&mut self) -> Result<Option<Vec<Arrival>>, Failure> {
        match self {
            Self::Service(stream) => Ok(Some(stream.next().await?)),
            Self::Market(tail) => tail.next().await,
            Self::Ended => Ok(None),
        }
    }

    fn place(&self) -> Option<String> {
        match self {
            Self::Service(stream) => stream.last_event_id().map(str::to_owned),
            Self::Market(tail) => Some(tail.place.map_or_else(
                || tail.question.last_event_id.clone().unwrap_or_default(),
                |place| place.to_string(),
            )),
            Self::Ended => None,
        }
    }
}

/// The end of a market's order of arrival.
#[derive(Debug)]
struct Tail {
    market: Arc<Market>,
    question: api::Stream,
    place: Option<ArrivalId>,
    /// The look at the market that is under way; it goes on where nobody waits for it.
    look: Option<JoinHandle<Result<Look, Rejection>>>,
}

/// What a look at a market has found.
#[derive(Debug)]
struct Look {
    /// Of before it: what came meanwhile is a change.
    seen: Revision,
    found: Found,
}

#[derive(Debug)]
enum Found {
    Arrived(Vec<(ArrivalId, Order)>),
    /// The place to go on from is not known any more; this is the newest.
    Gone(ArrivalId),
}

impl Look {
    fn at(market: &Market, place: Option<ArrivalId>) -> Result<Self, Rejection> {
        let seen = market.revision();
        let arrivals = match place {
            Some(place) => market.arrivals(Some(place), PAGE)?,
            None => Arrivals::Gone,
        };
        let found = match arrivals {
            Arrivals::Known(arrived) => Found::Arrived(arrived),
            Arrivals::Gone => Found::Gone(market.newest()?),
        };
        Ok(Self { seen, found })
    }
}

impl Tail {
    async fn next(&mut self) -> Result<Option<Vec<Arrival>>, Failure> {
        loop {
            let Look { seen, found } = self.look().await?;
            let arrived = match found {
                Found::Arrived(arrived) => arrived,
                Found::Gone(newest) => return Err(self.gap(newest)),
            };
            let Some((last, _)) = arrived.last() else {
                if !self.market.is_growing() {
                    return Ok(None);
                }
                self.market.changed(seen).await;
                continue;
            };
            self.place = Some(*last);
            let wanted: Vec<Arrival> = arrived
                .into_iter()
                .filter(|(_, order)| self.question.wants(order))
                .map(|(id, order)| (Some(id.to_string()), order))
                .collect();
            if !wanted.is_empty() {
                return Ok(Some(wanted));
            }
        }
    }

    /// Looks at the market where that may take its time. May be dropped while it waits.
    async fn look(&mut self) -> Result<Look, Failure> {
        let look = match &mut self.look {
            Some(look) => look,
            none => {
                let (market, place) = (Arc::clone(&self.market), self.place);
                none.insert(spawn_blocking(move || Look::at(&market, place)))
            }
        };
        let looked = look.await;
        self.look = None;
        match looked {
            Ok(look) => Ok(look?),
            Err(failure) => Err(Failure::Panic(failure.to_string())),
        }
    }

    fn gap(&mut self, newest: ArrivalId) -> Failure {
        let asked = self.place.replace(newest).map(|place| place.to_string());
        let asked = asked.or_else(|| self.question.last_event_id.clone());
        Failure::Client(client::Error::Refused {
            status: 410,
            body: String::new(),
            retry_after: None,
            message: format!(
                "the market cannot go on from {:?}: what arrived since is missing from the stream; orders() and \
                 iter_orders() have it, and the stream goes on from {newest:?}",
                asked.unwrap_or_default(),
                newest = newest.to_string(),
            ),
        })
    }
}

/// A stream of orders, batch by batch.
#[pyclass(frozen, module = "liqdata._core")]
pub(super) struct Stream {
    source: Arc<tokio::sync::Mutex<Source>>,
    tray: Arc<Mutex<Tray>>,
    /// Whether the client it belongs to has been closed.
    closed: Arc<AtomicBool>,
    /// Whether the stream itself has been.
    ended: Arc<AtomicBool>,
    pid: u32,
}

impl Stream {
    /// The stream of a service.
    pub(super) fn of_service(stream: client::OrderStream, closed: Arc<AtomicBool>) -> Self {
        Self::new(Source::Service(Box::new(stream)), closed)
    }

    /// The stream of a market: behind the place asked for, or from now on.
    pub(super) fn of_market(market: Arc<Market>, question: api::Stream) -> Result<Self, Rejection> {
        let place = match &question.last_event_id {
            Some(id) => id.parse().ok(),
            None => Some(market.newest()?),
        };
        let tail = Tail {
            market,
            question,
            place,
            look: None,
        };
        Ok(Self::new(Source::Market(tail), Arc::default()))
    }

    fn new(source: Source, closed: Arc<AtomicBool>) -> Self {
        let place = source.place();
        Self {
            source: Arc::new(tokio::sync::Mutex::new(source)),
            tray: Arc::new(Mutex::new(Tray { batch: None, place })),
            closed,
            ended: Arc::default(),
            pid: std::process::id(),
        }
    }
}

/// Waits until there is something on the tray; `false` at the end.
async fn fill(
    source: &tokio::sync::Mutex<Source>,
    tray: &Mutex<Tray>,
    closed: &AtomicBool,
    ended: &AtomicBool,
) -> Result<bool, Failure> {
    let mut source = source.lock().await;
    loop {
        if ended.load(Ordering::Acquire) {
            // Lets go of the connection.
            *source = Source::Ended;
            return Ok(false);
        }
        if Tray::lock(tray).batch.is_some() {
            return Ok(true);
        }
        if closed.load(Ordering::Acquire) {
            return Err(Failure::Closed);
        }
        // What is under way in there goes on from tick to tick.
        let next = timeout(SIGNAL_TICK, source.next()).await;
        match next {
            Ok(Ok(Some(batch))) => Tray::lock(tray).batch = Some(batch),
            Ok(Ok(None)) => return Ok(false),
            Ok(Err(failure)) => {
                Tray::lock(tray).place = source.place();
                return Err(failure);
            }
            Err(_) => Tray::lock(tray).place = source.place(),
        }
    }
}

#[pymethods]
impl Stream {
    /// Begins the next batch: rows and the id of each; its answer is `None` at the end.
    #[pyo3(signature = (bridge=None, token=0))]
    fn begin_next(&self, bridge: Option<&Bound<'_, Bridge>>, token: u64) -> PyResult<Call> {
        if self.pid != std::process::id() {
            return Err(PyRuntimeError::new_err(
                "this stream was begun before a fork, in the parent process; begin another",
            ));
        }
        let (source, tray) = (Arc::clone(&self.source), Arc::clone(&self.tray));
        let (closed, ended) = (Arc::clone(&self.closed), Arc::clone(&self.ended));
        let work = async move {
            match fill(&source, &tray, &closed, &ended).await {
                Ok(true) => Outcome::One(Some(Answer::Arrivals(tray))),
                Ok(false) => Outcome::One(None),
                Err(failure) => Outcome::Failed(failure, None),
            }
        };
        Call::begin(work, wakeup(bridge, token))
    }

    /// Ends the stream, and the wait of those who wait for it.
    fn close(&self) {
        self.ended.store(true, Ordering::Release);
        // Whoever holds the source looks at the mark within a tick.
        if self.pid == std::process::id()
            && let Ok(mut source) = self.source.try_lock()
        {
            *source = Source::Ended;
        }
    }

    /// The place behind what has been taken, as far as it is known.
    #[getter]
    fn last_event_id(&self) -> Option<String> {
        Tray::lock(&self.tray).place.clone()
    }
}
