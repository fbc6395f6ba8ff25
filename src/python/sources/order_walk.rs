//! Walks over the orders of an archive.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use rust_decimal::Decimal;

use crate::archive::Filter;
use crate::contract::BadQuery;
use crate::market::{self, QueryNames};
use crate::model::{GroupedOrder, Millis, Symbol};
use crate::python::calls::call::compute;
use crate::python::calls::question::{MAX_ROWS, PAGE_SIZES, orders, whole};
use crate::python::error;
use crate::python::rows::columns::Columns;
use crate::python::rows::rows::Table;

/// Maximum number of orders per returned table.
const CHUNK: usize = 1 << 16;

/// The part of a walk that has not been returned yet.
struct Left {
    /// Days that have not been read yet; the next is last.
    days: Vec<Millis>,
    orders: VecDeque<GroupedOrder>,
    /// Whether an order has been found.
    any: bool,
}

/// A walk over the orders of an archive, newest first or oldest first.
#[pyclass(frozen, module = "liqdata._core")]
pub(crate) struct History {
    market: Arc<market::Market>,
    filter: Filter,
    /// The requested symbol. `None` means all.
    symbol: Option<Symbol>,
    /// The minimum value in USD.
    least: Option<Decimal>,
    /// Whether rows have the group column.
    groups: bool,
    /// Whether the oldest order comes first.
    oldest_first: bool,
    left: Mutex<Left>,
}

impl History {
    /// Creates a walk over the orders of `days`, which are sorted oldest first.
    pub(crate) fn new(
        market: Arc<market::Market>,
        filter: Filter,
        (symbol, least): (Option<Symbol>, Option<Decimal>),
        (groups, oldest_first): (bool, bool),
        mut days: Vec<Millis>,
    ) -> Self {
        let orders = VecDeque::new();
        if oldest_first {
            days.reverse();
        }
        Self {
            market,
            filter,
            symbol,
            least,
            groups,
            oldest_first,
            left: Mutex::new(Left {
                days,
                orders,
                any: false,
            }),
        }
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl History {
    /// Returns the next rows. `None` at the end.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        let more = compute(py, || {
            let mut left = self.left();
            while left.orders.is_empty() {
                let (Some(day), Some(archive)) = (left.days.last(), self.market.archive()) else {
                    if !left.any {
                        self.market.check_names(&QueryNames {
                            symbols: self.symbol.iter().collect(),
                            exchange: self.filter.exchange.as_deref(),
                        })?;
                    }
                    return Ok(false);
                };
                // If a day cannot be read, the next call tries it again.
                left.orders = archive.day_of_orders(*day, &self.filter)?.into();
                if let Some(symbol) = &self.symbol {
                    // The filter has compared the coin stored with each order, so all these orders have the coin of
                    // `symbol`.
                    let coin = symbol.coin();
                    left.orders
                        .retain(|order| symbol.means(&order.order.symbol, coin));
                }
                if let Some(least) = self.least {
                    left.orders.retain(|order| order.order.value_usd >= least);
                }
                if self.oldest_first {
                    left.orders.make_contiguous().reverse();
                }
                left.days.pop();
            }
            left.any = true;
            Ok(true)
        })?;
        // Signals are checked before rows are taken, so that an interrupted caller loses no rows.
        py.check_signals()?;
        let rows: Option<Vec<GroupedOrder>> = py.detach(|| {
            let mut left = self.left();
            let wanted = left.orders.len().min(CHUNK);
            more.then(|| left.orders.drain(..wanted).collect())
        });
        Ok(rows.map(|rows| Columns::from(rows).grouped(self.groups).into()))
    }
}

/// Checks the arguments of a walk over a local market. Returns the maximum number of rows.
#[pyfunction]
#[pyo3(signature = (symbol, exchange, min_usd, page_size, max_rows))]
pub(crate) fn walk_bounds(
    symbol: &Bound<'_, PyAny>,
    exchange: &Bound<'_, PyAny>,
    min_usd: &Bound<'_, PyAny>,
    page_size: &Bound<'_, PyAny>,
    max_rows: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<usize>> {
    let py = symbol.py();
    orders(symbol, exchange, min_usd, false)?;
    let bounded = |name: &'static str, value: i128, most: i128, allowed: &str| {
        usize::try_from(value)
            .ok()
            .filter(|_| (1..=most).contains(&value))
            .ok_or_else(|| {
                error::bad_query(
                    py,
                    &BadQuery::new(name, format!("{value} is out of bounds"), allowed),
                )
            })
    };
    bounded(
        "page_size",
        whole("page_size", page_size, PAGE_SIZES)?,
        1000,
        PAGE_SIZES,
    )?;
    let most = max_rows
        .map(|rows| {
            bounded(
                "max_rows",
                whole("max_rows", rows, MAX_ROWS)?,
                i128::from(i64::MAX),
                MAX_ROWS,
            )
        })
        .transpose()?;
    Ok(most)
}
