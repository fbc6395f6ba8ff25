//! Paging through an exchange's trades by time.
//!
//! The trades of a page's last instant may be split between two pages, so the request for the next page includes that
//! instant. Trades that are received twice are recognized by their key. If all trades of a page have the same instant,
//! further trades of that instant cannot be requested. Such a page is reported as an error, and paging continues with
//! the next instant.

use crate::feeds::decoding::frame::Frame;
use crate::feeds::decoding::json_path::JsonPath;
use crate::feeds::error::Error;
use crate::feeds::rest::request::RestRequest;
use crate::model::Millis;

/// Returns the request for the next page, where pages go from newer to older trades.
///
/// `times` are the times of the trades on this page. A page has at most `most` trades, and a shorter page is the last
/// one. `page` builds a request for the trades in a time range.
pub(crate) fn earlier(
    ask: &RestRequest,
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    times: &[Millis],
    most: usize,
    page: fn(&RestRequest, Millis, Millis) -> RestRequest,
) -> Result<Vec<RestRequest>, Error> {
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

/// Does the same as [`earlier`] for pages of unknown size: paging ends with an empty page.
pub(crate) fn until_empty(
    ask: &RestRequest,
    place: &JsonPath<'_>,
    times: &[Millis],
    page: fn(&RestRequest, Millis, Millis) -> RestRequest,
) -> Result<Vec<RestRequest>, Error> {
    let until = before(ask, place, times)?;
    Ok(until.map_or_else(Vec::new, |(until, _)| back(ask, until, page)))
}

/// Returns the end of the next request and the oldest time of this page.
///
/// `None` once the page precedes the requested range.
fn before(
    ask: &RestRequest,
    place: &JsonPath<'_>,
    times: &[Millis],
) -> Result<Option<(Millis, Millis)>, Error> {
    let Some(&oldest) = times.iter().min().filter(|oldest| **oldest >= ask.from) else {
        return Ok(None);
    };
    if oldest >= ask.until {
        let message = format!(
            "ends at {oldest}, although trades before {} were requested",
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

fn back(
    ask: &RestRequest,
    until: Millis,
    page: fn(&RestRequest, Millis, Millis) -> RestRequest,
) -> Vec<RestRequest> {
    if ask.from < until {
        vec![page(ask, ask.from, until)]
    } else {
        Vec::new()
    }
}

/// Returns the request for the next page, where pages go from older to newer trades.
///
/// `times` are the times of the trades on this page. `page` builds a request for the trades in a time range.
pub(crate) fn later(
    ask: &RestRequest,
    frame: &Frame<'_>,
    place: &JsonPath<'_>,
    times: &[Millis],
    page: fn(&RestRequest, Millis, Millis) -> RestRequest,
) -> Result<Vec<RestRequest>, Error> {
    let newest = times.iter().max().filter(|newest| **newest < ask.until);
    let Some(&newest) = newest else {
        return Ok(Vec::new());
    };
    if newest < ask.from {
        let message = format!(
            "ends at {newest}, although trades from {} on were requested",
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

/// Returns the error for a page on which all trades have the same instant.
fn overfull(place: &JsonPath<'_>, times: &[Millis], instant: Millis) -> Error {
    let rows = times.len();
    place.fault(format!(
        "has {rows} trades at {instant} alone; further trades at that instant cannot be requested"
    ))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use crate::feeds::exchanges::centralized::kraken::VENUE;
    use crate::feeds::instruments::Instruments;
    use crate::feeds::rest::paging::*;
    use crate::feeds::rest::request::RateLimit;

    /// Returns the bound of the next request, and the number of reported errors.
    fn within(
        look: impl Fn(&RestRequest, &Frame<'_>) -> Result<Vec<RestRequest>, Error>,
        end: fn(&RestRequest) -> Millis,
    ) -> (Result<Option<i64>, Error>, usize) {
        let faults = RefCell::new(Vec::new());
        let instruments = Instruments::default();
        let frame = VENUE.frame("", None, &instruments).keeping(&faults);
        let ask =
            RestRequest::new("/", RateLimit::of("x", 1, 1)).between(Millis(1000), Millis(2000));
        let found = look(&ask, &frame).map(|asks| asks.first().map(|ask| end(ask).0));
        (found, faults.take().len())
    }

    fn page(ask: &RestRequest, from: Millis, until: Millis) -> RestRequest {
        ask.clone().between(from, until)
    }

    #[test]
    fn where_no_page_is_known_to_be_full_pages_follow_until_one_is_empty() {
        let until = |times: &[i64]| {
            let times: Vec<Millis> = times.iter().copied().map(Millis).collect();
            let look =
                |ask: &RestRequest, _: &Frame<'_>| until_empty(ask, &JsonPath::ROOT, &times, page);
            within(look, |ask| ask.until)
        };
        // The next request includes the last instant of the page. If the page has only one instant, that instant is
        // requested a second time but not a third time.
        assert_eq!(until(&[1800, 1500]), (Ok(Some(1501)), 0));
        assert_eq!(until(&[1999, 1999]), (Ok(Some(1999)), 0));
        assert_eq!(until(&[]), (Ok(None), 0));
        assert_eq!(until(&[1800, 999]), (Ok(None), 0));
        assert_eq!(until(&[1000]), (Ok(Some(1001)), 0));
        assert!(until(&[2000]).0.is_err());
    }

    fn back(rows: usize, oldest: i64) -> (Result<Option<i64>, Error>, usize) {
        let times = vec![Millis(oldest); rows];
        let look = |ask: &RestRequest, frame: &Frame<'_>| {
            earlier(ask, frame, &JsonPath::ROOT, &times, 100, page)
        };
        within(look, |ask| ask.until)
    }

    fn forth(rows: usize, newest: i64) -> (Result<Option<i64>, Error>, usize) {
        let times = vec![Millis(newest); rows];
        let look =
            |ask: &RestRequest, frame: &Frame<'_>| later(ask, frame, &JsonPath::ROOT, &times, page);
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
