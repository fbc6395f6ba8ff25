//! CSV files of the recorder cryptofeed: liquidations, candles and open interest.
//!
//! Times are in seconds with a fraction; `receipt_timestamp` is the time of receipt. Symbols have the form
//! `BTC-USDT-PERP`. Amounts are in the unit that the exchange uses. The side is that of the closing order, except for
//! Bybit, where it is that of the position. Source: <https://github.com/bmoscon/cryptofeed>.

use rust_decimal::Decimal;

use crate::feeds::decoding::event::{PriceKind, stripped};
use crate::feeds::decoding::frame::{RawLiquidation, Size};
use crate::feeds::decoding::json_path::JsonPath;
use crate::feeds::decoding::market_name::MarketName;
use crate::feeds::dumps::cells::{DumpColumn, DumpLine, RowError, column, columns};
use crate::feeds::dumps::format::Format;
use crate::feeds::dumps::layouts::epoch::instant;
use crate::feeds::dumps::layouts::known_layout::KnownLayout;
use crate::feeds::dumps::occurrence::Occurrences;
use crate::feeds::dumps::row::{DumpRow, RowOrder};
use crate::feeds::instruments::Instruments;
use crate::model::Side;

/// The unit in which an exchange gives amounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AmountUnit {
    Coins,
    /// Coins for contracts quoted in a stablecoin, USD for contracts quoted in USD.
    ByQuote,
    /// Contracts of unknown size.
    Contracts,
}

/// Exchange name in cryptofeed, exchange name in liqdata, and unit of amounts.
const EXCHANGES: [(&str, &str, AmountUnit); 13] = [
    ("BINANCE_FUTURES", "binance", AmountUnit::Coins),
    ("BINANCE_DELIVERY", "binance", AmountUnit::Contracts),
    ("BYBIT", "bybit", AmountUnit::ByQuote),
    ("DERIBIT", "deribit", AmountUnit::ByQuote),
    ("BITFINEX", "bitfinex", AmountUnit::Coins),
    ("DYDX", "dydx", AmountUnit::Coins),
    ("BITMEX", "bitmex", AmountUnit::Contracts),
    ("OKX", "okx", AmountUnit::Contracts),
    ("OKEX", "okx", AmountUnit::Contracts),
    ("GATEIO", "gate", AmountUnit::Contracts),
    ("HUOBI_SWAP", "htx", AmountUnit::Contracts),
    ("HUOBI_DM", "htx", AmountUnit::Contracts),
    ("KRAKEN_FUTURES", "kraken", AmountUnit::Contracts),
];

/// Returns liqdata's name of the exchange of a line, and the unit of its amounts.
fn exchange(
    line: DumpLine<'_>,
    column: DumpColumn,
) -> Result<(&'static str, AmountUnit), RowError> {
    let name = line.text(column)?;
    let known = EXCHANGES
        .iter()
        .find(|(other, ..)| name.eq_ignore_ascii_case(other));
    known.map(|(_, own, unit)| (*own, *unit)).ok_or_else(|| {
        let known: Vec<&str> = EXCHANGES.iter().map(|(name, ..)| *name).collect();
        RowError::new(format!("exchange: not one of {}", known.join(", ")), name)
    })
}

/// Splits a symbol such as `BTC-USDT-PERP` into base and quote.
fn market(symbol: &str) -> Result<(&str, &str), RowError> {
    let mut parts = symbol.split('-');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(base), Some(quote), _, None) if !base.is_empty() && !quote.is_empty() => {
            Ok((base, quote))
        }
        _ => Err(RowError::new(
            "symbol: not in the form BTC-USDT-PERP",
            symbol,
        )),
    }
}

const COMMON: [&[&str]; 4] = [
    &["exchange"],
    &["symbol"],
    &["timestamp"],
    &["receipt_timestamp"],
];

/// Decoder of cryptofeed's liquidations.
#[derive(Debug)]
pub(crate) struct CryptofeedLiquidations {
    common: [DumpColumn; 4],
    columns: [DumpColumn; 3],
    id: Option<DumpColumn>,
    seen: Occurrences,
}

impl CryptofeedLiquidations {
    /// Creates the decoder for a header; `None` if the header is not that of liquidations.
    ///
    /// Files of trades differ in that they have no quantity column.
    pub(crate) fn new(header: &[String]) -> Option<Self> {
        column(header, &["status"])?;
        Some(Self {
            common: columns(header, COMMON)?,
            columns: columns(header, [&["side"], &["price"], &["quantity", "leaves_qty"]])?,
            id: column(header, &["id"]),
            seen: Occurrences::new(),
        })
    }

