//! `/api/liquidations/overview`: totals of the four windows.

use super::endpoint::{endpoint, object};
use crate::model::TotalsByWindow;

endpoint! {
    /// Asks for long, short and total USD and the count of the 1h, 4h, 12h and 24h windows.
    #[derive(Copy, Default)]
    Overview = "overview" at "/api/liquidations/overview", "liquidated USD over the last 1, 4, 12 and 24 hours";
    => enveloped TotalsByWindow
}

object! {
    TotalsByWindow;
    "1h" object: "long, short and total USD and the count of the last hour";
    "4h" object: "the same of four hours";
    "12h" object: "the same of twelve hours";
    "24h" object: "the same of a day";
}
