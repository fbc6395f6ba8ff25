//! Pure functions from observations and an instant to the ten replies.
//!
//! [`Observations`] are tables that have been checked and sorted; [`Observations::at`] fixes the instant they are read
//! at. The six realised replies are exact sums and rankings of the orders in a rolling window. The four estimated ones
//! are read-outs of one [`Ledger`] of open positions by liquidation price, so they agree with each other.
//!
//! Nothing here does I/O or reads a clock: the same observations and the same instant give the same reply.

mod aggregates;
mod cascade;
mod coverage;
mod error;
mod estimate;
mod fit;
mod ledger;
mod observations;
mod rolling;

pub use aggregates::rankings::*;
pub use aggregates::timeline::{Covered, Grouping, Timeline, TimelineQuestion, timeline};
pub use cascade::{CascadeQuestion, Clusters, cascades, priced, reach};
pub use coverage::exchange_coverage::coverage;
pub use coverage::feed_coverage::Exposure;
pub use coverage::undercount::{Spans, WholeTapes, undercount};
pub use error::EngineError;
pub use estimate::crossings::{Move, crossed, refreshed};
pub use estimate::explanation::{Estimate, Explain, FineMap, Parting};
pub use estimate::heatmap::heatmap;
pub use estimate::instant_series::{heatmaps, liqmaps};
pub use estimate::levels::levels;
pub use estimate::liquidation_map::{binned, liqmap};
pub use estimate::max_pain::maxpain;
pub use estimate::position_map::{measured, priced_from, valued_at};
pub use fit::{Fit, Fitted, Interval, State};
pub use ledger::forming_bar::Forming;
pub use ledger::ledger::{Ledger, Step};
pub use ledger::parameters::{Clock, Parameters, Tier, version};
pub use observations::bar_sources::Sources;
pub use observations::known_rows::{bars, open_interest};
pub use observations::observations::{Observations, Rows};
pub use observations::open_interest_units::{InterestUnit, each_in_base_units, in_base_units};
pub use observations::resampling::{can_be_made, resize};
pub use observations::table_checks::TableFault;
pub use observations::view::View;
pub use rolling::{Ring, RingFault, RingPart};
