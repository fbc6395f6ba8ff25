//! `Client`: sends queries to a service over HTTP.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokio::task::JoinSet;

use crate::client::{self, Config};
use crate::model::Millis;
use crate::python::calls::asyncio_waker::{Bridge, wakeup};
use crate::python::calls::call::{Call, Outcome};
use crate::python::calls::question;
use crate::python::calls::question::{
    AskedQuestion, MAX_ROWS, PAGE_SIZES, UnconvertedReply, whole,
};
use crate::python::calls::stream::Stream;
use crate::python::calls::walk::Walk;
use crate::python::error;
use crate::python::error::Failure;
use crate::python::runtime::logs;
use crate::python::runtime::runtime::Threads;
use crate::python::runtime::signals::SIGNAL_TICK;

/// Maximum number of queries of one call that are in flight.
const IN_FLIGHT: usize = 8;

/// The client of one service.
#[pyclass(frozen, module = "liqdata._core")]
pub(crate) struct Client {
    http: client::Client,
    base_url: String,
    closed: Arc<AtomicBool>,
}

impl Client {
    fn open(&self) -> PyResult<client::Client> {
        if self.closed.load(Ordering::Acquire) {
            return Err(PyRuntimeError::new_err("client is closed"));
        }
        Ok(self.http.clone())
    }
}

