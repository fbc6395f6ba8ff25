//! Binance's public files: `liquidationSnapshot`, `metrics` and `klines`.
//!
//! Covers USD-margined and coin-margined contracts. `liquidationSnapshot` contains each line twice, and both lines have
//! the same dedupe key. It has at most one liquidation per contract and second, so it is an incomplete sample.
//! Quantities of coin-margined contracts are numbers of contracts, worth 100 USD each for BTC and 10 USD each for other
//! coins. In `metrics` of coin-margined contracts, the column that is otherwise in USD has open interest in coins. In
//! their `klines`, the column that is otherwise the turnover has the volume in coins. Times of spot files are in
//! microseconds since 2025.
//! Source: <https://data.binance.vision>.

use rust_decimal::Decimal;

use super::row::{DumpRow, RowBar, RowOrder, RowReading};
use crate::feeds::decoding::event::{PriceKind, stripped};
use crate::feeds::decoding::frame::{Frame, RawLiquidation, Size};
use crate::feeds::decoding::json_path::JsonPath;
use crate::feeds::dumps::cells::{DumpColumn, DumpLine, RowError, column, columns};
use crate::feeds::exchanges::centralized::binance::VENUE;
use crate::feeds::instruments::Instruments;
use crate::model::{Millis, Side};

/// Returns the value of one Binance contract in USD; `None` if the contract is not coin-margined.
pub(super) fn coin_margined(native_id: &str) -> Option<Decimal> {
    let (pair, _) = native_id.split_once('_')?;
    let (base, quote) = pair.split_at_checked(pair.len().checked_sub(3)?)?;
    if !quote.eq_ignore_ascii_case("USD") {
        return None;
    }
    Some(if base.eq_ignore_ascii_case("BTC") {
        Decimal::ONE_HUNDRED
    } else {
        Decimal::TEN
    })
}

/// Required columns of `liquidationSnapshot`, each with its accepted spellings.
pub(super) const LIQUIDATIONS: [&[&str]; 6] = [
    &["time"],
    &["side"],
    &["price"],
    &["average_price"],
    &["order_status"],
    &["accumulated_fill_quantity", "accumulated_filled_quantity"],
];

/// Column order of `liquidationSnapshot` files without a header.
pub(super) const LIQUIDATIONS_BARE: [&str; 10] = [
    "time",
    "side",
    "order_type",
    "time_in_force",
    "original_quantity",
    "price",
    "average_price",
    "order_status",
    "last_fill_quantity",
    "accumulated_fill_quantity",
];

/// Decoder of the `liquidationSnapshot` files of one contract.
#[derive(Debug)]
pub(super) struct BinanceLiquidations {
    pub(super) contract: String,
    pub(super) columns: [DumpColumn; 6],
}

impl BinanceLiquidations {
    pub(super) fn row(&self, line: DumpLine<'_>) -> Result<DumpRow, RowError> {
        let [time, side, price, average, status, filled] = self.columns;
        let timestamp = line.epoch(time)?;
        let word = line.text(side)?;
        let side = match word {
            "SELL" => Side::Long,
            "BUY" => Side::Short,
            _ => return Err(RowError::new("side: not BUY or SELL", word)),
        };
        let filled = line.amount(filled)?;
        if filled.is_zero() {
            let reason = "accumulated_fill_quantity: no part of the order was filled";
            return Err(RowError::new(reason, line.text(status)?));
        }
        let paid = line.amount(average)?;
        let (price, price_kind) = if paid.is_zero() {
            (line.positive(price)?, PriceKind::Order)
        } else {
            (paid, PriceKind::AverageFill)
        };
        let contract = self.contract.as_str();
        let amount = match coin_margined(contract) {
            Some(worth) => Size::Usd(filled * worth),
            None => Size::Base(filled),
        };
        let (filled, paid) = (stripped(filled), stripped(paid));
        let seen = RawLiquidation {
            native_id: contract,
            market: (VENUE.rules.market)(contract),
            side,
            price,
            price_kind,
            size: amount,
            timestamp: Some(timestamp),
            dedupe_key: format!("binance|{contract}|{word}|{}|{filled}|{paid}", timestamp.0),
        };
        let none = Instruments::default();
        let event = Frame::new(&VENUE.rules, "", None, &none)
            .event(&JsonPath::ROOT, seen)
            .map_err(|fault| RowError::new(fault.to_string(), contract))?;
        RowOrder::of(event).map(DumpRow::Order)
    }
}

