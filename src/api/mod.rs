//! The contract: the table of endpoints with their parameters, the reply envelope and refusals.
//!
//! A client turns a typed query into a path and a query string; a server does the reverse. Both use the same types, so
//! each accepts what the other sends. Each endpoint is one file in `realised`, `estimates` or `observations`, and one
//! entry in the list below.

mod argument;
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

pub use argument::{Argument, ArgumentValue};
pub use arguments::Arguments;
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
pub(crate) use time::read_instant;
pub use time::{At, Period};

/// The response header of a server with a simulated market.
pub const SIMULATED: &str = "x-liqdata-simulated";

/// The response header with the instant of the market in epoch milliseconds.
///
/// Replies are as of this instant. It is 0 if nothing has been observed.
pub const NOW: &str = "x-liqdata-now";

/// The response header with the number of damaged archive files, if any.
///
/// The missing rows may belong to this reply or to others.
pub const DAMAGED: &str = "x-liqdata-damaged";

/// The response header of an estimate without known open interest: [`RELATIVE`].
pub const OPEN_INTEREST: &str = "x-liqdata-open-interest";

/// The response header with the age of the open interest of an estimate in milliseconds, if above [`CARRIED`].
pub const OPEN_INTEREST_AGE: &str = "x-liqdata-open-interest-age";

/// The request header that asks for an explanation of the reply ([RFC 7240](https://www.rfc-editor.org/rfc/rfc7240)):
/// [`EXPLAINED`].
///
/// Other services ignore it.
pub const PREFER: &str = "prefer";

/// The response header that confirms a preference.
pub const PREFERENCE_APPLIED: &str = "preference-applied";

/// Age in milliseconds up to which a reading of open interest is carried forward silently: 15 minutes.
pub const CARRIED: i64 = 15 * 60 * 1000;

/// Open interest is unknown, so a multiple of the volume is used.
pub const RELATIVE: &str = "relative";

/// Calls the macro `then` with the endpoints of the contract, then with the extensions.
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
        /// The endpoints of the contract, in its order.
        pub const ENDPOINTS: &[EndpointEntry] = &[$($of_contract::ENTRY),+];

        /// The endpoints that only our server has.
        pub const EXTENSIONS: &[EndpointEntry] = &[Stream::ENTRY $(, $extension::ENTRY)*];
    };
}
endpoints!(entries);
