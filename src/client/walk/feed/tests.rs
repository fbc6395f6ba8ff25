//! Property tests of walks over feeds that grow while they are read.

use std::collections::VecDeque;

use proptest::prelude::*;
use rust_decimal::Decimal;

use super::*;
use crate::model::{Millis, Order, Side};

fn order(price: i64, timestamp: i64) -> Order {
    Order {
        exchange: "binance".to_owned(),
        symbol: "BTCUSDT".to_owned(),
        side: Side::Long,
        price: Decimal::from(price),
        qty: Decimal::ONE,
        value_usd: Decimal::from(price),
        timestamp: Millis(timestamp),
    }
}

/// A feed as a list of rows, oldest row first.
type Rows = Vec<Order>;

/// Appends one row per step: one equal to the last row, another one with the same instant, or one with a later instant.
fn grow(feed: &mut Rows, steps: &[u8]) {
    for step in steps {
        let newest = feed.last().cloned().unwrap_or_else(|| order(0, 0));
        let price = i64::try_from(newest.price).unwrap();
        feed.push(match step {
            0 => newest,
            1 => order((price + 1) % 3, newest.timestamp.0),
            _ => order(0, newest.timestamp.0 + 1),
        });
    }
}

fn read(feed: &[Order], ask: &PageRequest, most: usize) -> Vec<Order> {
    feed.iter()
        .rev()
        .skip(usize::try_from(ask.offset).unwrap())
        .take(ask.limit.min(most))
        .cloned()
        .collect()
}

/// Walks over `feed`. `arrive` adds rows before each read except the first. Returns the rows and the requests.
fn walk(
    feed: &mut Rows,
    page: usize,
    wanted: u64,
    arrive: impl FnMut(&mut Rows),
) -> (Result<Vec<Order>, FeedWalkError>, Vec<PageRequest>) {
    walk_where_pages_are_short(feed, usize::MAX, page, wanted, arrive)
}

/// Walks as [`walk`] does, over a service that returns at most `most` rows per page.
fn walk_where_pages_are_short(
    feed: &mut Rows,
    most: usize,
    page: usize,
    wanted: u64,
    mut arrive: impl FnMut(&mut Rows),
) -> (Result<Vec<Order>, FeedWalkError>, Vec<PageRequest>) {
    let mut state = GrowingFeed::new(page, wanted);
    let (mut out, mut asked) = (Vec::new(), Vec::new());
    let mut flying: VecDeque<(PageRequest, Vec<Order>)> = VecDeque::new();
    loop {
        loop {
            let ask = match state.ask(flying.len(), flying.back().map(|(ask, _)| ask)) {
                Ok(Some(ask)) => ask,
                Ok(None) => break,
                Err(lost) => return (Err(lost), asked),
            };
            assert!((1..=LARGEST).contains(&ask.limit));
            if !asked.is_empty() {
                arrive(feed);
            }
            asked.push(ask);
            flying.push_back((ask, read(feed, &ask, most)));
            assert!(flying.len() <= FLIGHT);
        }
        let Some((ask, page)) = flying.pop_front() else {
            break;
        };
        match state.take(&ask, &page.iter().collect()) {
            Ok(PageOutcome::Rows(rows)) => out.extend_from_slice(&page[rows]),
            Ok(PageOutcome::Astray) => flying.clear(),
            Err(lost) => return (Err(lost), asked),
        }
    }
    assert!(state.ended);
    (Ok(out), asked)
}

fn longest_run(feed: &[Order]) -> usize {
    feed.chunk_by(|a, b| a == b)
        .map(<[_]>::len)
        .max()
        .unwrap_or(0)
}

#[test]
fn bursts_of_equal_rows_do_not_keep_a_short_feed_from_its_end() {
    let mut feed = Rows::new();
    grow(&mut feed, &[0]);
    let expected = feed.clone();
    let mut burst = vec![0_u8; 110];
    burst[0] = 2;
    burst[9] = 1;
    burst[12] = 2;
    let (walked, _) = walk(&mut feed, 1, u64::MAX, |feed| grow(feed, &burst));
    match walked {
        Ok(out) => assert_eq!(out, expected),
        Err(lost) => assert!(longest_run(&feed) > 1, "{lost}"),
    }
}

