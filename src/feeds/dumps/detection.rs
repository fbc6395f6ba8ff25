//! Detection of a file's format from its header and first row, or from its name.

use crate::feeds::dumps::cells::{column, columns};
use crate::feeds::dumps::file_name::FileName;
use crate::feeds::dumps::format::Format;
use crate::feeds::dumps::{binance, table, tardis};
use crate::model::shortened;
use crate::tables::column_names as names;

/// Returns the first line in lower case if it is a header.
pub(crate) fn header(first: &[String]) -> Option<Vec<String>> {
    let is_number = |cell: &String| cell.starts_with(|first: char| first.is_ascii_digit());
    if first.first().is_none_or(is_number) {
        return None;
    }
    Some(lower(first))
}

/// Converts column names to the form in which they are compared.
pub(crate) fn lower(names: &[String]) -> Vec<String> {
    names
        .iter()
        .map(|cell| cell.trim().to_lowercase())
        .collect()
}

/// Returns a column name that occurs twice, if any.
pub(crate) fn twice(header: &[String]) -> Option<&String> {
    let mut names = header.iter().enumerate();
    names.find_map(|(place, name)| {
        let is_again = !name.is_empty() && header.iter().take(place).any(|other| other == name);
        is_again.then_some(name)
    })
}

const COINGLASS_ORDERS: &str = "orders of CoinGlass have a side with two documented meanings; use the exchange's own \
                                files instead";
const NO_VOLUME: &str =
    "it has open, high, low and close, but no column volume (in coins), which bars need";
const COINGLASS_OHLC: &str = "it has no volume, and its name says open interest: if it is a CoinGlass history of open \
                              interest in USD, give format=\"coinglass_open_interest_usd\"; if in coins, \
                              format=\"coinglass_open_interest_coins\"";
/// Message for a file that contains totals per period.
pub const TOTALS: &str =
    "it has totals of periods, not orders, and an archive does not store totals";
/// The function that accepts totals per period, with the required columns.
pub const TAKES_TOTALS: &str =
    "Market(liquidations=), with the columns timestamp, symbol, long_usd and short_usd";
/// Maximum number of columns listed in a message.
const SHOWN: usize = 24;

/// Determines the format from the header; an error says why it is ambiguous.
pub(crate) fn by_header(
    name: &FileName,
    header: &[String],
    row: Option<&Vec<String>>,
) -> Result<Format, String> {
    let has = |word: &str| header.iter().any(|cell| cell == word);
    if columns(header, binance::LIQUIDATIONS).is_some() {
        return Ok(Format::BinanceLiquidations);
    }
    if columns(header, binance::METRICS).is_some() {
        return Ok(Format::BinanceMetrics);
    }
    if columns(header, tardis::COMMON).is_some() {
        if has("funding_rate") && has("open_interest") {
            return Ok(Format::TardisDerivativeTicker);
        }
        if columns(header, tardis::LIQUIDATIONS).is_some() {
            return match (name.says("liquidations"), name.says("trades")) {
                (true, false) => Ok(Format::TardisLiquidations),
                (false, true) => Err("its name says that it contains trades".to_owned()),
                _ => Err("liquidations and trades have the same columns, and its name does not say which it contains; \
                          if it contains liquidations, give format=\"tardis_liquidations\""
                    .to_owned()),
            };
        }
    }
    let is_named = name.contract().is_some() || table::symbol_column(header).is_none();
    if has("open_time") && has("close_time") && has("open") && is_named {
        return Ok(Format::BinanceKlines);
    }
    if has("exchange_name") {
        return Err(COINGLASS_ORDERS.to_owned());
    }
    if columns(header, [names::LONG_USD, names::SHORT_USD]).is_some() {
        return Err(format!("{TOTALS}; give them to {TAKES_TOTALS}"));
    }
    if has("liquidation_price") || has("25x") {
        return Err("it has positions or levels: give positions as a table, ingest(path, positions=…), and give \
                    levels, which are sums of positions, to score_truth(positions=)".to_owned());
    }
    if column(header, names::TIMESTAMP).is_some() {
        if columns(header, [names::SIDE, names::PRICE, names::QTY]).is_some() {
            return side_of(header, row);
        }
        if columns(header, table::PRICES).is_some() {
            return match (
                column(header, names::VOLUME),
                column(header, names::VOLUME_USD),
            ) {
                (Some(_), _) => Ok(Format::Bars),
                (None, Some(_)) => Ok(Format::CoinGlassPrices),
                (None, None) if name.is_of_open_interest() => Err(COINGLASS_OHLC.to_owned()),
                (None, None) => Err(NO_VOLUME.to_owned()),
            };
        }
        if column(header, names::OPEN_INTEREST).is_some() {
            return Ok(Format::OpenInterest);
        }
        if column(header, names::OPEN_INTEREST_USD).is_some() {
            return Ok(Format::OpenInterestUsd);
        }
    }
    Err(format!(
        "its columns ({}) do not match any format",
        shown(header)
    ))
}

/// Returns a list of column names for a message.
pub(crate) fn shown(header: &[String]) -> String {
    let names = header.iter().take(SHOWN).map(|name| shortened(name));
    let mut shown = names.collect::<Vec<_>>().join(", ");
    if header.len() > SHOWN {
        shown.push_str(" and others");
    }
    shown
}

/// Checks the side of the first order; `BUY` and `SELL` are ambiguous.
fn side_of(header: &[String], row: Option<&Vec<String>>) -> Result<Format, String> {
    let place = column(header, names::SIDE).map(|column| column.place);
    let word = place.and_then(|place| row?.get(place));
    match word.map(|word| word.to_ascii_uppercase()).as_deref() {
        Some("BUY" | "SELL") => Err(
            "its side is BUY or SELL: if that is the side of the order that closed the position \
             (a SELL closes a long), give format=\"force_orders\""
                .to_owned(),
        ),
        _ => Ok(Format::Orders),
    }
}

/// Determines the format of a file without a header.
pub(crate) fn without(name: &FileName, line: &[String]) -> Result<Format, String> {
    let is_side = |cell: Option<&String>| cell.is_some_and(|word| word == "BUY" || word == "SELL");
    if line.len() == binance::LIQUIDATIONS_BARE.len() && is_side(line.get(1)) {
        return Ok(Format::BinanceLiquidations);
    }
    let numbers = line.iter().all(|cell| cell.parse::<f64>().is_ok());
    if line.len() == binance::KLINES_BARE.len() && numbers && name.contract().is_some() {
        return Ok(Format::BinanceKlines);
    }
    Err(format!(
        "it has no header, and its {} columns do not match any format",
        line.len()
    ))
}
