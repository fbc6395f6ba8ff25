//! CSV tables of orders, bars and open interest with common column names.
//!
//! The caller gives the exchange if its column is missing. The file name gives a missing symbol or bar interval. The
//! side of an order is that of the liquidated position (`LONG`, `SHORT`). Tables with the side of the closing order
//! (`BUY`, `SELL`) are a separate format, because `BUY` may also mean a long position.

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
use crate::model::{Millis, Order, Symbol, exchange_name};
use crate::tables::{HOW, Spacing, Spacings, column_names as names, text_cell};

pub(super) const PRICES: [&[&str]; 4] = [names::OPEN, names::HIGH, names::LOW, names::CLOSE];
/// Maximum number of names in a name cache.
const MOST_NAMES: usize = 4096;
/// Number of decimals of a volume in coins that is computed from USD.
const PLACES: u32 = 8;

/// Returns the column with the symbols, otherwise the column with the coins.
pub(super) fn symbol_column(header: &[String]) -> Option<DumpColumn> {
    column(header, names::SYMBOL).or_else(|| column(header, names::COIN))
}

/// Decoder of a table.
#[derive(Debug)]
pub(super) struct CsvTable {
    kind: Kind,
    time: DumpColumn,
    symbol: Option<DumpColumn>,
    exchange: Option<DumpColumn>,
    /// Symbol and exchange that are used if the table has no such columns.
    of_symbol: Option<String>,
    of_exchange: Option<String>,
    /// The orders decoded from the file so far.
    seen: Occurrences,
    /// Caches of parsed exchange names and symbols.
    exchanges: Names<String>,
    symbols: Names<Arc<Symbol>>,
}

/// A cache of parsed names, keyed by their text.
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
        /// Whether the side is that of the closing order instead of the position.
        of_order: bool,
    },
    Bars {
        prices: [DumpColumn; 4],
        volume: DumpColumn,
        /// Whether the volume is in USD instead of coins.
        in_usd: bool,
        interval: Option<DumpColumn>,
        closes: Option<DumpColumn>,
        /// Length in milliseconds of bars that do not state their length.
        otherwise: Option<i64>,
        trades: Option<DumpColumn>,
    },
    OpenInterest {
        amount: DumpColumn,
        received: Option<DumpColumn>,
        in_usd: bool,
        /// Milliseconds to add to a timestamp.
        ///
        /// A reading at the end of a period may have the start of the period as its timestamp.
        later: i64,
    },
}

impl CsvTable {
    /// Creates the decoder for a header; the error names the missing information.
    pub(super) fn new(
        format: Format,
        header: &[String],
        first: &[Vec<String>],
        name: &FileName,
        exchange: Option<&str>,
    ) -> Result<Self, String> {
        let missing = |what: &str| format!("there is no column with {what}");
        let time = column(header, names::TIMESTAMP).ok_or_else(|| missing("times"))?;
        let symbol = symbol_column(header);
        let of_exchange = exchange.map(exchange_name);
        let by_exchange = column(header, names::EXCHANGE);
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
                columns: columns(header, [names::SIDE, names::PRICE, names::QTY])
                    .ok_or_else(|| missing("side, price and qty"))?,
                value: column(header, names::VALUE_USD),
                received: column(header, names::RECEIVED_AT),
                of_order: format == Format::ForceOrders,
            },
            Format::OpenInterest => Kind::OpenInterest {
                amount: column(header, names::OPEN_INTEREST)
                    .ok_or_else(|| missing("open_interest"))?,
                received: column(header, names::RECEIVED_AT),
                in_usd: false,
                later: 0,
            },
            Format::OpenInterestUsd => Kind::OpenInterest {
                amount: column(header, names::OPEN_INTEREST_USD)
                    .ok_or_else(|| missing("open_interest_usd"))?,
                received: column(header, names::RECEIVED_AT),
                in_usd: true,
                later: 0,
            },
            Format::CoinGlassOpenInterestCoins | Format::CoinGlassOpenInterestUsd => {
                Kind::OpenInterest {
                    amount: column(header, names::CLOSE).ok_or_else(|| missing("close"))?,
                    received: None,
                    in_usd: format.is_in_usd(),
                    later: length(name, first, time, by_exchange, symbol)?,
                }
            }
            _ => {
                let in_usd = format == Format::CoinGlassPrices;
                let volume = if in_usd {
                    names::VOLUME_USD
                } else {
                    names::VOLUME
                };
                let (interval, closes) = (
                    column(header, names::INTERVAL),
                    column(header, names::CLOSES_AT),
                );
                Kind::Bars {
                    prices: columns(header, PRICES)
                        .ok_or_else(|| missing("open, high, low and close"))?,
                    volume: column(header, volume).ok_or_else(|| missing("volume"))?,
                    in_usd,
                    interval,
                    closes,
                    otherwise: match interval.or(closes) {
                        Some(_) => None,
                        None => Some(length(name, first, time, by_exchange, symbol)?),
                    },
                    trades: column(header, names::TRADES),
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
        let text = self.exchange.map(|column| line.some_text(column));
        let exchange = match text.transpose()?.flatten() {
            Some(text) => self.exchanges.of(text, |text| Some(exchange_name(text))),
            None => self.of_exchange.clone(),
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
        match &self.kind {
            Kind::Orders {
                columns,
                value,
                received,
                of_order,
            } => {
                let mut order = order(
                    line,
                    (exchange, contract, &symbol, self.time),
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
                closes,
                otherwise,
                trades,
            } => {
                let timestamp = line.instant(self.time)?;
                let interval = interval_of(line, timestamp, *interval, *closes)?.or(*otherwise);
                let mut prices = [Decimal::ZERO; 4];
                for (price, column) in prices.iter_mut().zip(columns) {
                    *price = line.decimal(*column)?;
                }
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
                    trades: match trades {
                        Some(column) if line.some_text(*column)?.is_some() => {
                            Some(line.decimal(*column)?)
                        }
                        _ => None,
                    },
                }))
            }
            Kind::OpenInterest {
                amount,
                received,
                in_usd,
                later,
            } => {
                let timestamp = line.instant(self.time)?;
                let reading = RowReading {
                    exchange,
                    contract: contract.to_owned(),
                    timestamp: timestamp.on(*later),
                    open_interest: stripped(line.decimal(*amount)?),
                    received_at: some_instant(line, *received)?,
                };
                if *in_usd {
                    return Ok(DumpRow::ReadingInUsd(reading));
                }
                Ok(DumpRow::Reading(reading))
            }
        }
    }
}

