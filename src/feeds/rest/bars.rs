//! Decoding of price bars: lists of `[open time, open, high, low, close, …]`.

use crate::feeds::decoding::frame::Frame;
use crate::feeds::decoding::json_path::JsonPath;
use crate::feeds::decoding::raw_json::{JsonMember, RawJson};
use crate::feeds::error::Error;
use crate::feeds::rest::request::VenueBar;
use crate::model::sort_small;

/// One row of a table of bars; the cells are unparsed JSON values.
pub(crate) type BarCells<'a> = Vec<RawJson<'a>>;

/// Indices of the columns that differ between exchanges; time and the four prices are columns 0 to 4.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BarLayout {
    /// Index of the volume in base units.
    pub(crate) volume: usize,
    /// Index of a column that is `1` if the bar is closed. Without this column, all bars are closed.
    pub(crate) closed: Option<usize>,
}

/// Returns the cell in a column of a row; a `null` cell counts as missing.
pub(crate) fn cell<'a>(row: &[RawJson<'a>], column: usize) -> JsonMember<'a> {
    row.get(column).copied().filter(|raw| raw.text() != "null")
}

/// Decodes the closed bars of a table and sorts them by time.
pub(crate) fn bars(
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    rows: &[BarCells<'_>],
    columns: BarLayout,
) -> Result<Vec<VenueBar>, Error> {
    let mut found = frame.each(place, rows, |place, row| bar(place, row, columns))?;
    sort_small(&mut found, |one, other| one.timestamp.cmp(&other.timestamp));
    Ok(found)
}

fn bar(
    place: &JsonPath<'_>,
    row: &[RawJson<'_>],
    columns: BarLayout,
) -> Result<Option<VenueBar>, Error> {
    if let Some(closed) = columns.closed
        && place.item(closed).text("", cell(row, closed))? != "1"
    {
        return Ok(None);
    }
    let price = |index: usize| {
        let number = place.item(index).positive("", cell(row, index))?;
        Ok::<_, Error>(number.value.normalize())
    };
    let volume = place.item(columns.volume);
    let bar = VenueBar {
        volume: volume
            .amount("", cell(row, columns.volume))?
            .value
            .normalize(),
        timestamp: place.item(0).instant("", cell(row, 0))?,
        open: price(1)?,
        high: price(2)?,
        low: price(3)?,
        close: price(4)?,
    };
    let inside = bar.low..=bar.high;
    if !inside.contains(&bar.open) || !inside.contains(&bar.close) {
        return Err(place.fault(format!(
            "opens at {} and closes at {}, which is not between {} and {}",
            bar.open, bar.close, bar.low, bar.high
        )));
    }
    Ok(Some(bar))
}
