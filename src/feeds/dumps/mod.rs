//! Files of historical data from exchanges, recording programs and users: what they contain, and what their columns mean.
//!
//! `content` detects the kind of content from the first bytes and returns the text. `syntax` reads delimited text or
//! JSON as a header and records of cells, which [`TextRows`] returns in batches of columns. A `Layout` says what a
//! format is, as data: the columns that tell it, their names in tables, their units, what the instant, the side and the
//! price are. [`detect`] finds the layout of a file. If the format is ambiguous, the error says why.
//!
//! The rows themselves are read and judged as those of any [table](crate::tables). Callers open the files.

mod batch;
mod content;
mod cryptodatadownload;
mod detection;
mod epoch;
mod file_name;
mod format;
mod layout;
mod layouts;
mod markets;
mod node_fills;
mod row_error;
mod syntax;
mod text_rows;

pub(crate) use batch::FileBatch;
pub use content::FileContent;
pub(crate) use content::unpacked;
pub(crate) use detection::detect;
pub(crate) use epoch::{any_instant, whole_epoch};
pub use file_name::FileName;
pub use format::{Format, UnclearFile};
pub(crate) use layout::{AmountMeaning, Clock, FileTable, Label, OrderKey, SideMeaning, place};
pub(crate) use markets::{FileMarket, UnitSize, coin_margined};
pub(crate) use row_error::RowError;
pub(crate) use text_rows::{FileHead, TextRows};
