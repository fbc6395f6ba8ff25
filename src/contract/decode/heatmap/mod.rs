//! Heatmap decoding: every supported matrix shape, in one pass into one buffer.
//!
//! The contract does not specify the shape of the matrix. Three shapes are accepted: one row per price level, one row
//! per time if the lengths are unambiguous, and triples `[time_index, price_index, value]` if no other shape fits.
//! Members may come in any order. Cells are stored in the order of the body and reordered when both axes have been
//! read. A plain body is decoded while it arrives ([`arriving`]), any other body when it is complete. A body in bytes is
//! recognised by its first byte.

mod arriving;
mod matrix;
mod sparse;

pub use matrix::Matrix;
pub(in crate::contract) use matrix::spread;
pub use sparse::{SparseCells, sparse_cells};
