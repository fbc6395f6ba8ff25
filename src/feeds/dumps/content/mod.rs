//! Detection of a file's content, and decoding of its text.
//!
//! The first bytes decide; the file extension has no effect. `FileContent` is the kind of content, `unpacked` removes
//! gzip and zstd, and `text_of` decodes UTF-16.

mod file_content;
mod record_limit;
mod unpack;
mod utf16;

pub use file_content::FileContent;
pub(super) use record_limit::{LONGEST_CELL, LONGEST_RECORD, RecordLimit};
pub(crate) use unpack::unpacked;
pub(super) use unpack::{Broken, text_of};
