//! `/api/gaps`: when orders are known to have been missed; an extension beside the ten.

use crate::api::endpoint::endpoint;
use crate::api::time::At;
use crate::model::MissedStretch;

endpoint! {
    /// Asks when orders of which exchange are known to have been missed.
    Gaps = "gaps" at "/api/gaps", "when orders of an exchange are known to have been missed";
    start: Option<At>, "only gaps that reach beyond it";
    end: Option<At>, "only gaps that begin before it";
    => enveloped Vec<MissedStretch>; large
}
