//! Reading of delimited text and JSON as a header and records of cells.

mod csv_dialect;
mod csv_records;
mod json_elements;
mod json_records;
mod json_shape;

pub(super) use csv_dialect::CsvDialect;
pub(super) use csv_records::{CsvRecords, CsvStart};
pub(super) use json_records::JsonRecords;
pub(super) use json_shape::{JsonKind, JsonTableShape, OHLCV};
