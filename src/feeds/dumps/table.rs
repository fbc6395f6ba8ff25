//! CSV tables of orders, bars and open interest with common column names.
//!
//! Missing columns come from elsewhere: the exchange from the caller, symbol and bar interval from the file name. The
//! side of an order is that of the position (`LONG`, `SHORT`). Tables with the side of the closing order (`BUY`,
//! `SELL`) are a format of their own, because the two meanings of `BUY` cannot be distinguished.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::quality::SeedableRandomState;
use rust_decimal::Decimal;

use super::format::Format;
use super::row::{DumpRow, RowBar, RowOrder, RowReading};
use crate::feeds::decoding::event::{Completeness, stripped};
use crate::feeds::dumps::cells::{DumpColumn, DumpLine, RowError, column, columns};
use crate::feeds::dumps::file_name::FileName;
use crate::feeds::dumps::occurrence::{Occurrences, key};
use crate::model::seeded;
use crate::model::{Millis, Order, Side, Symbol, exchange_name, read_span};

pub(super) const TIME: &[&str] = &[
    "timestamp",
    "time",
    "ts",
    "event_ts",
    "open_time",
    "t",
    "datetime",
    "date",
];
pub(super) const SYMBOL: &[&str] = &["symbol", "pair", "coin"];
pub(super) const EXCHANGE: &[&str] = &["exchange", "venue"];
pub(super) const SIDE: &[&str] = &["side"];
pub(super) const PRICE: &[&str] = &["price"];
pub(super) const QTY: &[&str] = &["qty", "quantity"];
const VALUE: &[&str] = &["value_usd", "notional_usd", "value"];
const RECEIVED: &[&str] = &["received_at"];
pub(super) const PRICES: [&[&str]; 4] = [
    &["open", "o"],
    &["high", "h"],
    &["low", "l"],
    &["close", "c"],
];
pub(super) const VOLUME: &[&str] = &["volume", "v"];
pub(super) const VOLUME_USD: &[&str] = &["volume_usd"];
const INTERVAL: &[&str] = &["interval"];
pub(super) const OPEN_INTEREST: &[&str] = &["open_interest", "oi"];
pub(super) const OPEN_INTEREST_USD: &[&str] = &["open_interest_usd", "oi_usd"];
const CLOSE: &[&str] = &["close"];
/// Capacity of the name cache.
const MOST_NAMES: usize = 4096;
/// Decimals of a volume divided by a price.
const PLACES: u32 = 8;

/// The reader of a table.
#[derive(Debug)]
pub(super) struct CsvTable {
    kind: Kind,
    time: DumpColumn,
    symbol: Option<DumpColumn>,
    exchange: Option<DumpColumn>,
    /// Replacements for missing columns.
    of_symbol: Option<String>,
    of_exchange: Option<String>,
    /// Orders seen in the file so far.
    seen: Occurrences,
    /// Caches of parsed names, of which a table has few.
    exchanges: Names<String>,
    symbols: Names<Arc<Symbol>>,
}

/// A cache of parsed names by their text.
#[derive(Debug)]
struct Names<T>(HashMap<String, T, SeedableRandomState>);

impl<T: Clone> Names<T> {
    fn new() -> Self {
        Self(HashMap::with_hasher(seeded()))
    }

    fn of(&mut self, text: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        if let Some(known) = self.0.get(text) {
            return Some(known.clone());
        }
        let name = read(text)?;
        if self.0.len() >= MOST_NAMES {
            self.0.clear();
        }
        self.0.insert(text.to_owned(), name.clone());
        Some(name)
    }
}

#[derive(Debug)]
enum Kind {
    Orders {
        columns: [DumpColumn; 3],
        value: Option<DumpColumn>,
        received: Option<DumpColumn>,
        /// Whether the side is that of the closing order.
        of_order: bool,
    },
    Bars {
        prices: [DumpColumn; 4],
        volume: DumpColumn,
        /// Whether the volume is in USD.
        in_usd: bool,
        interval: Result<DumpColumn, i64>,
    },
    OpenInterest {
        amount: DumpColumn,
        in_usd: bool,
        /// Delay of a reading after its timestamp: a reading at the end of a period may be stamped with its start.
        later: i64,
    },
}

