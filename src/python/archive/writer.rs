//! Writes archives from Python: recordings of other services, and archives of tests and examples.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rust_decimal::Decimal;

use crate::archive::{
    Archive, ArchiveError, BarRow, Batch, Completeness, Gap, GapOutcome, MapRow, OpenInterestRow,
    OrderRow, SessionId, Writer,
};
use crate::contract::BadQuery;
use crate::engine::{OpenInterestUnit, TableFault, in_base_units};
use crate::model::{
    GapState, Millis, ObservedBar, ObservedOpenInterest, ObservedOrder, Vocabulary, coin_of_pair,
};
use crate::python::error;
use crate::python::ingest::raw::observed_unjudged;
use crate::tables::{AHEAD, TOO_LATE, decimal, observed_bars, observed_interest};

/// Writes tables into an archive.
#[pyclass(frozen, module = "liqdata._core")]
pub(crate) struct ArchiveWriter {
    open: Mutex<Option<(Writer, u64)>>,
    /// The session of each exchange of a recording, and its end.
    sessions: Mutex<HashMap<String, (SessionId, i64)>>,
}

/// Kind, symbol, parameters, reply, explanation and version of a recorded map.
type RecordedMap = (String, String, String, String, String, Option<String>);

impl ArchiveWriter {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Writer, &mut u64) -> Result<T, ArchiveError> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.as_mut().map(|(writer, key)| work(writer, key))
        });
        match done {
            Some(done) => done.map_err(|fault| error::archive(py, &fault)),
            None => Err(PyRuntimeError::new_err("the archive is closed")),
        }
    }
}

