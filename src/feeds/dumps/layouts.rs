//! The file formats of exchanges and of known programs.

use crate::feeds::dumps::format::Format;
use crate::feeds::dumps::layout::{
    AmountMeaning, Clock, Label, Layout, Names, OrderKey, PriceMeaning, RefusedRows, SideMeaning,
    TABLE,
};
use crate::feeds::dumps::markets::{CRYPTOFEED, TARDIS};
use crate::model::Millis;

/// Column order of `liquidationSnapshot` files without a header.
pub(super) const SNAPSHOT: [&str; 10] = [
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

/// Column order of `klines` files without a header.
pub(super) const KLINES: [&str; 12] = [
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

/// Column order of files of programs that log Binance's liquidation orders.
const LOGGED: [&str; 12] = [
    "symbol",
    "side",
    "order_type",
    "time_in_force",
    "original_quantity",
    "price",
    "average_price",
    "order_status",
    "order_last_filled_quantity",
    "order_filled_accumulated_quantity",
    "order_trade_time",
    "usd_size",
];

/// Returns the columns of a file without a header, if they follow from its first line.
pub(super) fn bare_header(first: &[String]) -> Option<&'static [&'static str]> {
    let is = |place: usize, words: &[&str]| {
        first
            .get(place)
            .is_some_and(|cell| words.contains(&cell.as_str()))
    };
    let numbers = || first.iter().all(|cell| cell.parse::<f64>().is_ok());
    if first.len() == SNAPSHOT.len() && is(1, &["BUY", "SELL"]) {
        return Some(&SNAPSHOT);
    }
    let states = ["FILLED", "PARTIALLY_FILLED", "NEW", "EXPIRED"];
    if first.len() == LOGGED.len() && is(1, &["BUY", "SELL"]) && is(7, &states) {
        return Some(&LOGGED);
    }
    (first.len() == KLINES.len() && numbers()).then_some(&KLINES)
}

/// Columns of `klines`, as the exchange and as programs write them.
const OPEN_TIME: Names = &["open_time", "open time"];
const CLOSE_TIME: Names = &["close_time", "close time"];
const QUOTE_VOLUME: Names = &[
    "quote_volume",
    "quote_asset_volume",
    "quote asset volume",
    "base_asset_volume",
];

const FILLED: Names = &[
    "order_filled_accumulated_quantity",
    "order_last_accumulated_quantity",
    "executedqty",
];
const AVERAGE: Names = &["average_price", "averageprice", "avgprice"];
const SNAPSHOT_FILLED: Names = &["accumulated_fill_quantity", "accumulated_filled_quantity"];
const COMMON_OF_TARDIS: [Names; 4] = [
    &["exchange"],
    &["symbol"],
    &["timestamp"],
    &["local_timestamp"],
];
/// The instant from which the label of a row of Binance's `metrics` is five minutes before its reading.
const METRICS_MOVED: Millis = Millis(1_782_345_600_000);

/// All formats but plain tables, those with more specific columns first.
pub(crate) const LAYOUTS: &[Layout] = &[
    // Source: <https://data.binance.vision>. Each line stands twice in a file. At most one liquidation per contract and
    // second is published.
    Layout {
        format: Format::BinanceLiquidations,
        writer: "Binance's liquidationSnapshot",
        needs: &[
            &["time"],
            &["side"],
            &["price"],
            &["average_price"],
            &["order_status"],
            SNAPSHOT_FILLED,
        ],
        columns: &[
            ("timestamp", &["time"]),
            ("side", &["side"]),
            ("price", &["average_price"]),
            ("order_price", &["price"]),
            ("qty", SNAPSHOT_FILLED),
        ],
        clock: Clock::AnyEpoch,
        side: SideMeaning::Order,
        amount: AmountMeaning::Binance,
        price: PriceMeaning::Average,
        key: OrderKey::Binance,
        exchange: Some("binance"),
        is_named_by_file: true,
        ..TABLE
    },
    // For coin-margined contracts, the column that is otherwise in USD has the coins.
    Layout {
        format: Format::BinanceMetrics,
        writer: "Binance's metrics",
        needs: &[
            &["create_time"],
            &["symbol"],
            &["sum_open_interest"],
            &["sum_open_interest_value"],
        ],
        columns: &[
            ("timestamp", &["create_time"]),
            ("symbol", &["symbol"]),
            ("open_interest", &["sum_open_interest"]),
            ("coins", &["sum_open_interest_value"]),
        ],
        label: Label::Moved(METRICS_MOVED, 5 * Millis::MINUTE),
        amount: AmountMeaning::Binance,
        exchange: Some("binance"),
        ..TABLE
    },
    // For coin-margined contracts, the column that is otherwise the turnover has the coins. Times of spot files are in
    // microseconds since 2025.
    Layout {
        format: Format::BinanceKlines,
        writer: "Binance's klines",
        needs: &[
            OPEN_TIME,
            CLOSE_TIME,
            &["open"],
            &["high"],
            &["low"],
            &["close"],
            &["volume"],
        ],
        columns: &[
            ("timestamp", OPEN_TIME),
            ("last_instant", CLOSE_TIME),
            ("open", &["open"]),
            ("high", &["high"]),
            ("low", &["low"]),
            ("close", &["close"]),
            ("volume", &["volume"]),
            ("coins", QUOTE_VOLUME),
            (
                "trades",
                &["count", "number_of_trades", "number of trades", "trades"],
            ),
        ],
        clock: Clock::AnyEpoch,
        amount: AmountMeaning::Binance,
        is_named_by_file: true,
        ..TABLE
    },
    // Source: <https://docs.tardis.dev/downloadable-csv-files>. The file has a line for every change of any value.
    Layout {
        format: Format::TardisDerivativeTicker,
        writer: "Tardis' derivative_ticker",
        needs: &[
            COMMON_OF_TARDIS[0],
            COMMON_OF_TARDIS[1],
            COMMON_OF_TARDIS[2],
            COMMON_OF_TARDIS[3],
            &["funding_rate"],
            &["open_interest"],
            &["mark_price"],
            &["last_price"],
        ],
        columns: &[
            ("exchange", &["exchange"]),
            ("symbol", &["symbol"]),
            ("timestamp", &["timestamp"]),
            ("received_at", &["local_timestamp"]),
            ("open_interest", &["open_interest"]),
            ("mark_price", &["mark_price"]),
            ("last_price", &["last_price"]),
        ],
        clock: Clock::AnyEpoch,
        amount: AmountMeaning::Listed,
        exchanges: TARDIS,
        ..TABLE
    },
    // `liquidations` and `trades` have the same header, so the file name decides between these formats.
    Layout {
        format: Format::TardisLiquidations,
        writer: "Tardis' liquidations",
        needs: &[
            COMMON_OF_TARDIS[0],
            COMMON_OF_TARDIS[1],
            COMMON_OF_TARDIS[2],
            COMMON_OF_TARDIS[3],
            &["id"],
            &["side"],
            &["price"],
            &["amount"],
        ],
        columns: &[
            ("exchange", &["exchange"]),
            ("symbol", &["symbol"]),
            ("timestamp", &["timestamp"]),
            ("received_at", &["local_timestamp"]),
            ("id", &["id"]),
            ("side", &["side"]),
            ("price", &["price"]),
            ("qty", &["amount"]),
        ],
        clock: Clock::AnyEpoch,
        side: SideMeaning::Order,
        amount: AmountMeaning::Listed,
        price: PriceMeaning::Listed,
        key: OrderKey::Id("tardis"),
        exchanges: TARDIS,
        ..TABLE
    },
    // Source: <https://github.com/bmoscon/cryptofeed>. Files of trades have no quantity column.
    Layout {
        format: Format::ForceOrders,
        writer: "cryptofeed's liquidations",
        needs: &[
            &["exchange"],
            &["symbol"],
            &["timestamp"],
            &["receipt_timestamp"],
            &["status"],
            &["side"],
            &["price"],
            &["quantity", "leaves_qty"],
        ],
        columns: &[
            ("exchange", &["exchange"]),
            ("symbol", &["symbol"]),
            ("timestamp", &["timestamp"]),
            ("received_at", &["receipt_timestamp"]),
            ("id", &["id"]),
            ("side", &["side"]),
            ("price", &["price"]),
            ("qty", &["quantity", "leaves_qty"]),
        ],
        clock: Clock::AnyEpoch,
        side: SideMeaning::Order,
        amount: AmountMeaning::Listed,
        price: PriceMeaning::Listed,
        key: OrderKey::Id("cryptofeed"),
        exchanges: CRYPTOFEED,
        is_normalised: true,
        ..TABLE
    },
    Layout {
        format: Format::Bars,
        writer: "cryptofeed's candles",
        needs: &[
            &["exchange"],
            &["symbol"],
            &["start", "candle_start"],
            &["stop", "candle_stop"],
            &["interval"],
            &["open"],
            &["high"],
            &["low"],
            &["close"],
            &["volume"],
        ],
        columns: &[
            ("exchange", &["exchange"]),
            ("symbol", &["symbol"]),
            ("timestamp", &["start", "candle_start"]),
            ("interval", &["interval"]),
            ("open", &["open"]),
            ("high", &["high"]),
            ("low", &["low"]),
            ("close", &["close"]),
            ("volume", &["volume"]),
        ],
        clock: Clock::AnyEpoch,
        amount: AmountMeaning::Listed,
        exchanges: CRYPTOFEED,
        is_normalised: true,
        refused: &[RefusedRows {
            column: &["closed"],
            allowed: &[],
            refused: &["false", "f", "0"],
            reason: "the bar has not closed",
        }],
        ..TABLE
    },
    Layout {
        format: Format::OpenInterest,
        writer: "cryptofeed's open interest",
        needs: &[
            &["exchange"],
            &["symbol"],
            &["timestamp"],
            &["receipt_timestamp"],
            &["open_interest"],
        ],
        columns: &[
            ("exchange", &["exchange"]),
            ("symbol", &["symbol"]),
            ("timestamp", &["timestamp"]),
            ("open_interest", &["open_interest"]),
        ],
        clock: Clock::AnyEpoch,
        amount: AmountMeaning::Listed,
        exchanges: CRYPTOFEED,
        is_normalised: true,
        ..TABLE
    },
    // Programs that log Binance's socket, and replies of the REST endpoint. Logging programs compute `usd_size` from the
    // price of the order.
    Layout {
        format: Format::ForceOrders,
        writer: "force orders of Binance with the side of the order",
        needs: &[
            &["order_trade_time", "time"],
            &["symbol"],
            &["side"],
            &["price"],
            AVERAGE,
            FILLED,
        ],
        columns: &[
            ("timestamp", &["order_trade_time", "time"]),
            ("symbol", &["symbol"]),
            ("side", &["side"]),
            ("price", AVERAGE),
            ("order_price", &["price"]),
            ("qty", FILLED),
            ("value_usd", &["usd_size"]),
        ],
        side: SideMeaning::Order,
        amount: AmountMeaning::Binance,
        ..TABLE
    },
    // Rows of coin-margined contracts have a pair and a contract type, and the coins in the column that is otherwise in
    // USD.
    Layout {
        format: Format::OpenInterest,
        writer: "Binance's openInterestHist of coin-margined contracts",
        needs: &[
            &["timestamp"],
            &["symbol", "pair"],
            &["sumopeninterest"],
            &["sumopeninterestvalue"],
            &["contracttype"],
        ],
        columns: &[
            ("timestamp", &["timestamp"]),
            ("symbol", &["symbol", "pair"]),
            ("open_interest", &["sumopeninterestvalue"]),
        ],
        refused: &[RefusedRows {
            column: &["contracttype"],
            allowed: &["PERPETUAL"],
            refused: &[],
            reason: "the open interest does not belong to the perpetual contract",
        }],
        amount: AmountMeaning::Coins,
        ..TABLE
    },
    Layout {
        format: Format::OpenInterest,
        writer: "Binance's openInterestHist",
        needs: &[
            &["timestamp"],
            &["symbol", "pair"],
            &["sumopeninterest"],
            &["sumopeninterestvalue"],
        ],
        columns: &[
            ("timestamp", &["timestamp"]),
            ("symbol", &["symbol", "pair"]),
            ("open_interest", &["sumopeninterest"]),
            ("coins", &["sumopeninterestvalue"]),
        ],
        amount: AmountMeaning::Binance,
        ..TABLE
    },
    // Gate's futures/usdt/candlesticks and contract_stats: times in seconds, amounts in contracts.
    Layout {
        format: Format::Bars,
        writer: "Gate's candlesticks",
        needs: &[&["t"], &["o"], &["h"], &["l"], &["c"], &["v"], &["sum"]],
        columns: &[
            ("timestamp", &["t"]),
            ("open", &["o"]),
            ("high", &["h"]),
            ("low", &["l"]),
            ("close", &["c"]),
            ("volume", &["v"]),
            ("quote_volume", &["sum"]),
        ],
        clock: Clock::AnyEpoch,
        amount: AmountMeaning::Contracts,
        exchange: Some("gate"),
        ..TABLE
    },
    Layout {
        format: Format::OpenInterest,
        writer: "Gate's contract_stats",
        needs: &[
            &["time"],
            &["open_interest"],
            &["open_interest_usd"],
            &["lsr_taker"],
            &["mark_price"],
        ],
        columns: &[
            ("timestamp", &["time"]),
            ("open_interest", &["open_interest"]),
            ("open_interest_usd", &["open_interest_usd"]),
            ("mark_price", &["mark_price"]),
        ],
        clock: Clock::AnyEpoch,
        amount: AmountMeaning::Contracts,
        exchange: Some("gate"),
        ..TABLE
    },
    // BitMEX' trade/bucketed: the instant is the end of the bin, the volume is in contracts.
    Layout {
        format: Format::Bars,
        writer: "BitMEX' trade/bucketed",
        needs: &[
            &["timestamp"],
            &["symbol"],
            &["open"],
            &["high"],
            &["low"],
            &["close"],
            &["trades"],
            &["volume"],
            &["vwap"],
            &["homenotional"],
        ],
        columns: &[
            ("timestamp", &["timestamp"]),
            ("symbol", &["symbol"]),
            ("open", &["open"]),
            ("high", &["high"]),
            ("low", &["low"]),
            ("close", &["close"]),
            ("volume", &["homenotional"]),
            ("trades", &["trades"]),
        ],
        label: Label::End,
        amount: AmountMeaning::Coins,
        ..TABLE
    },
    // freqtrade's candle type open_interest and ccxt's history, with an amount and its value.
    Layout {
        format: Format::OpenInterest,
        writer: "freqtrade's open interest",
        needs: &[
            &["date", "timestamp"],
            &["open_interest_amount", "openinterestamount"],
        ],
        columns: &[
            ("timestamp", &["date", "timestamp"]),
            ("symbol", &["symbol", "pair"]),
            ("exchange", &["exchange"]),
            (
                "open_interest",
                &["open_interest_amount", "openinterestamount"],
            ),
            (
                "open_interest_value",
                &["open_interest_value", "openinterestvalue"],
            ),
        ],
        ..TABLE
    },
    Layout {
        format: Format::HyperliquidFills,
        writer: "fills of a Hyperliquid node",
        needs: &[
            &["coin"],
            &["price"],
            &["size"],
            &["side"],
            &["start_position"],
            &["timestamp"],
            &["trade_id"],
            &["is_liquidation"],
        ],
        columns: &[
            ("symbol", &["coin"]),
            ("price", &["price"]),
            ("qty", &["size"]),
            ("side", &["side"]),
            ("start_position", &["start_position"]),
            ("timestamp", &["timestamp"]),
            ("id", &["trade_id"]),
            ("is_liquidation", &["is_liquidation"]),
            ("direction", &["direction"]),
            ("dex", &["dex"]),
            ("quote", &["quote_symbol"]),
        ],
        side: SideMeaning::Order,
        key: OrderKey::Id("hyperliquid"),
        exchange: Some("hyperliquid"),
        amount: AmountMeaning::Coins,
        ..TABLE
    },
];