/// Required columns of `metrics`, each with its accepted spellings.
pub(super) const METRICS: [&[&str]; 4] = [
    &["create_time"],
    &["symbol"],
    &["sum_open_interest"],
    &["sum_open_interest_value"],
];

/// Decoder of `metrics` files.
#[derive(Debug)]
pub(super) struct Metrics {
    pub(super) columns: [DumpColumn; 4],
}

impl Metrics {
    pub(super) fn row(&self, line: DumpLine<'_>) -> Result<DumpRow, RowError> {
        let [time, symbol, contracts, value] = self.columns;
        let contract = line.text(symbol)?;
        // Files of coin-margined contracts have open interest in coins only in this column.
        let coins = if coin_margined(contract).is_some() {
            value
        } else {
            contracts
        };
        let reading = RowReading {
            exchange: "binance".to_owned(),
            contract: contract.to_owned(),
            timestamp: line.instant(time)?,
            open_interest: stripped(line.decimal(coins)?),
            received_at: None,
        };
        Ok(DumpRow::Reading(reading))
    }
}

/// Column order of `klines` files without a header.
pub(super) const KLINES_BARE: [&str; 12] = [
    "open_time",
    "open",
    "high",
    "low",
    "close",
    "volume",
    "close_time",
    "quote_volume",
    "count",
    "taker_buy_volume",
    "taker_buy_quote_volume",
    "ignore",
];

/// Decoder of the `klines` files of one contract.
#[derive(Debug)]
pub(super) struct Klines {
    exchange: String,
    contract: String,
    times: [DumpColumn; 2],
    prices: [DumpColumn; 4],
    volume: DumpColumn,
}

impl Klines {
    /// Creates the decoder for a contract and a header; `None` if a column is missing.
    pub(super) fn new(exchange: &str, contract: &str, header: &[String]) -> Option<Self> {
        let volume = if exchange == "binance" && coin_margined(contract).is_some() {
            column(header, &["quote_volume", "base_asset_volume"])
        } else {
            column(header, &["volume"])
        };
        let times = columns(header, [&["open_time"], &["close_time"]]);
        let prices = columns(header, [&["open"], &["high"], &["low"], &["close"]]);
        let (Some(times), Some(prices), Some(volume)) = (times, prices, volume) else {
            return None;
        };
        Some(Self {
            exchange: exchange.to_owned(),
            contract: contract.to_owned(),
            times,
            prices,
            volume,
        })
    }

    pub(super) fn row(&self, line: DumpLine<'_>) -> Result<DumpRow, RowError> {
        let [open_time, close_time] = self.times;
        let (timestamp, closes) = (line.epoch(open_time)?, line.epoch(close_time)?);
        // The close time is the last millisecond or microsecond of the bar.
        let interval = closes.0.saturating_sub(timestamp.0).saturating_add(1);
        if interval <= 0 || interval % Millis::MINUTE != 0 || Millis::DAY % interval != 0 {
            return Err(RowError::new(
                "open_time, close_time: not a bar length in whole minutes that divides a day",
                &format!("{interval} ms"),
            ));
        }
        let mut prices = [Decimal::ZERO; 4];
        for (price, column) in prices.iter_mut().zip(self.prices) {
            *price = line.decimal(column)?;
        }
        let bar = RowBar {
            exchange: self.exchange.clone(),
            contract: self.contract.clone(),
            timestamp,
            interval: Some(interval),
            prices,
            volume: line.decimal(self.volume)?,
            trades: None,
        };
        Ok(DumpRow::Bar(bar))
    }
}
