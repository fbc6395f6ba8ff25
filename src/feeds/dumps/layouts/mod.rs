//! Columns that known programs write, rewritten to the columns of tables.

mod cryptodatadownload;
mod cryptofeed;
mod epoch;
mod force_orders;
mod known_layout;
mod open_interest_history;

pub(super) use cryptofeed::CryptofeedLiquidations;
pub(super) use force_orders::bare_header;
pub(super) use known_layout::KnownLayout;

use crate::feeds::dumps::file_name::FileName;

/// The layout of a header; the first row may decide on a column; `None` if it is of no known program.
pub(super) fn known_layout(
    name: &FileName,
    header: &[String],
    row: Option<&Vec<String>>,
) -> Result<Option<KnownLayout>, String> {
    if let Some(layout) = cryptodatadownload::layout(name, header, row)? {
        return Ok(Some(layout));
    }
    Ok(force_orders::layout(header)
        .or_else(|| cryptofeed::layout(header))
        .or_else(|| open_interest_history::layout(header)))
}
