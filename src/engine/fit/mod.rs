//! The online fit: what share of the USD that the price crosses of a map is then reported as liquidated.
//!
//! Of every period in which it is known what was liquidated, what the price crossed of the map as it stood before, tier
//! by tier, is held against that. The shares, one a tier and side, are the most likely ones given those periods, older
//! ones counting less, and the prior; what follows from the path of the price alone has terms of its own. They are
//! fitted at the beginning of every UTC day on what was known by then and used throughout it, so nothing told of an
//! instant knows what came later.

mod asked;
mod capped;
mod day;
mod fitted;
mod gamma_poisson;
mod interval;
mod kept;
mod learning;
mod study;

pub(super) use day::last_of_day;
pub use fitted::{Fit, Fitted, State};
pub use interval::Interval;
pub(super) use kept::Fits;
