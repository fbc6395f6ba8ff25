//! The ring against a full count: same answers for any orders in any sequence.

use liqdata::engine::{self, Observations, OrderFilter, Ring, RingFault, RingPart};
use liqdata::model::{
    Millis, ObservedOrder, Order, OrderBrief, Side, Symbol, TimeRange, Vocabulary, Window,
};
use proptest::prelude::*;
use rust_decimal::Decimal;

const START: i64 = 20_000 * Millis::DAY;

/// An operation on a ring.
#[derive(Clone, Debug)]
enum Event {
    /// Inserts a batch of orders.
    Arrive(Vec<ObservedOrder>),
    /// Advances time by so many milliseconds.
    Pass(i64),
}

fn decimal() -> impl Strategy<Value = Decimal> {
    prop_oneof![
        4 => (0_i64..100_000_000_000, 0_u32..9)
            .prop_map(|(digits, scale)| Decimal::new(digits, scale)),
        // Few values, so that there are ties.
        2 => (0_i64..4).prop_map(Decimal::from),
        // More than 64 bits of digits.
        1 => (0_u64..10_000_000_000_u64, 0_u64..1_000_000_000_000_000_000).prop_map(
            |(whole, fraction)| {
                format!("{whole}.{fraction:018}").parse().unwrap_or(Decimal::ONE)
            }
        ),
        // Trailing zeros.
        1 => (0_i64..1000).prop_map(|digits| Decimal::from_i128_with_scale(
            i128::from(digits) * 10_i128.pow(20), 22
        )),
    ]
}

/// An order at most `late` before the present time, or slightly after it.
fn order() -> impl Strategy<Value = (i64, ObservedOrder)> {
    let back = prop_oneof![
        6 => -5_000_i64..5_000,
        2 => 0_i64..3 * Millis::HOUR,
        1 => 0_i64..26 * Millis::HOUR,
        2 => Just(0_i64),
    ];
    (
        back,
        0_usize..3,
        0_usize..4,
        any::<bool>(),
        (decimal(), decimal(), decimal()),
        0_i64..3,
    )
        .prop_map(
            |(back, venue, pair, long, (price, qty, value_usd), delay)| {
                let (symbol, coin) = [
                    ("BTCUSDT", "BTC"),
                    ("BTCUSD", "BTC"),
                    ("1000PEPEUSDT", "PEPE"),
                    ("ETHUSDT", "ETH"),
                ][pair];
                let order = Order {
                    exchange: ["binance", "okx", "gate"][venue].to_owned(),
                    symbol: symbol.to_owned(),
                    side: if long { Side::Long } else { Side::Short },
                    price: price + Decimal::ONE,
                    qty: qty + Decimal::ONE,
                    value_usd,
                    timestamp: Millis(0),
                };
                let observed = ObservedOrder {
                    order,
                    coin: Some(coin.to_owned()),
                    received_at: Some(Millis(delay)),
                    group_id: None,
                };
                (back, observed)
            },
        )
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let arrive = prop::collection::vec(order(), 1..12);
    let pass = prop_oneof![
        3 => 0_i64..10_000,
        2 => 0_i64..2 * Millis::HOUR,
        1 => 0_i64..30 * Millis::HOUR,
    ];
    let event = prop_oneof![
        3 => arrive.prop_map(|orders| (orders, 0)),
        2 => pass.prop_map(|by| (Vec::new(), by)),
    ];
    prop::collection::vec(event, 1..24).prop_map(|events| {
        let mut now = START;
        events
            .into_iter()
            .map(|(orders, by)| {
                if orders.is_empty() {
                    now += by;
                    return Event::Pass(by);
                }
                let arriving = orders.into_iter().map(|(back, mut observed)| {
                    let timestamp = Millis(now - back);
                    observed.order.timestamp = timestamp;
                    observed.received_at = observed.received_at.map(|delay| timestamp.on(delay.0));
                    observed
                });
                Event::Arrive(arriving.collect())
            })
            .collect()
    })
}

