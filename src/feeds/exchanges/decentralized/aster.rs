//! Aster, with Binance's older API.
//!
//! - Channel: `!forceOrder@arr`, without `st`, and only the latest order of a symbol per second. Paths without a class
//!   still send here. A mark price on the same socket is the control topic.
//! - Side: that of the closing order; `SELL` closed a long.
//! - Units: base units; no contract has another size, so REST is only used for prices.
//! - Backfill: none.
//! - Source: <https://github.com/asterdex/api-docs>

use crate::feeds::decoding::event::{Completeness, PriceKind};
use crate::feeds::decoding::frame::Rules;
use crate::feeds::decoding::market_name;
use crate::feeds::exchanges::centralized::binance;
use crate::feeds::rest::endpoints::Rest;
use crate::feeds::rest::prices::Prices;
use crate::feeds::rest::request::{Ask, Limit};
use crate::feeds::venue::Venue;
use crate::feeds::websocket::socket_plan::{Lines, Listen};

/// Half of the allowed weight per minute.
const WEIGHT: Limit = Limit::of("weight", 1200, 60);

pub(crate) static VENUE: Venue = Venue {
    rules: Rules {
        name: "aster",
        completeness: Completeness::Sampled,
        market: binance::market,
        native: market_name::joined,
        contract: |_| None,
    },
    price_kinds: &[PriceKind::AverageFill, PriceKind::Order],
    hosts: &[
        ("socket", "wss://fstream.asterdex.com"),
        ("rest", "https://fapi.asterdex.com"),
    ],
    decode: binance::force_orders,
    listen: Listen {
        lines: Lines::Fixed(&[(
            "liquidations",
            "/ws",
            &["!forceOrder@arr", binance::CONTROL],
        )]),
        ..binance::LISTEN
    },
    rest: Rest {
        prices: Some(Prices {
            asks: || vec![Ask::new("/fapi/v3/premiumIndex", WEIGHT)],
            read: binance::read_prices,
        }),
        ..Rest::NONE
    },
};
