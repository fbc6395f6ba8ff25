//! Fills (executed trades) written by a Hyperliquid node.
//!
//! A line is `["0x…", {fill}]` (`node_fills`), or a block with such pairs in `events` (`node_fills_by_block`).
//!
//! A liquidation has two fills with an object `liquidation`, one for each party of the trade. Only the fill of the
//! liquidated account, which that object names, becomes a row. The side `A` is a sale: if the account was long before
//! (`startPosition`), the sale closed a long. All other fills are skipped. A builder's market (`dex:COIN`) is an error,
//! because its quote currency is unknown.
//! Source: <https://hyperliquid.gitbook.io>.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{self, BufRead as _};

use memchr::memmem;
use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::row::{DumpRow, RowOrder};
use crate::contract::decode::exact_decimal;
use crate::feeds::decoding::event::{Completeness, PriceKind};
use crate::feeds::decoding::frame::{Channels, Frame, RawLiquidation, Rules, Size};
use crate::feeds::decoding::json_path::JsonPath;
use crate::feeds::decoding::market_name::MarketName;
use crate::feeds::dumps::cells::RowError;
use crate::feeds::instruments::Instruments;
use crate::model::{Millis, Side};

/// Maximum length of a line in bytes; a block may have many thousands of fills.
const LONGEST: u64 = 256 << 20;

/// Text that occurs in every fill of a liquidation.
const MARK: &[u8] = b"\"liquidation\"";

/// Value of `dir` for an account that was deleveraged instead of liquidated.
const DELEVERAGED: &str = "Auto-Deleveraging";

/// Settlement currency of the perpetual contracts that are not builders' markets.
const QUOTE: &str = "USDC";

static RULES: Rules = Rules {
    name: "hyperliquid",
    // A node writes every fill; whether a file contains all of them is unknown.
    completeness: Completeness::Complete,
    market: |native_id| MarketName::new(native_id, QUOTE),
    native: |_, _| None,
    contract: |_| None,
    channels: Channels::NONE,
};

/// Whether a text starts like a file of fills.
pub(super) fn is_fills(begin: &str) -> bool {
    let pair = begin.strip_prefix('[').map(str::trim_start);
    pair.is_some_and(|rest| rest.starts_with("\"0x"))
        || begin.starts_with('{')
            && begin.contains("\"block_number\"")
            && begin.contains("\"events\"")
}

/// Reads the liquidations from a file of fills.
pub(super) struct HyperliquidFills<'a> {
    from: io::BufReader<Box<dyn io::Read + 'a>>,
    line: u64,
    bytes: Vec<u8>,
    /// Decoded rows of the last line that have not been returned yet.
    rows: VecDeque<Result<DumpRow, RowError>>,
}

impl<'a> HyperliquidFills<'a> {
    pub(super) fn of(bytes: Box<dyn io::Read + 'a>) -> Self {
        Self {
            from: io::BufReader::with_capacity(256 << 10, bytes),
            line: 0,
            bytes: Vec::new(),
            rows: VecDeque::new(),
        }
    }

    /// Returns the next liquidation or its error, with the line number.
    pub(super) fn next(&mut self) -> Option<(u64, Result<DumpRow, RowError>)> {
        loop {
            if let Some(row) = self.rows.pop_front() {
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

/// Decodes the liquidations in a line.
fn rows(line: &[u8]) -> Vec<Result<DumpRow, RowError>> {
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

/// Decodes a fill; `None` if the fill did not liquidate its account.
fn row(account: &str, fill: &str) -> Result<Option<DumpRow>, RowError> {
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
    let coin = &*read.coin;
    if coin.contains(':') {
        let reason = "coin: the quote currency of this builder's market is unknown";
        return Err(RowError::new(reason, coin));
    }
    if coin.contains(['/', '@', '#', '+']) {
        return Err(RowError::new("coin: not a perpetual contract", coin));
    }
    let before = number("startPosition", &read.start_position)?;
    let (price, qty) = (positive("px", &read.px)?, positive("sz", &read.sz)?);
    let side = match (&*read.side, before) {
        ("A", before) if before > Decimal::ZERO => Side::Long,
        ("B", before) if before < Decimal::ZERO => Side::Short,
        ("A" | "B", before) => {
            let reason = "startPosition: the fill does not close the position";
            return Err(RowError::new(reason, &format!("{} of {before}", read.side)));
        }
        (other, _) => return Err(RowError::new("side: not A or B", other)),
    };
    let seen = RawLiquidation {
        native_id: coin,
        market: (RULES.market)(coin),
        side,
        price,
        price_kind: PriceKind::Fill,
        size: Size::Base(qty),
        timestamp: Some(Millis(read.time)),
        dedupe_key: format!("hyperliquid|{coin}|{}|{}", read.tid, read.side),
    };
    let none = Instruments::default();
    let event = Frame::new(&RULES, "", None, &none)
        .event(&JsonPath::ROOT, seen)
        .map_err(|fault| RowError::new(fault.to_string(), coin))?;
    RowOrder::of(event).map(|order| Some(DumpRow::Order(order)))
}

fn number(name: &str, text: &str) -> Result<Decimal, RowError> {
    exact_decimal(text).map_err(|_| RowError::new(format!("{name}: not an exact decimal"), text))
}

fn positive(name: &str, text: &str) -> Result<Decimal, RowError> {
    let value = number(name, text)?;
    if value > Decimal::ZERO {
        return Ok(value);
    }
    Err(RowError::new(format!("{name}: not above 0"), text))
}
