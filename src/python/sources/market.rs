//! `Market`: a market in this process, created from tables, an archive or a simulation.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use numpy::PyArray1;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::archive::Filter;
use crate::contract;
use crate::engine;
use crate::model::{MapRange, Millis, ObservedBar, Position, TimeRange, Vocabulary};
use crate::python::calls::call::compute;
use crate::python::calls::question;
use crate::python::calls::question::{AskedQuestion, UnconvertedReply};
use crate::python::calls::stream::Stream;
use crate::python::error;
use crate::python::error::Failure;
use crate::python::ingest::raw::{column_fault, observed_unjudged, rates, raw_table, row_fault};
use crate::python::rows::columns::Columns;
use crate::python::rows::rows::Table;
use crate::python::runtime::imports;
use crate::python::runtime::signals::{Progress, interruptible, watched};
use crate::python::sources::moving_market::{Live, Pace};
use crate::python::sources::order_walk::History;
use crate::simulate::{Habits, Simulation};
use crate::tables::{
    MarketTableFault, ObservedMarket, RawMarketTables, RawTable, TableKind, TableOptions, observe,
    observed_bars, observed_interest,
};
use crate::{market, simulate};

/// Maximum number of queries of one call that are computed concurrently.
const IN_FLIGHT: usize = 8;

/// Minimum number of rows for signal checks. Smaller tables are processed within milliseconds.
const LARGE: usize = 10_000;

/// A market in this process.
#[pyclass(frozen, weakref, module = "liqdata._core")]
#[expect(
    clippy::struct_field_names,
    reason = "the market is what this wraps; the other fields accompany it"
)]
pub(crate) struct Market {
    market: Arc<market::Market>,
    positions: Vec<Position>,
    feed: Option<market::MarketFeed>,
    /// How time passes in a live simulation or a replay. `None` for other markets.
    pace: Option<Pace>,
    /// The live simulation, which computes true positions on request.
    live: Option<Live>,
}

impl From<market::Market> for Market {
    fn from(market: market::Market) -> Self {
        Self {
            market: Arc::new(market),
            positions: Vec::new(),
            feed: None,
            pace: None,
            live: None,
        }
    }
}

impl Market {
    pub(crate) fn shared(&self) -> Arc<market::Market> {
        Arc::clone(&self.market)
    }

    /// Answers each query as of each instant. Returns a list of answers for each query.
    fn at_each(
        market: &market::Market,
        questions: &[AskedQuestion],
        instants: &[Millis],
    ) -> Vec<Vec<Result<UnconvertedReply, Failure>>> {
        let together = on_all_cores(questions, |question| question.answers(market, instants));
        let alone = questions.iter().zip(&together);
        let alone: Vec<(&AskedQuestion, Millis)> = alone
            .filter(|(_, answers)| answers.is_none())
            .flat_map(|(question, _)| instants.iter().map(move |at| (question, *at)))
            .collect();
        let mut alone =
            on_all_cores(&alone, |(question, at)| question.answer(market, Some(*at))).into_iter();
        together
            .into_iter()
            .map(|answers| answers.unwrap_or_else(|| alone.by_ref().take(instants.len()).collect()))
            .collect()
    }
}

/// Converts the answers to a list. The first failure raises an exception with the label of its query.
fn listed(
    py: Python<'_>,
    answers: Vec<Result<UnconvertedReply, Failure>>,
    labels: impl Iterator<Item = String>,
) -> PyResult<Py<PyAny>> {
    let made = PyList::empty(py);
    for (answer, label) in answers.into_iter().zip(labels) {
        match answer {
            Ok(answer) => made.append(answer.into_python(py)?)?,
            Err(failure) => {
                let raised = error::python(py, &failure);
                error::note(py, &raised, &label);
                return Err(raised);
            }
        }
    }
    Ok(made.into_any().unbind())
}

/// Creates an array in which long and short values alternate. Unknown values are NaN.
fn by_turns<'py>(
    py: Python<'py>,
    found: &[Option<[f64; 2]>],
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    imports::numpy(py)?;
    let flat = found.iter().flat_map(|one| one.unwrap_or([f64::NAN; 2]));
    Ok(PyArray1::from_iter(py, flat))
}

/// Returns the unit of an open-interest table.
fn unit_of(in_usd: bool) -> engine::OpenInterestUnit {
    if in_usd {
        engine::OpenInterestUnit::Usd
    } else {
        engine::OpenInterestUnit::Base
    }
}

