//! A market that answers: questions of the contract become the engine's answers, wherever the observations lie.
//!
//! [`Market`] is the one face; behind it are tables that never change (`fixed`), tables in memory that grow (`growing`) and an
//! archive (`archived`). Beside each answer stands what it depends on (`revision`), so that it can be kept. Nothing here
//! knows HTTP.

mod answer;
mod archived;
mod arrivals;
mod fixed;
mod growing;
pub(crate) mod maps;
pub(crate) mod revision;
mod source;

pub use answer::{Answer, Answered};
pub(crate) use answer::{Visit, every_endpoint};
pub use archived::{ArchivedError, Needed};
pub use arrivals::{ArrivalId, Arrivals, NoArrivalId};
pub use growing::Feed;
pub use maps::{MapKeeper, MapStatus};
pub use revision::Revision;
pub use source::Market;
