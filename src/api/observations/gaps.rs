//! `/api/gaps`: time ranges in which orders or other data may be missing; an extension of the contract.

use crate::api::endpoint::endpoint;
use crate::api::time::Bound;
use crate::model::CoverageGap;

endpoint! {
    /// Asks for the gaps in the collected data of all exchanges.
    Gaps = "gaps" at "/api/gaps", "when orders of an exchange are known to have been missed";
    start: Option<Bound>, "only gaps that reach beyond it";
    end: Option<Bound>, "only gaps that begin before it";
    => enveloped Vec<CoverageGap>; large
}