/// Creates the observations of a market from validated tables.
fn observations(
    observed: ObservedMarket,
    now: Option<Millis>,
) -> Result<engine::Observations, engine::TableFault> {
    let ObservedMarket {
        orders,
        bars,
        open_interest,
        liquidations,
    } = observed;
    let unit = unit_of(open_interest.in_usd);
    let (bars, readings) = (observed_bars(&bars), observed_interest(&open_interest));
    let made = engine::Observations::in_unit(orders, bars, readings, unit, now)?;
    made.with_liquidations(liquidations)
}

/// Takes the orders of a simulation, and creates its observations.
fn observations_of(
    mut world: Simulation,
    now: Option<Millis>,
) -> (Result<engine::Observations, engine::TableFault>, Simulation) {
    let orders = std::mem::take(&mut world.orders);
    let made = engine::Observations::of_rows(orders, world.bars(), world.open_interest(), now);
    (made, world)
}

/// Creates the exception for a table that a market cannot use.
fn market_fault(py: Python<'_>, fault: MarketTableFault) -> PyErr {
    match fault {
        MarketTableFault::Column(kind, fault) => column_fault(py, kind, &fault),
        MarketTableFault::Row(kind, fault) => row_fault(py, kind, &fault),
        MarketTableFault::Exchanges(names) => {
            let message = format!(
                "column \"exchange\" names several exchanges, {}, and a market has one series of bars per coin",
                names.join(", ")
            );
            let allowed = "bars of one exchange, or exchange= to choose one";
            error::bad_query(py, &contract::BadQuery::new("bars", message, allowed))
        }
        MarketTableFault::Stopped => PyRuntimeError::new_err("reading was stopped"),
    }
}

