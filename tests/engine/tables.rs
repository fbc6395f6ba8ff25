//! Input tables: checks and normalisation.

use liqdata::engine::{Observations, OrderFilter, TableFault, orders};
use liqdata::model::{Millis, ObservedBar, ObservedOpenInterest, ObservedOrder, Side};
use rust_decimal::Decimal;

use super::{HOUR, MINUTE, NOW, bar, of_orders, order, reading};

fn fault(
    orders: Vec<ObservedOrder>,
    bars: Vec<ObservedBar>,
    open_interest: Vec<ObservedOpenInterest>,
) -> (&'static str, &'static str, usize, String) {
    let TableFault {
        table,
        column,
        row,
        message,
        ..
    } = Observations::new(orders, bars, open_interest, None).unwrap_err();
    (table, column, row, message)
}

#[test]
fn a_bad_order_is_named_by_column_and_row() {
    let bad = |column: &str| {
        let mut row = order("okx", "BTCUSDT", Side::Long, 5, NOW);
        match column {
            "exchange" => row.order.exchange = " ".to_owned(),
            "symbol" => row.order.symbol = String::new(),
            "price" => row.order.price = Decimal::ZERO,
            "qty" => row.order.qty = Decimal::ZERO,
            "value_usd" => row.order.value_usd = Decimal::new(-1, 2),
            _ => row.coin = Some(" ".to_owned()),
        }
        row
    };
    let good = order("okx", "BTCUSDT", Side::Long, 5, NOW);
    for column in ["exchange", "symbol", "price", "qty", "value_usd", "coin"] {
        let (table, named, row, _) = fault(
            vec![good.clone(), good.clone(), bad(column)],
            vec![],
            vec![],
        );
        assert_eq!((table, named, row), ("orders", column, 2));
    }
    let mut negative = good;
    negative.order.qty = Decimal::new(-1, 0);
    assert_eq!(fault(vec![negative], vec![], vec![]).1, "qty");
}

#[test]
fn a_bad_bar_is_named_by_column_and_row() {
    let good = |open_time| ObservedBar {
        high: 101.0,
        low: 99.0,
        ..bar("BTC", open_time, 100.0)
    };
    let with = |change: fn(&mut ObservedBar)| {
        let mut row = good(NOW + HOUR);
        change(&mut row);
        row
    };
    for (column, bad) in [
        ("symbol", with(|bar| bar.symbol = "  ".to_owned())),
        ("symbol", with(|bar| bar.symbol = "1000PEPEUSDT".to_owned())),
        ("interval", with(|bar| bar.interval = Some(0))),
        ("interval", with(|bar| bar.interval = Some(-1))),
        ("interval", with(|bar| bar.interval = Some(-MINUTE))),
        ("interval", with(|bar| bar.interval = Some(15))),
        ("interval", with(|bar| bar.interval = Some(900))),
        ("interval", with(|bar| bar.interval = Some(MINUTE + 1))),
        ("open", with(|bar| bar.open = f64::NAN)),
        ("high", with(|bar| bar.high = f64::INFINITY)),
        ("low", with(|bar| bar.low = 0.0)),
        ("close", with(|bar| bar.close = -1.0)),
        ("close", with(|bar| bar.close = 1e-101)),
        ("high", with(|bar| bar.high = 1.1e100)),
        ("high", with(|bar| bar.high = 99.5)),
        ("high", with(|bar| bar.open = 101.5)),
        ("low", with(|bar| bar.close = 98.5)),
        ("volume", with(|bar| bar.volume = -0.1)),
        ("volume", with(|bar| bar.volume = f64::NAN)),
        ("timestamp", with(|bar| bar.timestamp = Millis(NOW))),
        (
            "closes_at",
            with(|bar| bar.closes_at = Some(bar.timestamp.on(HOUR - 1))),
        ),
        ("closes_at", with(|bar| bar.closes_at = Some(bar.timestamp))),
        (
            "closes_at",
            with(|bar| bar.closes_at = Some(bar.timestamp.back(HOUR))),
        ),
        (
            "closes_at",
            with(|bar| {
                bar.interval = Some(HOUR);
                bar.closes_at = Some(bar.timestamp.on(2 * HOUR));
            }),
        ),
    ] {
        let (table, named, row, message) = fault(vec![], vec![good(NOW), bad.clone()], vec![]);
        assert_eq!(
            (table, named, row),
            ("bars", column, 1),
            "{message} {bad:?}"
        );
    }
}

#[test]
fn a_second_bar_of_one_open_time_names_the_first() {
    let bars = vec![
        bar("BTC", NOW + HOUR, 1.0),
        bar("ETH", NOW, 1.0),
        bar("ETH", NOW + HOUR, 1.0),
        bar("BTC", NOW, 1.0),
        bar("btc", NOW + HOUR, 2.0),
    ];
    let (table, column, row, message) = fault(vec![], bars, vec![]);
    assert_eq!((table, column, row), ("bars", "timestamp", 4));
    assert!(message.contains("row 0"), "{message}");
}

