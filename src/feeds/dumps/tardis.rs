//! Tardis' downloadable files: `liquidations` and `derivative_ticker`.
//!
//! Times are in microseconds; `local_timestamp` is the time at which Tardis received the message. `side` is that of the
//! closing order: a `sell` closed a long. `amount` and `open_interest` are in the unit of the exchange: coins on some
//! exchanges, contracts on others. If the contract size does not follow from the contract name, the row is an error.
//! `liquidations` and `trades` have the same header, so the file name decides between these formats.
//! Source: <https://docs.tardis.dev/downloadable-csv-files>.

use std::collections::HashMap;

use rust_decimal::Decimal;

use super::binance::coin_margined;
use super::row::{DumpRow, RowOrder, RowReading};
use crate::feeds::decoding::event::{PriceKind, product, quotient, stripped};
use crate::feeds::decoding::frame::{Frame, RawLiquidation, Size};
use crate::feeds::decoding::json_path::JsonPath;
use crate::feeds::dumps::cells::{DumpColumn, DumpLine, RowError};
use crate::feeds::dumps::occurrence::Occurrences;
use crate::feeds::instruments::{Instruments, SizeUnit};
use crate::feeds::venue::Venue;
use crate::model::{Millis, Side};

/// The unit in which an exchange gives amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counts {
    /// Coins.
    Coins,
    /// Contracts with a fixed USD value: the coin-margined contracts of Binance and HTX.
    CoinMargined,
    /// Coins for contracts quoted in a stablecoin, USD for contracts quoted in USD.
    ByQuote,
    /// Contracts; the exchange's decoder gives the contract size if it is known.
    ByRule,
}

/// Exchange name in Tardis, exchange name in liqdata, and unit of amounts.
const EXCHANGES: [(&str, &str, Counts); 16] = [
    ("binance-futures", "binance", Counts::Coins),
    ("binance-delivery", "binance", Counts::CoinMargined),
    ("bybit", "bybit", Counts::ByQuote),
    ("okex-swap", "okx", Counts::ByRule),
    ("okex-futures", "okx", Counts::ByRule),
    ("gate-io-futures", "gate", Counts::ByRule),
    ("bitget-futures", "bitget", Counts::ByRule),
    ("huobi-dm-swap", "htx", Counts::CoinMargined),
    ("huobi-dm", "htx", Counts::ByRule),
    ("huobi-dm-linear-swap", "htx", Counts::ByRule),
    ("deribit", "deribit", Counts::ByRule),
    ("cryptofacilities", "kraken", Counts::ByRule),
    ("bitmex", "bitmex", Counts::ByRule),
    ("bitfinex-derivatives", "bitfinex", Counts::Coins),
    ("dydx", "dydx", Counts::Coins),
    ("dydx-v4", "dydx", Counts::Coins),
];

/// Interval in milliseconds after which unchanged open interest is returned again.
const FRESH: i64 = 5 * Millis::MINUTE;

/// Columns with which every Tardis file begins.
pub(super) const COMMON: [&[&str]; 4] = [
    &["exchange"],
    &["symbol"],
    &["timestamp"],
    &["local_timestamp"],
];

/// The other columns of `liquidations` and `trades`.
pub(super) const LIQUIDATIONS: [&[&str]; 4] = [&["id"], &["side"], &["price"], &["amount"]];

/// Columns of `derivative_ticker` that are read.
pub(super) const TICKER: [&[&str]; 3] = [&["open_interest"], &["mark_price"], &["last_price"]];

fn exchange(line: DumpLine<'_>, column: DumpColumn) -> Result<(&'static Venue, Counts), RowError> {
    let name = line.text(column)?;
    let known = EXCHANGES.iter().find(|(tardis, ..)| *tardis == name);
    known
        .and_then(|(_, own, counts)| Some((crate::feeds::venue(own).ok()?, *counts)))
        .ok_or_else(|| {
            let known: Vec<&str> = EXCHANGES.iter().map(|(tardis, ..)| *tardis).collect();
            RowError::new(format!("exchange: not one of {}", known.join(", ")), name)
        })
}

/// Converts an amount in the exchange's unit to a size.
fn size(frame: &Frame<'_>, counts: Counts, native_id: &str, amount: Decimal) -> Size {
    match counts {
        Counts::Coins => Size::Base(amount),
        Counts::CoinMargined => {
            // HTX writes `BTC-USD`, Binance writes `BTCUSD_PERP`.
            let worth = coin_margined(&native_id.replacen("-USD", "USD_", 1));
            worth
                .and_then(|worth| product(amount, worth))
                .map_or(Size::Unknown, Size::Usd)
        }
        Counts::ByQuote => match &*frame.market(native_id).quote {
            "USD" => Size::Usd(amount),
            "" => Size::Unknown,
            _ => Size::Base(amount),
        },
        Counts::ByRule => Size::Contracts(amount),
    }
}

