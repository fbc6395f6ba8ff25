//! JSON arrays of `[time, open, high, low, close, volume]`, the result of ccxt's `fetch_ohlcv`.
//!
//! The arrays name neither exchange nor symbol nor interval. The caller names the exchange, and the file name has the
//! symbol. The interval is the smallest distance between two rows.

use csv::ByteRecord;
use serde_json::value::RawValue;

/// The columns of an array.
pub(super) const COLUMNS: [&str; 6] = ["timestamp", "open", "high", "low", "close", "volume"];

/// Whether a text starts with a list of lists.
pub(super) fn is_list(head: &str) -> bool {
    let mut next = head.trim_start().strip_prefix('[').map(str::trim_start);
    next = next
        .and_then(|rest| rest.strip_prefix('['))
        .map(str::trim_start);
    next.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// The arrays as lines of a table, or an error.
pub(super) fn lines(text: &str) -> Result<Vec<ByteRecord>, String> {
    let rows: Vec<Vec<&RawValue>> = serde_json::from_str(text)
        .map_err(|fault| format!("not a list of lists of numbers: {fault}"))?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let cells = row.into_iter().map(|cell| match cell.get() {
                "null" => "",
                text => text.trim_matches('"'),
            });
            cells.collect()
        })
        .collect())
}