#[pymethods]
impl Market {
    /// Creates a market from tables. Each is `None`, a mapping of columns, or an object with `__arrow_c_stream__`.
    ///
    /// Calls `seen` with the number of further rows read.
    #[new]
    #[pyo3(signature = (
        orders, bars, open_interest, liquidations, now, seen=None, exchange=None, new_exchange=false, quote_rates=None
    ))]
    #[expect(
        clippy::too_many_arguments,
        reason = "arguments from Python come one by one"
    )]
    fn new(
        py: Python<'_>,
        orders: &Bound<'_, PyAny>,
        bars: &Bound<'_, PyAny>,
        open_interest: &Bound<'_, PyAny>,
        liquidations: &Bound<'_, PyAny>,
        now: Option<i64>,
        seen: Option<&Bound<'_, PyAny>>,
        exchange: Option<String>,
        new_exchange: bool,
        quote_rates: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let options = TableOptions {
            exchange,
            new_exchange,
            rates: rates(py, quote_rates)?,
            ..TableOptions::default()
        };
        let raw = RawMarketTables {
            orders: raw_table(TableKind::Orders, orders)?,
            bars: raw_table(TableKind::Bars, bars)?,
            open_interest: raw_table(TableKind::OpenInterest, open_interest)?,
            liquidations: raw_table(TableKind::Liquidations, liquidations)?,
        };
        let rows = [
            &raw.orders,
            &raw.bars,
            &raw.open_interest,
            &raw.liquidations,
        ]
        .map(RawTable::rows);
        let rows: usize = rows.iter().sum();
        let latest = market::wall_clock().max(now.map_or(Millis(0), Millis));
        let work = move || {
            let observed = observe(&raw, &options, latest, &mut || true);
            // Dropping a large table takes long, so this thread does it.
            drop(raw);
            observed.map(|observed| {
                let has_only_totals =
                    observed.orders.is_empty() && !observed.liquidations.is_empty();
                let made = observations(observed, now.map(Millis));
                made.map(|made| (made, has_only_totals))
            })
        };
        let made = if rows < LARGE {
            py.detach(work)
        } else {
            interruptible(py, move || Ok(work()))?
        };
        let (observations, has_only_totals) = made
            .map_err(|fault| market_fault(py, fault))?
            .map_err(|fault| error::bad_table(py, &fault))?;
        if let Some(seen) = seen.filter(|_| rows > 0) {
            seen.call1((rows,))?;
        }
        let market = market::Market::fixed(observations, "tables");
        Ok(if has_only_totals {
            market.of_totals().into()
        } else {
            market.into()
        })
    }

    /// Creates a simulated market. `habits` changes the behaviour of the simulated traders (tilt, patience, extra).
    /// Calls `watcher` with the number of bars simulated and the total.
    #[staticmethod]
    #[pyo3(signature = (seed, now, habits=None, watcher=None))]
    fn demo(
        py: Python<'_>,
        seed: u64,
        now: i64,
        habits: Option<(f64, f64, f64)>,
        watcher: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let said = match habits {
            None => format!("simulated (seed {seed})"),
            Some(habits) => format!("simulated (seed {seed}, habits {habits:?})"),
        };
        let habits = habits.map_or_else(Habits::default, |(tilt, patience, extra)| Habits {
            tilt,
            patience,
            extra,
        });
        let progress = Arc::new(Progress::of(simulate::bars_to_live(0)));
        let made = watched(py, &progress, watcher, move |progress| {
            let now = Millis(now);
            let world = simulate::simulate_watched(habits, seed, now, 0, &|| progress.count());
            let (made, world) = observations_of(world, Some(now));
            let known = (world.feeds, world.published);
            Ok(made.map(|observations| (observations, known, world.positions)))
        })?;
        let (observations, (feeds, published), positions) =
            made.map_err(|fault| error::bad_table(py, &fault))?;
        let market = market::Market::simulated(observations, feeds, published, said);
        Ok(Self {
            positions,
            ..market.into()
        })
    }

    /// Creates a simulated market that continues after `now`.
    ///
    /// The market's time starts at `at`. The time passes `faster` times as fast as real time, or only by
    /// [`Market::advance`] if `faster` is `None`. Calls `watcher` with the number of bars simulated and the total.
    #[staticmethod]
    #[pyo3(signature = (seed, now, faster=None, at=None, watcher=None))]
    fn live_demo(
        py: Python<'_>,
        seed: u64,
        now: i64,
        faster: Option<f64>,
        at: Option<i64>,
        watcher: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let start = Millis(now);
        let at = Millis(at.unwrap_or(now));
        let pace = Pace::of(faster, at);
        let clock = pace.clone();
        let progress = Arc::new(Progress::of(Live::bars_to_live()));
        let made = watched(py, &progress, watcher, move |progress| {
            let world = Live::world(seed, start, progress);
            let (made, world) = observations_of(world, None);
            let said = format!("simulated (seed {seed}, live)");
            let clock = |_| clock.clock(at);
            let feeds = (world.feeds, world.published);
            Ok(made.map(|made| market::Market::simulated_live(made, feeds, start, clock, said)))
        })?;
        let market = made.map_err(|fault| error::bad_table(py, &fault))?;
        Ok(Self {
            pace: Some(pace),
            live: Some(Live::new(seed, start)),
            ..market.into()
        })
    }

    /// Creates a replay of an archive from `start` until `end`.
    ///
    /// The market's time starts at `at`. The time passes `faster` times as fast as real time, or only by
    /// [`Market::advance`] if `faster` is `None`. Calls `watcher` with the number of days read and the total.
    #[staticmethod]
    #[pyo3(signature = (path, start=None, end=None, faster=None, at=None, watcher=None))]
    fn replay(
        py: Python<'_>,
        path: PathBuf,
        start: Option<i64>,
        end: Option<i64>,
        faster: Option<f64>,
        at: Option<i64>,
        watcher: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        // A clock that callers advance must start before all data.
        let pace = Pace::of(faster, Millis(i64::MIN));
        let clock = pace.clone();
        let market = watched(py, &Arc::default(), watcher, move |progress| {
            let range = TimeRange::bounded(start.map(Millis), end.map(Millis));
            let clock = |start: Millis| clock.clock(at.map_or(start, |at| Millis(at).max(start)));
            let read = |done, of| progress.note(done, of);
            Ok(market::Market::replayed(path, range, clock, &read)?)
        })?;
        Ok(Self {
            pace: Some(pace),
            ..market.into()
        })
    }

    /// Creates an empty market that grows by [`Market::append`]. A stream can resume after any of its last `capacity`
    /// orders.
    #[staticmethod]
    fn growing(capacity: usize) -> Self {
        let (market, feed) = market::Market::growing(capacity, "a feed");
        Self {
            feed: Some(feed),
            ..market.into()
        }
    }

    /// Appends rows to a growing market.
    fn append(
        &self,
        py: Python<'_>,
        orders: &Bound<'_, PyAny>,
        bars: &Bound<'_, PyAny>,
        open_interest: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let feed = self
            .feed
            .as_ref()
            .ok_or_else(|| PyRuntimeError::new_err("this market does not grow"))?;
        // These rows are not validated here, because the caller has collected and validated them.
        let observed = observed_unjudged(orders, bars, open_interest)?;
        let unit = unit_of(observed.open_interest.in_usd);
        let bars = observed_bars(&observed.bars).map(ObservedBar::owned);
        let bars: Vec<ObservedBar> = bars.collect();
        let readings = observed_interest(&observed.open_interest);
        let open_interest: Vec<_> = readings.map(|reading| reading.owned()).collect();
        let orders = observed.orders;
        // Converting open interest in USD needs prices, possibly those of earlier bars.
        let mut known = Vec::new();
        if !open_interest.is_empty() {
            known = compute(py, || Ok(self.market.rows()?.1))?;
            known.extend(bars.iter().cloned());
        }
        py.detach(|| {
            let open_interest = engine::in_base_units(open_interest, unit, known)?;
            feed.append((orders, bars, open_interest))
        })
        .map_err(|fault| error::bad_table(py, &fault))
    }

    /// Opens the order stream, which starts after `last_event_id` or with the next order.
    #[pyo3(signature = (symbol, exchange, min_usd, last_event_id))]
    fn stream(
        &self,
        py: Python<'_>,
        symbol: &Bound<'_, PyAny>,
        exchange: &Bound<'_, PyAny>,
        min_usd: &Bound<'_, PyAny>,
        last_event_id: &Bound<'_, PyAny>,
    ) -> PyResult<Stream> {
        let question = question::stream(symbol, exchange, min_usd, last_event_id)?;
        // The id must come from a market in this process. Ids from a service have another format.
        if let Some(id) = &question.last_event_id
            && id.parse::<market::ArrivalId>().is_err()
        {
            let refusal = contract::BadQuery::new(
                "last_event_id",
                format!("{id:?} is not a stream position of a market in this process"),
                "the last_event_id of an earlier stream, such as \"beef-7\", or None to start now",
            );
            return Err(error::bad_query(py, &refusal));
        }
        let market = self.shared();
        compute(py, || Ok(Stream::of_market(market, question)?))
    }

    /// Opens the cascade stream, which starts after `last_event_id` or with the next cascade.
    #[pyo3(signature = (symbol, gap, min_usd, last_event_id))]
    fn cascade_stream(
        &self,
        py: Python<'_>,
        symbol: &Bound<'_, PyAny>,
        gap: &Bound<'_, PyAny>,
        min_usd: &Bound<'_, PyAny>,
        last_event_id: &Bound<'_, PyAny>,
    ) -> PyResult<Stream> {
        let question = question::cascade_stream(symbol, gap, min_usd, last_event_id)?;
        let market = self.shared();
        compute(py, || Ok(Stream::of_market(market, question)?))
    }

    /// Opens an archive as a market.
    #[staticmethod]
    #[pyo3(signature = (path, as_of=None))]
    fn open(py: Python<'_>, path: PathBuf, as_of: Option<i64>) -> PyResult<Self> {
        let open = move || Ok(market::Market::open(path, as_of.map(Millis))?);
        let market = interruptible(py, open)?;
        Ok(market.into())
    }

    #[getter]
    fn simulated(&self) -> bool {
        self.market.is_simulated()
    }

    /// Whether this market is a replay.
    #[getter]
    fn replayed(&self) -> bool {
        self.market.is_replayed()
    }

    /// The current time of the market's clock and the end of its data, in epoch milliseconds. `None` without a clock.
    #[getter]
    fn clock(&self) -> Option<(i64, i64)> {
        let (at, until) = self.market.clock()?;
        Some((at.0, until.0))
    }

    /// Advances the clock of a market that does not follow real time.
    fn advance(&self, to: i64) -> PyResult<()> {
        match &self.pace {
            Some(Pace::Driven(clock)) => {
                clock.advance(Millis(to));
                Ok(())
            }
            _ => Err(PyRuntimeError::new_err(
                "this market's clock cannot be advanced: it follows real time, or the market has no clock",
            )),
        }
    }

    /// Ends a replay and stops the background check of archive files.
    fn end(&self, py: Python<'_>) {
        py.detach(|| self.market.end());
    }

    /// Number of archive files that are known to be damaged. Rows of damaged files are missing from answers.
    #[getter]
    fn damaged(&self, py: Python<'_>) -> PyResult<usize> {
        compute(py, || Ok(self.market.damaged_files()?))
    }

    #[getter]
    fn source(&self) -> &str {
        self.market.source()
    }

    /// The instant at which all time windows end, in epoch milliseconds. `None` if nothing has been observed.
    #[getter]
    fn now(&self) -> Option<i64> {
        self.market.known_until().map(|now| now.0)
    }

    /// The first instant at which anything was observed, in epoch milliseconds.
    #[getter]
    fn first(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        compute(py, || {
            Ok(self.market.first_observed()?.map(|first| first.0))
        })
    }

    #[getter]
    fn coins(&self) -> Vec<String> {
        self.market.coins()
    }

    /// Answers one query.
    #[pyo3(signature = (question, as_of=None))]
    fn ask(
        &self,
        py: Python<'_>,
        question: &Bound<'_, AskedQuestion>,
        as_of: Option<i64>,
    ) -> PyResult<Py<PyAny>> {
        let question = question.get();
        let as_of = as_of.map(Millis);
        let answer = if question.is_large() || as_of.is_some() {
            let (question, market) = (question.clone(), self.shared());
            interruptible(py, move || question.answer(&market, as_of))?
        } else {
            compute(py, || question.answer(&self.market, as_of))?
        };
        answer.into_python(py)
    }

    /// Answers several queries on all cores. The first failure raises an exception with the label of its query.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments from Python come by value"
    )]
    #[pyo3(signature = (questions, labels, as_of=None))]
    fn ask_many(
        &self,
        py: Python<'_>,
        questions: Vec<Bound<'_, AskedQuestion>>,
        labels: Vec<String>,
        as_of: Option<i64>,
    ) -> PyResult<Py<PyAny>> {
        let questions: Vec<AskedQuestion> = questions
            .iter()
            .map(|question| question.get().clone())
            .collect();
        let market = self.shared();
        let answers = interruptible(py, move || {
            Ok(on_all_cores(&questions, |question| {
                question.answer(&market, as_of.map(Millis))
            }))
        })?;
        let labels = labels.iter().map(|label| format!("symbol: {label}"));
        listed(py, answers, labels)
    }

    /// Answers each query as of several instants on all cores. Returns a list for each query. If possible, one pass
    /// over the data serves all instants of a query. The first failure raises an exception with the label of its query.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments from Python come by value"
    )]
    fn ask_at(
        &self,
        py: Python<'_>,
        questions: Vec<Bound<'_, AskedQuestion>>,
        labels: Vec<String>,
        instants: Vec<i64>,
    ) -> PyResult<Py<PyAny>> {
        let questions: Vec<AskedQuestion> = questions
            .iter()
            .map(|question| question.get().clone())
            .collect();
        let instants: Vec<Millis> = instants.into_iter().map(Millis).collect();
        let (market, at) = (self.shared(), instants.clone());
        let answers = interruptible(py, move || Ok(Self::at_each(&market, &questions, &at)))?;
        let lists = PyList::empty(py);
        for (answers, label) in answers.into_iter().zip(labels) {
            let about = |at: &Millis| match label.as_str() {
                "" => format!("as_of: {at}"),
                label => format!("symbol: {label}, as_of: {at}"),
            };
            lists.append(listed(py, answers, instants.iter().map(about))?)?;
        }
        Ok(lists.into_any().unbind())
    }

    /// Returns the estimated USD of liquidations between `lows` and `highs` on the maps at `instants`.
    ///
    /// Values for longs and shorts alternate. All values before the first closed bar or the first open interest are
    /// NaN.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments from Python come by value"
    )]
    fn crossed<'py>(
        &self,
        py: Python<'py>,
        symbol: &str,
        model: &Bound<'py, PyAny>,
        instants: Vec<i64>,
        lows: Vec<f64>,
        highs: Vec<f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let model = question::chosen(model)?;
        let moves: Vec<engine::PriceMove> = instants
            .iter()
            .zip(lows.iter().zip(&highs))
            .map(|(at, (low, high))| engine::PriceMove {
                at: Millis(*at),
                low: *low,
                high: *high,
            })
            .collect();
        let (market, symbol) = (self.shared(), symbol.to_owned());
        let found = interruptible(py, move || {
            Ok(market.estimated(&symbol, &model, |view| {
                engine::crossed_by_moves(view, &symbol, &model, &moves)
            })?)
        })?;
        by_turns(py, &found)
    }

    /// Returns the same values as [`Market::crossed`] for periods that open at `opens` and last `length` milliseconds.
    ///
    /// The map is updated at each bar of a period.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments from Python come by value"
    )]
    fn refreshed<'py>(
        &self,
        py: Python<'py>,
        symbol: &str,
        model: &Bound<'py, PyAny>,
        opens: Vec<i64>,
        length: i64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let model = question::chosen(model)?;
        let opens: Vec<Millis> = opens.iter().copied().map(Millis).collect();
        let (market, symbol) = (self.shared(), symbol.to_owned());
        let found = interruptible(py, move || {
            Ok(market.estimated(&symbol, &model, |view| {
                engine::crossed_by_periods(view, &symbol, &model, &opens, length)
            })?)
        })?;
        by_turns(py, &found)
    }

    /// Returns the features of coins at instants, ordered by instant and coin, with the units of their maps and the views of
    /// their models.
    ///
    /// `opens` has the open of the bar that closes at each instant, if the instants are those of bars. Windows and moves
    /// have their names. Without `wanted`, all columns are returned.
    #[pyo3(signature = (symbols, instants, opens, windows, moves, range, model, exchange, latency, wanted))]
    #[expect(
        clippy::too_many_arguments,
        clippy::needless_pass_by_value,
        reason = "arguments from Python come one by one and by value"
    )]
    fn features(
        &self,
        py: Python<'_>,
        symbols: Vec<Bound<'_, PyAny>>,
        instants: Vec<i64>,
        opens: Option<Vec<i64>>,
        windows: Vec<(String, i64)>,
        moves: Vec<f64>,
        range: &str,
        model: &Bound<'_, PyAny>,
        exchange: &Bound<'_, PyAny>,
        latency: i64,
        wanted: Option<Vec<String>>,
    ) -> PyResult<(Table, Vec<String>, Vec<String>)> {
        let none = py.None().into_bound(py);
        let mut coins = Vec::with_capacity(symbols.len());
        let mut of_exchange = None;
        for symbol in &symbols {
            let checked = question::orders(symbol, exchange, &none, false)?;
            of_exchange = checked.exchange;
            coins.extend(checked.symbol);
        }
        let columns = contract::FeatureColumns {
            windows,
            moves,
            wanted,
        };
        let model = if model.is_none() {
            None
        } else {
            Some(question::chosen(model)?)
        };
        let range = MapRange::parse(range).unwrap_or(MapRange::D7);
        let asked = market::FeatureQuestion::of(&columns, range, model, of_exchange, latency);
        let instants: Vec<Millis> = instants.into_iter().map(Millis).collect();
        let market = self.shared();
        interruptible(py, move || {
            let found = on_all_cores(&coins, |coin| market.features(coin, &asked, &instants));
            let mut of_coins = Vec::with_capacity(coins.len());
            for (coin, rows) in coins.iter().zip(found) {
                of_coins.push((coin.coin().to_owned(), rows?));
            }
            let mut table = market::feature_table(&columns, opens.as_deref(), &of_coins);
            let [units, views] = table.take_labels();
            Ok((Columns::from(table).into(), units, views))
        })
    }

    /// Returns one page of orders, beginning at `offset`, for a walk over the orders.
    #[pyo3(signature = (symbol, exchange, min_usd, limit, offset, as_of=None, groups=false))]
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of a query")]
    fn page(
        &self,
        py: Python<'_>,
        symbol: &Bound<'_, PyAny>,
        exchange: &Bound<'_, PyAny>,
        min_usd: &Bound<'_, PyAny>,
        limit: usize,
        offset: u64,
        as_of: Option<i64>,
        groups: bool,
    ) -> PyResult<Table> {
        let checked = question::orders(symbol, exchange, min_usd, groups)?;
        let rows = compute(py, || {
            Ok(self
                .market
                .page(&checked, limit, offset, as_of.map(Millis))?)
        })?;
        Ok(Columns::from(rows).grouped(groups).into())
    }

    /// Returns the coverage of the time that the reply to a question is about. `None` if it needs no coverage.
    #[pyo3(signature = (question, as_of=None))]
    fn coverage(
        &self,
        py: Python<'_>,
        question: &Bound<'_, AskedQuestion>,
        as_of: Option<i64>,
    ) -> PyResult<Option<Table>> {
        let question = question.get();
        let rows = compute(py, || question.coverage(&self.market, as_of.map(Millis)))?;
        Ok(rows.map(|rows| Columns::from(rows).into()))
    }

    /// Starts a walk over the orders of an archive. `None` for a market without an archive.
    #[expect(clippy::too_many_arguments, reason = "each is a parameter of a query")]
    fn history(
        &self,
        py: Python<'_>,
        symbol: &Bound<'_, PyAny>,
        exchange: &Bound<'_, PyAny>,
        min_usd: &Bound<'_, PyAny>,
        start: Option<i64>,
        end: Option<i64>,
        as_of: Option<i64>,
        groups: bool,
        oldest_first: bool,
    ) -> PyResult<Option<History>> {
        let checked = question::orders(symbol, exchange, min_usd, groups)?;
        if self.market.archive().is_none() {
            return Ok(None);
        }
        let as_of = compute(py, || Ok(self.market.instant(as_of.map(Millis))?))?;
        let filter = Filter {
            start: start.map(Millis),
            end: end.map(Millis),
            as_of,
            exchange: checked.exchange,
            coin: checked
                .symbol
                .as_ref()
                .map(|symbol| symbol.coin().to_owned()),
            ..Filter::default()
        };
        let (symbol, least) = (checked.symbol, checked.min_usd);
        let market = Arc::clone(&self.market);
        let days = compute(py, || match market.archive() {
            Some(archive) => Ok(archive.days_with_orders(&filter)?),
            None => Ok(Vec::new()),
        })?;
        Ok(Some(History::new(
            market,
            filter,
            (symbol, least),
            (groups, oldest_first),
            days,
        )))
    }

    /// Returns the liquidation totals by period of a market that was made from a table of them; otherwise empty.
    fn liquidations(&self, py: Python<'_>) -> PyResult<Table> {
        compute(py, || {
            Ok(Columns::from(self.market.liquidations()?).filled().into())
        })
    }

    /// Whether the market is an archive with totals of periods.
    fn has_totals(&self, py: Python<'_>) -> PyResult<bool> {
        compute(py, || Ok(self.market.has_totals()?))
    }

    /// Returns a market of only the rows of this market that were known by an instant.
    fn known_by(&self, py: Python<'_>, at: i64) -> PyResult<Self> {
        let market = self.shared();
        let known = interruptible(py, move || Ok(market.known_by(Millis(at))?))?;
        Ok(known.into())
    }

    /// Returns the input tables of this market: orders, bars, open interest and liquidation totals by period.
    fn tables(&self, py: Python<'_>) -> PyResult<(Table, Table, Table, Table)> {
        compute(py, || {
            let (orders, bars, open_interest) = self.market.rows()?;
            Ok((
                Columns::from(orders).filled().into(),
                Columns::from(bars).filled().into(),
                Columns::from(open_interest).into(),
                Columns::from(self.market.liquidations()?).filled().into(),
            ))
        })
    }

    /// Returns the open trading positions of a coin in a simulated market.
    fn true_positions(&self, py: Python<'_>, symbol: &str) -> PyResult<Table> {
        let open = match &self.live {
            Some(live) => live.positions(py, self.market.now())?,
            None => Arc::new(self.positions.clone()),
        };
        let rows: Vec<Position> = open
            .iter()
            .filter(|position| position.symbol == symbol)
            .cloned()
            .collect();
        if rows.is_empty() {
            compute(py, || Ok(self.market.check_coin(symbol)?))?;
        }
        Ok(Columns::from(rows).into())
    }
}

/// Applies `work` to each item on all cores. Returns the results in the order of the items.
///
/// Uses scoped threads. The threads of a shared pool, such as rayon's, do not exist in a forked child, which would wait
/// forever.
fn on_all_cores<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(IN_FLIGHT)
        .min(items.len());
    let next = AtomicUsize::new(0);
    let mut made: Vec<(usize, R)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut mine = Vec::new();
                    loop {
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        let Some(item) = items.get(place) else {
                            return mine;
                        };
                        mine.push((place, work(item)));
                    }
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    });
    made.sort_unstable_by_key(|(place, _)| *place);
    made.into_iter().map(|(_, result)| result).collect()
}
