//! Missed liquidations by REST. What is kept for long is asked for slowly: three requests a minute.

use serde_json::value::RawValue;

use super::decode::TIME;
use crate::feeds::ask::{Ask, Limit};
use crate::feeds::frame::Place;
use crate::feeds::{Error, Frame};
use crate::model::Millis;

/// Requests in a minute.
const HISTORIES: Limit = Limit::of("histories", 3, 60);
/// Most rows of a reply, triggers among them.
const ROWS: usize = 500;

/// One request, the newest rows first.
pub(super) fn missed(from: Millis, until: Millis) -> Vec<Ask> {
    vec![
        Ask::new("/v2/liquidations/hist", HISTORIES)
            .with("start", from.0)
            .with("end", until.0 - 1)
            .with("limit", ROWS)
            .with("sort", -1)
            .between(from, until),
    ]
}

/// A full page is followed by the one before it.
pub(super) fn go_on(ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
    // Each item is a list that holds one row.
    let items: Vec<Vec<Vec<&RawValue>>> = frame.read()?;
    let root = Place::ROOT;
    let mut oldest = None;
    for (index, row) in items.iter().flatten().enumerate() {
        let place = root.item(index);
        let time = place
            .item(0)
            .item(TIME)
            .instant("", row.get(TIME).copied())?;
        oldest = Some(oldest.map_or(time, |oldest: Millis| oldest.min(time)));
    }
    // Rows of the oldest instant may be split between two pages, so that instant is asked for again.
    let end = oldest
        .filter(|_| items.len() >= ROWS)
        .map(|oldest| oldest.0.to_string());
    match end {
        Some(end) if ask.value("end") == Some(&end) => Err(root.fault(format!(
            "{ROWS} rows of one instant; what else happened in it cannot be asked for"
        ))),
        Some(end) => Ok(vec![ask.again_with("end", end)]),
        None => Ok(Vec::new()),
    }
}