/// The time of a rolling window, its end included.
fn last(view: &engine::View<'_>, window: Window) -> TimeRange {
    let now = view.now();
    TimeRange::new(now.back(window.millis()).on(1), now.on(1))
}

/// All realised replies at one instant.
fn replies(view: &engine::View<'_>) -> Vec<String> {
    let mut said = vec![format!("{:?}", engine::overview(view))];
    for &window in Window::ALL {
        for limit in [1, 2, 200] {
            said.push(format!("{:?}", engine::coins(view, window, limit)));
            said.push(format!(
                "{:?}",
                engine::largest(view, last(view, window), OrderFilter::default(), limit)
            ));
        }
        said.push(format!("{:?}", engine::exchanges(view, window)));
    }
    for (symbol, exchange, limit, offset) in [
        (None, None, 1000, 0),
        (None, None, 3, 2),
        (Some("btcusdt"), None, 5, 1),
        (None, Some("gate"), 1000, 0),
        (Some("ETHUSDT"), Some("okx"), 2, 0),
        (Some("NOPE"), None, 5, 0),
        (None, None, 5, u64::MAX),
    ] {
        said.push(format!(
            "{:?}",
            engine::orders(
                view,
                OrderFilter {
                    symbol: symbol.and_then(Symbol::read).as_ref(),
                    exchange,
                    least: None,
                },
                limit,
                offset
            )
        ));
    }
    for (symbol, exchange, least) in [
        (None, None, 50_000),
        (Some("BTC"), None, 1),
        (None, Some("okx"), 20_000),
    ] {
        let symbol = symbol.and_then(Symbol::read);
        let wanted = OrderFilter {
            symbol: symbol.as_ref(),
            exchange,
            least: Some(least.into()),
        };
        said.push(format!("{:?}", engine::orders(view, wanted, 9, 1)));
        let largest = engine::largest(view, last(view, Window::H24), wanted, 9);
        said.push(format!("{largest:?}"));
    }
    for symbol in ["BTCUSDT", "1000pepeusdt", "NOPE", "BTC"] {
        let symbol = Symbol::read(symbol).unwrap();
        said.push(format!("{:?}", engine::chart(view, &symbol)));
    }
    said
}

/// A ring built from parts of so many orders each; the last part has the rest.
fn of_parts(now: Millis, orders: &[ObservedOrder], lengths: &[usize]) -> Ring {
    let mut parts = Vec::new();
    let mut rest = orders;
    for &length in lengths.iter().chain([&usize::MAX]) {
        let (part, behind) = rest.split_at(length.min(rest.len()));
        let mut filled = RingPart::new(now);
        for observed in part {
            filled.push(&OrderBrief::from(observed)).unwrap();
        }
        parts.push(filled);
        rest = behind;
    }
    Ring::of_parts(now, parts).unwrap()
}

