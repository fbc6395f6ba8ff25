//! Missed liquidations by REST. What is kept for long is asked for slowly: three requests a minute.

use super::decode::TIME;
use crate::feeds::ask::{Ask, Limit};
use crate::feeds::frame::Place;
use crate::feeds::members::Raw;
use crate::feeds::{Error, Frame};
use crate::model::Millis;

/// Requests in a minute.
const HISTORIES: Limit = Limit::of("histories", 3, 60);
/// Most rows of a reply, triggers among them.
const ROWS: usize = 500;

/// One request, the newest rows first.
pub(super) fn missed(from: Millis, until: Millis) -> Vec<Ask> {
    vec![
        Ask::new("/v2/liquidations/hist", HISTORIES)
            .with("start", from.0)
            .with("end", until.0 - 1)
            .with("limit", ROWS)
            .with("sort", -1)
            .between(from, until),
    ]
}

/// A full page is followed by the one before it.
pub(super) fn go_on(ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
    // Each item is a list that holds one row.
    let items: Vec<Vec<Vec<Raw<'_>>>> = frame.read()?;
    let root = Place::ROOT;
    let mut oldest = None;
    for (index, row) in items.iter().flatten().enumerate() {
        let place = root.item(index);
        let time = place
            .item(0)
            .item(TIME)
            .instant("", row.get(TIME).copied())?;
        oldest = Some(oldest.map_or(time, |oldest: Millis| oldest.min(time)));
    }
    // Rows of the oldest instant may be split between two pages, so that instant is asked for again.
    let end = oldest
        .filter(|_| items.len() >= ROWS)
        .map(|oldest| oldest.0.to_string());
    match end {
        Some(end) if ask.value("end") == Some(&end) => Err(root.fault(format!(
            "{ROWS} rows of one instant; what else happened in it cannot be asked for"
        ))),
        Some(end) => Ok(vec![ask.again_with("end", end)]),
        None => Ok(Vec::new()),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::feeds::{Instruments, venue};

    fn next(ask: &Ask, body: &str) -> Result<Vec<Ask>, Error> {
        let frame = Frame {
            venue: venue("bitfinex").unwrap(),
            text: body,
            received_at: None,
            instruments: &Instruments::default(),
            faults: None,
        };
        go_on(ask, &frame)
    }

    fn page(times: impl Iterator<Item = i64>) -> String {
        let rows: Vec<String> = times
            .map(|time| format!(r#"[["pos",7,{time},null,"tBTCF0:USTF0",1,1,null,1,1,null,1]]"#))
            .collect();
        format!("[{}]", rows.join(","))
    }

    #[test]
    fn a_full_page_is_followed_by_the_one_before_it() {
        let asks = missed(Millis(1_790_000_000_000), Millis(1_790_000_600_000));
        let ask = asks.first().unwrap();
        let times = |count: i64| (0..count).map(|back| 1_790_000_500_000 - back);
        assert_eq!(next(ask, &page(times(499))).unwrap(), []);
        let following = next(ask, &page(times(500))).unwrap();
        let following = following.first().unwrap();
        assert_eq!(following.value("end"), Some("1790000499501"));
        assert_eq!(following.value("start"), ask.value("start"));
        let one_instant = page(std::iter::repeat_n(1_790_000_499_501, 500));
        let fault = next(following, &one_instant).unwrap_err();
        assert!(fault.to_string().contains("one instant"), "{fault}");
    }
}