impl CsvTable {
    /// The reader for a header, or an error that names the missing information.
    pub(super) fn new(
        format: Format,
        header: &[String],
        first: &[Vec<String>],
        name: &FileName,
        exchange: Option<&str>,
    ) -> Result<Self, String> {
        let missing = |what: &str| format!("there is no column of {what}");
        let time = column(header, TIME).ok_or_else(|| missing("times"))?;
        let symbol = column(header, SYMBOL);
        let of_exchange = exchange.map(exchange_name);
        let by_exchange = column(header, EXCHANGE);
        if by_exchange.is_none() && of_exchange.is_none() {
            return Err("no exchange is known: give exchange=".to_owned());
        }
        let of_symbol = name.symbol();
        if symbol.is_none() && of_symbol.is_none() {
            return Err(
                "no symbol is known: name the file after it, as BTC_USDT-5m.csv".to_owned(),
            );
        }
        let kind = match format {
            Format::Orders | Format::ForceOrders => Kind::Orders {
                columns: columns(header, [SIDE, PRICE, QTY])
                    .ok_or_else(|| missing("side, price and qty"))?,
                value: column(header, VALUE),
                received: column(header, RECEIVED),
                of_order: format == Format::ForceOrders,
            },
            Format::OpenInterest => Kind::OpenInterest {
                amount: column(header, OPEN_INTEREST).ok_or_else(|| missing("open_interest"))?,
                in_usd: false,
                later: 0,
            },
            Format::OpenInterestUsd => Kind::OpenInterest {
                amount: column(header, OPEN_INTEREST_USD)
                    .ok_or_else(|| missing("open_interest_usd"))?,
                in_usd: true,
                later: 0,
            },
            Format::CoinGlassOpenInterestCoins | Format::CoinGlassOpenInterestUsd => {
                Kind::OpenInterest {
                    amount: column(header, CLOSE).ok_or_else(|| missing("close"))?,
                    in_usd: format.is_in_usd(),
                    later: length(name, first, time, by_exchange, symbol)?,
                }
            }
            _ => {
                let in_usd = format == Format::CoinGlassPrices;
                let volume = if in_usd { VOLUME_USD } else { VOLUME };
                Kind::Bars {
                    prices: columns(header, PRICES)
                        .ok_or_else(|| missing("open, high, low and close"))?,
                    volume: column(header, volume).ok_or_else(|| missing("volume"))?,
                    in_usd,
                    interval: match column(header, INTERVAL) {
                        Some(column) => Ok(column),
                        None => Err(length(name, first, time, by_exchange, symbol)?),
                    },
                }
            }
        };
        Ok(Self {
            kind,
            time,
            symbol,
            exchange: by_exchange,
            of_symbol,
            of_exchange,
            seen: Occurrences::new(),
            exchanges: Names::new(),
            symbols: Names::new(),
        })
    }

    pub(super) fn row(&mut self, line: DumpLine<'_>) -> Result<DumpRow, RowError> {
        let exchange = match (self.exchange, &self.of_exchange) {
            (Some(column), _) => {
                let text = line.text(column)?;
                self.exchanges.of(text, |text| Some(exchange_name(text)))
            }
            (None, name) => name.clone(),
        };
        let exchange = exchange.ok_or_else(|| RowError::new("exchange: blank", ""))?;
        let contract = match (self.symbol, &self.of_symbol) {
            (Some(column), _) => line.text(column)?,
            (None, Some(name)) => name.as_str(),
            (None, None) => return Err(RowError::new("symbol: blank", "")),
        };
        let read = |contract: &str| Symbol::read(contract).map(Arc::new);
        let symbol = self.symbols.of(contract, read);
        let symbol = symbol.ok_or_else(|| RowError::new("symbol: names no coin", contract))?;
        let timestamp = line.instant(self.time)?;
        match &self.kind {
            Kind::Orders {
                columns,
                value,
                received,
                of_order,
            } => {
                let mut order = order(
                    line,
                    (exchange, contract, &symbol, timestamp),
                    (*columns, *value, *received, *of_order),
                )?;
                self.seen.number(&mut order, contract);
                Ok(DumpRow::Order(order))
            }
            Kind::Bars {
                prices: columns,
                volume,
                in_usd,
                interval,
            } => {
                let mut prices = [Decimal::ZERO; 4];
                for (price, column) in prices.iter_mut().zip(columns) {
                    *price = line.decimal(*column)?;
                }
                let interval = match interval {
                    Err(interval) => *interval,
                    Ok(column) => {
                        let text = line.text(*column)?;
                        read_span(text).ok_or_else(|| {
                            RowError::new("interval: not a length such as 5m or 1h", text)
                        })?
                    }
                };
                let mut volume = line.decimal(*volume)?;
                if *in_usd {
                    let [_, high, low, _] = prices;
                    volume = in_coins(volume, high, low).ok_or_else(|| {
                        RowError::new(
                            "volume_usd: does not fit a decimal in coins",
                            &volume.to_string(),
                        )
                    })?;
                }
                Ok(DumpRow::Bar(RowBar {
                    exchange,
                    contract: contract.to_owned(),
                    timestamp,
                    interval,
                    prices,
                    volume,
                }))
            }
            Kind::OpenInterest {
                amount,
                in_usd,
                later,
            } => {
                let reading = RowReading {
                    exchange,
                    contract: contract.to_owned(),
                    timestamp: timestamp.on(*later),
                    open_interest: stripped(line.decimal(*amount)?),
                    received_at: None,
                };
                if *in_usd {
                    return Ok(DumpRow::ReadingInUsd(reading));
                }
                Ok(DumpRow::Reading(reading))
            }
        }
    }
}