/// Decoder of `liquidations` files.
#[derive(Debug)]
pub(super) struct TardisLiquidations {
    pub(super) common: [DumpColumn; 4],
    pub(super) columns: [DumpColumn; 4],
    pub(super) seen: Occurrences,
}

impl TardisLiquidations {
    pub(super) fn row(&mut self, line: DumpLine<'_>) -> Result<DumpRow, RowError> {
        let [of_exchange, symbol, time, received] = self.common;
        let [id, side, price, amount] = self.columns;
        let (venue, counts) = exchange(line, of_exchange)?;
        let native_id = line.text(symbol)?;
        let (timestamp, received_at) = (line.micros(time)?, line.micros(received)?);
        let (word, side) = match line.text(side)? {
            "sell" => ("sell", Side::Long),
            "buy" => ("buy", Side::Short),
            other => return Err(RowError::new("side: not buy or sell", other)),
        };
        let (price, amount) = (line.positive(price)?, line.positive(amount)?);
        // Some exchanges send no ids of liquidations.
        let id = line.text(id).ok();
        let dedupe_key = if let Some(id) = id {
            format!("tardis|{native_id}|{id}")
        } else {
            let when = line.text(time)?;
            let (amount, price) = (stripped(amount), stripped(price));
            format!("tardis|{native_id}|{word}|{when}|{amount}|{price}")
        };
        let none = Instruments::default();
        let frame = venue.frame("", Some(received_at), &none);
        let kind = venue.price_kinds.first().copied();
        let kind = kind.unwrap_or(PriceKind::Fill);
        let seen = RawLiquidation {
            native_id,
            market: frame.market(native_id),
            side,
            price,
            price_kind: kind,
            size: size(&frame, counts, native_id, amount),
            timestamp: Some(timestamp),
            dedupe_key,
        };
        let event = frame
            .event(&JsonPath::ROOT, seen)
            .map_err(|fault| RowError::new(fault.to_string(), native_id))?;
        let mut order = RowOrder::of(event)?;
        if id.is_none() {
            self.seen.number(&mut order, native_id);
        }
        Ok(DumpRow::Order(order))
    }
}

/// Decoder of the open interest in `derivative_ticker` files.
///
/// Such a file has a line for every change of any value. Unchanged open interest is therefore returned only every five
/// minutes.
#[derive(Debug)]
pub(super) struct Ticker {
    pub(super) common: [DumpColumn; 4],
    pub(super) columns: [DumpColumn; 3],
    /// Last returned open interest of each contract, as text, with its time.
    pub(super) last: HashMap<String, (String, Millis)>,
}

impl Ticker {
    /// Decodes a line; `None` if the open interest repeats the last returned reading.
    pub(super) fn row(&mut self, line: DumpLine<'_>) -> Result<Option<DumpRow>, RowError> {
        let [of_exchange, symbol, time, received] = self.common;
        let [open_interest, mark, traded] = self.columns;
        let (venue, counts) = exchange(line, of_exchange)?;
        let native_id = line.text(symbol)?;
        let (timestamp, received_at) = (line.micros(time)?, line.micros(received)?);
        let text = line.text(open_interest)?;
        let amount = line.amount(open_interest)?;
        let is_known = |(known, at): &(String, Millis)| {
            known == text && timestamp.0.saturating_sub(at.0) < FRESH
        };
        if self.last.get(native_id).is_some_and(is_known) {
            return Ok(None);
        }
        let price = || line.positive(mark).or_else(|_| line.positive(traded));
        let none = Instruments::default();
        let frame = venue.frame("", Some(received_at), &none);
        let unknown = || {
            RowError::new(
                "the size is in contracts, and the contract size is unknown",
                native_id,
            )
        };
        let unfit = || RowError::new("a number does not fit a decimal exactly", text);
        let coins = match size(&frame, counts, native_id, amount) {
            Size::Base(coins) => coins,
            Size::Usd(usd) => quotient(usd, price()?).ok_or_else(unfit)?,
            Size::Contracts(count) => match frame.contract(native_id).ok_or_else(unknown)? {
                (SizeUnit::Linear, size) => product(count, size).ok_or_else(unfit)?,
                (SizeUnit::Inverse, worth) => product(count, worth)
                    .and_then(|usd| quotient(usd, price().ok()?))
                    .ok_or_else(unfit)?,
            },
            _ => return Err(unknown()),
        };
        let reading = RowReading {
            exchange: venue.name().to_owned(),
            contract: native_id.to_owned(),
            timestamp,
            open_interest: stripped(coins),
            received_at: Some(received_at),
        };
        self.last
            .insert(native_id.to_owned(), (text.to_owned(), timestamp));
        Ok(Some(DumpRow::Reading(reading)))
    }
}
