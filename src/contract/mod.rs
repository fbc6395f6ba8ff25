//! The contract: the HTTP interface between liqdata's client and server.
//!
//! The contract consists of the table of endpoints with their parameters, the reply envelope and the error bodies. A
//! client turns a typed query into a path and a query string, and a server does the reverse. Client and server use the
//! same types, so each accepts what the other sends. Other services may implement the contract as well. An extension is
//! an endpoint or a parameter that only some services have. Each endpoint is one file in `realised`, `estimates` or
//! `observations`, and one entry in the list below.

mod argument;
mod arguments;
pub mod decode;
mod endpoint;
mod envelope;
mod estimates;
mod extension;
mod instant;
mod llms;
mod observations;
mod openapi;
mod parameter;
mod realised;
mod refusal;
mod reply;
mod time;

pub use argument::{Argument, ArgumentValue};
pub use arguments::Arguments;
pub use endpoint::{Endpoint, EndpointEntry};
pub use envelope::{RefusedBody, ReplyEnvelope};
pub use estimates::feature_table::{FeatureCells, FeatureColumn, FeatureColumns, FeatureTable};
pub use estimates::features::{FeatureLines, Features, Percent};
pub use estimates::grid_bytes::grid_parts;
pub use estimates::grid_bytes::{
    GRID_TYPE, GridHashes, GridValues, cut_grid, encode_grid, explain_grid,
};
pub use estimates::heatmap::Heatmap;
pub use estimates::levels::Levels;
pub use estimates::liqmap::Liqmap;
pub use estimates::maps::Maps;
pub use estimates::maps::ModelVersion;
pub use estimates::maxpain::Maxpain;
pub use extension::Extension;
pub use instant::{allowed_instants, read_instant};
pub use llms::{LLMS, MCP, llms_text};
pub use observations::bars::Bars;
pub use observations::coverage::Coverage;
pub use observations::gaps::Gaps;
pub use observations::open_interest::OpenInterest;
pub use observations::positions::Positions;
pub use openapi::{OPENAPI, openapi};
pub use parameter::text_of;
pub use parameter::{
    EVERYWHERE, EXPLAINED, Exchange, ModelChoice, Offset, Parameter, RawModel, RowLimit, Rule,
    Switch, specification,
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
pub use reply::{Data, Datum, EndpointReply, Member, Members, ObjectShape, ReplyShape, RowShape};
pub use time::{At, Bound, Period};

/// Response header that marks a server with a simulated market.
pub const SIMULATED: &str = "x-liqdata-simulated";

/// Response header with the newest instant of the market data, in epoch milliseconds.
///
/// Replies describe the market at this instant. The header is 0 if no data exists.
pub const NOW: &str = "x-liqdata-now";

/// Response header with the number of damaged archive files; absent if there are none.
///
/// The rows that are lost in these files may concern this reply or other replies.
pub const DAMAGED: &str = "x-liqdata-damaged";

/// Response header of an estimate for which open interest is unknown; the value is [`RELATIVE`].
pub const OPEN_INTEREST: &str = "x-liqdata-open-interest";

/// Response header with the age in milliseconds of an estimate's open interest; sent if above [`CARRIED`].
pub const OPEN_INTEREST_AGE: &str = "x-liqdata-open-interest-age";

/// Request header that asks for an explanation of the reply.
///
/// The value is [`EXPLAINED`] ([RFC 7240](https://www.rfc-editor.org/rfc/rfc7240)). Services without explanations
/// ignore this header.
pub const PREFER: &str = "prefer";

/// Response header that confirms the preference given in [`PREFER`].
pub const PREFERENCE_APPLIED: &str = "preference-applied";

/// Maximum age of open interest that is used without notice, in milliseconds.
///
/// The header [`OPEN_INTEREST_AGE`] reports a greater age.
pub const CARRIED: i64 = 15 * 60 * 1000;

/// Value of [`OPEN_INTEREST`] for an estimate without open interest.
///
/// The estimate uses a multiple of the traded volume instead.
pub const RELATIVE: &str = "relative";

/// Calls the macro `then` with all endpoints, those of the contract first.
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
pub use endpoints;

macro_rules! entries {
    ([$($_name:ident($of_contract:ident))+] [$($_other:ident($extension:ident))*]) => {
        /// The endpoints of the contract, in the order of its documentation.
        pub const ENDPOINTS: &[EndpointEntry] = &[$($of_contract::ENTRY),+];

        /// The extension endpoints that liqdata's server adds to the contract.
        pub const EXTENSIONS: &[EndpointEntry] = &[Stream::ENTRY, Features::ENTRY $(, $extension::ENTRY)*];
    };
}
endpoints!(entries);
