//! A market answers the queries of the API from observations, independent of where they are stored.
//!
//! [`Market`] is the public interface: its constructors (`construction`), the queries of the API contract (`answers`)
//! and all other queries (`extensions`). It reads from a `source` and computes replies in `query`. Each reply depends
//! on a [`Revision`], so that callers can cache it. Readers `follow` new orders and cascades. A query without an
//! answer returns a [`Refusal`]. Nothing in this module depends on HTTP.

mod answers;
mod arrivals;
mod blocking_pool;
mod collector_status;
mod construction;
mod extensions;
mod follow;
mod map_recorder;
#[expect(clippy::module_inception, reason = "the file of the main type")]
mod market;
mod names;
mod open_interest_units;
mod query;
mod recent;
mod refusal;
mod revision;
mod shared_refresh;
mod source;

pub use crate::engine::EstimateBasis;
pub use crate::model::VenueCoverage;
pub use arrivals::{ArrivalId, Arrivals, InvalidArrivalId};
pub(crate) use blocking_pool::run_blocking;
pub use collector_status::{CollectedVenue, CollectorMonitor, CollectorStatus};
pub use follow::cascade_follower::{CascadeFollower, CascadeId, CascadeUpdate};
pub use follow::order_follower::{OrderFollower, OrderUpdate};
pub(crate) use map_recorder::ServedMap;
pub use map_recorder::{MapRecorder, MapStatus, WantedMaps};
pub use market::Market;
pub use open_interest_units::{CoinReading, PriceHistory};
pub use query::feature_table::{FeaturePlan, feature_table};
pub use query::features::{FeatureQuestion, FeatureRow, WindowFeatures};
pub use query::market_history::MarketHistory;
pub(crate) use query::market_query::{EndpointVisitor, every_endpoint};
pub use query::market_query::{ExplainedReply, MarketQuery, QueryInputs, QueryNames};
pub use recent::WantedPositions;
pub use refusal::{Refusal, RefusalCode};
pub use revision::Revision;
pub(crate) use revision::{Dependency, SourceState, wall_clock};
pub use source::growing_tables::MarketFeed;
pub use source::recordings::RecordedQuestion;
pub(crate) use source::recordings::RecordedSource;
pub use source::replay::{ManualClock, ReplayClock, ScaledClock};
pub use source::view_source::{RequiredHistory, RequiredLedger};
