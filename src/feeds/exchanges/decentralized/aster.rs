//! Aster, which has an older version of Binance's API.
//!
//! - Channel: `!forceOrder@arr`, without Binance's member `st`. It sends only the latest order of each symbol per
//!   second. Unlike Binance, the exchange sends liquidations on paths without `/market`. A mark price on the same
//!   socket is the control topic.
//! - Side: the side of the closing order; `SELL` closed a long.
//! - Units: base units. Every contract has a size of one base unit, so REST is only used for prices.
//! - Backfill: none.
//! - Source: <https://github.com/asterdex/api-docs>

use crate::feeds::decoding::event::{Completeness, PriceKind};
use crate::feeds::decoding::frame::Rules;
use crate::feeds::decoding::market_name;
use crate::feeds::exchanges::centralized::binance;
use crate::feeds::rest::endpoints::RestEndpoints;
use crate::feeds::rest::prices::PriceEndpoints;
use crate::feeds::rest::request::{RateLimit, RestRequest};
use crate::feeds::venue::Venue;
use crate::feeds::websocket::socket_plan::{ConnectionPlans, SocketPlan};

/// Half of the request weight that the exchange allows per minute.
const WEIGHT: RateLimit = RateLimit::of("weight", 1200, 60);

pub(crate) static VENUE: Venue = Venue {
    rules: Rules {
        name: "aster",
        completeness: Completeness::Sampled,
        market: binance::market,
        native: market_name::joined,
        contract: |_| None,
        channels: binance::CHANNELS,
    },
    price_kinds: &[PriceKind::AverageFill, PriceKind::Order],
    closed: None,
    hosts: &[
        ("socket", "wss://fstream.asterdex.com"),
        ("rest", "https://fapi.asterdex.com"),
    ],
    messages: binance::MESSAGES,
    listen: SocketPlan {
        lines: ConnectionPlans::Fixed(&[(
            "liquidations",
            "/ws",
            &["!forceOrder@arr", binance::CONTROL],
        )]),
        ..binance::LISTEN
    },
    rest: RestEndpoints {
        prices: Some(PriceEndpoints {
            asks: || vec![RestRequest::new("/fapi/v3/premiumIndex", WEIGHT)],
            read: binance::read_prices,
        }),
        ..RestEndpoints::NONE
    },
};
