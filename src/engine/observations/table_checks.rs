//! Row checks of input tables.

use std::collections::BTreeMap;

use rust_decimal::Decimal;

use crate::model::{
    Bar, Coin, Millis, ObservedBar, ObservedLiquidations, ObservedOrder, Order, RunMap, Symbol,
    exchange_name,
};

/// Minimum price. Products of prices and amounts within [`SMALLEST`] and [`LARGEST`] are finite, and not rounded to
/// zero.
const SMALLEST: f64 = 1e-100;
/// Maximum price or amount.
const LARGEST: f64 = 1e100;

/// Maximum value of an order in USD. The sum of ten billion such orders fits a decimal.
const MOST_USD: u64 = 1_000_000_000_000_000_000;

/// A fault in a table, with its column and row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{table}: column {column:?}, row {row}: {message}")]
pub struct TableFault {
    /// `orders`, `bars`, `open_interest` or `liquidations`.
    pub table: &'static str,
    /// Column of the fault.
    pub column: &'static str,
    /// Row of the fault, counted from 0 in the caller's table.
    pub row: usize,
    /// What is wrong, with the value and the allowed values.
    pub message: String,
}

/// Formats a number for a message, with about three digits.
pub fn shown(value: f64) -> String {
    if (0.01..1e6).contains(&value) {
        let places = if value >= 100.0 { 0 } else { 2 };
        format!("{value:.places$}")
    } else {
        format!("{value:.2e}")
    }
}

/// The length of a bar that states none. A stated length is above zero.
pub const UNKNOWN_LENGTH: i64 = 0;

/// What the rows of a table say about each coin.
#[derive(Default)]
pub struct ByCoin<T> {
    /// The coin of each spelling in the table.
    spelled: RunMap<String, String>,
    coins: RunMap<String, T>,
}

impl<T: Default> ByCoin<T> {
    /// The coin that `row` names, and its entry.
    pub fn of(&mut self, text: &str, row: TableRow) -> Result<(&str, &mut T), TableFault> {
        let coin = self.spelled.at(text);
        if coin.is_empty() {
            *coin = row.coin(text)?;
        }
        Ok((coin, self.coins.at(coin.as_str())))
    }

    /// The entries in the order of the names of coins.
    pub fn into_map(self) -> BTreeMap<String, T> {
        self.coins.into_map().into_iter().collect()
    }
}

/// The exchanges of a table, by their spelling.
#[derive(Default)]
pub struct ExchangeNames(RunMap<String, String>);

impl ExchangeNames {
    /// The name of the exchange that `row` names; empty if it names none.
    pub fn of(&mut self, text: Option<&str>, row: TableRow) -> Result<&str, TableFault> {
        let Some(text) = text else {
            return Ok("");
        };
        let name = self.0.at(text);
        if name.is_empty() {
            *name = row.exchange(text)?;
        }
        Ok(name)
    }
}

/// A row of a table, to which faults refer.
#[derive(Clone, Copy)]
pub struct TableRow {
    table: &'static str,
    row: usize,
}

impl TableRow {
    pub fn of_orders(row: usize) -> Self {
        Self {
            table: "orders",
            row,
        }
    }

    pub fn of_bars(row: usize) -> Self {
        Self { table: "bars", row }
    }

    pub fn of_open_interest(row: usize) -> Self {
        Self {
            table: "open_interest",
            row,
        }
    }

    pub fn of_liquidations(row: usize) -> Self {
        Self {
            table: "liquidations",
            row,
        }
    }

    pub fn fault(self, column: &'static str, message: impl Into<String>) -> TableFault {
        TableFault {
            table: self.table,
            column,
            row: self.row,
            message: message.into(),
        }
    }

    fn check(
        self,
        column: &'static str,
        holds: bool,
        message: impl FnOnce() -> String,
    ) -> Result<(), TableFault> {
        if holds {
            Ok(())
        } else {
            Err(self.fault(column, message()))
        }
    }

    /// Checks a price: finite and above zero.
    fn price(self, column: &'static str, value: f64) -> Result<(), TableFault> {
        self.check(column, (SMALLEST..=LARGEST).contains(&value), || {
            format!("{value:?} is not a price; allowed: {SMALLEST:?} to {LARGEST:?}")
        })
    }

    /// Checks an amount: finite and not negative.
    pub fn amount(self, column: &'static str, value: f64) -> Result<(), TableFault> {
        self.check(column, (0.0..=LARGEST).contains(&value), || {
            format!("{value:?} is not an amount; allowed: 0 to {LARGEST:?}")
        })
    }

    /// Checks a decimal: above zero.
    fn positive(self, column: &'static str, value: Decimal) -> Result<(), TableFault> {
        self.check(column, value > Decimal::ZERO, || {
            format!("{value} is not above 0")
        })
    }

    /// The coin of a symbol or pair in any spelling.
    ///
    /// Scaled listings such as 1000PEPE are refused, because tables are converted to single coins before this check.
    fn coin(self, text: &str) -> Result<String, TableFault> {
        let symbol = Symbol::read(text)
            .ok_or_else(|| self.fault("symbol", format!("{text:?} is blank; name a coin")))?;
        let (coin, scale) = (symbol.coin(), symbol.scale());
        self.check("symbol", scale == 1, || {
            format!(
                "{text:?} names a listing of {scale} coins; give the coin's own prices and amounts, and name it {coin:?}"
            )
        })?;
        Ok(coin.to_owned())
    }