#[test]
fn rows_of_one_instant_that_are_much_alike_are_walked_to_their_end() {
    let mut feed = Rows::new();
    let mut start = vec![0_u8; 114];
    start[83] = 1;
    grow(&mut feed, &start);
    let expected: Vec<Order> = feed.iter().rev().cloned().collect();
    let mut burst = vec![0_u8; 30];
    burst[0] = 2;
    let (walked, asked) = walk(&mut feed, 114, u64::MAX, |feed| grow(feed, &burst));
    assert_eq!(walked, Ok(expected), "{:?}", &asked[..asked.len().min(20)]);
}

/// Between two reads, up to as many rows arrive as a page has behind the known rows. The walk must still find the end.
#[test]
fn a_service_that_gives_less_than_it_is_asked_for_is_walked_to_its_end_however_many_arrive() {
    for (most, arrivals) in [90, 100]
        .into_iter()
        .flat_map(|most| (0..=100).map(move |by| (most, by)))
    {
        let mut feed = Rows::new();
        grow(&mut feed, &[2; 1000]);
        let expected: Vec<Order> = feed.iter().rev().cloned().collect();
        let arrive = |feed: &mut Rows| grow(feed, &vec![2; arrivals]);
        let (walked, _) = walk_where_pages_are_short(&mut feed, most, 114, u64::MAX, arrive);
        assert!(walked == Ok(expected), "{arrivals} rows, pages of {most}");
    }
}

/// Walks over a feed by arrival in which `late` percent of the rows arrive late. Returns the walked rows and the rows
/// that existed at the start.
fn walk_late(
    seed: u64,
    start: usize,
    arrivals: &[usize],
    late: u8,
    page: usize,
) -> (Result<Vec<Order>, FeedWalkError>, Rows) {
    let mut dice = fastrand::Rng::with_seed(seed);
    let mut clock = 1_000_000;
    let mut grow = |feed: &mut Rows, by: usize| {
        for _ in 0..by {
            clock += dice.i64(0..50);
            let lag = if dice.u8(0..100) < late {
                dice.i64(0..500_000)
            } else {
                0
            };
            feed.push(order(dice.i64(1..1000), clock - lag));
        }
    };
    let mut feed = Rows::new();
    grow(&mut feed, start);
    let expected: Vec<Order> = feed.iter().rev().cloned().collect();
    let mut turn = 0;
    let (walked, _) = walk(&mut feed, page, u64::MAX, |feed| {
        grow(feed, arrivals[turn % arrivals.len()]);
        turn += 1;
    });
    (walked, expected)
}

