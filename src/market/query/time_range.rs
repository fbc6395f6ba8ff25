//! The check of the time range of a query.

use crate::contract::BadQuery;
use crate::model::{Millis, TimeRange};

/// Refuses an empty time range, and one that begins after `now`. `given` says whether the query names start and end.
pub(crate) fn checked(
    range: TimeRange,
    (start, end): (bool, bool),
    now: Millis,
) -> Result<(), BadQuery> {
    if range.start >= range.end {
        let (parameter, message) = if end {
            (
                "end",
                format!("{} is not after the start, {}", range.end, range.start),
            )
        } else {
            (
                "start",
                format!("{} is after the newest observation", range.start),
            )
        };
        return Err(BadQuery::new(parameter, message, "a start before the end"));
    }
    if range.start > now {
        let parameter = if start { "start" } else { "end" };
        let message = format!("the time range is after the newest observation, {now}");
        return Err(BadQuery::new(parameter, message, "an earlier instant"));
    }
    Ok(())
}
