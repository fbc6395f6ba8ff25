//! The realised replies and the coverage.

use std::collections::{BTreeMap, BTreeSet};

use liqdata::engine::{
    OrderFilter, View, chart, coins, coverage, exchanges, largest, orders, overview,
};
use liqdata::model::{
    Millis, ObservedOrder, Order, Side, Symbol, TimeRange, Vocabulary, Window, nearest_f64,
};
use proptest::prelude::*;
use rust_decimal::Decimal;

use super::{DAY, HOUR, NOW, of_orders, order};

#[derive(Clone, Debug)]
struct Drawn {
    rows: Vec<ObservedOrder>,
    as_of: Option<i64>,
}

/// Orders near the edges of the windows, with equal instants and equal values.
fn drawn() -> impl Strategy<Value = Drawn> {
    let timestamp = prop_oneof![
        prop::sample::select(vec![1, 4, 12, 24, 0])
            .prop_flat_map(|hours| { (-1..=1_i64).prop_map(move |off| NOW - hours * HOUR + off) }),
        (0..30_i64).prop_map(|hour| NOW - hour * HOUR + HOUR / 2),
        NOW - 26 * HOUR..NOW + HOUR,
    ];
    let row = (
        prop::sample::select(vec!["binance", "Bybit", "gateio", "gate", "okx"]),
        prop::sample::select(vec![
            "BTCUSDT",
            "btcusdt",
            "ETHUSDT",
            "1000PEPEUSDT",
            "PEPEUSDT",
        ]),
        any::<bool>(),
        prop_oneof![1..4_i64, 1..1_000_000_i64],
        timestamp,
        prop::option::of(0..2 * HOUR),
        prop::option::of(prop::sample::select(vec!["BTC", "eth"])),
    )
        .prop_map(|(exchange, symbol, long, usd, timestamp, delay, coin)| {
            let side = if long { Side::Long } else { Side::Short };
            let mut row = order(exchange, symbol, side, usd, timestamp);
            row.received_at = delay.map(|delay| Millis(timestamp + delay));
            row.coin = coin.map(str::to_owned);
            row
        });
    (
        prop::collection::vec(row, 0..60),
        prop::option::of(NOW - 3 * HOUR..NOW + HOUR),
    )
        .prop_map(|(rows, as_of)| Drawn { rows, as_of })
}

/// One expected row.
#[derive(Clone, Debug)]
struct Plain {
    order: Order,
    coin: String,
}

/// The visible rows in order of arrival, with normalised names.
fn plain(drawn: &Drawn, now: i64) -> Vec<Plain> {
    let mut arrived: Vec<_> = drawn.rows.iter().collect();
    arrived.sort_by_key(|row| row.received_at.unwrap_or(row.order.timestamp));
    arrived
        .into_iter()
        .filter(|row| row.order.timestamp.0 <= now)
        .filter(|row| match drawn.as_of {
            Some(as_of) => row.received_at.unwrap_or(row.order.timestamp).0 <= as_of,
            None => true,
        })
        .map(|row| {
            let mut order = row.order.clone();
            order.exchange = match order.exchange.as_str() {
                "gateio" => "gate".to_owned(),
                name => name.to_lowercase(),
            };
            order.symbol = order.symbol.to_uppercase();
            let own = match order.symbol.as_str() {
                "BTCUSDT" => "BTC",
                "ETHUSDT" => "ETH",
                _ => "PEPE",
            };
            Plain {
                coin: row
                    .coin
                    .as_ref()
                    .map_or(own.to_owned(), |coin| coin.to_uppercase()),
                order,
            }
        })
        .collect()
}

fn usd<'a>(rows: impl Iterator<Item = &'a Plain>, side: Option<Side>) -> Decimal {
    rows.filter(|row| side.is_none_or(|side| row.order.side == side))
        .map(|row| row.order.value_usd)
        .sum()
}

