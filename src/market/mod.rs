//! A market: answers the queries of the API from observations, wherever they are stored.
//!
//! [`Market`] is the public interface: how it is made (`construction`), the queries of the contract (`answers`) and everything
//! else (`extensions`). It reads from a `source` and computes replies in `query`. Each reply depends on a [`Revision`], so that
//! callers can cache it. Readers `follow` new orders and cascades. A query without an answer gets a [`Refusal`]. Nothing here
//! knows HTTP.

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
mod refusal;
mod revision;
mod shared_refresh;
mod source;

pub use crate::engine::Explain;
pub use crate::model::VenueCoverage;
pub use arrivals::{ArrivalId, Arrivals, NoArrivalId};
pub(crate) use blocking_pool::in_lane;
pub use collector_status::{Filling, Fills, VenueFilling};
pub use follow::cascade_follower::{CascadeFollower, CascadeId, FollowedCascades};
pub use follow::order_follower::{Followed, Follower};
pub(crate) use map_recorder::Served;
pub use map_recorder::{MapKeeper, MapStatus};
pub use market::Market;
pub use open_interest_units::{InCoins, NoPrices, Prices};
pub use query::market_query::{Answer, Answered, Asked, Material};
pub(crate) use query::market_query::{Visit, every_endpoint};
pub use query::time_ranges::Stretches;
pub use refusal::{Code, Refusal};
pub use revision::Revision;
pub(crate) use revision::{Basis, Standing, wall_clock};
pub use source::growing_tables::Feed;
pub use source::replay::{Clock, Driven, Scaled};
pub use source::traits::Needed;
