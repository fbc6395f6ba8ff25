//! Going through a venue's trades page by page, where a page ends with an instant and not with a place.
//!
//! Trades of the instant at which a page ends may be split between two pages, so that instant is asked for again; what was
//! kept already is known by its key. Where one instant fills a whole page the rest of it cannot be asked for: that is said,
//! and the next instant follows.

use crate::feeds::decoding::frame::Frame;
use crate::feeds::decoding::json_path::Place;
use crate::feeds::error::Error;
use crate::feeds::rest::request::Ask;
use crate::model::Millis;

/// The request for the page behind this one, where the newest trades come first: this page holds trades of `times`, at most
/// `most`; `page` asks for what is before an instant.
pub(crate) fn earlier(
    ask: &Ask,
    frame: &Frame<'_>,
    place: &Place<'_>,
    times: &[Millis],
    most: usize,
    page: fn(&Ask, Millis, Millis) -> Ask,
) -> Result<Vec<Ask>, Error> {
    if times.len() < most {
        return Ok(Vec::new());
    }
    let Some((until, oldest)) = before(ask, place, times)? else {
        return Ok(Vec::new());
    };
    if until == oldest {
        frame.note(overfull(place, times, oldest))?;
    }
    Ok(back(ask, until, page))
}

/// The same where nobody knows how long a page may be: pages follow until one is empty.
pub(crate) fn until_empty(
    ask: &Ask,
    place: &Place<'_>,
    times: &[Millis],
    page: fn(&Ask, Millis, Millis) -> Ask,
) -> Result<Vec<Ask>, Error> {
    let until = before(ask, place, times)?;
    Ok(until.map_or_else(Vec::new, |(until, _)| back(ask, until, page)))
}

/// Until when is asked next, and the oldest of a page; nothing where it reaches back far enough.
fn before(
    ask: &Ask,
    place: &Place<'_>,
    times: &[Millis],
) -> Result<Option<(Millis, Millis)>, Error> {
    let Some(&oldest) = times.iter().min().filter(|oldest| **oldest >= ask.from) else {
        return Ok(None);
    };
    if oldest >= ask.until {
        let message = format!(
            "ends at {oldest}, though what came before {} was asked for",
            ask.until
        );
        return Err(place.fault(message));
    }
    let whole = oldest.on(1);
    Ok(Some((
        if whole < ask.until { whole } else { oldest },
        oldest,
    )))
}

fn back(ask: &Ask, until: Millis, page: fn(&Ask, Millis, Millis) -> Ask) -> Vec<Ask> {
    if ask.from < until {
        vec![page(ask, ask.from, until)]
    } else {
        Vec::new()
    }
}

/// The request for the page behind this one, where the oldest trades come first and the venue says that there are more
/// than these of `times`; `page` asks for what is from an instant on.
pub(crate) fn later(
    ask: &Ask,
    frame: &Frame<'_>,
    place: &Place<'_>,
    times: &[Millis],
    page: fn(&Ask, Millis, Millis) -> Ask,
) -> Result<Vec<Ask>, Error> {
    let newest = times.iter().max().filter(|newest| **newest < ask.until);
    let Some(&newest) = newest else {
        return Ok(Vec::new());
    };
    if newest < ask.from {
        let message = format!(
            "ends at {newest}, though what came from {} on was asked for",
            ask.from
        );
        return Err(place.fault(message));
    }
    let mut from = newest;
    if newest == ask.from {
        frame.note(overfull(place, times, newest))?;
        from = newest.on(1);
    }
    Ok(if from < ask.until {
        vec![page(ask, from, ask.until)]
    } else {
        Vec::new()
    })
}

/// What is to be said of an instant that has more trades than a page.
fn overfull(place: &Place<'_>, times: &[Millis], instant: Millis) -> Error {
    let rows = times.len();
    place.fault(format!(
        "holds {rows} trades of {instant} alone; if there are more of that instant, they cannot be asked for"
    ))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use crate::feeds::exchanges::centralized::kraken::VENUE;
    use crate::feeds::instruments::Instruments;
    use crate::feeds::rest::paging::*;
    use crate::feeds::rest::request::Limit;

    /// From when or until when is asked next, and how many faults were named.
    fn within(
        look: impl Fn(&Ask, &Frame<'_>) -> Result<Vec<Ask>, Error>,
        end: fn(&Ask) -> Millis,
    ) -> (Result<Option<i64>, Error>, usize) {
        let faults = RefCell::new(Vec::new());
        let instruments = Instruments::default();
        let frame = VENUE.frame("", None, &instruments).keeping(&faults);
        let ask = Ask::new("/", Limit::of("x", 1, 1)).between(Millis(1000), Millis(2000));
        let found = look(&ask, &frame).map(|asks| asks.first().map(|ask| end(ask).0));
        (found, faults.take().len())
    }

    fn page(ask: &Ask, from: Millis, until: Millis) -> Ask {
        ask.clone().between(from, until)
    }

    #[test]
    fn where_no_page_is_known_to_be_full_pages_follow_until_one_is_empty() {
        let until = |times: &[i64]| {
            let times: Vec<Millis> = times.iter().copied().map(Millis).collect();
            let look = |ask: &Ask, _: &Frame<'_>| until_empty(ask, &Place::ROOT, &times, page);
            within(look, |ask| ask.until)
        };
        // The instant at which a page ends is asked for again, whole; and by itself only once.
        assert_eq!(until(&[1800, 1500]), (Ok(Some(1501)), 0));
        assert_eq!(until(&[1999, 1999]), (Ok(Some(1999)), 0));
        assert_eq!(until(&[]), (Ok(None), 0));
        assert_eq!(until(&[1800, 999]), (Ok(None), 0));
        assert_eq!(until(&[1000]), (Ok(Some(1001)), 0));
        assert!(until(&[2000]).0.is_err());
    }

    fn back(rows: usize, oldest: i64) -> (Result<Option<i64>, Error>, usize) {
        let times = vec![Millis(oldest); rows];
        let look =
            |ask: &Ask, frame: &Frame<'_>| earlier(ask, frame, &Place::ROOT, &times, 100, page);
        within(look, |ask| ask.until)
    }

    fn forth(rows: usize, newest: i64) -> (Result<Option<i64>, Error>, usize) {
        let times = vec![Millis(newest); rows];
        let look = |ask: &Ask, frame: &Frame<'_>| later(ask, frame, &Place::ROOT, &times, page);
        within(look, |ask| ask.from)
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
