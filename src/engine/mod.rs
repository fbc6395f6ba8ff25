//! Pure functions that compute replies from observations, as of an instant.
//!
//! [`Observations`] are checked and sorted tables of orders, bars and open interest. [`Observations::at`] chooses the
//! instant. Replies on realised liquidations are exact sums and rankings of the orders in a rolling window. Estimates
//! are all read from one [`Ledger`]: the modelled open positions by liquidation price. Therefore the estimates agree
//! with each other.
//!
//! The engine does no I/O and reads no clock. The same observations and the same instant give the same bytes.

mod aggregates;
mod cascade;
mod coverage;
mod error;
mod estimate;
mod fit;
mod ledger;
mod observations;
mod rolling;

pub use aggregates::arrived_orders::{ArrivedOrder, arrived_orders};
pub use aggregates::largest_orders::{LargestOrders, LargestQuestion};
pub use aggregates::period_totals::{OrderMinutes, TotalCandidates, known_ranges};
pub use aggregates::rankings::*;
pub use aggregates::timeline::{Grouping, Timeline, TimelineQuestion, TooManyRows, timeline};
pub use cascade::{CascadeClusters, CascadeQuestion, cascades, priced, reach};
pub use coverage::exchange_coverage::{
    count_outliers, coverage, coverage_between, orders_from, recorded,
};
pub use coverage::feed_coverage::{FeedCoverage, RecordedRanges, covered_share};
pub use coverage::undercount::{CompleteTapes, undercount};
pub use error::EngineError;
pub use estimate::crossings::{PriceMove, crossed_by_moves, crossed_by_periods};
pub use estimate::estimate_basis::{
    Estimate, EstimateBasis, ExchangeShares, MeasuredBasis, SideBoundary,
};
pub use estimate::heatmap::{heatmap, usual_column};
pub use estimate::instant_series::{heatmaps, liqmaps};
pub use estimate::levels::levels;
pub use estimate::liquidation_map::{MapOptions, liqmap, liqmap_with};
pub use estimate::map_clusters::map_clusters;
pub use estimate::map_features::{MapFeatures, MapQuestion, NearCluster, map_features};
pub use estimate::max_pain::maxpain;
pub use estimate::position_map::{measured, priced_from, valued_at};
pub use estimate::reach::VOLATILITY;
pub use estimate::reach::{BySide, HeadlineBasis, StrongestLevel};
pub use estimate::swept::{BeyondBins, swept};
pub use fit::{Fit, FitInterval, FitSource, FitState};
pub use ledger::checkpoints::{LedgerCache, LedgerCheckpoint, LedgerKey, LedgerStore};
pub use ledger::forming_bar::FormingBar;
pub use ledger::ledger::{Ledger, Step};
pub use ledger::parameters::{Drift, Parameters, Tier, TurnoverClock, version};
pub use ledger::replay::advance_ledger;
pub use observations::bar_intervals::bars_by_coin;
pub use observations::bar_sources::BarSources;
pub use observations::known_positions::KnownPositions;
pub use observations::known_rows::{bars, first_bar, open_interest};
pub use observations::observations::{Observations, ObservedTables};
pub use observations::open_interest_units::{OpenInterestUnit, each_in_base_units, in_base_units};
pub use observations::resampling::{can_be_made, resize, running};
pub use observations::row_store::{RowIter, RowNumbers, RowSlice, StoredRow};
pub use observations::table_checks::TableFault;
pub use observations::view::View;
pub use rolling::{Ring, RingFault, RingPart};
