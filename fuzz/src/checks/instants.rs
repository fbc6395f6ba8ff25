//! Instants as services write them: epoch numbers in any unit, ISO 8601.

use liqdata::contract::decode::{Reading, read};
use liqdata::model::{HeatmapGrid, Millis, TimeUnit};

use super::exact::{Exact, is_number};

/// The text of an instant, or of none.
///
/// # Panics
///
/// Where it is read as another instant than it names, or two readers disagree.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let by_people = Millis::read_iso(text);
    if let Some(at) = by_people {
        assert_eq!(by_people, again(at), "read from {text} as {at}");
    }
    let by_services = by_service(text);
    if is_number(text) {
        let wanted = only_instant(&Exact::of(text));
        assert_eq!(by_services.map(|at| at.0), wanted, "{text}");
    } else if let (Some(service), Some(person)) = (by_services, by_people) {
        assert_eq!(service, person, "{text}");
    }
    if let Some(at) = by_services
        && TimeUnit::of(at.0).is_none_or(|unit| unit == TimeUnit::Milliseconds)
    {
        assert_eq!(by_service(&at.0.to_string()), Some(at), "{text}");
    }
}

/// The milliseconds of the only instant of a column.
pub(super) fn only_instant(exact: &Exact) -> Option<i64> {
    if let Some(number) = exact.whole(0) {
        let number = i64::try_from(number).ok()?;
        let unit = TimeUnit::of(number).unwrap_or(TimeUnit::Milliseconds);
        return unit.millis(number).map(|at| at.0);
    }
    // Only seconds have a fraction.
    let nanos = i64::try_from(exact.whole(9)?).ok()?;
    let are_seconds = TimeUnit::of(nanos / 1_000_000_000) == Some(TimeUnit::Seconds);
    are_seconds.then_some(nanos.div_euclid(1_000_000))
}

/// An instant that is written and read again.
fn again(at: Millis) -> Option<Millis> {
    let text = at.to_string();
    // Years of other than four digits are written as milliseconds.
    if text.ends_with("ms") {
        Some(at)
    } else {
        Millis::read_iso(&text)
    }
}

/// The instant as a time of a heatmap.
fn by_service(text: &str) -> Option<Millis> {
    let text = serde_json::Value::from(text);
    let body = format!(
        "{{\"symbol\":\"BTC\",\"range\":\"24h\",\"model\":2,\"updatedAt\":1790000000000,\"currentPrice\":1.5,\
         \"prices\":[1],\"times\":[{text}],\"matrix\":[[1]]}}"
    );
    match read::<HeatmapGrid>(body.as_bytes(), false) {
        Ok(Reading::Reply(heatmap) | Reading::Converted { reply: heatmap, .. }) => {
            heatmap.times.first().copied()
        }
        _ => None,
    }
}
