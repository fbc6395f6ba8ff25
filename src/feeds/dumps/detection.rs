//! Detection of a file's format from its columns, its first row and its name.

use std::collections::BTreeSet;

use crate::feeds::dumps::cryptodatadownload;
use crate::feeds::dumps::file_name::FileName;
use crate::feeds::dumps::format::Format;
use crate::feeds::dumps::layout::{
    AmountMeaning, FileTable, Label, Layout, SideMeaning, TABLE, place,
};
use crate::feeds::dumps::layouts::LAYOUTS;
use crate::feeds::dumps::syntax::OHLCV;
use crate::feeds::dumps::text_rows::FileHead;
use crate::model::{Vocabulary as _, shortened};
use crate::tables::column_names::column_of_trades;
use crate::tables::{TableKind, column_names as names, column_of};

const COINGLASS_ORDERS: &str = "orders of CoinGlass have a side with two documented meanings; use the exchange's own \
                                files instead";
const NO_VOLUME: &str =
    "it has open, high, low and close, but no column volume (in coins), which bars need";
const COINGLASS_OHLC: &str = "it has no volume, and its name says open interest: if it is a CoinGlass history of open \
                              interest in USD, give format=\"coinglass_open_interest_usd\"; if in coins, \
                              format=\"coinglass_open_interest_coins\"";
const OF_ORDER: &str = "its side is BUY or SELL: if that is the side of the order that closed the position (a SELL \
                        closes a long), give format=\"force_orders\"; at bybit, bitget and coinex a Buy is a liquidated \
                        long, so give a column position_side with LONG or SHORT";
const POSITIONS: &str = "it has positions or levels: give positions as a table, ingest(path, positions=…), with the \
                         columns timestamp, symbol or coin, side and value_usd; and give levels, which are sums of \
                         positions, to score_truth(positions=)";
/// Maximum number of columns listed in a message.
const SHOWN: usize = 24;
/// Columns that positions of accounts have, and sums of them by price.
const OF_POSITIONS: [&str; 4] = ["liquidation_price", "liq_price", "liquidationpx", "25x"];
/// Columns that are not read because their meaning differs between programs, and what each may be.
const MAY_BE: [(&str, &[&str]); 5] = [
    (
        "timestamp",
        &[
            "ts_ms",
            "event_time",
            "eventtime",
            "time_ms",
            "timestamp_ms",
            "created_at",
            "createtime",
            "create_time",
            "created_time",
            "updatedtime",
            "trade_time",
            "unix",
        ],
    ),
    (
        "symbol",
        &[
            "instrument",
            "market",
            "contract",
            "ticker",
            "instid",
            "inst_id",
            "product_id",
            "instrument_name",
            "instrument_id",
        ],
    ),
    (
        "qty",
        &[
            "size",
            "amount",
            "sz",
            "contracts",
            "vol",
            "volume",
            "origqty",
            "position_size",
            "base_amount",
        ],
    ),
    (
        "price",
        &[
            "px",
            "avg_price",
            "average_price",
            "avgprice",
            "bkpx",
            "liq_price",
            "fill_price",
        ],
    ),
    (
        "open_interest",
        &["openinterest", "open_interest_amount", "sum_open_interest"],
    ),
];

/// Determines the format of a file; `asked` is the format that the caller named.
///
/// The error says why it is unclear.
pub(crate) fn detect(
    name: &FileName,
    head: &FileHead,
    asked: Option<Format>,
) -> Result<FileTable, String> {
    let found = of_head(name, head, asked).map_err(|why| match asked {
        Some(format) => format!("as {}: {why}", format.name()),
        None => format!("{why}; formats: {}", Format::spellings()),
    })?;
    let is_bars = found.layout.format.kind() == TableKind::Bars;
    // Klines of other prices have a volume of 0.
    let is_klines = found.layout.format == Format::BinanceKlines;
    if let Some(what) = name.untraded(is_klines).filter(|_| is_bars) {
        return Err(format!(
            "its name says that it contains {what}; bars must be made of trade prices"
        ));
    }
    if found.layout.is_named_by_file && name.contract_or_given().is_none() {
        return Err(format!(
            "as {}: its name does not begin with a contract, as BTCUSDT-1m-2024-01.csv does, and nothing else names \
             the contract",
            found.layout.format.name()
        ));
    }
    Ok(found)
}

