//! Lighter on Robinhood Chain: a second deployment of [Lighter](crate::feeds::exchanges::decentralized::lighter).
//!
//! This deployment has separate markets, market numbers and trades, and another collateral, which is also quoted in
//! USD. It shares the decoder of Lighter, so channel, side, units and source are the same.

use crate::feeds::exchanges::decentralized::lighter;
use crate::feeds::venue::Venue;

pub(crate) static VENUE: Venue = lighter::of(
    "lighter_rh",
    &[
        ("socket", "wss://api.rh.lighter.xyz"),
        ("rest", "https://api.rh.lighter.xyz"),
    ],
);