    fn exchange(self, text: &str) -> Result<String, TableFault> {
        let name = exchange_name(text);
        self.check("exchange", !name.is_empty(), || {
            format!("{text:?} is blank; name an exchange")
        })?;
        Ok(name)
    }

    /// Checks and normalises an order.
    pub fn order(self, mut row: ObservedOrder) -> Result<ObservedOrder, TableFault> {
        let order = &mut row.order;
        order.exchange = self.exchange(&order.exchange)?;
        let read = Symbol::read(&order.symbol).ok_or_else(|| {
            let message = format!("{:?} is blank; name a trading pair", order.symbol);
            self.fault("symbol", message)
        })?;
        let upper = order.symbol.trim().to_uppercase();
        // The case of `tBTCUSD` says that its first letter does not belong to the coin.
        let is_same = Symbol::read(&upper).is_some_and(|upper| upper.name() == read.name());
        order.symbol = if is_same { upper } else { read.to_string() };
        self.amounts(order)?;
        if let Some(coin) = &mut row.coin {
            *coin = Coin::new(coin)
                .ok_or_else(|| {
                    self.fault(
                        "coin",
                        format!("{coin:?} is blank; name a coin or leave it out"),
                    )
                })?
                .to_string();
        }
        Ok(row)
    }

    /// Checks the numbers of an order.
    pub fn amounts(self, order: &Order) -> Result<(), TableFault> {
        self.positive("price", order.price)?;
        self.positive("qty", order.qty)?;
        self.check("value_usd", order.value_usd >= Decimal::ZERO, || {
            format!("{} is below 0", order.value_usd)
        })?;
        self.check(
            "value_usd",
            order.value_usd <= Decimal::from(MOST_USD),
            || format!("{} is above {MOST_USD}", order.value_usd),
        )
    }

    /// Checks a bar or period length in milliseconds, if given.
    fn interval(self, interval: Option<i64>) -> Result<(), TableFault> {
        // This check finds lengths given in minutes or seconds instead of milliseconds. They would close bars too
        // early.
        let whole = |interval| interval > 0 && interval % Millis::MINUTE == 0;
        self.check("interval", interval.is_none_or(whole), || {
            format!(
                "{} ms is not a bar length; allowed: whole minutes above 0, such as {} ms",
                interval.unwrap_or_default(),
                5 * Millis::MINUTE
            )
        })
    }

    /// Checks the length and the amounts of a period.
    pub fn liquidations(self, period: &ObservedLiquidations) -> Result<(), TableFault> {
        self.interval(period.interval)?;
        self.amount("long_usd", period.long_usd)?;
        self.amount("short_usd", period.short_usd)
    }

    /// Checks the given close of a bar against its open and length.
    fn close_of<S>(self, bar: &ObservedBar<S>) -> Result<(), TableFault> {
        let (Some(closes_at), Some(length)) = (bar.closes_at, bar.length()) else {
            return Ok(());
        };
        let opens = bar.timestamp;
        if bar.interval.is_some() {
            return self.check(
                "closes_at",
                opens.0.checked_add(length) == Some(closes_at.0),
                || {
                    format!(
                        "{closes_at} is not {length} ms (the interval) after the open at {opens}"
                    )
                },
            );
        }
        self.check("closes_at", length > 0 && length % Millis::MINUTE == 0, || {
            format!(
                "{closes_at} is {length} ms after the open at {opens}; a bar closes whole minutes after it opened, at the \
                 instant at which the next one opens"
            )
        })
    }

    /// Checks a bar. Its length is [`UNKNOWN_LENGTH`] if the row states none.
    pub fn bar<S>(self, given: &ObservedBar<S>) -> Result<Bar, TableFault> {
        self.interval(given.interval)?;
        self.close_of(given)?;
        let bar = Bar {
            open_time: given.timestamp,
            interval: given.length().unwrap_or(UNKNOWN_LENGTH),
            open: given.open,
            high: given.high,
            low: given.low,
            close: given.close,
            volume: given.volume,
        };
        let Bar {
            open,
            high,
            low,
            close,
            volume,
            ..
        } = bar;
        for (column, value) in [
            ("open", open),
            ("high", high),
            ("low", low),
            ("close", close),
        ] {
            self.price(column, value)?;
        }
        self.check("high", high >= open.max(close).max(low), || {
            format!(
                "{high} is below another price of the bar (open {open}, low {low}, close {close})"
            )
        })?;
        self.check("low", low <= open.min(close), || {
            format!("{low} is above another price of the bar (open {open}, close {close})")
        })?;
        self.amount("volume", volume)?;
        Ok(bar)
    }

    /// The close of a bar that opens at `open` and lasts `interval`.
    pub fn close(self, open: Millis, interval: i64) -> Result<Millis, TableFault> {
        open.0.checked_add(interval).map(Millis).ok_or_else(|| {
            self.fault(
                "timestamp",
                format!("{open} is after the latest supported time"),
            )
        })
    }
}