    pub(crate) fn row(&mut self, line: DumpLine<'_>) -> Result<DumpRow, RowError> {
        let [of_exchange, of_symbol, time, received] = self.common;
        let [side, price, amount] = self.columns;
        let (name, unit) = exchange(line, of_exchange)?;
        let symbol = line.text(of_symbol)?;
        let (base, quote) = market(symbol)?;
        let (timestamp, received_at) = (instant(line, time)?, instant(line, received)?);
        let word = line.text(side)?.to_ascii_lowercase();
        let is_of_position = name == "bybit";
        let is_long = match word.as_str() {
            "buy" => is_of_position,
            "sell" => !is_of_position,
            _ => return Err(RowError::new("side: not buy or sell", &word)),
        };
        let side = if is_long { Side::Long } else { Side::Short };
        let (price, amount) = (line.positive(price)?, line.positive(amount)?);
        let venue =
            crate::feeds::venue(name).map_err(|fault| RowError::new(fault.to_string(), name))?;
        let shown = |number: Decimal| stripped(number).to_string();
        let id = self
            .id
            .and_then(|id| line.text(id).ok())
            .filter(|id| *id != "None");
        let dedupe_key = match id {
            Some(id) => format!("cryptofeed|{symbol}|{id}"),
            None => format!(
                "cryptofeed|{symbol}|{word}|{}|{}|{}",
                timestamp.0,
                shown(amount),
                shown(price)
            ),
        };
        let seen = RawLiquidation {
            native_id: symbol,
            market: MarketName::new(base, quote),
            side,
            price,
            price_kind: venue
                .price_kinds
                .first()
                .copied()
                .unwrap_or(PriceKind::Fill),
            size: size(unit, name, (base, quote), amount),
            timestamp: Some(timestamp),
            dedupe_key,
        };
        let none = Instruments::default();
        let event = venue
            .frame("", Some(received_at), &none)
            .event(&JsonPath::ROOT, seen)
            .map_err(|fault| RowError::new(fault.to_string(), symbol))?;
        let mut order = RowOrder::of(event)?;
        if id.is_none() {
            self.seen.number(&mut order, symbol);
        }
        Ok(DumpRow::Order(order))
    }
}

fn size(unit: AmountUnit, exchange: &str, (base, quote): (&str, &str), amount: Decimal) -> Size {
    match unit {
        AmountUnit::ByQuote if quote == "USD" => Size::Usd(amount),
        AmountUnit::Coins | AmountUnit::ByQuote => Size::Base(amount),
        // A BitMEX contract of bitcoin in USD is worth one USD.
        AmountUnit::Contracts if exchange == "bitmex" && base == "BTC" && quote == "USD" => {
            Size::Usd(amount)
        }
        AmountUnit::Contracts => Size::Unknown,
    }
}

/// Rejects a line with an amount that is not in coins.
fn in_coins(line: DumpLine<'_>, unit: AmountUnit, symbol: DumpColumn) -> Result<(), RowError> {
    let name = line.text(symbol)?;
    let (_, quote) = market(name)?;
    if unit == AmountUnit::Contracts || unit == AmountUnit::ByQuote && quote == "USD" {
        let reason = "the size is in contracts, and the contract size is unknown";
        return Err(RowError::new(reason, name));
    }
    Ok(())
}

/// Returns the layout if the header is that of candles or of open interest.
pub(super) fn layout(header: &[String]) -> Option<KnownLayout> {
    candles(header).or_else(|| open_interest(header))
}

fn candles(header: &[String]) -> Option<KnownLayout> {
    let [of_exchange, symbol, start, _, interval] = columns(
        header,
        [
            &["exchange"],
            &["symbol"],
            &["start"],
            &["stop"],
            &["interval"],
        ],
    )?;
    let amounts = columns(
        header,
        [&["open"], &["high"], &["low"], &["close"], &["volume"]],
    )?;
    let closed = column(header, &["closed"]);
    let read = move |line: DumpLine<'_>| {
        let (name, unit) = exchange(line, of_exchange)?;
        in_coins(line, unit, symbol)?;
        if let Some(closed) = closed
            && line.text(closed)?.eq_ignore_ascii_case("false")
        {
            return Err(RowError::new(
                "closed: the bar has not closed",
                line.text(start)?,
            ));
        }
        let at = instant(line, start)?.0.to_string();
        let mut cells = vec![at, name.to_owned()];
        for column in [symbol, interval].into_iter().chain(amounts) {
            cells.push(line.text(column)?.to_owned());
        }
        Ok(cells)
    };
    let names = [
        "timestamp",
        "exchange",
        "symbol",
        "interval",
        "open",
        "high",
        "low",
        "close",
        "volume",
    ];
    Some(KnownLayout::new(
        "cryptofeed's candles",
        Format::Bars,
        &names,
        read,
    ))
}

fn open_interest(header: &[String]) -> Option<KnownLayout> {
    let [of_exchange, symbol, time, _] = columns(header, COMMON)?;
    let amount = column(header, &["open_interest"])?;
    let read = move |line: DumpLine<'_>| {
        let (name, unit) = exchange(line, of_exchange)?;
        in_coins(line, unit, symbol)?;
        let at = instant(line, time)?.0.to_string();
        Ok(vec![
            at,
            name.to_owned(),
            line.text(symbol)?.to_owned(),
            line.text(amount)?.to_owned(),
        ])
    };
    let names = ["timestamp", "exchange", "symbol", "open_interest"];
    Some(KnownLayout::new(
        "cryptofeed's open interest",
        Format::OpenInterest,
        &names,
        read,
    ))
}
