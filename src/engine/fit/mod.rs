//! The online fit: the share of crossed USD that is reported as liquidated.
//!
//! For each period with known liquidations, the fit compares the USD that the price crosses in each tier of the map
//! with the reported USD. It finds one share per tier and side by Gamma–Poisson regression with a prior; older periods
//! have less weight. Terms of the price path alone absorb liquidations unrelated to the map. Each UTC day has its own
//! fit, of what was known at its start, so no answer uses later data.

pub(super) mod daily_fits;
mod day;
pub(super) mod fit;
pub(super) mod fit_cache;
pub(super) mod fit_samples;
mod gamma_poisson;
mod interval;
pub(super) mod outlier_cap;
pub(super) mod view_fits;

pub(super) use day::last_of_day;
pub use fit::{Fit, FitSource, FitState};
pub(super) use fit_cache::DailyFitsCache;
pub use interval::FitInterval;
