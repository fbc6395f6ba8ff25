//! `/api/liquidations/cascades`: runs of orders that follow each other closely; an extension of the contract.

use serde_json::{Value, json};

use crate::contract::argument::Argument;
use crate::contract::endpoint::endpoint;
use crate::contract::parameter::{Rule, text_of};
use crate::contract::realised::history::{SymbolList, UsdAmount};
use crate::contract::refusal::BadQuery;
use crate::contract::time::Bound;
use crate::model::{CascadeRow, Millis, read_span};

endpoint! {
    /// Asks for cascades: orders of one coin and side that follow each other closely.
    Cascades = "cascades" at "/api/liquidations/cascades", "liquidation cascades: orders that follow each other \
                closely, grouped into events";
    symbol: Option<SymbolList>, "coins or trading pairs, such as BTC or BTCUSDT,ETHUSDT; if absent, all";
    gap: CascadeGap = "60s", "maximum time between two consecutive orders of an event";
    min_usd: UsdAmount = "100000", "only events of at least this many USD";
    start: Option<Bound>, "only events that start at or after this instant; if absent, 24 hours before the end";
    end: Option<Bound>, "only events that start before this instant; if absent, up to and including now";
    => enveloped Vec<CascadeRow>; large
}

/// Smallest gap in milliseconds that needs no unit; a smaller bare number probably means seconds.
const BARE: i64 = 1000;

/// Formats a cascade gap in milliseconds for a query string.
pub fn gap_text(gap: i64) -> String {
    let unit = if gap < BARE { "ms" } else { "" };
    format!("{gap}{unit}")
}

/// Rule for the maximum time between consecutive orders of a cascade, in milliseconds.
#[derive(Debug)]
pub struct CascadeGap;

impl Rule for CascadeGap {
    type Value = i64;
    type Raw<'a> = &'a str;

    fn allowed() -> String {
        "from 1ms to 1d, such as 60s or 5m, or milliseconds from 1000 on".to_owned()
    }

    fn schema() -> Value {
        let pattern = "^([1-9][0-9]{0,6}ms|[1-9][0-9]{0,3}s|[1-9][0-9]{0,2}(m|min)|([1-9]|1[0-9]|2[0-4])h|1d|[1-9][0-9]{3,6})$";
        json!({"type": "string", "pattern": pattern})
    }

    fn raw<'a>(name: &'static str, argument: Option<Argument<'a>>) -> Result<&'a str, BadQuery> {
        text_of::<Self>(name, argument)
    }

    fn check(name: &'static str, text: &str) -> Result<i64, BadQuery> {
        let bare: Option<i64> = text.parse().ok();
        if let Some(bare) = bare.filter(|bare| (1..BARE).contains(bare)) {
            let message = format!("{bare} has no unit: it would be {bare} milliseconds");
            let allowed = format!("\"{bare}s\" for seconds, or \"{bare}ms\"");
            return Err(BadQuery::new(name, message, allowed));
        }
        let length = bare.or_else(|| read_span(text));
        length
            .filter(|length| (1..=Millis::DAY).contains(length))
            .ok_or_else(|| BadQuery::new(name, format!("{text:?} is not allowed"), Self::allowed()))
    }

    fn text(gap: &i64) -> Option<String> {
        Some(gap_text(*gap))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::contract::realised::cascades::*;

    #[test]
    fn a_gap_without_a_unit_that_would_be_less_than_a_second_is_refused() {
        let refusal = CascadeGap::check("gap", "60").unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "gap: 60 has no unit: it would be 60 milliseconds; allowed: \"60s\" for seconds, or \"60ms\""
        );
        for gap in [1, 60, 999, 1000, 60_000, Millis::DAY] {
            let text = CascadeGap::text(&gap).unwrap();
            assert_eq!(CascadeGap::check("gap", &text).unwrap(), gap, "{text}");
        }
    }
}
