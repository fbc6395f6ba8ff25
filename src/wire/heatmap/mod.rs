//! Heatmap decoding: every supported matrix shape, in one pass into one buffer.
//!
//! The contract does not specify the shape of the matrix. Three are accepted: rows per price level, rows per time if
//! the lengths are unambiguous, and triples `[time_index, price_index, value]` if nothing else fits. Members may come
//! in any order. Cells are stored in the order of the body and reordered once both axes are known. A plain body is
//! decoded on arrival ([`arriving`]), any other as a whole ([`sheet`]).

mod arriving;
mod matrix;
mod sheet;

pub use matrix::Matrix;
pub(super) use matrix::spread;
