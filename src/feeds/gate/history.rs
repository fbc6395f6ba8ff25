//! Markets and missed liquidations by REST.

use super::listen::SETTLES;
use crate::feeds::ask::{Ask, Limit, Page, stretches};
use crate::feeds::frame::{Place, text_of};
use crate::feeds::listen::Listing;
use crate::feeds::members::{Part, members};
use crate::feeds::{Error, Frame, Instrument, Kind};
use crate::model::Millis;

/// Requests in ten seconds, by path; a tenth of what is allowed is left to others.
const CONTRACTS: Limit = Limit::of("contracts", 180, 10);
const ORDERS: Limit = Limit::of("orders", 180, 10);

/// Longest time one request may ask about.
const WINDOW: i64 = Millis::HOUR;
const SECOND: i64 = 1000;
/// Most rows of a reply.
const ROWS: usize = 1000;

members!(Contract<'a> {
    name = "name",
    kind = "type",
    multiplier = "quanto_multiplier",
    status = "status",
    in_delisting = "in_delisting",
});

pub(super) fn listing_requests() -> Vec<Ask> {
    SETTLES
        .into_iter()
        .map(|settle| {
            Ask::new(&format!("/api/v4/futures/{settle}/contracts"), CONTRACTS).about(settle)
        })
        .collect()
}

pub(super) fn read_listings(ask: &Ask, frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let contracts = frame.read::<Part<Contract<'_>>>()?;
    let settled_in_coin = ask.market.as_deref() == Some("btc");
    let rows = frame.each(&Place::ROOT, &contracts, |place, item| {
        let contract = place.object(item)?;
        let native_id = place.name("name", contract.name)?;
        let (base, quote) = native_id.split_once('_').ok_or_else(|| {
            place
                .member("name")
                .fault("has no underscore between base and quote")
        })?;
        let kind = place.text("type", contract.kind)?;
        let (kind, size) = match (&*kind, settled_in_coin) {
            // One USD; the multiplier of these is 0.
            ("inverse", _) => ("inverse", "1".into()),
            ("direct", false) => (
                "linear",
                place.text("quanto_multiplier", contract.multiplier)?,
            ),
            // Worth in USD, settled in another coin: what a contract holds changes with both prices.
            (other, _) => {
                let message = format!("{other:?} is no contract whose size is fixed");
                return Err(place.member("type").fault(message));
            }
        };
        let instrument =
            Instrument::read(base, quote, kind, &size).map_err(|message| place.fault(message))?;
        let in_delisting = contract
            .in_delisting
            .is_some_and(|raw| raw.text() == "true");
        let status = text_of(contract.status);
        Ok(Some(Listing {
            instrument,
            perpetual: true,
            trading: !in_delisting && status.is_none_or(|status| status == "trading"),
            native_id: native_id.into_owned(),
        }))
    })?;
    Ok(Page::last(rows))
}

/// One request for each settlement currency and hour; the newest come first. Times are whole seconds here.
pub(super) fn missed(listings: &[Listing], from: Millis, until: Millis) -> Vec<Ask> {
    let from = Millis(from.0.div_euclid(SECOND) * SECOND);
    let until = Millis(until.on(SECOND - 1).0.div_euclid(SECOND) * SECOND);
    let settles: Vec<&str> = SETTLES
        .into_iter()
        .filter(|settle| {
            listings
                .iter()
                .any(|listing| settled_in(listing) == *settle)
        })
        .collect();
    stretches(from, until, WINDOW)
        .into_iter()
        .flat_map(|(start, end)| {
            settles.iter().map(move |settle| {
                let ask = Ask::new(&format!("/api/v4/futures/{settle}/liq_orders"), ORDERS);
                within(&ask.with("limit", ROWS), start, end)
            })
        })
        .collect()
}

/// The request for a part of the time.
fn within(ask: &Ask, start: Millis, end: Millis) -> Ask {
    ask.again_with("from", start.0 / SECOND)
        .again_with("to", end.0 / SECOND - 1)
        .between(start, end)
}

fn settled_in(listing: &Listing) -> String {
    let instrument = &listing.instrument;
    match instrument.kind {
        Kind::Inverse => instrument.base.to_lowercase(),
        Kind::Linear => instrument.quote.to_lowercase(),
    }
}

/// A full page may leave rows out, on either side, so its time is asked for again in halves.
pub(super) fn go_on(ask: &Ask, frame: &Frame<'_>) -> Result<Vec<Ask>, Error> {
    let rows = frame.read::<Part<serde::de::IgnoredAny>>()?;
    let root = Place::ROOT;
    if root.list(&rows)?.len() < ROWS {
        return Ok(Vec::new());
    }
    let seconds = (ask.until.0 - ask.from.0) / SECOND;
    if seconds < 2 {
        return Err(root.fault(format!(
            "{ROWS} rows of one second; what else happened in it cannot be asked for"
        )));
    }
    let middle = ask.from.on(seconds / 2 * SECOND);
    Ok(vec![
        within(ask, middle, ask.until),
        within(ask, ask.from, middle),
    ])
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use super::*;
    use crate::feeds::{Instruments, venue};

    fn next(ask: &Ask, body: &str) -> Result<Vec<Ask>, Error> {
        let frame = Frame {
            venue: venue("gate").unwrap(),
            text: body,
            received_at: None,
            instruments: &Instruments::default(),
            faults: None,
        };
        go_on(ask, &frame)
    }

    #[test]
    fn a_full_page_is_asked_for_in_halves_down_to_a_second() {
        let instrument = Instrument::read("BTC", "USDT", "linear", "0.0001").unwrap();
        let listing = Listing {
            native_id: "BTC_USDT".to_owned(),
            instrument,
            perpetual: true,
            trading: true,
        };
        // Both ends are moved outwards to whole seconds.
        let asks = missed(
            &[listing],
            Millis(1_790_000_000_001),
            Millis(1_790_000_003_999),
        );
        let [ask] = asks.as_slice() else {
            panic!("{asks:?}")
        };
        let span = |ask: &Ask| {
            let of = |name| ask.value(name).unwrap().to_owned();
            (of("from"), of("to"))
        };
        let seconds = |from: u8, to: u8| (format!("179000000{from}"), format!("179000000{to}"));
        assert_eq!(ask.path, "/api/v4/futures/usdt/liq_orders");
        assert_eq!(span(ask), seconds(0, 3));
        let full = format!("[{}]", ["{}"; ROWS].join(","));
        assert_eq!(next(ask, "[{}]").unwrap(), []);
        let halves = next(ask, &full).unwrap();
        let spans: Vec<_> = halves.iter().map(span).collect();
        assert_eq!(spans, [seconds(2, 3), seconds(0, 1)]);
        let quarters = next(halves.first().unwrap(), &full).unwrap();
        let fault = next(quarters.first().unwrap(), &full).unwrap_err();
        assert!(fault.to_string().contains("one second"), "{fault}");
    }
}
