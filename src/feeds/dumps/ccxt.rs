//! Arrays of `[time, open, high, low, close, volume]`, as ccxt's `fetch_ohlcv` gives them and people write them to JSON.
//!
//! They say neither exchange nor symbol nor length: the caller names the exchange, the file's name the symbol, and the
//! length is the least time between two of them.

use csv::ByteRecord;
use serde_json::value::RawValue;

/// The columns of an array.
pub(super) const COLUMNS: [&str; 6] = ["timestamp", "open", "high", "low", "close", "volume"];

/// Whether a text begins as a list of lists of numbers does.
pub(super) fn is_list(head: &str) -> bool {
    let mut next = head.trim_start().strip_prefix('[').map(str::trim_start);
    next = next
        .and_then(|rest| rest.strip_prefix('['))
        .map(str::trim_start);
    next.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// The arrays as lines of a table; why it is none.
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
