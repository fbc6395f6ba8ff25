//! Hourly liquidation totals that Gate publishes: `/futures/<settle>/contract_stats`.

use rust_decimal::Decimal;

use crate::feeds::decoding::frame::Frame;
use crate::feeds::decoding::json_path::JsonPath;
use crate::feeds::decoding::raw_json::{JsonShape, members};
use crate::feeds::error::Error;
use crate::feeds::rest::request::{HourlyTotal, RateLimit, RestRequest, RestSeries};
use crate::model::Millis;

const REQUESTS: RateLimit = RateLimit::of("statistics", 180, 10);
/// Maximum number of rows in a reply.
const ROWS: i64 = 100;

pub(crate) const TOTALS: RestSeries<HourlyTotal> = RestSeries {
    look_back: 30 * Millis::DAY,
    length: ROWS * Millis::HOUR,
    ask: |contract, from, until| {
        let hours = (until.0 - from.0) / Millis::HOUR;
        let path = format!("/api/v4/futures/{}/contract_stats", settled_in(contract));
        RestRequest::new(&path, REQUESTS)
            .with("contract", contract)
            .with("interval", "1h")
            .with("from", from.0 / 1000)
            .with("limit", hours)
    },
    read,
};

/// Returns the settlement currency of a perpetual contract, from the contract name.
fn settled_in(contract: &str) -> String {
    match contract.split_once('_') {
        Some((base, "USD")) => base.to_lowercase(),
        Some((_, quote)) => quote.to_lowercase(),
        None => "usdt".to_owned(),
    }
}

members!(Row<'a> {
    time = "time",
    long = "long_liq_usd",
    short = "short_liq_usd",
});

/// Decodes the totals in a reply; the sides are those of the positions.
fn read(frame: &Frame<'_>) -> Result<Vec<HourlyTotal>, Error> {
    let rows: JsonShape<Row<'_>> = frame.read_plainly()?;
    let root = JsonPath::ROOT;
    let list = root.list(&rows)?;
    let totals = list.iter().enumerate().map(|(index, row)| {
        let place = root.item(index);
        let row = place.object(row)?;
        let usd = |name, cell| -> Result<Decimal, Error> { Ok(place.number(name, cell)?.value) };
        Ok(HourlyTotal {
            timestamp: place.instant("time", row.time)?,
            usd: usd("long_liq_usd", row.long)? + usd("short_liq_usd", row.short)?,
        })
    });
    totals.collect()
}
