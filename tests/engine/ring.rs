//! The ring: whatever arrives, in whatever order, it answers as a count of everything does.

use liqdata::engine::{self, Arriving, Observations, Ring, RingFault};
use liqdata::model::{Millis, ObservedOrder, Order, Side, Vocabulary, Window};
use proptest::prelude::*;
use rust_decimal::Decimal;

const START: i64 = 20_000 * Millis::DAY;

/// What happens to a ring.
#[derive(Clone, Debug)]
enum Event {
    /// Orders arrive together.
    Arrive(Vec<ObservedOrder>),
    /// Time goes on by so many milliseconds.
    Pass(i64),
}

fn decimal() -> impl Strategy<Value = Decimal> {
    prop_oneof![
        4 => (0_i64..100_000_000_000, 0_u32..9)
            .prop_map(|(digits, scale)| Decimal::new(digits, scale)),
        // Few values, so that there are ties.
        2 => (0_i64..4).prop_map(Decimal::from),
        // More digits than 64 bits hold.
        1 => (0_u64..10_000_000_000_u64, 0_u64..1_000_000_000_000_000_000).prop_map(
            |(whole, fraction)| {
                format!("{whole}.{fraction:018}").parse().unwrap_or(Decimal::ONE)
            }
        ),
        // Zeros behind the last digit that counts.
        1 => (0_i64..1000).prop_map(|digits| Decimal::from_i128_with_scale(
            i128::from(digits) * 10_i128.pow(20), 22
        )),
    ]
}

/// An order at most `late` before the time that has passed, or a little after it.
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

/// Everything the six replies say at one instant.
fn replies(view: &engine::View<'_>) -> Vec<String> {
    let mut said = vec![format!("{:?}", engine::overview(view))];
    for &window in Window::ALL {
        for limit in [1, 2, 200] {
            said.push(format!("{:?}", engine::coins(view, window, limit)));
            said.push(format!("{:?}", engine::largest(view, window, limit)));
        }
        said.push(format!("{:?}", engine::exchanges(view, window)));
    }
    for (symbol, exchange, limit, offset) in [
        (None, None, 1000, 0),
        (None, None, 3, 2),
        (Some("btcusdt"), None, 5, 1),
        (None, Some("Gate.io"), 1000, 0),
        (Some("ETHUSDT"), Some("okx"), 2, 0),
        (Some("NOPE"), None, 5, 0),
        (None, None, 5, u64::MAX),
    ] {
        said.push(format!(
            "{:?}",
            engine::orders(view, symbol, exchange, limit, offset)
        ));
    }
    for symbol in ["BTCUSDT", "1000pepeusdt", "NOPE", " "] {
        said.push(format!("{:?}", engine::chart(view, symbol)));
    }
    said
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]
    #[test]
    fn a_ring_answers_as_a_count_of_everything_does(events in events()) {
        let nothing = Observations::new(Vec::new(), Vec::new(), Vec::new(), None).unwrap();
        let mut now = Millis(START);
        let mut ring = Ring::new(now);
        let mut all: Vec<ObservedOrder> = Vec::new();
        for event in events {
            match event {
                Event::Arrive(orders) => {
                    let old = ring.insert(orders.iter().map(Arriving::from)).unwrap();
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

#[test]
fn what_cannot_be_counted_exactly_is_refused_with_everything_beside_it() {
    let mut ring = Ring::new(Millis(START));
    let order = |value_usd: &str| Arriving {
        exchange: "okx",
        symbol: "BTCUSDT",
        coin: "BTC",
        side: Side::Long,
        price: Decimal::ONE,
        qty: Decimal::ONE,
        value_usd: value_usd.parse().unwrap(),
        timestamp: Millis(START),
        received_at: Millis(START),
    };
    for (value, fault) in [
        ("0.0000000000000000001", "18 decimals"),
        ("-1", "an amount from 0 to"),
        ("170141183460469231730", "sum"),
    ] {
        let both = [order("5"), order(value)];
        let refused = ring.insert(both).unwrap_err();
        assert!(refused.to_string().contains(fault), "{value}: {refused}");
        assert!(ring.is_empty());
    }
    assert_eq!(ring.insert([order("170141183460469231731")]), Ok(0));
    assert_eq!(ring.insert([order("1")]), Err(RingFault::Sum));
    // What has left the windows no longer counts.
    ring.advance(Millis(START + Millis::DAY));
    assert_eq!(ring.insert([order("1")]), Ok(1));
    let later = Arriving {
        timestamp: Millis(START + 1),
        ..order("7")
    };
    assert_eq!(ring.insert([later]), Ok(0));
    assert_eq!(ring.len(), 1);
}
