//! Every rendered message decodes to its truth.

use std::collections::{BTreeMap, HashSet};

use liqdata::feeds::{VENUES, decode};
use liqdata::model::{Millis, coin_of_base};
use proptest::prelude::*;
use rust_decimal::Decimal;

use crate::doubles::{Book, Liquidations, Setup, Truth, dialect, names};
use crate::exchange_doubles::client::{instruments, seen};

/// Events of a venue at times that start at `start` and go on by `gaps`.
fn imagined(venue: &'static str, seed: u64, start: i64, gaps: &[i64]) -> Vec<Truth> {
    let mut stream = Liquidations::new(venue, dialect(venue).unwrap().markets(), seed);
    let mut time = start;
    gaps.iter()
        .map(|gap| {
            time += gap;
            stream.next(time)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_message_of_every_venue_decodes_to_its_truth(
        seed: u64,
        start in 1_600_000_000_000_i64..2_000_000_000_000,
        gaps in prop::collection::vec(0_i64..3000, 1..40),
        most in 1_usize..40,
    ) {
        for venue in names() {
            let dialect = dialect(venue).unwrap();
            let book = Book::new(Setup::of(venue), dialect.markets());
            let instruments = instruments(venue, dialect.markets());
            let truths = imagined(venue, seed, start, &gaps);
            let mut keys = HashSet::new();
            let lane = |truth: &Truth| dialect.topics(truth.market);
            for together in truths.chunk_by(|one, next| lane(one) == lane(next)) {
                for frame in together.chunks(most.min(dialect.most())) {
                    for (number, topic) in lane(&frame[0]).iter().enumerate() {
                        let received = Some(Millis(frame[0].time));
                        let mut events = Vec::new();
                        for text in dialect.render(topic, frame, &book) {
                            events.extend(decode(venue, text.as_bytes(), received, &instruments)
                                .map_err(|error| TestCaseError::fail(format!("{venue}: {error}\n{text}")))?);
                        }
                        prop_assert_eq!(seen(&events), seen(frame), "{} {}", venue, topic);
                        for event in events.iter().filter(|_| number == 0) {
                            prop_assert!(keys.insert(event.dedupe_key.clone()), "{} twice", event.dedupe_key);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn every_venue_has_a_double() {
    let open = VENUES.iter().filter(|venue| venue.closed().is_none());
    let (mut doubled, mut read) = (names(), open.map(|venue| venue.name()).collect::<Vec<_>>());
    doubled.sort_unstable();
    read.sort_unstable();
    assert_eq!(doubled, read);
}

#[test]
fn the_same_seed_makes_the_same_events() {
    for venue in names() {
        let one = imagined(venue, 7, 1_790_000_000_000, &[0, 5, 900]);
        assert_eq!(one, imagined(venue, 7, 1_790_000_000_000, &[0, 5, 900]));
        assert_ne!(one, imagined(venue, 8, 1_790_000_000_000, &[0, 5, 900]));
    }
}

/// A collector checks orders for outliers, so all doubles start a coin at about one price.
#[test]
fn a_coin_has_one_price_at_every_venue() {
    let mut prices: BTreeMap<String, Vec<(Decimal, &str)>> = BTreeMap::new();
    for venue in names() {
        for market in dialect(venue).unwrap().markets() {
            let base = market.base.replace("XBT", "BTC");
            let (coin, scale) = coin_of_base(&base);
            let price = market.price(market.start.0) / Decimal::from(scale);
            prices.entry(coin).or_default().push((price, venue));
        }
    }
    assert!(prices["BTC"].len() > names().len());
    for (coin, prices) in prices {
        let (lowest, highest) = (prices.iter().min().unwrap(), prices.iter().max().unwrap());
        assert!(
            highest.0 < lowest.0 * Decimal::new(105, 2),
            "{coin}: {lowest:?}, {highest:?}"
        );
    }
}
