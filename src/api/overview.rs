//! `/api/liquidations/overview`: totals of the four windows.

use super::{BadQuery, Endpoint, Query};
use crate::model::TotalsByWindow;

/// Asks for long, short and total USD and the count of the 1h, 4h, 12h and 24h windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overview;

impl Endpoint for Overview {
    const NAME: &'static str = "overview";
    const PATH: &'static str = "/api/liquidations/overview";
    const ENVELOPED: bool = true;
    const PARAMETERS: &'static [&'static str] = &[];
    type Reply = TotalsByWindow;

    fn from_query(_: &Query) -> Result<Self, BadQuery> {
        Ok(Self)
    }

    fn to_query(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}