proptest! {
    #[test]
    fn realised_replies_equal_the_oracle(drawn in drawn(), limit in 0..70_usize, offset in 0..70_u64) {
        let observations = of_orders(drawn.rows.clone(), NOW);
        let view = observations.at(drawn.as_of.map(Millis));
        let now = drawn.as_of.unwrap_or(NOW);
        let seen = plain(&drawn, now);

        for (name, totals) in overview(&view).present() {
            let window = Window::parse(name).unwrap();
            let inside: Vec<Plain> = seen.iter().filter(|row| row.order.timestamp.0 > now - window.millis()).cloned().collect();
            prop_assert_eq!(totals.cnt, inside.len() as u64);
            prop_assert_eq!(totals.long_usd, nearest_f64(usd(inside.iter(), Some(Side::Long))));
            prop_assert_eq!(totals.short_usd, nearest_f64(usd(inside.iter(), Some(Side::Short))));
            prop_assert_eq!(totals.total_usd, nearest_f64(usd(inside.iter(), None)));

            let names: BTreeSet<&str> = inside.iter().map(|row| row.coin.as_str()).collect();
            let mut ranked: Vec<(Decimal, &str)> = names
                .into_iter()
                .map(|name| (usd(inside.iter().filter(|row| row.coin == name), None), name))
                .collect();
            ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
            let rows = coins(&view, window, limit);
            prop_assert_eq!(rows.len(), ranked.len().min(limit));
            for (row, (total, name)) in rows.iter().zip(&ranked) {
                prop_assert_eq!(&row.coin, name);
                let of_coin = || inside.iter().filter(|row| row.coin == *name);
                prop_assert_eq!(row.total_usd, nearest_f64(*total));
                prop_assert_eq!(row.long_usd, nearest_f64(usd(of_coin(), Some(Side::Long))));
                prop_assert_eq!(row.short_usd, nearest_f64(usd(of_coin(), Some(Side::Short))));
                prop_assert_eq!(row.cnt, of_coin().count() as u64);
            }

            let names: BTreeSet<&str> = inside.iter().map(|row| row.order.exchange.as_str()).collect();
            let mut ranked: Vec<(Decimal, &str)> = names
                .into_iter()
                .map(|name| (usd(inside.iter().filter(|row| row.order.exchange == name), None), name))
                .collect();
            ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
            let rows = exchanges(&view, window);
            prop_assert_eq!(rows.len(), ranked.len());
            for (row, (total, name)) in rows.iter().zip(&ranked) {
                let of_venue = || inside.iter().filter(|row| row.order.exchange == *name);
                prop_assert_eq!(&row.exchange, name);
                prop_assert_eq!(row.total_usd, *total);
                prop_assert_eq!(row.long_usd, usd(of_venue(), Some(Side::Long)));
                prop_assert_eq!(row.short_usd, usd(of_venue(), Some(Side::Short)));
                prop_assert_eq!(row.cnt, of_venue().count() as u64);
            }

            let last = TimeRange::new(view.now().back(window.millis()).on(1), view.now().on(1));
            // Insertion sort: a row goes before the first row it ranks above.
            let mut biggest: Vec<Order> = Vec::new();
            for row in &inside {
                let beats = |other: &Order| {
                    (row.order.value_usd, row.order.timestamp) > (other.value_usd, other.timestamp)
                };
                let place = biggest.iter().position(beats).unwrap_or(biggest.len());
                biggest.insert(place, row.order.clone());
            }
            for symbol in [None, Some("BTCUSDT")] {
                for least in [None, Some(Decimal::from(5000))] {
                    let symbol = symbol.and_then(Symbol::read);
                    let wanted = OrderFilter { symbol: symbol.as_ref(), exchange: None, least };
                    let of_them = biggest.iter().filter(|order| {
                        symbol.as_ref().is_none_or(|_| order.symbol == "BTCUSDT")
                            && least.is_none_or(|least| order.value_usd >= least)
                    });
                    let of_them: Vec<Order> = of_them.take(limit).cloned().collect();
                    prop_assert_eq!(largest(&view, last, wanted, limit), of_them);
                }
            }

            let venues = coverage(&view, window);
            prop_assert_eq!(venues.iter().map(|venue| venue.cnt).sum::<u64>(), inside.len() as u64);
        }

        for symbol in [None, Some("BTCUSDT"), Some("ethusdt"), Some("NOPE")] {
            for exchange in [None, Some("gate"), Some("bybit"), Some("nope")] {
                let mut feed: Vec<Order> = Vec::new();
                for row in &seen {
                    let wanted = symbol.is_none_or(|symbol| row.order.symbol == symbol.to_uppercase())
                        && exchange.is_none_or(|name| row.order.exchange == name);
                    if wanted {
                        let place = feed
                            .iter()
                            .position(|other| other.timestamp < row.order.timestamp)
                            .unwrap_or(feed.len());
                        feed.insert(place, row.order.clone());
                    }
                }
                let parsed = symbol.and_then(Symbol::read);
                for least in [None, Some(Decimal::from(5000))] {
                    let large = feed.iter().filter(|order| least.is_none_or(|least| order.value_usd >= least));
                    let page: Vec<Order> = large.skip(offset as usize).take(limit).cloned().collect();
                    let wanted = OrderFilter { symbol: parsed.as_ref(), exchange, least };
                    let found = orders(&view, wanted, limit, offset).into_iter();
                    let found: Vec<Order> = found.map(|row| row.order).collect();
                    prop_assert_eq!(found, page);
                }
            }
        }

        let mut hours: BTreeMap<(i64, Side), Decimal> = BTreeMap::new();
        for row in &seen {
            if row.order.symbol == "BTCUSDT" && row.order.timestamp.0 > now - DAY {
                let hour = row.order.timestamp.0 - row.order.timestamp.0 % HOUR;
                *hours.entry((hour, row.order.side)).or_default() += row.order.value_usd;
            }
        }
        let rows: Vec<((i64, Side), Decimal)> = chart(&view, &Symbol::read("btcusdt").unwrap())
            .into_iter()
            .map(|row| ((row.hour.0, row.side), row.total_usd))
            .collect();
        prop_assert_eq!(rows, hours.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_window_includes_its_end_and_excludes_its_start() {
    let rows = vec![
        order("okx", "BTCUSDT", Side::Long, 1, NOW),
        order("okx", "BTCUSDT", Side::Long, 2, NOW - HOUR + 1),
        order("okx", "BTCUSDT", Side::Long, 4, NOW - HOUR),
        order("okx", "BTCUSDT", Side::Long, 8, NOW + 1),
    ];
    let observations = of_orders(rows, NOW);
    let totals = overview(&observations.at(None)).windows[0].unwrap();
    assert_eq!((totals.total_usd, totals.cnt), (3.0, 2));
}

#[test]
fn an_hour_without_shorts_has_one_row() {
    let rows = vec![
        order("okx", "BTCUSDT", Side::Short, 5, NOW),
        order("okx", "BTCUSDT", Side::Long, 7, NOW - 5 * HOUR),
        order("okx", "BTCUSDT", Side::Long, 6, NOW),
        order("okx", "ETHUSDT", Side::Long, 9, NOW),
    ];
    let observations = of_orders(rows, NOW);
    let rows: Vec<(i64, Side)> = chart(&observations.at(None), &Symbol::read("BTCUSDT").unwrap())
        .iter()
        .map(|row| (row.hour.0, row.side))
        .collect();
    assert_eq!(
        rows,
        [
            (NOW - 5 * HOUR, Side::Long),
            (NOW, Side::Long),
            (NOW, Side::Short)
        ]
    );
}

#[test]
fn totals_are_exact_where_floats_are_not() {
    let rows = (0..10)
        .map(|_| {
            let mut row = order("okx", "BTCUSDT", Side::Long, 1, NOW);
            row.order.value_usd = Decimal::new(1, 1);
            row
        })
        .collect();
    let observations = of_orders(rows, NOW);
    let view = observations.at(None);
    assert_eq!(exchanges(&view, Window::H1)[0].total_usd, Decimal::ONE);
    assert_eq!(coins(&view, Window::H1, 1)[0].total_usd, 1.0);
}

#[test]
fn a_late_row_lands_where_it_belongs_and_is_hidden_before_it_was_received() {
    let mut late = order("okx", "BTCUSDT", Side::Long, 5, NOW - 3 * HOUR);
    late.received_at = Some(Millis(NOW - HOUR));
    let early = order("okx", "BTCUSDT", Side::Long, 7, NOW - 4 * HOUR + 1);
    let observations = of_orders(vec![late, early], NOW);
    let counts = |view: View| -> Vec<u64> {
        let present = overview(&view);
        present.present().map(|(_, totals)| totals.cnt).collect()
    };
    assert_eq!(counts(observations.at(None)), [0, 2, 2, 2]);
    assert_eq!(
        counts(observations.at(Some(Millis(NOW - 2 * HOUR)))),
        [0, 1, 1, 1]
    );
    assert_eq!(
        counts(observations.at(Some(Millis(NOW - HOUR)))),
        [0, 2, 2, 2]
    );
    let view = observations.at(Some(Millis(NOW - HOUR)));
    assert_eq!(view.now(), Millis(NOW - HOUR));
    assert_eq!(
        orders(&view, OrderFilter::default(), 10, 0)[0]
            .order
            .timestamp,
        Millis(NOW - 3 * HOUR)
    );
}

#[test]
fn a_listing_in_thousands_is_counted_under_its_coin() {
    let rows = vec![
        order("okx", "1000PEPEUSDT", Side::Long, 5, NOW),
        order("okx", "PEPEUSDT", Side::Short, 7, NOW),
    ];
    let rows = coins(&of_orders(rows, NOW).at(None), Window::H1, 10);
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].coin.as_str(), rows[0].total_usd), ("PEPE", 12.0));
}