#[test]
fn bars_that_overlap_are_refused() {
    let mut bars = vec![
        bar("BTC", NOW, 1.0),
        bar("BTC", NOW + HOUR, 1.0),
        bar("BTC", NOW + 2 * HOUR, 1.0),
        bar("BTC", NOW + 2 * HOUR + MINUTE, 1.0),
    ];
    let (_, column, row, message) = fault(vec![], bars.clone(), vec![]);
    assert_eq!((column, row), ("timestamp", 3), "{message}");
    assert!(message.contains("row 2"), "{message}");
    bars[2].interval = Some(MINUTE);
    assert!(Observations::new(vec![], bars, vec![], None).is_ok());
}

#[test]
fn the_interval_is_the_commonest_spacing_and_the_smaller_of_two_as_common() {
    let at = |minutes: &[i64]| {
        let bars = minutes
            .iter()
            .map(|minute| bar("BTC", NOW + minute * MINUTE, 1.0))
            .collect();
        let observations = Observations::new(vec![], bars, vec![], None).unwrap();
        observations.bars("BTC").first().unwrap().interval / MINUTE
    };
    assert_eq!(at(&[15, 0, 30, 90, 120, 105]), 15);
    assert_eq!(at(&[0, 15, 45]), 15);
    assert_eq!(at(&[0, 60, 120, 150 + 60]), 60);
}

#[test]
fn a_spacing_of_no_whole_minutes_is_no_interval() {
    let every = |spacing: i64| {
        let bars = (0..4).map(|i| bar("BTC", NOW + i * spacing, 1.0)).collect();
        Observations::new(vec![], bars, vec![], None)
    };
    assert!(every(MINUTE).is_ok());
    for spacing in [1, 15, 1000, 90_000] {
        let fault = every(spacing).unwrap_err();
        assert_eq!(
            (fault.table, fault.column, fault.row),
            ("bars", "interval", 0)
        );
        assert!(fault.message.contains(&format!("{spacing} ms")), "{fault}");
    }
}

#[test]
fn a_single_bar_needs_its_interval() {
    let (table, column, row, _) = fault(vec![], vec![bar("BTC", NOW, 1.0)], vec![]);
    assert_eq!((table, column, row), ("bars", "interval", 0));
    let mut single = bar("BTC", NOW, 1.0);
    single.interval = Some(HOUR);
    let observations = Observations::new(vec![], vec![single], vec![], None).unwrap();
    assert_eq!(observations.now(), Millis(NOW + HOUR));
}

#[test]
fn a_bad_reading_of_open_interest_is_named_by_column_and_row() {
    let good = reading("BTC", Some("okx"), NOW, 5.0);
    for (column, bad) in [
        ("symbol", reading("", Some("okx"), NOW + 1, 5.0)),
        ("symbol", reading("1000PEPEUSDT", Some("okx"), NOW + 1, 5.0)),
        ("exchange", reading("BTC", Some(" "), NOW + 1, 5.0)),
        ("open_interest", reading("BTC", Some("okx"), NOW + 1, -5.0)),
        (
            "open_interest",
            reading("BTC", Some("okx"), NOW + 1, f64::NAN),
        ),
        ("timestamp", reading("btc", Some("OKX"), NOW, 6.0)),
        ("exchange", reading("BTC", None, NOW + 1, 6.0)),
    ] {
        let (table, named, row, message) = fault(vec![], vec![], vec![good.clone(), bad]);
        assert_eq!(
            (table, named, row),
            ("open_interest", column, 1),
            "{message}"
        );
    }
    let other_venue = reading("BTC", Some("bybit"), NOW, 6.0);
    assert!(Observations::new(vec![], vec![], vec![good, other_venue], None).is_ok());
}

#[test]
fn rows_in_any_order_give_the_same_observations() {
    let rows = || {
        (0..50).map(|i| {
            order(
                "okx",
                "BTCUSDT",
                Side::Long,
                i + 1,
                NOW - (i * 7919) % 100_000,
            )
        })
    };
    let straight = of_orders(rows().collect(), NOW);
    let reversed = of_orders(rows().rev().collect(), NOW);
    assert_eq!(
        orders(&straight.at(None), OrderFilter::default(), 100, 0),
        orders(&reversed.at(None), OrderFilter::default(), 100, 0)
    );
}

#[test]
fn now_defaults_to_the_newest_row() {
    let bars = || vec![bar("BTC", 0, 1.0), bar("BTC", HOUR, 1.0)];
    let row = |timestamp| vec![order("okx", "BTCUSDT", Side::Long, 1, timestamp)];
    let open_interest = |timestamp| vec![reading("SOL", None, timestamp, 1.0)];
    let now = |orders, bars, open_interest, now| {
        Observations::new(orders, bars, open_interest, now)
            .unwrap()
            .now()
            .0
    };
    assert_eq!(now(vec![], vec![], vec![], None), 0);
    assert_eq!(now(row(5), bars(), open_interest(6), None), 2 * HOUR);
    assert_eq!(now(row(3 * HOUR), bars(), open_interest(6), None), 3 * HOUR);
    assert_eq!(now(row(5), bars(), open_interest(4 * HOUR), None), 4 * HOUR);
    assert_eq!(now(row(5), bars(), open_interest(6), Some(Millis(7))), 7);
}
