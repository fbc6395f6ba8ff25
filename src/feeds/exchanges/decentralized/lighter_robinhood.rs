//! Lighter on Robinhood Chain: a second deployment of [Lighter](crate::feeds::exchanges::decentralized::lighter).
//!
//! It has its own markets, market numbers and trades, and another collateral, also quoted in USD. Channel, side, units
//! and source are those of Lighter; only the decoder is shared.

use crate::feeds::exchanges::decentralized::lighter;
use crate::feeds::venue::Venue;

pub(crate) static VENUE: Venue = lighter::of(
    "lighter_rh",
    &[
        ("socket", "wss://api.rh.lighter.xyz"),
        ("rest", "https://api.rh.lighter.xyz"),
    ],
);