/// All realised replies and the coverage.
fn replies_and_coverage(ring: &Ring) -> Vec<String> {
    let nothing = Observations::new(Vec::new(), Vec::new(), Vec::new(), None).unwrap();
    let view = ring.view(&nothing);
    let mut said = replies(&view);
    for &window in Window::ALL {
        said.push(format!("{:?}", engine::coverage(&view, window)));
    }
    said
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]
    #[test]
    fn a_ring_of_parts_equals_the_ring_of_single_orders(
        events in events(),
        cut in 0_usize..24,
        lengths in prop::collection::vec(0_usize..40, 0..4),
    ) {
        let mut now = Millis(START);
        let (first, rest) = events.split_at(cut.min(events.len()));
        let mut arrived = Vec::new();
        for event in first {
            match event {
                Event::Arrive(orders) => arrived.extend(orders.iter().cloned()),
                Event::Pass(by) => now = now.on(*by),
            }
        }
        let mut single = Ring::new(now);
        for observed in &arrived {
            single.insert([OrderBrief::from(observed)]).unwrap();
        }
        let mut whole = of_parts(now, &arrived, &lengths);
        prop_assert_eq!(whole.len(), single.len());
        prop_assert_eq!(replies_and_coverage(&whole), replies_and_coverage(&single));
        // A repetition changes nothing.
        for event in rest {
            for ring in [&mut single, &mut whole] {
                match event {
                    Event::Arrive(orders) => {
                        ring.insert(orders.iter().map(OrderBrief::from)).unwrap();
                    }
                    Event::Pass(by) => ring.advance(ring.now().on(*by)),
                }
            }
            prop_assert_eq!(whole.len(), single.len());
            prop_assert_eq!(replies_and_coverage(&whole), replies_and_coverage(&single));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]
    #[test]
    fn a_ring_equals_a_full_count(events in events()) {
        let nothing = Observations::new(Vec::new(), Vec::new(), Vec::new(), None).unwrap();
        let mut now = Millis(START);
        let mut ring = Ring::new(now);
        let mut all: Vec<ObservedOrder> = Vec::new();
        for event in events {
            match event {
                Event::Arrive(orders) => {
                    let old = ring.insert(orders.iter().map(OrderBrief::from)).unwrap();
                    let gone = |observed: &&ObservedOrder| {
                        observed.order.timestamp <= now.back(Millis::DAY)
                    };
                    prop_assert_eq!(old, orders.iter().filter(gone).count());
                    all.extend(orders);
                }
                Event::Pass(by) => {
                    now = now.on(by);
                    ring.advance(now);
                    // Time does not run backwards.
                    ring.advance(now.back(by));
                }
            }
            let known = all
                .iter()
                .filter(|observed| observed.order.timestamp > now.back(Millis::DAY));
            let known: Vec<_> = known.cloned().collect();
            prop_assert_eq!(ring.len(), known.len());
            let counted = Observations::new(known, Vec::new(), Vec::new(), Some(now)).unwrap();
            prop_assert_eq!(replies(&ring.view(&nothing)), replies(&counted.at(None)));
        }
    }
}

/// Many orders over slightly more than a day, with few or many distinct amounts.
fn many(random: &mut fastrand::Rng, amounts: i64) -> Vec<ObservedOrder> {
    let one = |random: &mut fastrand::Rng| {
        let pair = random.usize(..40);
        let order = Order {
            exchange: ["binance", "okx", "gate"][random.usize(..3)].to_owned(),
            symbol: format!("C{pair}USDT"),
            side: if random.bool() {
                Side::Long
            } else {
                Side::Short
            },
            price: Decimal::new(random.i64(1..1_000_000), random.u32(..6)),
            qty: Decimal::new(random.i64(1..1_000_000), random.u32(..6)),
            value_usd: Decimal::new(random.i64(0..amounts), random.u32(..3)),
            timestamp: Millis(START - random.i64(-Millis::HOUR..25 * Millis::HOUR)),
        };
        ObservedOrder {
            coin: Some(format!("C{}", pair / 2)),
            received_at: Some(order.timestamp.on(random.i64(0..50))),
            group_id: None,
            order,
        }
    };
    (0..6_000).map(|_| one(random)).collect()
}

#[test]
fn largest_orders_and_hours_equal_a_full_count() {
    let mut random = fastrand::Rng::with_seed(3);
    let nothing = Observations::new(Vec::new(), Vec::new(), Vec::new(), None).unwrap();
    // From a single amount to nearly unique ones.
    for amounts in [1, 4, 1_000, 1_000_000_000] {
        let mut all = many(&mut random, amounts);
        let mut now = Millis(START);
        let mut ring = of_parts(now, &all, &[100, 3_000]);
        for round in 0..4 {
            let known = all
                .iter()
                .filter(|observed| observed.order.timestamp > now.back(Millis::DAY));
            let known = known.cloned().collect();
            let counted = Observations::new(known, Vec::new(), Vec::new(), Some(now)).unwrap();
            let (view, counted) = (ring.view(&nothing), counted.at(None));
            for &window in Window::ALL {
                for limit in [0, 1, 20, 200, 10_000] {
                    assert_eq!(
                        engine::largest(&view, last(&view, window), OrderFilter::default(), limit),
                        engine::largest(
                            &counted,
                            last(&counted, window),
                            OrderFilter::default(),
                            limit
                        ),
                        "{amounts} amounts, round {round}, {window}, {limit}"
                    );
                }
            }
            for symbol in ["C0USDT", "C7USDT", "C39USDT", "C40USDT"] {
                let symbol = &Symbol::read(symbol).unwrap();
                assert_eq!(
                    engine::chart(&view, symbol),
                    engine::chart(&counted, symbol)
                );
            }
            now = now.on(random.i64(0..5 * Millis::HOUR));
            ring.advance(now);
            let late: Vec<_> = many(&mut random, amounts).into_iter().take(700).collect();
            ring.insert(late.iter().map(OrderBrief::from)).unwrap();
            all.extend(late);
        }
    }
}