fn of_head(name: &FileName, head: &FileHead, asked: Option<Format>) -> Result<FileTable, String> {
    let Some(header) = &head.header else {
        let cells = head.rows.first().map_or(0, Vec::len);
        return Err(format!(
            "it has no header, and its {cells} columns do not match any format"
        ));
    };
    if head.is_fills {
        let fills = LAYOUTS
            .iter()
            .find(|one| one.format == Format::HyperliquidFills);
        let fills = fills.filter(|_| asked.is_none_or(|asked| asked == Format::HyperliquidFills));
        return match fills {
            Some(layout) => Ok(of_layout(layout, header)),
            None => Err("its rows are fills of a Hyperliquid node".to_owned()),
        };
    }
    if let Some(column) = twice(header) {
        return Err(format!("column {column:?} is given twice; allowed: once"));
    }
    let is_ohlcv = head.is_lists && OHLCV.iter().eq(header.iter());
    if is_ohlcv && asked.is_none_or(|asked| asked == Format::CcxtOhlcv) {
        return Ok(of_table(Format::CcxtOhlcv, header));
    }
    if asked == Some(Format::CcxtOhlcv) {
        return Err("it is not a JSON list of lists".to_owned());
    }
    let known = match cryptodatadownload::table(name, header, head.rows.first())? {
        Some(table) => Some(table),
        None => known_layout(name, header, asked)?.map(|layout| of_layout(layout, header)),
    };
    match (known, asked) {
        (Some(known), Some(asked)) if known.layout.format != asked => {
            let (writer, is) = (known.layout.writer, known.layout.format.name());
            Err(format!("its columns match {writer}; give format=\"{is}\""))
        }
        (Some(known), _) => Ok(known),
        (None, Some(asked))
            if LAYOUTS.iter().any(|one| one.format == asked) && !is_plain(asked) =>
        {
            Err(format!(
                "its columns ({}) are not those of this format",
                shown(header)
            ))
        }
        (None, Some(asked)) => {
            let lacks = lacking(asked, &meant(name, header));
            if lacks.is_empty() {
                Ok(of_table(asked, header))
            } else {
                Err(unlike(header, asked, &lacks))
            }
        }
        (None, None) => table_of(name, header, head.rows.first()),
    }
}

/// Whether a format is a table with common names.
fn is_plain(format: Format) -> bool {
    use Format::{Bars, ForceOrders, OpenInterest, Orders, Totals};
    matches!(format, Orders | ForceOrders | Bars | OpenInterest | Totals)
}

/// The format of an exchange or a known program with these columns, if any.
fn known_layout(
    name: &FileName,
    header: &[String],
    asked: Option<Format>,
) -> Result<Option<&'static Layout>, String> {
    let fits = |layout: &&Layout| {
        let needs = layout.needs.iter();
        let has_all = needs.clone().all(|names| place(header, names).is_some());
        // Klines with a column of symbols are bars of a table.
        let is_otherwise_named = layout.format == Format::BinanceKlines
            && name.contract().is_none()
            && (place(header, names::SYMBOL).or(place(header, names::COIN))).is_some();
        has_all && !is_otherwise_named
    };
    let Some(layout) = LAYOUTS.iter().find(fits) else {
        return Ok(None);
    };
    if layout.format == Format::TardisLiquidations && asked.is_none() {
        return match (name.says("liquidations"), name.says("trades")) {
            (true, false) => Ok(Some(layout)),
            (false, true) => Err("its name says that it contains trades".to_owned()),
            _ => Err("liquidations and trades have the same columns, and its name does not say which it contains; \
                      if it contains liquidations, give format=\"tardis_liquidations\""
                .to_owned()),
        };
    }
    Ok(Some(layout))
}

/// Columns of programs that contradict or confirm those of `klines`.
const OF_PROGRAMS: [&str; 5] = [
    "base_volume",
    "volume_usd",
    "interval",
    "is_closed",
    "price_type",
];

fn of_layout(layout: &Layout, header: &[String]) -> FileTable {
    let columns = layout.columns.iter().filter_map(|(name, theirs)| {
        let found = place(header, theirs)?;
        Some(((*name).to_owned(), found))
    });
    let mut columns: Vec<(String, usize)> = columns.collect();
    // Programs add columns to the format.
    if layout.format == Format::BinanceKlines {
        for (found, name) in header.iter().enumerate() {
            let is_taken = columns.iter().any(|(_, place)| *place == found);
            if !is_taken && column_of(name).is_some_and(|column| OF_PROGRAMS.contains(&column)) {
                columns.push((name.clone(), found));
            }
        }
    }
    FileTable {
        layout: *layout,
        columns,
        header: header.to_vec(),
    }
}

