use proptest::prelude::*;
use rust_decimal::Decimal;

use crate::contract::{Overview, Stream};
use crate::market::source::replay::*;
use crate::market::{Market, OrderFollower, OrderUpdate};
use crate::model::{ObservedBar, ObservedOrder, Order, Side, SimulatedFeeds};

const START: i64 = 1_781_136_000_000;

fn observed(received: &[i64]) -> Observations {
    let orders = received
        .iter()
        .enumerate()
        .map(|(number, &after)| ObservedOrder {
            order: Order {
                exchange: "okx".to_owned(),
                symbol: "BTCUSDT".to_owned(),
                side: Side::Long,
                price: Decimal::from(60_000),
                qty: Decimal::ONE,
                value_usd: Decimal::from(number + 1),
                timestamp: Millis(START + after / 2),
            },
            coin: None,
            received_at: Some(Millis(START + after)),
            group_id: None,
        })
        .collect();
    let bars = (0..12)
        .map(|number| ObservedBar {
            symbol: "BTC".to_owned(),
            timestamp: Millis(START + (number - 4) * 300_000),
            interval: Some(300_000),
            closes_at: None,
            open: 60_000.0,
            high: 60_000.0,
            low: 60_000.0,
            close: 60_000.0,
            volume: 1.0,
        })
        .collect();
    Observations::new(orders, bars, Vec::new(), None).unwrap()
}

/// A replay, its clock, and a market with the same tables that is not replayed.
fn moving(received: &[i64]) -> (Arc<Market>, Arc<ManualClock>, Market) {
    let clock = Arc::new(ManualClock::new(Millis(START)));
    let driven = Arc::clone(&clock);
    let made = |_| driven as Arc<dyn ReplayClock>;
    let market = Market::simulated_live(
        observed(received),
        (SimulatedFeeds::default(), Vec::new()),
        Millis(START),
        made,
        "a test",
    );
    (
        Arc::new(market),
        clock,
        Market::fixed(observed(received), "the same"),
    )
}

fn usd(orders: &[(ArrivalId, Order)]) -> Vec<Decimal> {
    orders.iter().map(|(_, order)| order.value_usd).collect()
}

fn arrived(market: &Market, after: Option<ArrivalId>, limit: usize) -> Vec<(ArrivalId, Order)> {
    match market.arrivals(after, limit).unwrap() {
        Arrivals::Known(orders) => orders,
        Arrivals::Gone => Vec::new(),
    }
}

proptest! {
    #[test]
    fn whatever_the_steps_everything_is_seen_once_in_order_and_never_before_its_time(
        received in proptest::collection::vec(1_i64..3_600_000, 1..40),
        steps in proptest::collection::vec(1_i64..900_000, 1..12),
        page in 1_usize..5,
    ) {
        let (market, clock, all) = moving(&received);
        let (mut place, mut seen, mut at) = (Some(market.newest().unwrap()), Vec::new(), START);
        let mut revision = market.revision().number;
        for step in steps {
            at += step;
            clock.advance(Millis(at));
            let now = market.now();
            prop_assert!(now <= Millis(at));
            // The replay gives the same answer as the tables give as of that instant.
            prop_assert_eq!(
                market.answer(&Overview::default(), None).unwrap().reply,
                all.answer(&Overview::default(), Some(now)).unwrap().reply
            );
            prop_assert_eq!(market.bars("BTC", None).unwrap(), all.bars("BTC", Some(now)).unwrap());
            prop_assert!(market.answer(&Overview::default(), Some(now.on(1))).is_err());
            prop_assert!(market.revision().number >= revision);
            revision = market.revision().number;
            loop {
                let some = arrived(&market, place, page);
                let Some((last, _)) = some.last() else { break };
                place = Some(*last);
                seen.extend(usd(&some));
            }
            let due = received.iter().filter(|after| START + **after <= at).count();
            prop_assert_eq!(seen.len(), due);
            prop_assert_eq!(market.newest().unwrap(), place.unwrap());
        }
        let mut wanted: Vec<(i64, i64, Decimal)> = received
            .iter()
            .zip(1..)
            .map(|(after, number)| (*after, after / 2, Decimal::from(number)))
            .collect();
        wanted.sort();
        let wanted: Vec<Decimal> = wanted.into_iter().map(|(.., usd)| usd).collect();
        prop_assert_eq!(&seen[..], &wanted[..seen.len()]);
    }
}

fn follower(market: &Arc<Market>) -> OrderFollower {
    let question = Stream::new(Some("BTC"), None, None).unwrap();
    OrderFollower::new(Arc::clone(market), question, 10).unwrap()
}

async fn next(follower: &mut OrderFollower) -> Vec<Decimal> {
    match follower.next().await.unwrap() {
        OrderUpdate::Orders(orders) => usd(&orders),
        OrderUpdate::Gap { .. } | OrderUpdate::End => Vec::new(),
    }
}

#[tokio::test]
async fn a_follower_wakes_when_an_order_is_due_and_at_the_end() {
    let (market, clock, _) = moving(&[10, 20, 22, 2_400_000]);
    let mut follower = follower(&market);
    let (first, ()) = tokio::join!(next(&mut follower), async {
        clock.advance(Millis(START + 10));
    });
    assert_eq!(first, [Decimal::ONE]);
    let (second, ()) = tokio::join!(next(&mut follower), async {
        clock.advance(Millis(START + 30));
    });
    assert_eq!(second, [Decimal::TWO, Decimal::from(3)]);
    assert!(market.is_growing());
    clock.advance(Millis(START + 9_000_000));
    assert_eq!(next(&mut follower).await, [Decimal::from(4)]);
    assert!(matches!(follower.next().await.unwrap(), OrderUpdate::End));
    assert!(!market.is_growing());
}

#[tokio::test]
async fn what_is_ended_stands_still_and_wakes_who_waits() {
    let (market, clock, _) = moving(&[10, 20]);
    clock.advance(Millis(START + 10));
    let mut follower = follower(&market);
    let (ended, ()) = tokio::join!(follower.next(), async { market.end() });
    assert!(matches!(ended.unwrap(), OrderUpdate::End));
    clock.advance(Millis(START + 20));
    assert_eq!(market.now(), Millis(START + 10));
    assert_eq!(arrived(&market, None, 9).len(), 1);
}

#[test]
fn an_estimate_is_another_only_once_a_bar_has_closed() {
    let (market, clock, _) = moving(&[10, 299_999, 300_001, 310_000]);
    let of = |market: &Market| market.estimate_revision("BTC").number;
    let before = of(&market);
    clock.advance(Millis(START + 299_999));
    assert_eq!(of(&market), before);
    clock.advance(Millis(START + 300_000));
    assert!(of(&market) > before);
    // The order happened before the close of the bar but was received after it, so the estimate changes.
    let closed = of(&market);
    clock.advance(Millis(START + 300_001));
    assert!(of(&market) > closed);
}

#[test]
fn a_scaled_clock_runs_at_its_speed_and_maps_to_wall_time() {
    let clock = ScaledClock::new(Millis(START), 1000.0);
    let (first, second) = (clock.now(), clock.now());
    assert!(Millis(START) <= first && first <= second);
    assert_eq!(
        clock.here(Millis(START + 60_000)),
        clock.here(Millis(START)).on(60)
    );
    assert_eq!(
        ScaledClock::new(Millis(START), f64::NAN).now(),
        Millis(START)
    );
}