#[test]
fn merged_parts_have_the_latest_instant() {
    let mut random = fastrand::Rng::with_seed(4);
    let all = many(&mut random, 1_000);
    let (early, late) = (Millis(START - Millis::HOUR), Millis(START));
    let mut parts = vec![RingPart::new(early), RingPart::new(late)];
    for (part, orders) in parts.iter_mut().zip(all.chunks(3_000)) {
        for observed in orders {
            part.push(&OrderBrief::from(observed)).unwrap();
        }
    }
    let met = Ring::of_parts(early, parts).unwrap();
    let mut single = Ring::new(late);
    single.insert(all.iter().map(OrderBrief::from)).unwrap();
    assert_eq!(met.now(), late);
    assert_eq!(replies_and_coverage(&met), replies_and_coverage(&single));
}

/// An order of this value at the start.
fn worth(value_usd: &str) -> OrderBrief<'static> {
    OrderBrief {
        number: 0,
        names: None,
        exchange: "okx",
        symbol: "BTCUSDT",
        coin: "BTC",
        side: Side::Long,
        price: Decimal::ONE,
        qty: Decimal::ONE,
        value_usd: value_usd.parse().unwrap(),
        timestamp: Millis(START),
        received_at: Millis(START),
    }
}

#[test]
fn parts_refuse_what_a_ring_refuses() {
    let mut part = RingPart::new(Millis(START));
    for value in ["0.0000000000000000001", "-1"] {
        let refused = part.push(&worth(value)).unwrap_err();
        assert!(refused.to_string().contains(value), "{refused}");
    }
    assert_eq!(part.push(&worth("170141183460469231731")), Ok(()));
    assert_eq!(part.push(&worth("1")), Err(RingFault::Sum));
    let mut other = RingPart::new(Millis(START));
    assert_eq!(other.push(&worth("1")), Ok(()));
    let both = Ring::of_parts(Millis(START), vec![part, other]);
    assert_eq!(both.unwrap_err(), RingFault::Sum);
}

#[test]
fn a_batch_with_an_inexact_amount_is_refused_whole() {
    let mut ring = Ring::new(Millis(START));
    for (value, fault) in [
        ("0.0000000000000000001", "18 decimals"),
        ("-1", "an amount from 0 to"),
        ("170141183460469231730", "sum"),
    ] {
        let both = [worth("5"), worth(value)];
        let refused = ring.insert(both).unwrap_err();
        assert!(refused.to_string().contains(fault), "{value}: {refused}");
        assert!(ring.is_empty());
    }
    assert_eq!(ring.insert([worth("170141183460469231731")]), Ok(0));
    assert_eq!(ring.insert([worth("1")]), Err(RingFault::Sum));
    // Orders that left the windows no longer count.
    ring.advance(Millis(START + Millis::DAY));
    assert_eq!(ring.insert([worth("1")]), Ok(1));
    let later = OrderBrief {
        timestamp: Millis(START + 1),
        ..worth("7")
    };
    assert_eq!(ring.insert([later]), Ok(0));
    assert_eq!(ring.len(), 1);
}
