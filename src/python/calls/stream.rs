//! Streams of orders as they arrive, or of cascades once they end, from a service or a local market.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::time::timeout;

use crate::client;
use crate::contract::{self, StreamEvents};
use crate::market::{CascadeFollower, CascadeUpdate, Market, OrderFollower, OrderUpdate, Refusal};
use crate::python::calls::asyncio_waker::{Bridge, wakeup};
use crate::python::calls::call::{Call, Outcome};
use crate::python::calls::question::UnconvertedReply;
use crate::python::error::Failure;
use crate::python::rows::columns::Columns;
use crate::python::rows::lazy_rows::{Batch, UntakenArrivals};
use crate::python::runtime::signals::SIGNAL_TICK;

/// Maximum number of orders per read from a market.
const PAGE: usize = 1024;

/// Where the rows come from.
enum Source {
    Service(Box<client::OrderStream>),
    Market(Box<OrderFollower>),
    CascadesOfService(Box<client::CascadeStream>),
    CascadesOfMarket(Box<CascadeFollower>),
    /// The stream has been closed.
    Ended,
}

/// Converts rows with their ids to a batch.
fn batch<I: ToString, R>(rows: Vec<(I, R)>) -> Batch
where
    Columns: From<Vec<R>>,
{
    let named = rows
        .into_iter()
        .map(|(id, row)| (Some(id.to_string()), row));
    named_rows(named.collect())
}

fn named_rows<R>(rows: Vec<(Option<String>, R)>) -> Batch
where
    Columns: From<Vec<R>>,
{
    let (ids, rows): (Vec<_>, Vec<R>) = rows.into_iter().unzip();
    (rows.into(), ids)
}

impl Source {
    /// Waits for the next rows. Returns `None` at the end.
    async fn next(&mut self) -> Result<Option<Batch>, Failure> {
        match self {
            Self::Service(stream) => Ok(Some(named_rows(stream.next().await?))),
            Self::CascadesOfService(stream) => Ok(Some(named_rows(stream.next().await?))),
            Self::Market(follower) => match follower.next().await? {
                OrderUpdate::Orders(orders) => Ok(Some(batch(orders))),
                OrderUpdate::Gap { asked, newest } => Err(Refusal::gone(asked, newest).into()),
                OrderUpdate::End => Ok(None),
            },
            Self::CascadesOfMarket(follower) => match follower.next().await? {
                CascadeUpdate::Cascades(cascades) => Ok(Some(batch(cascades))),
                CascadeUpdate::Gap { asked, newest } => Err(Refusal::gone(asked, newest).into()),
                CascadeUpdate::End => Ok(None),
            },
            Self::Ended => Ok(None),
        }
    }

    fn position(&self) -> Option<String> {
        match self {
            Self::Service(stream) => stream.last_event_id().map(str::to_owned),
            Self::Market(follower) => Some(follower.last_event_id()),
            Self::CascadesOfService(stream) => stream.last_event_id().map(str::to_owned),
            Self::CascadesOfMarket(follower) => Some(follower.last_event_id()),
            Self::Ended => None,
        }
    }
}

/// A stream of orders or cascades in batches.
#[pyclass(frozen, module = "liqdata._core")]
pub(crate) struct Stream {
    source: Arc<tokio::sync::Mutex<Source>>,
    untaken: Arc<UntakenArrivals>,
    /// Whether the client of this stream has been closed.
    closed: Arc<AtomicBool>,
    /// Whether the stream itself has been closed.
    ended: Arc<AtomicBool>,
    pid: u32,
}

impl Stream {
    /// Creates a stream from a service.
    pub(crate) fn of_service(
        client: client::Client,
        question: contract::Stream,
        closed: Arc<AtomicBool>,
    ) -> Self {
        let source = if question.events == StreamEvents::CASCADES {
            Source::CascadesOfService(client::CascadeStream::new(client, question).into())
        } else {
            Source::Service(client::OrderStream::new(client, question).into())
        };
        Self::new(source, closed)
    }

    /// Creates a stream from a market, which starts after the position in the query or with the next arrival.
    pub(crate) fn of_market(
        market: Arc<Market>,
        question: contract::Stream,
    ) -> Result<Self, Refusal> {
        let source = if question.events == StreamEvents::CASCADES {
            Source::CascadesOfMarket(CascadeFollower::new(market, question, PAGE)?.into())
        } else {
            Source::Market(OrderFollower::new(market, question, PAGE)?.into())
        };
        Ok(Self::new(source, Arc::default()))
    }

    fn new(source: Source, closed: Arc<AtomicBool>) -> Self {
        let untaken = UntakenArrivals::default();
        untaken.go_to(source.position());
        Self {
            source: Arc::new(tokio::sync::Mutex::new(source)),
            untaken: Arc::new(untaken),
            closed,
            ended: Arc::default(),
            pid: std::process::id(),
        }
    }
}

/// Waits until rows are available. Returns `false` at the end of the stream.
async fn fill(
    source: &tokio::sync::Mutex<Source>,
    untaken: &UntakenArrivals,
    closed: &AtomicBool,
    ended: &AtomicBool,
) -> Result<bool, Failure> {
    let mut source = source.lock().await;
    loop {
        if ended.load(Ordering::Acquire) {
            // Replacing the source drops its connection.
            *source = Source::Ended;
            return Ok(false);
        }
        if !untaken.is_empty() {
            return Ok(true);
        }
        if closed.load(Ordering::Acquire) {
            return Err(Failure::Closed);
        }
        // A read that is not finished yet continues in the next iteration.
        let next = timeout(SIGNAL_TICK, source.next()).await;
        match next {
            Ok(Ok(Some(batch))) => untaken.put(batch),
            Ok(Ok(None)) => return Ok(false),
            Ok(Err(failure)) => {
                untaken.go_to(source.position());
                return Err(failure);
            }
            Err(_) => untaken.go_to(source.position()),
        }
    }
}

#[pymethods]
impl Stream {
    /// Starts a call that waits for the next batch: rows and their ids. At the end of the stream, the result is `None`.
    #[pyo3(signature = (bridge=None, token=0))]
    fn begin_next(&self, bridge: Option<&Bound<'_, Bridge>>, token: u64) -> PyResult<Call> {
        if self.pid != std::process::id() {
            return Err(PyRuntimeError::new_err(
                "this stream was opened in the parent process, before a fork; open another",
            ));
        }
        let (source, untaken) = (Arc::clone(&self.source), Arc::clone(&self.untaken));
        let (closed, ended) = (Arc::clone(&self.closed), Arc::clone(&self.ended));
        let work = async move {
            match fill(&source, &untaken, &closed, &ended).await {
                Ok(true) => Outcome::One(Some(Box::new(UnconvertedReply::Arrivals(untaken)))),
                Ok(false) => Outcome::One(None),
                Err(failure) => Outcome::Failed(failure, None),
            }
        };
        Call::begin(work, wakeup(bridge, token))
    }

    /// Ends the stream and every wait for it.
    fn close(&self) {
        self.ended.store(true, Ordering::Release);
        // A waiting thread owns the lock. That thread notices the flag within one signal interval.
        if self.pid == std::process::id()
            && let Ok(mut source) = self.source.try_lock()
        {
            *source = Source::Ended;
        }
    }

    /// The stream position after the last row that the caller took, if the source names positions.
    #[getter]
    fn last_event_id(&self) -> Option<String> {
        self.untaken.place()
    }
}
