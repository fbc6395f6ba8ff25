//! Pure functions from observations and an instant to the ten replies.
//!
//! [`Observations`] are tables that have been checked and sorted; [`Observations::at`] fixes the instant they are read
//! at. The six realised replies are exact sums and rankings of the orders in a rolling window. The four estimated ones
//! are read-outs of one [`Ledger`] of open positions by liquidation price, so they agree with each other.
//!
//! Nothing here does I/O or reads a clock: the same observations and the same instant give the same reply.

mod book;
mod cascade;
mod cells;
mod coverage;
mod error;
mod explain;
mod exposure;
mod fit;
mod forming;
mod grouped;
mod heatmap;
mod history;
mod instants;
mod interest;
mod ledger;
mod levels;
mod liqmap;
mod liquidations;
mod listed;
mod maxpain;
mod measured;
mod observations;
mod parameters;
mod ranking;
mod replay;
mod resize;
mod ring;
mod sources;
mod sweeps;
mod table;
mod timeline;
mod undercount;
mod view;

pub use cascade::{CascadeQuestion, Clusters, cascades, priced, reach};
pub use coverage::coverage;
pub use error::EngineError;
pub use explain::{Estimate, Explain, FineMap, Parting};
pub use exposure::Exposure;
pub use fit::{Fit, Fitted, Interval, State};
pub use forming::Forming;
pub use heatmap::heatmap;
pub use instants::{heatmaps, liqmaps};
pub use interest::{InterestUnit, each_in_base_units, in_base_units};
pub use ledger::{Ledger, Step};
pub use levels::levels;
pub use liqmap::{binned, liqmap};
pub use listed::{bars, open_interest};
pub use maxpain::maxpain;
pub use measured::{measured, priced_from, valued_at};
pub use observations::{Observations, Rows};
pub use parameters::{Clock, Parameters, Tier, version};
pub use ranking::*;
pub use resize::{can_be_made, resize};
pub use ring::{Ring, RingFault, RingPart};
pub use sources::Sources;
pub use sweeps::{Move, crossed, refreshed};
pub use table::TableFault;
pub use timeline::{Covered, Grouping, Timeline, TimelineQuestion, timeline};
pub use undercount::{Spans, WholeTapes, undercount};
pub use view::View;
