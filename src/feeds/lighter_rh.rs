//! Lighter on Robinhood Chain: another exchange of [Lighter](super::lighter)'s make, with markets, numbers and trades of its
//! own, that speaks the same.
//!
//! Its collateral is another dollar, and prices are in dollars as there. What is a number here is another market's number
//! there, so the two share nothing but how frames are read.

use super::lighter;
use super::venue::Venue;

pub(super) static VENUE: Venue = lighter::of(
    "lighter_rh",
    &[
        ("socket", "wss://api.rh.lighter.xyz"),
        ("rest", "https://api.rh.lighter.xyz"),
    ],
);
