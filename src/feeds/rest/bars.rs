//! Bars in the common format: lists of `[open time, open, high, low, close, …]`.

use crate::feeds::decoding::frame::Frame;
use crate::feeds::decoding::json_path::Place;
use crate::feeds::decoding::raw_json::{Cell, Raw};
use crate::feeds::error::Error;
use crate::feeds::rest::request::Bar;
use crate::model::sort_small;

/// One row of a table of raw cells.
pub(crate) type Row<'a> = Vec<Raw<'a>>;

/// Columns of a bar after time and the four prices, which are the first five.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns {
    /// Volume in base units.
    pub(crate) volume: usize,
    /// `1` if the bar is closed; without this column all bars are closed.
    pub(crate) closed: Option<usize>,
}

/// The cell in a column of a row; `null` counts as missing.
pub(crate) fn cell<'a>(row: &[Raw<'a>], column: usize) -> Cell<'a> {
    row.get(column).copied().filter(|raw| raw.text() != "null")
}

/// The closed bars of a table in time order, however the table is sorted.
pub(crate) fn bars(
    frame: &Frame<'_>,
    place: &Place<'_>,
    rows: &[Row<'_>],
    columns: Columns,
) -> Result<Vec<Bar>, Error> {
    let mut found = frame.each(place, rows, |place, row| bar(place, row, columns))?;
    sort_small(&mut found, |one, other| one.timestamp.cmp(&other.timestamp));
    Ok(found)
}

fn bar(place: &Place<'_>, row: &[Raw<'_>], columns: Columns) -> Result<Option<Bar>, Error> {
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
    let bar = Bar {
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
            "opens at {} and closes at {}, which is not within {} and {}",
            bar.open, bar.close, bar.low, bar.high
        )));
    }
    Ok(Some(bar))
}