/// Exchange, contract, symbol and time of an order.
type Of<'a> = (String, &'a str, &'a Symbol, Millis);
/// Columns of side, price and quantity; optionally of value and time of receipt; and whether the side is the closing
/// order's.
type Columns = (
    [DumpColumn; 3],
    Option<DumpColumn>,
    Option<DumpColumn>,
    bool,
);

fn order(
    line: DumpLine<'_>,
    (exchange, contract, symbol, timestamp): Of<'_>,
    ([side, price, qty], value, received, of_order): Columns,
) -> Result<RowOrder, RowError> {
    let side = position(line.text(side)?, of_order)?;
    let (price, qty) = (line.decimal(price)?, line.decimal(qty)?);
    let value_usd = value.map(|value| line.decimal(value)).transpose()?;
    let received_at = received.map(|column| line.instant(column)).transpose()?;
    let (price, qty) = (stripped(price), stripped(qty));
    Ok(RowOrder {
        order: Order {
            exchange,
            symbol: symbol.name().to_owned(),
            side,
            price,
            qty,
            value_usd: stripped(value_usd.unwrap_or_default()),
            timestamp,
        },
        is_valued: value_usd.is_some(),
        coin: symbol.coin().to_owned(),
        price_kind: None,
        completeness: Completeness::Unknown,
        native_id: Some(contract.to_owned()),
        dedupe_key: key(contract, side, timestamp, [qty, price]),
        received_at,
    })
}

/// The side of the position.
fn position(word: &str, of_order: bool) -> Result<Side, RowError> {
    if of_order {
        return match word.to_ascii_uppercase().as_str() {
            "SELL" => Ok(Side::Long),
            "BUY" => Ok(Side::Short),
            _ => Err(RowError::new("side: not BUY or SELL", word)),
        };
    }
    Side::read(word).ok_or_else(|| RowError::new("side: not LONG or SHORT", word))
}

/// Converts a volume in USD to coins at the midpoint of high and low.
fn in_coins(usd: Decimal, high: Decimal, low: Decimal) -> Option<Decimal> {
    let middle = high.checked_add(low)?.checked_div(Decimal::TWO)?;
    let coins = usd.checked_div(middle)?.round_dp(PLACES);
    Some(stripped(coins))
}

/// The interval of a file's bars: from its name unless the first rows contradict it, otherwise from their distance.
fn length(
    name: &FileName,
    first: &[Vec<String>],
    time: DumpColumn,
    exchange: Option<DumpColumn>,
    symbol: Option<DumpColumn>,
) -> Result<i64, String> {
    const HOW: &str = "name the file after it, as BTC_USDT-5m.csv, or give a column interval";
    let apart = apart(first, time, exchange, symbol);
    let Some(named) = name.interval() else {
        return apart
            .map(|apart| apart.least)
            .filter(|least| least % Millis::MINUTE == 0 && Millis::DAY % least == 0)
            .ok_or_else(|| format!("the bar interval is unknown: {HOW}"));
    };
    // With missing bars the distances are larger, but not all by the same factor.
    let contradicts = |apart: &Apart| {
        let is_regular = apart.least == apart.most && apart.pairs >= ENOUGH;
        apart.least < named || apart.least > named && is_regular
    };
    match apart.filter(contradicts) {
        None => Ok(named),
        Some(Apart { least, .. }) => Err(format!(
            "its name says bars of {named} ms, but its rows are {least} ms apart; state the interval: {HOW}"
        )),
    }
}

/// This many equal distances determine the interval.
const ENOUGH: usize = 10;

/// Distances between the first bars of each series.
struct Apart {
    least: i64,
    most: i64,
    pairs: usize,
}

fn apart(
    first: &[Vec<String>],
    time: DumpColumn,
    exchange: Option<DumpColumn>,
    symbol: Option<DumpColumn>,
) -> Option<Apart> {
    let mut before: HashMap<[&str; 2], i64> = HashMap::new();
    let mut found: Option<Apart> = None;
    for row in first {
        let cell = |column: Option<DumpColumn>| {
            let cell = column.and_then(|column| row.get(column.place));
            cell.map_or("", String::as_str)
        };
        let text = cell(Some(time));
        let at = match text.parse::<i64>() {
            Ok(micros) if text.len() > 15 => micros / 1000,
            _ => match Millis::read(text) {
                Some(at) => at.0,
                None => continue,
            },
        };
        if let Some(earlier) = before.insert([cell(exchange), cell(symbol)], at) {
            let apart = at.abs_diff(earlier);
            let apart = i64::try_from(apart).unwrap_or(i64::MAX);
            if apart > 0 {
                let found = found.get_or_insert(Apart {
                    least: apart,
                    most: apart,
                    pairs: 0,
                });
                found.least = found.least.min(apart);
                found.most = found.most.max(apart);
                found.pairs += 1;
            }
        }
    }
    found
}
