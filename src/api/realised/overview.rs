//! `/api/liquidations/overview`: totals of the four windows.

use serde_json::{Value, json};

use crate::api::endpoint::{endpoint, object};
use crate::api::openapi;
use crate::model::TotalsByWindow;

endpoint! {
    /// Asks for long, short and total USD and the count of the 1h, 4h, 12h and 24h windows.
    #[derive(Copy, Default)]
    Overview = "overview" at "/api/liquidations/overview", "liquidated USD over the last 1, 4, 12 and 24 hours";
    => enveloped TotalsByWindow
}

object! {
    TotalsByWindow;
    "1h" object: "long, short and total USD and the count of the last hour" => totals;
    "4h" object: "the same of four hours" => totals;
    "12h" object: "the same of twelve hours" => totals;
    "24h" object: "the same of a day" => totals;
}

/// The schema of the totals of a window.
fn totals() -> Value {
    let usd = || json!({"type": "number"});
    let members = [
        ("long_usd", usd()),
        ("short_usd", usd()),
        ("total_usd", usd()),
        ("cnt", json!({"type": "integer"})),
    ];
    openapi::object(members, &["long_usd", "short_usd", "total_usd", "cnt"])
}
