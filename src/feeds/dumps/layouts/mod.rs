//! Files of known programs, converted to the columns of common tables.

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

/// Recognizes the program that wrote a file by its header; `None` for an unknown program.
///
/// For some programs, the first row decides which column is used.
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
