//! The online fit: estimates which share of crossed USD is reported as liquidated.
//!
//! USD are crossed when the price reaches the liquidation price of the positions that they belong to. For each period
//! with known liquidations, the fit compares two amounts. One is the USD of the map that the price crossed, per
//! leverage tier. The other is the reported USD. It finds one share per tier and side by Gamma–Poisson regression with
//! a prior. Older periods have less weight. Additional terms depend on the price path alone and absorb liquidations
//! that are unrelated to the map. Each UTC day has its own fit, made from the data known when the day started, so no
//! reply uses later data.

pub(super) mod daily_fits;
mod day;
pub(super) mod fit;
pub(super) mod fit_cache;
pub(super) mod fit_samples;
mod gamma_poisson;
mod interval;
pub(super) mod outlier_cap;
pub(super) mod view_fits;

pub(super) use day::{day_of, last_of_day};
pub use fit::{Fit, FitSource, FitState};
pub(super) use fit_cache::DailyFitsCache;
pub use interval::FitInterval;
