//! The online fit: what share of the USD that the price crosses of a map is then reported as liquidated.
//!
//! Of every period in which it is known what was liquidated, what the price crossed of the map as it stood before, tier
//! by tier, is held against that. The shares, one a tier and side, are the most likely ones given those periods, older
//! ones counting less, and the prior; what follows from the path of the price alone has terms of its own. They are
//! fitted at the beginning of every UTC day on what was known by then and used throughout it, so nothing told of an
//! instant knows what came later.

pub(super) mod daily_fits;
mod day;
#[expect(clippy::module_inception, reason = "the file of the main type")]
pub(super) mod fit;
pub(super) mod fit_cache;
pub(super) mod fit_samples;
mod gamma_poisson;
mod interval;
pub(super) mod outlier_cap;
pub(super) mod view_fits;

pub(super) use day::last_of_day;
pub use fit::{Fit, Fitted, State};
pub(super) use fit_cache::Fits;
pub use interval::Interval;