/// On one page, a newer row equals a known row by chance. The walk must not report a contradiction.
#[test]
fn a_row_that_is_like_a_known_one_by_chance_contradicts_nothing() {
    let (walked, expected) = walk_late(846_644_075_814_090_437, 2080, &[0, 871], 92, 4);
    match walked {
        Ok(out) => assert!(out == expected, "{} of {} rows", out.len(), expected.len()),
        Err(lost) => assert!(matches!(lost, FeedWalkError::Fast { .. }), "{lost}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_growing_feed_is_walked_without_loss_or_repetition(
        start in prop::collection::vec(0_u8..4, 0..400),
        arrivals in prop::collection::vec(prop::collection::vec(0_u8..4, 0..=500), 1..12),
        page in 1_usize..120,
        wanted in prop_oneof![Just(u64::MAX), 1_u64..400],
    ) {
        let mut feed = Rows::new();
        grow(&mut feed, &start);
        let expected: Vec<Order> =
            feed.iter().rev().take(usize::try_from(wanted).unwrap_or(usize::MAX)).cloned().collect();
        let mut turn = 0;
        let (walked, _) = walk(&mut feed, page, wanted, |feed| {
            // Rows that arrive between two reads have later instants than the rows before.
            let steps = &arrivals[turn % arrivals.len()];
            if !steps.is_empty() {
                grow(feed, &[2]);
                grow(feed, &steps[1..]);
            }
            turn += 1;
        });
        match walked {
            Ok(out) => prop_assert_eq!(out, expected),
            // If more rows are equal than fit on a page, no client can distinguish further equal rows from moved ones.
            Err(lost) => prop_assert!(longest_run(&feed) > page, "{}", lost),
        }
    }

    #[test]
    fn pages_shorter_than_requested_are_never_misread(
        start in prop::collection::vec(0_u8..8, 0..400),
        arrivals in prop::collection::vec(0_usize..60, 1..4),
        most in 1_usize..60,
        page in 1_usize..120,
    ) {
        let mut feed = Rows::new();
        grow(&mut feed, &start);
        let expected: Vec<Order> = feed.iter().rev().cloned().collect();
        let mut turn = 0;
        let (walked, _) = walk_where_pages_are_short(&mut feed, most, page, u64::MAX, |feed| {
            grow(feed, &vec![2; arrivals[turn % arrivals.len()]]);
            turn += 1;
        });
        if let Ok(out) = walked {
            prop_assert!(out == expected, "{} of {} rows", out.len(), expected.len());
        }
    }

    #[test]
    fn a_feed_in_the_order_of_arrival_is_walked_without_loss_or_repetition_though_rows_are_late(
        seed in any::<u64>(),
        start in 0_usize..3000,
        arrivals in prop::collection::vec(prop_oneof![Just(0_usize), 1_usize..40, 0_usize..1500], 1..12),
        late in 1_u8..100,
        page in prop_oneof![4_usize..50, 50_usize..400, Just(1000_usize)],
    ) {
        let (walked, expected) = walk_late(seed, start, &arrivals, late, page);
        match walked {
            Ok(out) => prop_assert!(out == expected, "{} of {} rows", out.len(), expected.len()),
            // The walk may fail because the feed is too fast, but it must never return wrong rows.
            Err(lost) => prop_assert!(matches!(lost, FeedWalkError::Fast { .. }), "{}", lost),
        }
    }

    #[test]
    fn late_rows_that_take_their_place_in_time_cost_no_other_row(
        seed in any::<u64>(),
        start in 0_i64..2000,
        arrivals in prop::collection::vec((0_usize..60, 0_usize..6), 1..12),
        page in prop_oneof![4_usize..50, 50_usize..400, Just(1000_usize)],
    ) {
        let mut dice = fastrand::Rng::with_seed(seed);
        let mut feed: Rows = (0..start).map(|row| order(1, row * 10)).collect();
        let expected: Vec<Order> = feed.iter().rev().cloned().collect();
        let (mut turn, mut price) = (0, 1);
        let (walked, _) = walk(&mut feed, page, u64::MAX, |feed| {
            let (new, late) = arrivals[turn % arrivals.len()];
            turn += 1;
            for _ in 0..new {
                let newest = feed.last().map_or(0, |row| row.timestamp.0);
                feed.push(order(1, newest + 10));
            }
            for _ in 0..late {
                let last = feed.last().map_or(0, |row| row.timestamp.0);
                let at = dice.i64(0..=last) / 10 * 10 + dice.i64(1..10);
                let place = feed.partition_point(|row| row.timestamp.0 <= at);
                price += 1;
                feed.insert(place, order(price, at));
            }
        });
        match walked {
            Ok(out) => {
                // Late rows have other prices than the rows that existed at the start. The walk may return late rows or
                // not.
                let there: Vec<Order> = out.iter().filter(|row| row.price == Decimal::ONE).cloned().collect();
                prop_assert!(there == expected, "{} of {} rows", there.len(), expected.len());
                let mut seen = std::collections::HashSet::new();
                prop_assert!(out.iter().all(|row| row.price == Decimal::ONE || seen.insert(row.price)));
            }
            Err(lost) => prop_assert!(matches!(lost, FeedWalkError::Fast { .. } | FeedWalkError::Contradicts { .. }), "{}", lost),
        }
    }

    #[test]
    fn rows_of_one_instant_are_lined_up_by_their_order(
        seed in any::<u64>(),
        start in 0_usize..400,
        arrivals in prop::collection::vec(0_usize..=500, 1..12),
        page in 30_usize..120,
    ) {
        // Prices are drawn from a seed. Otherwise the test framework could reduce all prices to one value, which makes
        // rows impossible to align.
        let mut dice = fastrand::Rng::with_seed(seed);
        let mut grow = |feed: &mut Rows, by: usize| {
            feed.extend((0..by).map(|_| order(dice.i64(0..6), 0)));
        };
        let mut feed = Rows::new();
        grow(&mut feed, start);
        let expected: Vec<Order> = feed.iter().rev().cloned().collect();
        let mut turn = 0;
        let (walked, _) = walk(&mut feed, page, u64::MAX, |feed| {
            grow(feed, arrivals[turn % arrivals.len()]);
            turn += 1;
        });
        prop_assert_eq!(walked, Ok(expected));
    }
}
