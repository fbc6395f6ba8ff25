//! What a file is by its first bytes, and its text.
//!
//! `FileContent` names the content, `unpacked` removes gzip and zstd, `text_of` decodes UTF-16. The extension of a file
//! decides nothing.

mod file_content;
mod record_limit;
mod unpack;
mod utf16;

pub use file_content::FileContent;
pub(super) use record_limit::{LONGEST_CELL, LONGEST_RECORD, RecordLimit};
pub(super) use unpack::text_of;
pub(crate) use unpack::unpacked;
