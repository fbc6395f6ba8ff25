//! Instants as services write them: epoch seconds, epoch milliseconds, ISO 8601.

use liqdata::model::{HeatmapGrid, Millis};
use liqdata::wire::{Reading, read};

use super::exact::{Exact, is_number};

/// Numbers nearer to zero than this are seconds.
const SECONDS_BELOW: i128 = 100_000_000_000;

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
        let exact = Exact::of(text);
        let seconds = exact.whole(3).filter(|at| at.abs() < SECONDS_BELOW * 1000);
        let millis = exact.whole(0).filter(|at| at.abs() >= SECONDS_BELOW);
        let wanted = seconds.or(millis).and_then(|at| i64::try_from(at).ok());
        // No calendar has what lies outside the years 1 to 9999.
        let wanted = wanted.filter(|at| Millis::CALENDAR.contains(at));
        assert_eq!(by_services.map(|at| at.0), wanted, "{text}");
    } else if let (Some(service), Some(person)) = (by_services, by_people) {
        assert_eq!(service, person, "{text}");
    }
    if let Some(at) = by_services
        && i128::from(at.0).abs() >= SECONDS_BELOW
    {
        assert_eq!(by_service(&at.0.to_string()), Some(at), "{text}");
    }
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
        Ok(Reading::Reply(heatmap)) => heatmap.times.first().copied(),
        _ => None,
    }
}