/// Exchange, contract, symbol and time column of an order.
type Of<'a> = (String, &'a str, &'a Symbol, DumpColumn);
/// Columns of an order: side, price, quantity; value and time of receipt, if any.
///
/// The last element says whether the side is that of the closing order.
type Columns = (
    [DumpColumn; 3],
    Option<DumpColumn>,
    Option<DumpColumn>,
    bool,
);

fn order(
    line: DumpLine<'_>,
    (exchange, contract, symbol, time): Of<'_>,
    ([side, price, qty], value, received, of_order): Columns,
) -> Result<RowOrder, RowError> {
    let word = line.text(side)?;
    let side = text_cell::side(word, of_order).map_err(|why| side.error(why, word))?;
    let (price, qty) = (line.decimal(price)?, line.decimal(qty)?);
    let value_usd = value.map(|value| line.decimal(value)).transpose()?;
    let timestamp = line.instant(time)?;
    let received_at = some_instant(line, received)?;
    let (price, qty) = (stripped(price), stripped(qty));
    Ok(RowOrder {
        order: Order {
            exchange,
            symbol: contract.to_owned(),
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

/// Reads the time in a column that may be missing or blank.
fn some_instant(
    line: DumpLine<'_>,
    column: Option<DumpColumn>,
) -> Result<Option<Millis>, RowError> {
    let Some(column) = column else {
        return Ok(None);
    };
    let is_stated = line.some_text(column)?.is_some();
    is_stated.then(|| line.instant(column)).transpose()
}

/// Returns the length of a bar in milliseconds.
///
/// It is stated in the line, or is the distance from open to close.
fn interval_of(
    line: DumpLine<'_>,
    opens: Millis,
    interval: Option<DumpColumn>,
    closes: Option<DumpColumn>,
) -> Result<Option<i64>, RowError> {
    let closing = some_instant(line, closes)?.map(|at| text_cell::closing(opens, at));
    let Some((column, text)) = interval
        .map(|column| Ok((column, line.some_text(column)?)))
        .transpose()?
        .and_then(|(column, text)| Some((column, text?)))
    else {
        return Ok(closing);
    };
    let stated = text_cell::length(text).map_err(|why| column.error(why, text))?;
    if let Some(closing) = closing.filter(|closing| *closing != stated) {
        let reason = text_cell::other_length(stated);
        let shown = format!("{closing} ms after the open");
        return Err(RowError::new(format!("closes_at: {reason}"), &shown));
    }
    Ok(Some(stated))
}

/// Converts a volume in USD to coins, at the midpoint of high and low.
fn in_coins(usd: Decimal, high: Decimal, low: Decimal) -> Option<Decimal> {
    let middle = high.checked_add(low)?.checked_div(Decimal::TWO)?;
    let coins = usd.checked_div(middle)?.round_dp(PLACES);
    Some(stripped(coins))
}

/// Returns the bar interval of a file, in milliseconds.
///
/// The name gives the interval, and first rows that contradict it are an error. Without an interval in the name, the
/// distance between the first rows gives it.
fn length(
    name: &FileName,
    first: &[Vec<String>],
    time: DumpColumn,
    exchange: Option<DumpColumn>,
    symbol: Option<DumpColumn>,
) -> Result<i64, String> {
    let spacing = spacing(first, time, exchange, symbol);
    let Some(named) = name.interval() else {
        return spacing
            .map(|spacing| spacing.commonest)
            .filter(|length| length % Millis::MINUTE == 0 && Millis::DAY % length == 0)
            .ok_or_else(|| format!("the bar interval is unknown: {HOW}"));
    };
    match spacing.filter(|spacing| spacing.contradicts(named)) {
        None => Ok(named),
        Some(spacing) => Err(spacing.other_than(named)),
    }
}

/// Measures the distances between the first bars of each series.
fn spacing(
    first: &[Vec<String>],
    time: DumpColumn,
    exchange: Option<DumpColumn>,
    symbol: Option<DumpColumn>,
) -> Option<Spacing> {
    let mut spacings = Spacings::default();
    for row in first {
        let cell = |column: Option<DumpColumn>| {
            let cell = column.and_then(|column| row.get(column.place));
            cell.map_or("", String::as_str)
        };
        if let Some(at) = Millis::read(cell(Some(time))) {
            spacings.add([cell(exchange), cell(symbol)], at);
        }
    }
    spacings.overall()
}
