//! Fills (executed trades) written by a Hyperliquid node, as rows of cells.
//!
//! A line is `["0x…", {fill}]` (`node_fills`), or a block with such pairs in `events` (`node_fills_by_block`).
//!
//! A liquidation has two fills with an object `liquidation`, one for each party of the trade. Only the fill of the
//! liquidated account, which that object names, is a row. All other fills are skipped.
//! Source: <https://hyperliquid.gitbook.io>.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{self, BufRead as _};

use csv::ByteRecord;
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::feeds::dumps::row_error::RowError;
use crate::feeds::hyperliquid::DELEVERAGED;

/// Maximum length of a line in bytes; a block may have many thousands of fills.
const LONGEST: u64 = 256 << 20;

/// Text that occurs in every fill of a liquidation.
const MARK: &[u8] = b"\"liquidation\"";

/// Names of the cells, which are those of the same fills in Parquet files.
pub(super) const FILL_COLUMNS: [&str; 7] = [
    "coin",
    "price",
    "size",
    "side",
    "start_position",
    "timestamp",
    "trade_id",
];

/// Whether a text starts like a file of fills.
pub(super) fn is_fills(begin: &str) -> bool {
    let pair = begin.strip_prefix('[').map(str::trim_start);
    pair.is_some_and(|rest| rest.starts_with("\"0x"))
        || begin.starts_with('{')
            && begin.contains("\"block_number\"")
            && begin.contains("\"events\"")
}

/// Reads the liquidations from a file of fills.
pub(super) struct NodeFills<'a> {
    from: io::BufReader<Box<dyn io::Read + 'a>>,
    line: u64,
    bytes: Vec<u8>,
    /// Rows of the last line that have not been returned yet.
    rows: VecDeque<Result<[String; 7], RowError>>,
}

impl<'a> NodeFills<'a> {
    pub(super) fn of(bytes: Box<dyn io::Read + 'a>) -> Self {
        Self {
            from: io::BufReader::with_capacity(256 << 10, bytes),
            line: 0,
            bytes: Vec::new(),
            rows: VecDeque::new(),
        }
    }

    /// Reads the next liquidation; returns its line, and its error if it cannot be read.
    pub(super) fn next(&mut self, record: &mut ByteRecord) -> Option<(u64, Result<(), RowError>)> {
        loop {
            if let Some(row) = self.rows.pop_front() {
                let row = row.map(|cells| *record = ByteRecord::from(&cells[..]));
                return Some((self.line, row));
            }
            self.bytes.clear();
            self.line += 1;
            let mut line = io::Read::take(&mut self.from, LONGEST);
            match line.read_until(b'\n', &mut self.bytes) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(fault) => {
                    return Some((self.line, Err(RowError::unreadable(&fault.to_string()))));
                }
            }
            if memmem::find(&self.bytes, MARK).is_some() {
                self.rows.extend(rows(&self.bytes));
            } else if !is_whole(&self.bytes) {
                self.rows.push_back(Err(none(&self.bytes)));
            }
        }
    }
}

/// Whether a line without liquidations is complete; a truncated line lacks the closing bracket.
fn is_whole(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    matches!(
        (line.first(), line.last()),
        (None, None) | (Some(b'['), Some(b']')) | (Some(b'{'), Some(b'}'))
    )
}

/// Creates the error for a line that does not contain fills.
fn none(line: &[u8]) -> RowError {
    let shown = line.get(..200).unwrap_or(line);
    RowError::new(
        "the line is neither a fill nor a block of fills",
        &String::from_utf8_lossy(shown),
    )
}

/// An account, and the fill of this account.
type Leg<'a> = (Cow<'a, str>, &'a RawValue);

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    events: Vec<Leg<'a>>,
}

#[derive(Deserialize)]
struct Caused<'a> {
    #[serde(borrow, default)]
    liquidation: Option<Liquidation<'a>>,
    #[serde(borrow, default)]
    dir: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Liquidation<'a> {
    #[serde(borrow)]
    liquidated_user: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fill<'a> {
    #[serde(borrow)]
    coin: Cow<'a, str>,
    #[serde(borrow)]
    px: Cow<'a, str>,
    #[serde(borrow)]
    sz: Cow<'a, str>,
    #[serde(borrow)]
    side: Cow<'a, str>,
    #[serde(borrow)]
    start_position: Cow<'a, str>,
    time: i64,
    tid: u64,
}

/// Reads the liquidations in a line.
fn rows(line: &[u8]) -> Vec<Result<[String; 7], RowError>> {
    let line_of = |text| -> Option<Vec<Leg<'_>>> {
        if str::starts_with(text, '{') {
            return serde_json::from_str::<Block<'_>>(text)
                .ok()
                .map(|block| block.events);
        }
        serde_json::from_str::<Leg<'_>>(text)
            .ok()
            .map(|leg| vec![leg])
    };
    let legs = std::str::from_utf8(line.trim_ascii())
        .ok()
        .and_then(line_of);
    let Some(legs) = legs else {
        return vec![Err(none(line))];
    };
    let found = legs.iter().map(|(account, fill)| row(account, fill.get()));
    found.filter_map(Result::transpose).collect()
}

/// Reads a fill; `None` if the fill did not liquidate its account.
fn row(account: &str, fill: &str) -> Result<Option<[String; 7]>, RowError> {
    let wrong = |fault: serde_json::Error| {
        // The position in the text is removed, so that equal errors have equal messages.
        let said = fault.to_string();
        let said = said.split(" at line ").next().unwrap_or_default();
        RowError::new(format!("the fill has an unexpected format: {said}"), fill)
    };
    let caused: Caused<'_> = serde_json::from_str(fill).map_err(wrong)?;
    let Some(liquidation) = caused.liquidation else {
        return Ok(None);
    };
    let of_account = liquidation.liquidated_user.eq_ignore_ascii_case(account);
    if !of_account || caused.dir == DELEVERAGED {
        return Ok(None);
    }
    let read: Fill<'_> = serde_json::from_str(fill).map_err(wrong)?;
    Ok(Some([
        read.coin.into_owned(),
        read.px.into_owned(),
        read.sz.into_owned(),
        read.side.into_owned(),
        read.start_position.into_owned(),
        read.time.to_string(),
        read.tid.to_string(),
    ]))
}
