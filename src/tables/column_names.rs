//! The accepted names of the columns of all tables.
//!
//! The first name of a column is its main name. The further names are aliases, in order of preference. Letter case does
//! not matter.

pub(crate) const TIMESTAMP: &[&str] = &[
    "timestamp",
    "time",
    "ts",
    "event_ts",
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
pub(crate) const VOLUME_USD: &[&str] = &["volume_usd", "volumeusd", "usd_volume", "usdvolume"];
/// The volume in the base currency, which decides where `volume` counts contracts.
pub(crate) const BASE_VOLUME: &[&str] = &[
    "base_volume",
    "basevolume",
    "volccy",
    "vol_ccy",
    "volume_base",
    "base_asset_volume",
    "basetokenvolume",
    "base_vol",
    "basevol",
];
/// The volume in the quote currency, which `volume` must fit.
pub(crate) const QUOTE_VOLUME: &[&str] = &[
    "quote_volume",
    "quotevolume",
    "quote_asset_volume",
    "quoteassetvolume",
    "quote asset volume",
    "volccyquote",
    "vol_ccy_quote",
    "volume_quote",
    "trade_turnover",
    "turnover",
    "quote_vol",
    "quotevol",
    "cost",
    "sum",
];
pub(crate) const INTERVAL: &[&str] = &[
    "interval",
    "timeframe",
    "time_frame",
    "resolution",
    "period",
    "bar",
];
/// The names of the open of a bar, which is read before any other time of its row.
pub(crate) const OPENS_AT: &[&str] = &[
    "opens_at",
    "open_time",
    "opentime",
    "open time",
    "candle_start",
    "candle_begin_time",
    "candle_open_time",
    "start_time",
    "starttime",
    "start_timestamp",
    "start",
    "bucket_start",
    "time_period_start",
    "period_start",
    "window_start",
    "time_open",
    "timeopen",
    "time_start",
    "timestamp_open",
    "open_timestamp",
    "bucket",
    "begin",
];
pub(crate) const CLOSES_AT: &[&str] = &[
    "closes_at",
    "close_time",
    "closetime",
    "close time",
    "candle_end",
    "candle_stop",
    "candle_close_time",
    "end_time",
    "endtime",
    "end_timestamp",
    "end",
    "stop",
    "bucket_end",
    "time_period_end",
    "period_end",
    "window_end",
    "time_close",
    "timeclose",
    "time_end",
    "timestamp_close",
    "close_timestamp",
];
/// Whether a bar is final.
pub(crate) const IS_CLOSED: &[&str] = &[
    "is_closed",
    "isclosed",
    "closed",
    "confirm",
    "confirmed",
    "is_final",
    "isfinal",
    "final",
    "complete",
    "completed",
    "is_complete",
    "iscomplete",
    "is_candle_closed",
    "candle_closed",
    "is_finished",
    "finished",
    "x",
];
/// The kind of price of a bar: trades, or such as mark.
pub(crate) const PRICE_TYPE: &[&str] = &[
    "price_type",
    "pricetype",
    "candle_type",
    "candletype",
    "tick_type",
    "ticktype",
    "kline_type",
    "series_type",
    "kind",
];
pub(crate) const OPEN_INTEREST: &[&str] = &["open_interest", "oi"];
pub(crate) const OPEN_INTEREST_USD: &[&str] = &["open_interest_usd", "oi_usd", "oiusd"];
/// Open interest in the base currency, which decides where `open_interest` counts contracts.
pub(crate) const OPEN_INTEREST_COINS: &[&str] = &[
    "open_interest_coins",
    "oiccy",
    "oi_ccy",
    "open_interest_ccy",
    "open_interest_base",
    "oi_base",
    "oi_coins",
];
/// Open interest in the quote currency; for coin-margined contracts of Binance, in coins.
pub(crate) const OPEN_INTEREST_VALUE: &[&str] = &[
    "open_interest_value",
    "openinterestvalue",
    "oi_value",
    "sum_open_interest_value",
    "sumopeninterestvalue",
];
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
pub(crate) const TRADES: &[&str] = &[
    "trades",
    "count",
    "number_of_trades",
    "number of trades",
    "numberoftrades",
    "num_trades",
    "n_trades",
    "trade_count",
    "trades_count",
    "tradecount",
    "n",
];
/// Columns that only confirm or contradict others. If a table has several names of one, the first of the list is read.
const CONFIRMING: [&[&str]; 5] = [
    IS_CLOSED,
    PRICE_TYPE,
    TRADES,
    QUOTE_VOLUME,
    &["mark_price", "markprice"],
];

const ALL: [&[&str]; 49] = [
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
    BASE_VOLUME,
    QUOTE_VOLUME,
    &["amount"],
    &["adj_close", "adj close", "adjclose"],
    INTERVAL,
    OPENS_AT,
    CLOSES_AT,
    IS_CLOSED,
    PRICE_TYPE,
    OPEN_INTEREST,
    OPEN_INTEREST_USD,
    OPEN_INTEREST_COINS,
    OPEN_INTEREST_VALUE,
    &["mark_price", "markprice"],
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

/// Whether the column `column` only confirms or contradicts others.
pub(crate) fn confirms(column: &str) -> bool {
    CONFIRMING
        .iter()
        .any(|names| names.first() == Some(&column))
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
