//! Reads pages of orders of any time range, backwards from the end of the range.

use crate::archive::{Archive, Filter};
use crate::contract::{BadQuery, Orders};
use crate::market::refusal::Refusal;
use crate::model::{GroupedOrder, Millis, TimeRange};

/// Length of the first read in milliseconds; it doubles after each read within [`ROOM`].
const FIRST: i64 = Millis::MINUTE;
/// Maximum size of one read, in bytes; dense data is read in shorter ranges.
const ROOM: usize = 32 << 20;

/// The time range of a query at `now`: the last day unless the query has one. Refuses an empty range.
pub(crate) fn range(asked: &Orders, now: Millis) -> Result<TimeRange, BadQuery> {
    if !asked.has_time_range() {
        return Ok(TimeRange::new(now.back(Millis::DAY).on(1), now.on(1)));
    }
    let range = TimeRange::bounded_at(asked.start, asked.end, now);
    match (range.lower_bound(), range.upper_bound()) {
        (Some(start), Some(end)) if end <= start => Err(BadQuery::new(
            "end",
            format!("{end} is not after the start, {start}"),
            "a later instant",
        )),
        _ => Ok(range),
    }
}

/// Reads a page of orders from an archive, newest first.
///
/// Orders with the same event time are in order of receipt.
pub(crate) fn page(
    archive: &Archive,
    wanted: &Orders,
    range: TimeRange,
    as_of: Option<Millis>,
    most: usize,
) -> Result<Vec<GroupedOrder>, Refusal> {
    let symbol = wanted.symbol.as_ref();
    let filter = Filter {
        start: range.lower_bound(),
        end: range.upper_bound(),
        as_of,
        exchange: wanted.exchange.clone(),
        coin: symbol.map(|symbol| symbol.coin().to_owned()),
        ..Filter::default()
    };
    let limit = usize::from(wanted.limit);
    let mut passed = wanted.offset;
    let mut page = Vec::with_capacity(limit);
    let mut length = FIRST;
    for day in archive.days_with_orders(&filter)?.into_iter().rev() {
        let first = range.start.max(day);
        let mut end = range.end.min(day.on(Millis::DAY));
        while first < end {
            let start = end.back(length).max(first);
            let part = Filter {
                start: Some(start),
                end: Some(end),
                ..filter.clone()
            };
            let Some(orders) = archive.part_of_orders(day, &part, most.min(ROOM))? else {
                if end.back(1) <= start {
                    let message =
                        format!("the orders at {start} exceed the maximum size of one read");
                    let allowed = "an exchange or a symbol that selects fewer orders";
                    return Err(BadQuery::new("end", message, allowed).into());
                }
                length = ((end.0 - start.0) / 2).max(1);
                continue;
            };
            for order in orders {
                // The filter selects orders by coin, so other pairs of the same coin must be skipped here.
                if symbol.is_some_and(|symbol| !symbol.means(&order.order.symbol, symbol.coin()))
                    || wanted
                        .min_usd
                        .is_some_and(|least| order.order.value_usd < least)
                {
                    continue;
                }
                if passed > 0 {
                    passed -= 1;
                    continue;
                }
                page.push(order);
                if page.len() == limit {
                    return Ok(page);
                }
            }
            end = start;
            length = length.saturating_mul(2).min(Millis::DAY);
        }
    }
    Ok(page)
}
