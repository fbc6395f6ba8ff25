//! `/api/liquidations/overview`: liquidation totals of the last 1, 4, 12 and 24 hours.

use serde_json::{Value, json};

use crate::contract::endpoint::{endpoint, object};
use crate::contract::openapi;
use crate::model::TotalsByWindow;

endpoint! {
    /// Asks for the liquidation totals of the last 1, 4, 12 and 24 hours.
    ///
    /// Each window has long, short and total USD and the number of orders.
    #[derive(Copy, Default)]
    Overview = "overview" at "/api/liquidations/overview", "liquidated USD over the last 1, 4, 12 and 24 hours";
    => enveloped TotalsByWindow
}

object! {
    TotalsByWindow;
    "1h" object: "long, short and total USD and the count of the last hour" => totals;
    "4h" object: "the same for four hours" => totals;
    "12h" object: "the same of twelve hours" => totals;
    "24h" object: "the same of a day" => totals;
}

/// Returns the JSON schema of the totals of one window.
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
