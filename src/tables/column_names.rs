//! The accepted names of the columns of all tables.
//!
//! The first name of a column is its main name. The further names are aliases, in order of preference. Letter case does
//! not matter.

pub(crate) const TIMESTAMP: &[&str] = &[
    "timestamp",
    "time",
    "ts",
    "event_ts",
    "open_time",
    "t",
    "datetime",
    "date",
];
pub(crate) const SYMBOL: &[&str] = &["symbol", "pair"];
pub(crate) const EXCHANGE: &[&str] = &["exchange", "venue"];
pub(crate) const SIDE: &[&str] = &["side"];
pub(crate) const POSITION_SIDE: &[&str] = &["position_side", "positionside", "pos_side", "posside"];
pub(crate) const PRICE: &[&str] = &["price"];
pub(crate) const QTY: &[&str] = &["qty", "quantity"];
pub(crate) const VALUE_USD: &[&str] = &["value_usd", "notional_usd", "value"];
pub(crate) const COIN: &[&str] = &["coin"];
pub(crate) const RECEIVED_AT: &[&str] = &["received_at"];
pub(crate) const OPEN: &[&str] = &["open", "o"];
pub(crate) const HIGH: &[&str] = &["high", "h"];
pub(crate) const LOW: &[&str] = &["low", "l"];
pub(crate) const CLOSE: &[&str] = &["close", "c"];
pub(crate) const VOLUME: &[&str] = &["volume", "v"];
pub(crate) const VOLUME_USD: &[&str] = &["volume_usd"];
pub(crate) const INTERVAL: &[&str] = &["interval"];
pub(crate) const CLOSES_AT: &[&str] = &[
    "closes_at",
    "close_time",
    "closetime",
    "candle_end",
    "candle_stop",
];
pub(crate) const OPEN_INTEREST: &[&str] = &["open_interest", "oi"];
pub(crate) const OPEN_INTEREST_USD: &[&str] = &["open_interest_usd", "oi_usd"];
pub(crate) const LONG_USD: &[&str] = &[
    "long_usd",
    "long_liquidation_usd",
    "aggregated_long_liquidation_usd",
];
pub(crate) const SHORT_USD: &[&str] = &[
    "short_usd",
    "short_liquidation_usd",
    "aggregated_short_liquidation_usd",
];
pub(crate) const TRADES: &[&str] = &["trades", "count", "number_of_trades", "tradecount"];

const ALL: [&[&str]; 39] = [
    TIMESTAMP,
    SYMBOL,
    EXCHANGE,
    SIDE,
    POSITION_SIDE,
    &["home_notional", "homenotional"],
    PRICE,
    QTY,
    VALUE_USD,
    COIN,
    RECEIVED_AT,
    &["group_id"],
    &["dedupe_key"],
    &["native_id"],
    &["price_kind"],
    OPEN,
    HIGH,
    LOW,
    CLOSE,
    VOLUME,
    VOLUME_USD,
    INTERVAL,
    CLOSES_AT,
    OPEN_INTEREST,
    OPEN_INTEREST_USD,
    LONG_USD,
    SHORT_USD,
    TRADES,
    &["liquidation_price"],
    &["account"],
    &["entry_price"],
    &["leverage"],
    &["margin_mode"],
    &["observed_at"],
    &["seen_share"],
    &["current_price"],
    &["rate"],
    &["contract_size"],
    &["multiplier_unit"],
];

/// The accepted names of the column `column`, starting with its main name.
pub(crate) fn names_of(column: &str) -> Option<&'static [&'static str]> {
    ALL.into_iter().find(|names| names.first() == Some(&column))
}

/// The main name of the column that has the lower-case name or alias `name`.
pub(crate) fn known(name: &str) -> Option<&'static str> {
    names_of(name)
        .or_else(|| ALL.into_iter().find(|names| names.contains(&name)))
        .and_then(|names| names.first().copied())
}

/// The main name of the column with the name or alias `name`.
///
/// Letter case does not matter.
pub(crate) fn column_of(name: &str) -> Option<&'static str> {
    known(&name.trim().to_lowercase())
}
