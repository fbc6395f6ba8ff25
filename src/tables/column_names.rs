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
/// Columns that may have the side of the position, among other words.
const LIQUIDATED_SIDE: &[&str] = &[
    "liquidated_side",
    "liquidatedside",
    "liquidation_side",
    "liquidationside",
    "liq_side",
    "liqside",
    "position",
    "pos",
    "position_type",
    "positiontype",
    "position_direction",
    "positiondirection",
    "hold_side",
    "holdside",
    "direction",
];
/// Columns that may have the contract or the coin, among other words.
const INSTRUMENT: &[&str] = &[
    "instrument",
    "instrument_name",
    "instrument_id",
    "instrumentid",
    "inst_id",
    "instid",
    "product_id",
    "product",
    "contract",
    "contract_code",
    "market",
    "ticker",
    "s",
    "underlying",
    "asset",
    "base",
    "base_coin",
    "basecoin",
    "base_asset",
    "baseasset",
    "base_currency",
    "basecurrency",
];
const CONTRACT_SIZE: &[&str] = &[
    "contract_size",
    "contractsize",
    "ct_val",
    "ctval",
    "contract_val",
    "contractval",
    "contract_value",
    "contractvalue",
    "quanto_multiplier",
    "quantomultiplier",
    "contract_multiplier",
    "contractmultiplier",
    "multiplier",
    "face_value",
    "facevalue",
];
/// Columns that say whether a row is a liquidation.
const IS_LIQUIDATION: &[&str] = &[
    "is_liquidation",
    "isliquidation",
    "liquidation",
    "is_liquidated",
    "isliquidated",
    "liquidated",
    "is_liq",
    "isliq",
    "liq",
];
/// Columns that say what kind of order or trade a row is.
const ROW_TYPE: &[&str] = &[
    "type",
    "trade_type",
    "tradetype",
    "order_type",
    "ordertype",
    "execution_type",
    "executiontype",
    "exec_type",
    "exectype",
];
const STATUS: &[&str] = &["status", "order_status", "orderstatus"];

/// Columns that only trades have.
const OF_TRADES: [&str; 20] = [
    "trade_id",
    "tradeid",
    "agg_trade_id",
    "is_maker",
    "is_buyer_maker",
    "isbuyermaker",
    "takerormaker",
    "taker_or_maker",
    "first_trade_id",
    "trdmatchid",
    "tickdirection",
    "tick_direction",
    "realizedpnl",
    "realized_pnl",
    "closedpnl",
    "closed_pnl",
    "commission",
    "commissionasset",
    "commission_asset",
    "is_buyer",
];
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

const ALL: [&[&str]; 54] = [
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
    CONTRACT_SIZE,
    &["multiplier_unit"],
    LIQUIDATED_SIDE,
    INSTRUMENT,
    IS_LIQUIDATION,
    ROW_TYPE,
    STATUS,
];

/// Words that say that an amount is in USD.
const IN_USD: [&str; 5] = ["usdt", "usdc", "usd", "dollars", "dollar"];
/// Words that say that an amount is in the quote currency.
const IN_QUOTE: [&str; 7] = [
    "notional", "turnover", "foreign", "quote", "value", "worth", "cost",
];
/// Words that say that an amount is in the base currency.
const IN_BASE: [&str; 3] = ["base", "home", "coin"];
/// Words of the names of amounts that do not say the currency.
const OF_AMOUNTS: [&str; 22] = [
    "quantity",
    "cumulative",
    "liquidation",
    "liquidated",
    "executed",
    "amount",
    "traded",
    "volume",
    "filled",
    "order",
    "trade",
    "total",
    "size",
    "fill",
    "exec",
    "amt",
    "qty",
    "val",
    "vol",
    "liq",
    "cum",
    "in",
];

/// The column that a name of an amount means, if the name is composed of words for amounts: `usd_size`, `quoteQty`,
/// `filledNotional`, `baseValue`.
fn amount_column(name: &str) -> Option<&'static str> {
    let joined: String = name.chars().filter(char::is_ascii_alphabetic).collect();
    let (mut rest, mut found) = (joined.as_str(), [0; 4]);
    while !rest.is_empty() {
        let groups: [&[&str]; 4] = [&IN_USD, &IN_QUOTE, &IN_BASE, &OF_AMOUNTS];
        let next = groups.iter().enumerate().find_map(|(group, words)| {
            let after = words.iter().find_map(|word| rest.strip_prefix(*word))?;
            Some((group, after))
        });
        let (group, after) = next?;
        if let Some(count) = found.get_mut(group) {
            *count += 1;
        }
        rest = after;
    }
    let is_amount = joined.len() == name.chars().filter(|sign| *sign != '_').count();
    let [in_usd, in_quote, in_base, others] = found.map(|count| count > 0);
    let is_coin = joined.contains("coin");
    match joined.as_str() {
        _ if !is_amount => None,
        // These words alone are not amounts.
        "quote" | "foreign" | "base" | "home" | "coin" => None,
        _ if in_usd && !in_base => Some("value_usd"),
        _ if in_quote && !in_base => Some("quote_value"),
        // A `coin_value` may be in any currency.
        _ if in_base && !in_usd && (others || in_quote) && !(is_coin && in_quote) => {
            Some("base_value")
        }
        _ => None,
    }
}

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
        .or_else(|| amount_column(name))
}

/// Whether a column with the name `name` may state what the column `column` does.
pub(crate) fn means(name: &str, column: &str) -> bool {
    known(name) == Some(column) || amount_column(name) == Some(column)
}

/// The first of these columns that only trades have.
pub(crate) fn column_of_trades<'n>(
    mut names: impl Iterator<Item = &'n str>,
) -> Option<&'static str> {
    names.find_map(|name| {
        let name = plain_name(name);
        OF_TRADES.into_iter().find(|column| *column == name)
    })
}

/// A name as it is looked up: in lower case, with `_` between its words.
pub(crate) fn plain_name(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '-'], "_")
}

/// The main name of the column with the name or alias `name`.
///
/// Letter case does not matter.
pub(crate) fn column_of(name: &str) -> Option<&'static str> {
    known(&plain_name(name))
}

#[cfg(test)]
mod tests {
    use crate::tables::column_names::*;

    #[test]
    fn the_name_of_an_amount_says_its_currency() {
        for (name, column) in [
            ("notional", Some("quote_value")),
            ("quoteQty", Some("quote_value")),
            ("foreignNotional", Some("quote_value")),
            ("Order Value", Some("quote_value")),
            ("usd", Some("value_usd")),
            ("notionalUsd", Some("value_usd")),
            ("value_in_usd", Some("value_usd")),
            ("liq_amount_usdt", Some("value_usd")),
            ("baseValue", Some("base_value")),
            ("coin_amount", Some("base_value")),
            ("homeNotional", Some("home_notional")),
            ("ctVal", Some("contract_size")),
            ("volume", Some("volume")),
            ("quote", None),
            ("quote_currency", None),
            ("usd_price", None),
            ("size", None),
            ("amount", Some("amount")),
            ("total", None),
            ("24h_volume_usd", None),
        ] {
            assert_eq!(column_of(name), column, "{name}");
        }
    }
}