/// Converts a cell as [`decimal`] does. The error names table, row and column.
fn cell(
    (table, row): (&'static str, usize),
    column: &'static str,
    value: f64,
) -> Result<Decimal, TableFault> {
    decimal(column, value).map_err(|message| TableFault {
        table,
        column,
        row,
        message,
    })
}

/// The column and the message if an instant is too far ahead of `now`.
fn too_late(at: Millis, now: Millis) -> Option<(&'static str, String)> {
    (at > now.on(AHEAD)).then(|| ("timestamp", format!("{at} is {TOO_LATE}")))
}

/// Converts an order of a table to an archive row.
fn order_row(observed: ObservedOrder, dedupe_key: String) -> OrderRow {
    let pair = &observed.order.symbol;
    let coin = observed.coin;
    OrderRow {
        coin: coin.unwrap_or_else(|| coin_of_pair(pair).0),
        price_kind: "fill".to_owned(),
        completeness: Completeness::Unknown,
        native_id: None,
        dedupe_key,
        received_at: observed.received_at.unwrap_or(observed.order.timestamp),
        order: observed.order,
        raw: None,
        group_id: observed.group_id,
    }
}

/// Converts a bar of a table to an archive row.
fn bar_row(row: usize, observed: ObservedBar, exchange: &str) -> Result<BarRow, TableFault> {
    let interval = observed.length().unwrap_or(Millis::MINUTE);
    let place = ("bars", row);
    Ok(BarRow {
        exchange: exchange.to_owned(),
        symbol: observed.symbol,
        timestamp: observed.timestamp,
        interval,
        open: cell(place, "open", observed.open)?,
        high: cell(place, "high", observed.high)?,
        low: cell(place, "low", observed.low)?,
        close: cell(place, "close", observed.close)?,
        volume: cell(place, "volume", observed.volume)?,
        received_at: observed.timestamp.on(interval),
    })
}

/// Converts an open-interest reading of a table to an archive row.
fn reading_row(
    row: usize,
    observed: ObservedOpenInterest,
    exchange: &str,
) -> Result<OpenInterestRow, TableFault> {
    let place = ("open_interest", row);
    Ok(OpenInterestRow {
        exchange: observed.exchange.unwrap_or_else(|| exchange.to_owned()),
        symbol: observed.symbol,
        timestamp: observed.timestamp,
        open_interest: cell(place, "open_interest", observed.open_interest)?,
        received_at: observed.timestamp,
    })
}

#[pymethods]
impl ArchiveWriter {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        // The dedupe keys of new orders are numbered from the count of stored orders.
        // Two orders with the same key would count as one order.
        let open = py.detach(|| {
            let writer = Archive::create_or_open(path)?;
            let known = writer.archive().catalog().summary()?.end.orders;
            Ok((writer, u64::try_from(known).unwrap_or_default()))
        });
        let open = open.map_err(|fault: ArchiveError| error::archive(py, &fault))?;
        Ok(Self {
            open: Mutex::new(Some(open)),
            sessions: Mutex::default(),
        })
    }

    /// Appends tables. Bars belong to `exchange`, as do open-interest readings without an exchange. Each order counts
    /// as a new one, even if it equals another.
    #[pyo3(signature = (orders, bars, open_interest, exchange="binance"))]
    fn append(
        &self,
        py: Python<'_>,
        orders: &Bound<'_, PyAny>,
        bars: &Bound<'_, PyAny>,
        open_interest: &Bound<'_, PyAny>,
        exchange: &str,
    ) -> PyResult<()> {
        let tables = observed_unjudged(orders, bars, open_interest)?;
        let orders = tables.orders;
        let unit = if tables.open_interest.in_usd {
            OpenInterestUnit::Usd
        } else {
            OpenInterestUnit::Base
        };
        let bars = observed_bars(&tables.bars).map(ObservedBar::owned);
        let bars: Vec<ObservedBar> = bars.collect();
        let open_interest = py
            .detach(|| {
                let open_interest = observed_interest(&tables.open_interest);
                let open_interest = open_interest.map(|reading| reading.owned()).collect();
                let known = bars.iter().map(|bar| ObservedBar {
                    interval: Some(bar.length().unwrap_or(Millis::MINUTE)),
                    ..bar.clone()
                });
                in_base_units(open_interest, unit, known.collect())
            })
            .map_err(|fault| error::bad_table(py, &fault))?;
        let bars: Vec<BarRow> = (bars.into_iter().enumerate())
            .map(|(place, row)| bar_row(place, row, exchange))
            .collect::<Result<_, _>>()
            .map_err(|fault| error::bad_table(py, &fault))?;
        let open_interest: Vec<OpenInterestRow> = (open_interest.into_iter().enumerate())
            .map(|(place, row)| reading_row(place, row, exchange))
            .collect::<Result<_, _>>()
            .map_err(|fault| error::bad_table(py, &fault))?;
        self.with(py, |writer, key| {
            let orders = orders.into_iter().zip(*key..);
            let batch = Batch {
                orders: orders
                    .map(|(row, key)| order_row(row, format!("{key:012}")))
                    .collect(),
                bars,
                open_interest,
                ..Batch::default()
            };
            *key += u64::try_from(batch.orders.len()).unwrap_or_default();
            writer.append(&batch).map(drop)
        })
    }

    /// Records a session: a period in which an exchange was collected.
    fn run(
        &self,
        py: Python<'_>,
        exchange: &str,
        completeness: &str,
        start: i64,
        end: i64,
    ) -> PyResult<()> {
        let completeness = Completeness::parse(completeness).ok_or_else(|| {
            let refusal = BadQuery::new(
                "completeness",
                format!("{completeness:?} is not allowed"),
                Completeness::spellings(),
            );
            error::bad_query(py, &refusal)
        })?;
        self.with(py, |writer, _| {
            let run = writer.begin_session(exchange, completeness, Millis(start))?;
            let batch = Batch {
                seen: vec![(run, Millis(end))],
                ..Batch::default()
            };
            writer.append(&batch).map(drop)
        })
    }

    /// Records a gap in the collection of an exchange.
    fn gap(
        &self,
        py: Python<'_>,
        exchange: &str,
        start: i64,
        end: i64,
        reason: &str,
    ) -> PyResult<()> {
        let batch = Batch {
            gaps: vec![Gap {
                exchange: exchange.to_owned(),
                start: Millis(start),
                end: Millis(end),
                reason: reason.to_owned(),
                recorded_at: Millis(end),
                ..Gap::default()
            }],
            ..Batch::default()
        };
        self.with(py, |writer, _| writer.append(&batch).map(drop))
    }

    /// Records that `rows` orders of a gap were recovered at an instant.
    fn recovered(
        &self,
        py: Python<'_>,
        exchange: &str,
        start: i64,
        end: i64,
        rows: u64,
        recorded_at: i64,
    ) -> PyResult<()> {
        let batch = Batch {
            outcomes: vec![GapOutcome {
                exchange: exchange.to_owned(),
                start: Millis(start),
                end: Millis(end),
                outcome: GapState::Recovered,
                rows,
                how: "written as recovered".to_owned(),
                recorded_at: Millis(recorded_at),
            }],
            ..Batch::default()
        };
        self.with(py, |writer, _| writer.append(&batch).map(drop))
    }

    /// Stores an estimated map as one that a server has sent.
    #[pyo3(signature = (kind, symbol, params, timestamp, computed_at, reply, explain, version=None))]
    #[expect(clippy::too_many_arguments, reason = "one per column")]
    fn map(
        &self,
        py: Python<'_>,
        kind: String,
        symbol: String,
        params: String,
        timestamp: i64,
        computed_at: i64,
        reply: String,
        explain: Option<String>,
        version: Option<String>,
    ) -> PyResult<()> {
        let batch = Batch {
            maps: vec![MapRow {
                kind,
                symbol,
                params,
                timestamp: Millis(timestamp),
                computed_at: Millis(computed_at),
                reply,
                explain,
                version,
            }],
            ..Batch::default()
        };
        self.with(py, |writer, _| writer.append(&batch).map(drop))
    }

    /// Appends in one transaction what another service sent at `received_at`.
    ///
    /// Orders with a known key and maps that are stored already are ignored. `covered` lists exchanges with a time in
    /// which orders are complete; a time that continues the one before it extends its session. Returns the number of new
    /// orders and maps, and why orders were refused. As in tables, an order may not be far ahead of `received_at`.
    fn record(
        &self,
        py: Python<'_>,
        orders: &Bound<'_, PyAny>,
        keys: Vec<String>,
        received_at: i64,
        maps: Vec<RecordedMap>,
        covered: Vec<(String, i64, i64)>,
    ) -> PyResult<(usize, usize, Vec<String>)> {
        let nothing = py.None().into_bound(py);
        let tables = observed_unjudged(orders, &nothing, &nothing)?;
        let at = Millis(received_at);
        let (mut stored, mut refused) = (Vec::with_capacity(keys.len()), Vec::new());
        for (observed, key) in tables.orders.into_iter().zip(keys) {
            let row = OrderRow {
                received_at: at,
                ..order_row(observed, key)
            };
            match row.fault().or_else(|| too_late(row.order.timestamp, at)) {
                Some((column, message)) => refused.push(format!("{column}: {message}")),
                None => stored.push(row),
            }
        }
        let maps = maps
            .into_iter()
            .map(|(kind, symbol, params, reply, explain, version)| MapRow {
                kind,
                symbol,
                params,
                timestamp: at,
                computed_at: at,
                reply,
                explain: Some(explain),
                version,
            });
        let mut batch = Batch {
            orders: stored,
            maps: maps.collect(),
            ..Batch::default()
        };
        let done = self.with(py, |writer, _| {
            let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            for (exchange, start, end) in covered {
                let session = match sessions.get(&exchange) {
                    Some((known, until)) if *until == start => *known,
                    _ => writer.begin_session(&exchange, Completeness::Unknown, Millis(start))?,
                };
                sessions.insert(exchange, (session, end));
                batch.seen.push((session, Millis(end)));
            }
            writer.append(&batch)
        })?;
        Ok((done.orders, done.maps, refused))
    }

    /// Compacts the days that end by `until` into files. Returns the number of their rows.
    fn roll(&self, py: Python<'_>, until: i64) -> PyResult<u64> {
        self.with(py, |writer, _| {
            writer.compact(Millis(until)).map(|rolled| rolled.rows)
        })
    }

    /// Closes the archive. Another writer can then open it.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            drop(
                self.open
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take(),
            );
        });
    }
}
