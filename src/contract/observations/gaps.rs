//! `/api/gaps`: time ranges in which orders or other data may be missing; an extension of the contract.

use crate::contract::endpoint::endpoint;
use crate::contract::time::Bound;
use crate::model::CoverageGap;

endpoint! {
    /// Asks for the gaps in the collected data of all exchanges.
    Gaps = "gaps" at "/api/gaps", "times in which orders of an exchange are known to be missing";
    start: Option<Bound>, "only gaps that end after this instant";
    end: Option<Bound>, "only gaps that start before this instant";
    => enveloped Vec<CoverageGap>; large
}
