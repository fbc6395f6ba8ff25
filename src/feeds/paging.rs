//! Going through a venue's trades page by page, where a page ends with an instant and not with a place.
//!
//! Trades of the instant at which a page ends may be split between two pages, so that instant is asked for again; what was
//! kept already is known by its key. Where one instant fills a whole page the rest of it cannot be asked for: that is said,
//! and the next instant follows.

use super::frame::Place;
use super::{Ask, Error, Frame};
use crate::model::Millis;

/// Until before when the page behind this one is to be asked for, where the newest trades come first: this page holds
/// `rows` of at most `most`, down to `oldest`.
pub(super) fn earlier(
    ask: &Ask,
    frame: &Frame<'_>,
    place: &Place<'_>,
    page: (usize, usize),
    oldest: Millis,
) -> Result<Option<Millis>, Error> {
    let (rows, most) = page;
    if rows == 0 || rows < most || oldest < ask.from {
        return Ok(None);
    }
    if oldest >= ask.until {
        let message = format!(
            "ends at {oldest}, though what came before {} was asked for",
            ask.until
        );
        return Err(place.fault(message));
    }
    let until = oldest.on(1);
    if until < ask.until {
        return Ok(Some(until));
    }
    overfull(frame, place, rows, oldest)?;
    Ok((ask.from < oldest).then_some(oldest))
}

/// From when the page behind this one is to be asked for, where the oldest trades come first and the venue says that
/// there are more than these `rows`, up to `newest`.
pub(super) fn later(
    ask: &Ask,
    frame: &Frame<'_>,
    place: &Place<'_>,
    rows: usize,
    newest: Millis,
) -> Result<Option<Millis>, Error> {
    if rows == 0 || newest >= ask.until {
        return Ok(None);
    }
    if newest < ask.from {
        let message = format!(
            "ends at {newest}, though what came from {} on was asked for",
            ask.from
        );
        return Err(place.fault(message));
    }
    if newest > ask.from {
        return Ok(Some(newest));
    }
    overfull(frame, place, rows, newest)?;
    let next = newest.on(1);
    Ok((next < ask.until).then_some(next))
}

/// Says that an instant has more trades than a page.
fn overfull(
    frame: &Frame<'_>,
    place: &Place<'_>,
    rows: usize,
    instant: Millis,
) -> Result<(), Error> {
    let fault = place.fault(format!(
        "holds {rows} trades of {instant} alone; if there are more of that instant, they cannot be asked for"
    ));
    match frame.faults {
        Some(faults) => {
            faults.borrow_mut().push(fault);
            Ok(())
        }
        None => Err(fault),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::feeds::{Instruments, Limit, venue};

    /// What is found, and how many faults were named.
    fn within(
        from: i64,
        until: i64,
        look: impl Fn(&Ask, &Frame<'_>) -> Result<Option<Millis>, Error>,
    ) -> (Result<Option<i64>, Error>, usize) {
        let faults = RefCell::new(Vec::new());
        let instruments = Instruments::default();
        let frame = Frame {
            venue: venue("kraken").unwrap(),
            text: "",
            received_at: None,
            instruments: &instruments,
            faults: Some(&faults),
        };
        let ask = Ask::new("/", Limit::of("x", 1, 1)).between(Millis(from), Millis(until));
        let found = look(&ask, &frame).map(|found| found.map(|at| at.0));
        (found, faults.take().len())
    }

    fn back(rows: usize, oldest: i64) -> (Result<Option<i64>, Error>, usize) {
        within(1000, 2000, |ask, frame| {
            earlier(ask, frame, &Place::ROOT, (rows, 100), Millis(oldest))
        })
    }

    fn forth(rows: usize, newest: i64) -> (Result<Option<i64>, Error>, usize) {
        within(1000, 2000, |ask, frame| {
            later(ask, frame, &Place::ROOT, rows, Millis(newest))
        })
    }

    #[test]
    fn a_full_page_is_followed_from_its_last_instant() {
        assert_eq!(back(100, 1500), (Ok(Some(1501)), 0));
        assert_eq!(forth(100, 1500), (Ok(Some(1500)), 0));
    }

    #[test]
    fn a_page_that_is_not_full_or_reaches_far_enough_is_the_last() {
        assert_eq!(back(99, 1500), (Ok(None), 0));
        assert_eq!(back(0, 1500), (Ok(None), 0));
        assert_eq!(back(100, 999), (Ok(None), 0));
        assert_eq!(forth(0, 1500), (Ok(None), 0));
        assert_eq!(forth(100, 2000), (Ok(None), 0));
    }

    #[test]
    fn an_instant_that_fills_a_page_is_named_and_left_behind() {
        assert_eq!(back(100, 1999), (Ok(Some(1999)), 1));
        assert_eq!(forth(100, 1000), (Ok(Some(1001)), 1));
    }

    #[test]
    fn a_page_of_another_time_is_an_error() {
        assert!(back(100, 2000).0.is_err());
        assert!(forth(100, 999).0.is_err());
    }
}
