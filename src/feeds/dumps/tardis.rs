//! Tardis' downloadable files: `liquidations` and `derivative_ticker`.
//!
//! Times are microseconds; `local_timestamp` is when the recorder received the message. `side` is that of the closing order:
//! a `sell` closed a long. `amount` and `open_interest` are as the exchange counts them, coins with some and contracts with
//! others: where what a contract holds does not follow from its name the row is refused, and never taken for coins.
//! A header of `liquidations` is that of `trades` as well, so the name of the file has to say which.

use std::collections::HashMap;

use rust_decimal::Decimal;

use super::binance::{coin_margined, leading};
use super::row::{Row, RowOrder, RowReading};
use crate::feeds::decoding::event::{PriceKind, product, quotient, stripped};
use crate::feeds::decoding::frame::{Frame, Sighting, Size};
use crate::feeds::decoding::json_path::Place;
use crate::feeds::dumps::cells::{Column, Flaw, Line};
use crate::feeds::instruments::{Instruments, Kind};
use crate::feeds::venue::Venue;
use crate::model::{Millis, Side};

/// How an exchange counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counts {
    /// In coins.
    Coins,
    /// In contracts that are worth so many USD: of the coin-margined exchanges of Binance and HTX.
    CoinMargined,
    /// In coins where the contract is quoted in a stable coin, in USD where it is quoted in USD.
    ByQuote,
    /// In contracts, of which the venue's own rule says what they hold, or nothing does.
    ByRule,
}

/// Tardis' names of exchanges, ours, and how each counts.
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

/// After so long the same open interest is told again.
const FRESH: i64 = 5 * Millis::MINUTE;

/// The first columns of every file of Tardis'.
pub(super) const COMMON: [&[&str]; 4] = [
    &["exchange"],
    &["symbol"],
    &["timestamp"],
    &["local_timestamp"],
];

/// The others of `liquidations`, and of `trades`.
pub(super) const LIQUIDATIONS: [&[&str]; 4] = [&["id"], &["side"], &["price"], &["amount"]];

/// Those of `derivative_ticker` that are read.
pub(super) const TICKER: [&[&str]; 3] = [&["open_interest"], &["mark_price"], &["last_price"]];

fn exchange(line: Line<'_>, column: Column) -> Result<(&'static Venue, Counts), Flaw> {
    let name = line.text(column)?;
    let known = EXCHANGES.iter().find(|(tardis, ..)| *tardis == name);
    known
        .and_then(|(_, own, counts)| Some((crate::feeds::venue(own).ok()?, *counts)))
        .ok_or_else(|| {
            let known: Vec<&str> = EXCHANGES.iter().map(|(tardis, ..)| *tardis).collect();
            Flaw::new(format!("exchange: not one of {}", known.join(", ")), name)
        })
}

/// What an amount says about the quantity.
fn size(frame: &Frame<'_>, counts: Counts, native_id: &str, amount: Decimal) -> Size {
    match counts {
        Counts::Coins => Size::Base(amount),
        Counts::CoinMargined => {
            // HTX writes `BTC-USD`, Binance `BTCUSD_PERP`.
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

/// Reads `liquidations`.
#[derive(Debug)]
pub(super) struct Liquidations {
    pub(super) common: [Column; 4],
    pub(super) columns: [Column; 4],
}

impl Liquidations {
    pub(super) fn row(&self, line: Line<'_>) -> Result<Row, Flaw> {
        let [of_exchange, symbol, time, received] = self.common;
        let [id, side, price, amount] = self.columns;
        let (venue, counts) = exchange(line, of_exchange)?;
        let native_id = line.text(symbol)?;
        let (timestamp, received_at) = (line.micros(time)?, line.micros(received)?);
        let (word, side) = match line.text(side)? {
            "sell" => ("sell", Side::Long),
            "buy" => ("buy", Side::Short),
            other => return Err(Flaw::new("side: not buy or sell", other)),
        };
        let (price, amount) = (line.positive(price)?, line.positive(amount)?);
        // Not every exchange gives its liquidations a name.
        let dedupe_key = if let Ok(id) = line.text(id) {
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
        let seen = Sighting {
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
            .event(&Place::ROOT, seen)
            .map_err(|fault| Flaw::new(fault.to_string(), native_id))?;
        RowOrder::of(event).map(Row::Order)
    }
}

/// Reads the open interest of `derivative_ticker`. A line follows every change of any figure: those that tell no other open
/// interest than the last one are kept every five minutes only, and give nothing else.
#[derive(Debug)]
pub(super) struct Ticker {
    pub(super) common: [Column; 4],
    pub(super) columns: [Column; 3],
    /// The last open interest of each contract as it stands in the file, and when it was told.
    pub(super) last: HashMap<String, (String, Millis)>,
}

impl Ticker {
    /// `None` where it is the reading that was told last.
    pub(super) fn row(&mut self, line: Line<'_>) -> Result<Option<Row>, Flaw> {
        let [of_exchange, symbol, time, received] = self.common;
        let [open_interest, mark, traded] = self.columns;
        let (venue, counts) = exchange(line, of_exchange)?;
        let native_id = line.text(symbol)?;
        let (timestamp, received_at) = (line.micros(time)?, line.micros(received)?);
        let text = line.text(open_interest)?;
        let amount = line.amount(open_interest)?;
        let is_told = |(told, at): &(String, Millis)| {
            told == text && timestamp.0.saturating_sub(at.0) < FRESH
        };
        if self.last.get(native_id).is_some_and(is_told) {
            return Ok(None);
        }
        let (coin, scale) = leading(venue.name(), native_id)?;
        let price = || line.positive(mark).or_else(|_| line.positive(traded));
        let none = Instruments::default();
        let frame = venue.frame("", Some(received_at), &none);
        let unknown = || {
            Flaw::new(
                "the size is in contracts, and what one of them holds is not known",
                native_id,
            )
        };
        let unfit = || Flaw::new("a figure fits no decimal exactly", text);
        let coins = match size(&frame, counts, native_id, amount) {
            Size::Base(coins) => coins,
            Size::Usd(usd) => quotient(usd, price()?).ok_or_else(unfit)?,
            Size::Contracts(count) => match frame.contract(native_id).ok_or_else(unknown)? {
                (Kind::Linear, held) => product(count, held).ok_or_else(unfit)?,
                (Kind::Inverse, worth) => product(count, worth)
                    .and_then(|usd| quotient(usd, price().ok()?))
                    .ok_or_else(unfit)?,
            },
            _ => return Err(unknown()),
        };
        let reading = RowReading {
            exchange: venue.name().to_owned(),
            coin,
            contract: native_id.to_owned(),
            timestamp,
            open_interest: stripped(coins),
            received_at: Some(received_at),
        }
        .of_one(scale)?;
        self.last
            .insert(native_id.to_owned(), (text.to_owned(), timestamp));
        Ok(Some(Row::Reading(reading)))
    }
}
