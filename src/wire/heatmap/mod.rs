//! The heatmap: every shape a matrix may have, in one pass into one contiguous buffer.
//!
//! The contract does not show the shape, so three are read: rows per price level, rows per time where the lengths leave
//! no doubt, and triples `[time_index, price_index, value]` where nothing else fits. Members may come in any order; the
//! cells are stored flat as they come and put in order once both axes are known. There are two readers: a plain body is
//! read while it arrives ([`arriving`]), any other when it is whole ([`sheet`]).

mod arriving;
mod matrix;
mod sheet;

pub use matrix::Matrix;
pub(super) use matrix::spread;
