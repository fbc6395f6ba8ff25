//! Bars as most venues send them: lists of `[open time, open, high, low, close, …]`.

use super::Error;
use super::ask::Bar;
use super::frame::{Frame, Place};
use super::members::{Cell, Raw};

/// One row of a table of raw cells.
pub(super) type Row<'a> = Vec<Raw<'a>>;

/// Which columns of a row say what, beside time and the four prices, which are the first five.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    /// Volume in units of the base.
    pub(super) volume: usize,
    /// `1` once the bar is closed; without it all bars are.
    pub(super) closed: Option<usize>,
}

/// The closed bars of a table, by time, whichever way it is sorted.
pub(super) fn bars(
    frame: &Frame<'_>,
    place: &Place<'_>,
    rows: &[Row<'_>],
    columns: Columns,
) -> Result<Vec<Bar>, Error> {
    let mut found = Vec::with_capacity(rows.len());
    for (index, row) in rows.iter().enumerate() {
        match (bar(&place.item(index), row, columns), frame.faults) {
            (Ok(bar), _) => found.extend(bar),
            (Err(fault), Some(faults)) => faults.borrow_mut().push(fault),
            (Err(fault), None) => return Err(fault),
        }
    }
    found.sort_by_key(|bar: &Bar| bar.timestamp);
    Ok(found)
}

fn bar(place: &Place<'_>, row: &[Raw<'_>], columns: Columns) -> Result<Option<Bar>, Error> {
    let cell =
        |index: usize| -> Cell<'_> { row.get(index).copied().filter(|raw| raw.text() != "null") };
    if let Some(closed) = columns.closed
        && place.item(closed).text("", cell(closed))? != "1"
    {
        return Ok(None);
    }
    let price = |index: usize| {
        let number = place.item(index).positive("", cell(index))?;
        Ok::<_, Error>(number.value.normalize())
    };
    let volume = place
        .item(columns.volume)
        .amount("", cell(columns.volume))?
        .value
        .normalize();
    let bar = Bar {
        timestamp: place.item(0).instant("", cell(0))?,
        open: price(1)?,
        high: price(2)?,
        low: price(3)?,
        close: price(4)?,
        volume,
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