#[test]
fn coins_and_exchanges_of_equal_totals_come_by_name() {
    let rows = vec![
        order("okx", "SOLUSDT", Side::Long, 5, NOW),
        order("bybit", "ETHUSDT", Side::Short, 5, NOW),
        order("gateio", "XRPUSDT", Side::Short, 6, NOW),
    ];
    let observations = of_orders(rows, NOW);
    let view = observations.at(None);
    let names: Vec<String> = coins(&view, Window::H1, 10)
        .into_iter()
        .map(|row| row.coin)
        .collect();
    assert_eq!(names, ["XRP", "ETH", "SOL"]);
    let names: Vec<String> = exchanges(&view, Window::H1)
        .into_iter()
        .map(|row| row.exchange)
        .collect();
    assert_eq!(names, ["gate", "bybit", "okx"]);
}

#[test]
fn coverage_lists_every_observed_exchange() {
    let rows = vec![
        order("okx", "SOLUSDT", Side::Long, 5, NOW - 100 * HOUR),
        order("bybit", "ETHUSDT", Side::Short, 5, NOW - 1),
        order("bybit", "ETHUSDT", Side::Short, 5, NOW - 2 * HOUR),
        order("kraken", "ETHUSD", Side::Short, 5, NOW + 1),
    ];
    let observations = of_orders(rows, NOW);
    let rows: Vec<(String, u64, i64)> = coverage(&observations.at(None), Window::H1)
        .into_iter()
        .map(|venue| (venue.exchange, venue.cnt, venue.last_event.unwrap().0))
        .collect();
    assert_eq!(
        rows,
        [
            ("bybit".to_owned(), 1, NOW - 1),
            ("okx".to_owned(), 0, NOW - 100 * HOUR)
        ]
    );
}