/// The file as a table with common names.
pub(super) fn of_table(format: Format, header: &[String]) -> FileTable {
    let mut columns: Vec<(String, usize)> = Vec::new();
    for (place, name) in header.iter().enumerate() {
        if column_of(name).is_some() {
            columns.push((name.clone(), place));
        }
    }
    let mut replace = |ours: &'static str, found: Option<usize>| {
        if let Some(found) = found {
            columns.retain(|(name, _)| column_of(name) != Some(ours));
            columns.push((ours.to_owned(), found));
        }
    };
    let mut layout = Layout { format, ..TABLE };
    match format {
        Format::ForceOrders => layout.side = SideMeaning::Order,
        Format::CoinGlassPrices => {
            layout.amount = AmountMeaning::Usd;
            replace("volume", place(header, names::VOLUME_USD));
        }
        Format::CoinGlassOpenInterestCoins | Format::CoinGlassOpenInterestUsd => {
            layout.label = Label::Start;
            layout.amount = AmountMeaning::Coins;
            let amount = if format.is_in_usd() {
                "open_interest_usd"
            } else {
                "open_interest"
            };
            columns.retain(|(name, _)| {
                !matches!(column_of(name), Some("open_interest" | "open_interest_usd"))
            });
            columns.extend(place(header, names::CLOSE).map(|place| (amount.to_owned(), place)));
        }
        _ => {}
    }
    FileTable {
        layout,
        columns,
        header: header.to_vec(),
    }
}

/// The columns of tables that a file has. Its name may have the symbol.
fn meant(name: &FileName, header: &[String]) -> BTreeSet<&'static str> {
    let mut meant: BTreeSet<&'static str> =
        header.iter().filter_map(|name| column_of(name)).collect();
    if meant.contains("coin") || name.symbol_or_given().is_some() {
        meant.insert("symbol");
    }
    // What the rules of tables read in place of other columns.
    for (read, other) in [
        ("opens_at", "timestamp"),
        ("base_volume", "volume"),
        ("open_interest_coins", "open_interest"),
        ("position_side", "side"),
        ("home_notional", "qty"),
        ("base_value", "qty"),
        ("home_notional", "volume"),
    ] {
        if meant.contains(read) {
            meant.insert(other);
        }
    }
    meant
}

const BAR: [&str; 4] = ["open", "high", "low", "close"];

