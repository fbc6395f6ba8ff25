//! The contract both sides speak: the ten endpoints, their parameters and bounds, the envelope, refusals.
//!
//! A client turns an endpoint into a path and a query; a server turns a query into an endpoint. Both use the same
//! types, so a value that one side sends is a value that the other side takes.

mod chart;
mod coins;
mod envelope;
mod exchanges;
mod heatmap;
mod largest;
mod levels;
mod liqmap;
mod maxpain;
mod orders;
mod overview;
mod query;
mod refusal;
mod stream;

use std::fmt::Debug;

use serde::Serialize;

pub use chart::Chart;
pub use coins::Coins;
pub use envelope::{Envelope, RefusedBody};
pub use exchanges::Exchanges;
pub use heatmap::Heatmap;
pub use largest::Largest;
pub use levels::Levels;
pub use liqmap::Liqmap;
pub use maxpain::Maxpain;
pub use orders::Orders;
pub use overview::Overview;
pub use query::Query;
pub use refusal::BadQuery;
pub use stream::Stream;

/// The response header by which a server of ours says that its market is a simulated one.
pub const SIMULATED: &str = "x-liqdata-simulated";

/// The response header by which a server of ours says what the open interest of an estimate is, where that is no amount:
/// [`RELATIVE`].
pub const OPEN_INTEREST: &str = "x-liqdata-open-interest";

/// Open interest is unknown, and a multiple of the volume stands in for it.
pub const RELATIVE: &str = "relative";

/// One endpoint of the contract: a question whose parameters have been checked.
///
/// # Examples
///
/// ```
/// use liqdata::api::{Coins, Endpoint};
///
/// let question = Coins::new("24h", 30)?;
/// assert_eq!(Coins::PATH, "/api/liquidations/coins");
/// assert_eq!(question.to_query(), [("range", "24h".to_owned()), ("limit", "30".to_owned())]);
/// assert_eq!(Coins::new("24h", 0).unwrap_err().parameter, "limit");
/// # Ok::<(), liqdata::api::BadQuery>(())
/// ```
pub trait Endpoint: Clone + Debug + Send + Sync + Sized + 'static {
    /// The endpoint's one name in every layer.
    const NAME: &'static str;
    /// Path below the base address.
    const PATH: &'static str;
    /// Whether the reply stands in `{"success", "data"}` or at the top level.
    const ENVELOPED: bool;
    /// Names of the query parameters, in the contract's order.
    const PARAMETERS: &'static [&'static str];
    /// What comes back.
    type Reply: Serialize + Clone + Debug + PartialEq + Send + Sync + 'static;

    /// The question a query string asks; parameters that are left out take the contract's defaults.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a value outside the contract.
    fn from_query(query: &Query) -> Result<Self, BadQuery>;

    /// The query string's pairs, defaults spelled out.
    fn to_query(&self) -> Vec<(&'static str, String)>;
}
