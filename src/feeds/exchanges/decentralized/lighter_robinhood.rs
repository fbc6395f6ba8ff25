//! Lighter on Robinhood Chain: another exchange of [Lighter](crate::feeds::exchanges::decentralized::lighter)'s make, with markets, numbers and trades of its
//! own, that speaks the same.
//!
//! Its collateral is another dollar, and prices are in dollars as there. What is a number here is another market's number
//! there, so the two share nothing but how frames are read.

use crate::feeds::exchanges::decentralized::lighter;
use crate::feeds::venue::Venue;

pub(crate) static VENUE: Venue = lighter::of(
    "lighter_rh",
    &[
        ("socket", "wss://api.rh.lighter.xyz"),
        ("rest", "https://api.rh.lighter.xyz"),
    ],
);