/// The columns that a table of this format needs and a file lacks.
fn lacking(format: Format, meant: &BTreeSet<&'static str>) -> Vec<&'static str> {
    let needs: &[&'static str] = match format {
        Format::Orders | Format::ForceOrders => &["timestamp", "symbol", "side", "price", "qty"],
        Format::Bars | Format::CcxtOhlcv => &[
            "timestamp",
            "symbol",
            "open",
            "high",
            "low",
            "close",
            "volume",
        ],
        Format::CoinGlassPrices => &[
            "timestamp",
            "symbol",
            "open",
            "high",
            "low",
            "close",
            "volume_usd",
        ],
        Format::OpenInterest => &["timestamp", "symbol", "open_interest"],
        Format::OpenInterestUsd => &["timestamp", "symbol", "open_interest_usd"],
        Format::CoinGlassOpenInterestCoins | Format::CoinGlassOpenInterestUsd => {
            &["timestamp", "symbol", "close"]
        }
        Format::Positions => &["timestamp", "symbol", "side", "value_usd"],
        Format::Totals => &["timestamp", "symbol", "long_usd", "short_usd"],
        _ => &[],
    };
    needs
        .iter()
        .filter(|name| !meant.contains(*name))
        .copied()
        .collect()
}

/// The table that a file with common names contains.
fn table_of(
    name: &FileName,
    header: &[String],
    row: Option<&Vec<String>>,
) -> Result<FileTable, String> {
    let has = |word: &str| {
        let mut names = header.iter();
        names.any(|name| name.trim().eq_ignore_ascii_case(word))
    };
    if has("exchange_name") {
        return Err(COINGLASS_ORDERS.to_owned());
    }
    let meant = meant(name, header);
    if meant.contains("long_usd") && meant.contains("short_usd") {
        let lacks = lacking(Format::Totals, &meant);
        if lacks.is_empty() {
            return Ok(of_table(Format::Totals, header));
        }
        return Err(unlike(header, Format::Totals, &lacks));
    }
    if OF_POSITIONS.iter().any(|word| has(word)) {
        if has("liquidation_price") && lacking(Format::Positions, &meant).is_empty() {
            return Ok(of_table(Format::Positions, header));
        }
        return Err(POSITIONS.to_owned());
    }
    // The symbol may be missing, which a message of its own says.
    let mut known = meant.clone();
    let is_named = !known.insert("symbol");
    let is = |format| lacking(format, &known).is_empty();
    let found = if is(Format::Orders) {
        let is_marked = meant.contains("is_liquidation") || meant.contains("type");
        let trades = column_of_trades(header.iter().map(String::as_str));
        if let Some(column) = trades.filter(|_| !is_marked) {
            return Err(format!(
                "it contains trades, not liquidations, because it has a column {column:?}"
            ));
        }
        if name.says("trades") {
            return Err("its name says that it contains trades".to_owned());
        }
        if !meant.contains("position_side") && is_of_order(header, row) {
            return Err(OF_ORDER.to_owned());
        }
        Format::Orders
    } else if is(Format::Bars) {
        Format::Bars
    } else if is(Format::CoinGlassPrices) {
        Format::CoinGlassPrices
    } else if known.contains("timestamp") && BAR.iter().all(|price| known.contains(price)) {
        return Err(if name.is_of_open_interest() {
            COINGLASS_OHLC.to_owned()
        } else {
            NO_VOLUME.to_owned()
        });
    } else if is(Format::OpenInterest) {
        Format::OpenInterest
    } else if is(Format::OpenInterestUsd) {
        Format::OpenInterestUsd
    } else {
        // The kind of which the file has most of the columns, and not the time and the symbol alone.
        let kinds = [
            (Format::Orders, 5),
            (Format::Bars, 7),
            (Format::OpenInterest, 3),
        ];
        let lacks = kinds.map(|(kind, needs)| (kind, needs, lacking(kind, &meant)));
        let nearest = lacks
            .into_iter()
            .filter(|(_, needs, lacks)| lacks.len() * 2 <= *needs)
            .max_by_key(|(_, needs, lacks)| (*needs - lacks.len(), 10 - *needs));
        return Err(match nearest {
            Some((nearest, _, lacks)) => unlike(header, nearest, &lacks),
            None => format!("its columns ({}) do not match any format", shown(header)),
        });
    };
    if !is_named && guess(header, "symbol").is_some() {
        return Err(unlike(header, found, &["symbol"]));
    }
    Ok(of_table(found, header))
}

/// The message for a file that lacks columns of the nearest kind of table.
fn unlike(header: &[String], nearest: Format, lacks: &[&'static str]) -> String {
    let lacks: Vec<String> = lacks
        .iter()
        .map(|name| match guess(header, name) {
            Some(other) => format!("{name:?} (rename {other:?} if it is that)"),
            None => format!("{name:?}"),
        })
        .collect();
    format!(
        "its columns ({}) do not match any format; as {} they lack {}",
        shown(header),
        nearest.name(),
        lacks.join(", ")
    )
}

/// The column that may be the one that is missing.
fn guess<'h>(header: &'h [String], name: &str) -> Option<&'h String> {
    let (_, words) = MAY_BE.iter().find(|(missing, _)| *missing == name)?;
    header.iter().find(|cell| {
        let cell = cell.trim();
        words.iter().any(|word| cell.eq_ignore_ascii_case(word))
    })
}

/// Whether the side of the first order is that of an order, which is ambiguous.
fn is_of_order(header: &[String], row: Option<&Vec<String>>) -> bool {
    let side = place(header, names::SIDE).and_then(|place| row?.get(place));
    side.is_some_and(|word| ["BUY", "SELL"].contains(&word.trim().to_ascii_uppercase().as_str()))
}

/// Returns a column name that occurs twice, if any.
fn twice(header: &[String]) -> Option<&String> {
    let mut names = header.iter().enumerate();
    names.find_map(|(place, name)| {
        let is_again = !name.is_empty() && header.iter().take(place).any(|other| other == name);
        is_again.then_some(name)
    })
}

/// Returns a list of column names for a message.
fn shown(header: &[String]) -> String {
    let names = header.iter().take(SHOWN).map(|name| shortened(name));
    let mut shown = names.collect::<Vec<_>>().join(", ");
    if header.len() > SHOWN {
        shown.push_str(" and others");
    }
    shown
}
