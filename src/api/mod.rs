//! The contract both sides speak: the table of endpoints with their parameters and bounds, the envelope, refusals.
//!
//! A client turns an endpoint into a path and a query; a server turns a query into an endpoint. Both use the same
//! types, so a value that one side sends is a value that the other side takes. Each endpoint is one file, in `realised`, `estimates` or `observations`, and one word
//! in the list below.

mod arguments;
mod contract;
mod endpoint;
mod envelope;
mod estimates;
mod observations;
mod openapi;
mod parameter;
mod realised;
mod refusal;
mod time;

pub use arguments::{Argument, ArgumentValue, Arguments};
pub use contract::Extension;
pub use endpoint::{Endpoint, EndpointEntry, EndpointReply, Member, ReplyShape};
pub use envelope::{RefusedBody, ReplyEnvelope};
pub use estimates::heatmap::Heatmap;
pub use estimates::levels::Levels;
pub use estimates::liqmap::Liqmap;
pub use estimates::maps::Maps;
pub use estimates::maps::ModelVersion;
pub use estimates::maxpain::Maxpain;
pub use observations::bars::Bars;
pub use observations::coverage::Coverage;
pub use observations::gaps::Gaps;
pub use observations::open_interest::OpenInterest;
pub use observations::positions::Positions;
pub use openapi::{OPENAPI, openapi};
pub(crate) use parameter::text_of;
pub use parameter::{
    EVERYWHERE, EXPLAINED, Exchange, ModelChoice, Offset, Parameter, RawModel, RowLimit, Rule,
    specification,
};
pub use realised::cascades::{CascadeGap, Cascades};
pub use realised::chart::Chart;
pub use realised::coins::Coins;
pub use realised::exchanges::Exchanges;
pub use realised::history::History;
pub use realised::history::{GroupBy, GroupColumn, SymbolList, UsdAmount};
pub use realised::largest::Largest;
pub use realised::orders::Orders;
pub use realised::overview::Overview;
pub use realised::stream::{Stream, StreamEvents};
pub use realised::undercount::Undercount;
pub use refusal::BadQuery;
pub use time::{At, Period};

/// The response header by which a server of ours says that its market is a simulated one.
pub const SIMULATED: &str = "x-liqdata-simulated";

/// The response header by which a server of ours says the instant that its market stands at, in epoch milliseconds: what it
/// answers is known as of then. It is 0 where nothing has been observed yet.
pub const NOW: &str = "x-liqdata-now";

/// The response header by which a server of ours says how many files of its archive are damaged, where any is: rows are
/// missing, of this answer or of another.
pub const DAMAGED: &str = "x-liqdata-damaged";

/// The response header by which a server of ours says what the open interest of an estimate is, where that is no amount:
/// [`RELATIVE`].
pub const OPEN_INTEREST: &str = "x-liqdata-open-interest";

/// The response header by which a server of ours says how old the open interest of an estimate is, in milliseconds, where
/// that is more than [`CARRIED`].
pub const OPEN_INTEREST_AGE: &str = "x-liqdata-open-interest-age";

/// The request header ([RFC 7240](https://www.rfc-editor.org/rfc/rfc7240)) by which a server of ours is asked for more where
/// it can tell more, and which every other service passes over: [`EXPLAINED`].
pub const PREFER: &str = "prefer";

/// The response header that says which preference was followed.
pub const PREFERENCE_APPLIED: &str = "preference-applied";

/// For so many milliseconds a reading of open interest is carried forward without a word: 15 minutes.
pub const CARRIED: i64 = 15 * 60 * 1000;

/// Open interest is unknown, and a multiple of the volume stands in for it.
pub const RELATIVE: &str = "relative";

/// Hands the list to the macro `then`: first the contract's endpoints in its order, then those beside them.
#[doc(hidden)]
#[macro_export]
macro_rules! endpoints {
    ($then:ident) => {
        $then! {
            [
                overview(Overview) coins(Coins) exchanges(Exchanges) largest(Largest) orders(Orders) chart(Chart)
                heatmap(Heatmap) liqmap(Liqmap) levels(Levels) maxpain(Maxpain)
            ]
            [
                history(History) cascades(Cascades) undercount(Undercount) coverage(Coverage) gaps(Gaps)
                bars(Bars) open_interest(OpenInterest) maps(Maps) positions(Positions)
            ]
        }
    };
}
pub(crate) use endpoints;

macro_rules! entries {
    ([$($_name:ident($of_contract:ident))+] [$($_other:ident($extension:ident))*]) => {
        /// The contract's endpoints, in its order.
        pub const ENDPOINTS: &[EndpointEntry] = &[$($of_contract::ENTRY),+];

        /// What a service of ours has beside them.
        pub const EXTENSIONS: &[EndpointEntry] = &[Stream::ENTRY $(, $extension::ENTRY)*];
    };
}
endpoints!(entries);
