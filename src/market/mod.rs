//! A market that answers: questions of the contract become the engine's answers, wherever the observations lie.
//!
//! [`Market`] is the one face (how it comes about is in `making`, the contract's questions in `asking`, the rest that it knows
//! in `telling`); what it asks of a place is the trait in `source`, which tables that never change (`fixed`),
//! tables in memory that grow (`growing`) and an archive (`archived`) implement; either of the last and the first may be told bit by
//! bit as if it happened now (`moving`). Beside each answer stands what it depends
//! on (`revision`), so that it can be kept; who wants the orders as they arrive follows them (`follow`). A question without
//! an answer gets a [`Refusal`]. Nothing here knows HTTP.

mod answer;
mod archived;
mod arrivals;
mod asking;
mod cascades;
mod closing;
mod facade;
mod filling;
mod fixed;
mod follow;
mod following;
mod growing;
mod in_coins;
mod known;
mod lane;
mod listed;
mod making;
mod maps;
mod measured;
mod moving;
mod orders;
mod positions;
mod refusal;
mod revision;
mod shared_look;
mod source;
mod stretches;
mod telling;
mod timeline;
mod undercount;

pub use crate::engine::Explain;
pub use crate::model::VenueCoverage;
pub use answer::{Answer, Answered, Asked, Material};
pub(crate) use answer::{Visit, every_endpoint};
pub use arrivals::{ArrivalId, Arrivals, NoArrivalId};
pub use facade::Market;
pub use filling::{Filling, Fills, VenueFilling};
pub use follow::{Followed, Follower};
pub use following::{CascadeFollower, CascadeId, FollowedCascades};
pub use growing::Feed;
pub use in_coins::{InCoins, NoPrices, Prices};
pub(crate) use lane::in_lane;
pub(crate) use maps::Served;
pub use maps::{MapKeeper, MapStatus};
pub use moving::{Clock, Driven, Scaled};
pub use refusal::{Code, Refusal};
pub use revision::Revision;
pub(crate) use revision::{Basis, Standing, wall_clock};
pub use source::Needed;
pub use stretches::Stretches;