#[pymethods]
impl Client {
    #[new]
    #[pyo3(signature = (
        base_url, timeout, connect_timeout, retries, rate_limit, max_body, headers, proxy, vendor=None,
        hidden=Vec::new()
    ))]
    #[expect(
        clippy::too_many_arguments,
        reason = "one per option of the public constructor"
    )]
    fn new(
        py: Python<'_>,
        base_url: &str,
        timeout: f64,
        connect_timeout: f64,
        retries: &Bound<'_, PyAny>,
        rate_limit: Option<f64>,
        max_body: &Bound<'_, PyAny>,
        headers: Vec<(String, String)>,
        proxy: Option<&str>,
        vendor: Option<&str>,
        hidden: Vec<String>,
    ) -> PyResult<Self> {
        let retries = whole("retries", retries, "a whole number from 0")?;
        let max_body = whole("max_body", max_body, "a whole number of bytes from 1")?;
        let made = || -> Result<(client::Client, String), client::Error> {
            let config = Config::new(base_url)?
                .timeout(timeout)?
                .connect_timeout(connect_timeout)?
                .retries(retries)?
                .rate_limit(rate_limit)?
                .max_body(max_body)?
                .headers(headers)?
                .proxy(proxy)?
                .hidden(hidden);
            let base_url = config.base_url().to_owned();
            let client = match vendor.and_then(client::VendorDialect::named) {
                Some(vendor) => client::Client::speaking(config, vendor)?,
                None => client::Client::new(config)?,
            };
            Ok((client, base_url))
        };
        let (http, base_url) =
            made().map_err(|error| error::python(py, &Failure::Client(error)))?;
        Ok(Self {
            http,
            base_url,
            closed: Arc::default(),
        })
    }

    #[getter]
    fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Whether the service declares that its market is simulated. `None` if it does not.
    #[getter]
    fn simulated(&self) -> Option<bool> {
        self.http.simulated().then_some(true)
    }

    /// Number of damaged files in the service's archive, according to its last response.
    #[getter]
    fn damaged(&self) -> u64 {
        self.http.damaged()
    }

    /// The service's time at its last response, in epoch milliseconds.
    #[getter]
    fn answered_at(&self) -> Option<i64> {
        self.http.answered_at().map(|at| at.0)
    }

    /// Keeps to this limit of requests per minute from now on.
    fn pace(&self, per_minute: u32) -> PyResult<()> {
        self.open()?.pace(per_minute);
        Ok(())
    }

    /// Whether a pickle would contain a proxy password.
    #[getter]
    fn holds_credentials(&self) -> bool {
        self.http.config().holds_credentials()
    }

    #[getter]
    fn closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Closes the connections and refuses further queries.
    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.http.close();
    }

    /// Sends one query on the caller's own thread, and checks for signals meanwhile.
    fn ask(&self, py: Python<'_>, question: &Bound<'_, AskedQuestion>) -> PyResult<Py<PyAny>> {
        let client = self.open()?;
        let question = question.get().clone();
        let pid = std::process::id();
        let caller = client.blocking()?;
        let mut work = Box::pin({
            let client = caller.client().clone();
            async move { question.send(&client).await }
        });
        loop {
            let turn = py.detach(|| {
                catch_unwind(AssertUnwindSafe(|| {
                    caller
                        .block_on(async { tokio::time::timeout(SIGNAL_TICK, work.as_mut()).await })
                }))
            });
            let outcome = match turn {
                Ok(Ok(Ok(outcome))) => {
                    drop(work);
                    if outcome.is_err() {
                        caller.settle()?;
                    }
                    caller.leave();
                    outcome
                }
                Ok(Ok(Err(_))) => {
                    let signals = py.check_signals();
                    if std::process::id() != pid {
                        // A signal handler has forked the process. In the child, the runtime of this call belongs to
                        // the parent.
                        mem::forget((work, caller));
                        signals?;
                        return Err(PyRuntimeError::new_err(
                            "the process was forked while this call was under way; repeat the call",
                        ));
                    }
                    signals?;
                    continue;
                }
                Ok(Err(error)) => return Err(error.into()),
                Err(panic) => Err(Failure::of_panic(panic.as_ref())),
            };
            logs::deliver(py)?;
            return outcome
                .map_err(|failure| error::python(py, &failure))?
                .into_python(py);
        }
    }

    /// Starts a call that sends one query.
    #[pyo3(signature = (question, bridge=None, token=0))]
    fn begin(
        &self,
        question: &Bound<'_, AskedQuestion>,
        bridge: Option<&Bound<'_, Bridge>>,
        token: u64,
    ) -> PyResult<Call> {
        let client = self.open()?;
        let question = question.get().clone();
        let (client, threads) = if question.is_large() {
            (client, Threads::Several)
        } else {
            (client.apart(), Threads::One)
        };
        let work = async move {
            match question.send(&client).await {
                Ok(answer) => Outcome::One(Some(Box::new(answer))),
                Err(failure) => Outcome::Failed(failure, None),
            }
        };
        Call::begin_on(threads, work, wakeup(bridge, token))
    }

    /// Starts a call that sends several queries, at most `at_once` at a time.
    ///
    /// The first failure ends the call. The exception has the label of the failed query.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments from Python come by value"
    )]
    #[pyo3(signature = (questions, labels, bridge=None, token=0, at_once=IN_FLIGHT))]
    fn begin_many(
        &self,
        questions: Vec<Bound<'_, AskedQuestion>>,
        labels: Vec<String>,
        bridge: Option<&Bound<'_, Bridge>>,
        token: u64,
        at_once: usize,
    ) -> PyResult<Call> {
        let client = self.open()?;
        let questions: Vec<_> = questions
            .iter()
            .map(|question| question.get().clone())
            .zip(labels)
            .enumerate()
            .collect();
        let work = async move {
            // Each query has a separate task, so that large replies are decoded in parallel. Dropping the set ends all
            // tasks.
            let mut waiting = questions.into_iter();
            let mut asked = JoinSet::new();
            let mut answers = Vec::with_capacity(waiting.len());
            loop {
                while asked.len() < at_once
                    && let Some((index, (question, label))) = waiting.next()
                {
                    let client = client.clone();
                    asked.spawn(async move {
                        match question.send(&client).await {
                            Ok(answer) => Ok((index, answer)),
                            Err(failure) => Err(Outcome::Failed(failure, Some(label))),
                        }
                    });
                }
                match asked.join_next().await {
                    Some(Ok(Ok(answer))) => answers.push(answer),
                    Some(Ok(Err(failed))) => return failed,
                    Some(Err(broken)) => return Outcome::Failed(Failure::of_task(broken), None),
                    None => break,
                }
            }
            answers.sort_unstable_by_key(|(index, _)| *index);
            Outcome::Many(answers.into_iter().map(|(_, answer)| answer).collect())
        };
        Call::begin(work, wakeup(bridge, token))
    }

    /// Starts a call that requests features and returns their rows, the units of their maps and the views of their models.
    #[pyo3(signature = (parameters, bridge=None, token=0))]
    fn begin_features(
        &self,
        parameters: &Bound<'_, PyDict>,
        bridge: Option<&Bound<'_, Bridge>>,
        token: u64,
    ) -> PyResult<Call> {
        let client = self.open()?.apart();
        let question = question::features(parameters)?;
        let work = async move {
            match client.fetch(&question).await {
                Ok((mut table, _)) => {
                    let labels = table.take_labels();
                    let reply = UnconvertedReply::Features(table.into(), labels);
                    Outcome::One(Some(Box::new(reply)))
                }
                Err(error) => Outcome::Failed(error.into(), None),
            }
        };
        Call::begin_on(Threads::One, work, wakeup(bridge, token))
    }

    /// Starts a call that requests a path and returns the status, the headers and the body as it is.
    ///
    /// With a form the request is a POST. `weight` says how many requests it counts as for the service.
    #[pyo3(signature = (path, query, weight=1, form=None, bridge=None, token=0))]
    fn begin_document(
        &self,
        path: String,
        query: Vec<(String, String)>,
        weight: u32,
        form: Option<Vec<(String, String)>>,
        bridge: Option<&Bound<'_, Bridge>>,
        token: u64,
    ) -> PyResult<Call> {
        let client = self.open()?.apart();
        let request = client::DocumentRequest {
            path,
            query,
            weight,
            form,
        };
        let work = async move {
            match client.document(&request).await {
                Ok(document) => Outcome::One(Some(Box::new(UnconvertedReply::Document(document)))),
                Err(error) => Outcome::Failed(error.into(), None),
            }
        };
        Call::begin_on(Threads::One, work, wakeup(bridge, token))
    }

    /// Opens the order stream, which starts after `last_event_id` or with the next order.
    #[pyo3(signature = (symbol, exchange, min_usd, last_event_id))]
    fn stream(
        &self,
        symbol: &Bound<'_, PyAny>,
        exchange: &Bound<'_, PyAny>,
        min_usd: &Bound<'_, PyAny>,
        last_event_id: &Bound<'_, PyAny>,
    ) -> PyResult<Stream> {
        let client = self.open()?;
        let question = question::stream(symbol, exchange, min_usd, last_event_id)?;
        Ok(Stream::of_service(
            client,
            question,
            Arc::clone(&self.closed),
        ))
    }

    /// Opens the cascade stream, which starts after `last_event_id` or with the next cascade.
    #[pyo3(signature = (symbol, gap, min_usd, last_event_id))]
    fn cascade_stream(
        &self,
        symbol: &Bound<'_, PyAny>,
        gap: &Bound<'_, PyAny>,
        min_usd: &Bound<'_, PyAny>,
        last_event_id: &Bound<'_, PyAny>,
    ) -> PyResult<Stream> {
        let client = self.open()?;
        let question = question::cascade_stream(symbol, gap, min_usd, last_event_id)?;
        Ok(Stream::of_service(
            client,
            question,
            Arc::clone(&self.closed),
        ))
    }

    /// Starts a walk over the orders of the service.
    #[expect(
        clippy::too_many_arguments,
        reason = "one per parameter of the public method"
    )]
    #[pyo3(signature = (symbol, exchange, min_usd, page_size, max_rows, start=None, end=None, as_of=None, groups=false))]
    fn walk(
        &self,
        py: Python<'_>,
        symbol: &Bound<'_, PyAny>,
        exchange: &Bound<'_, PyAny>,
        min_usd: &Bound<'_, PyAny>,
        page_size: &Bound<'_, PyAny>,
        max_rows: Option<&Bound<'_, PyAny>>,
        start: Option<i64>,
        end: Option<i64>,
        as_of: Option<i64>,
        groups: bool,
    ) -> PyResult<Walk> {
        let client = self.open()?;
        let orders = question::orders(symbol, exchange, min_usd, groups)?;
        let page_size = whole("page_size", page_size, PAGE_SIZES)?;
        let max_rows = max_rows
            .map(|rows| whole("max_rows", rows, MAX_ROWS))
            .transpose()?;
        let bounds = client::WalkBounds {
            start: start.map(Millis),
            end: end.map(Millis),
            as_of: as_of.map(Millis),
        };
        let walk = client::Walk::over(client, orders, page_size, max_rows)
            .and_then(|walk| walk.within(bounds))
            .map_err(|refusal| error::bad_query(py, &refusal))?;
        Ok(Walk::new(walk, groups))
    }
}
