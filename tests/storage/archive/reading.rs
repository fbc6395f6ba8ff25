//! Reads of a stretch of time, against oracles that look at every row.

use std::collections::BTreeMap;

use liqdata::archive::{Archive, ArchiveError, BarRow, Batch, Filter, OrderRow, ResampledBar};
use liqdata::model::{Millis, PeriodLength};
use proptest::prelude::*;
use proptest::test_runner::Config;
use rust_decimal::Decimal;

use crate::archive::folder::Folder;
use crate::archive::rows::{START, bar, of_orders, order, sorted, sound};

/// Orders over four days, received up to a day and a half late.
fn observed() -> impl Strategy<Value = Vec<OrderRow>> {
    let day = Millis::DAY;
    prop::collection::vec((0..4 * day, 0..day * 3 / 2), 1..60).prop_map(|times| {
        times
            .into_iter()
            .enumerate()
            .map(|(key, (at, late))| {
                let mut row = order(u64::try_from(key).unwrap(), START + at);
                row.received_at = Millis(START + at + late);
                row
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(Config { cases: 24, failure_persistence: None, ..Config::default() })]

    #[test]
    fn reads_as_of_an_instant_have_only_rows_received_by_then(
        rows in observed(),
        as_of in 0..5 * Millis::DAY,
        start in 0..4 * Millis::DAY,
        length in 0..4 * Millis::DAY,
        rolled in 0..6_i64,
    ) {
        let folder = Folder::new();
        let as_of = Millis(START + as_of);
        let mut writer = Archive::create_or_open(folder.archive()).unwrap();
        let (known, later): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| row.received_at <= as_of);
        let filter = Filter {
            start: Some(Millis(START + start)),
            end: Some(Millis(START + start + length)),
            as_of: Some(as_of),
            ..Filter::default()
        };
        let expected: Vec<_> = sorted(known.clone())
            .into_iter()
            .filter(|row| (filter.start..filter.end).contains(&Some(row.order.timestamp)))
            .collect();
        writer.append(&of_orders(known)).unwrap();
        prop_assert_eq!(&sound(writer.archive().orders(&filter).unwrap()), &expected);
        // Whatever comes after it, and wherever the rows lie, the answer stays.
        writer.append(&of_orders(later.clone())).unwrap();
        prop_assert_eq!(&sound(writer.archive().orders(&filter).unwrap()), &expected);
        writer.compact(Millis(START + rolled * Millis::DAY)).unwrap();
        writer.append(&of_orders(later)).unwrap();
        prop_assert_eq!(&sound(writer.archive().orders(&filter).unwrap()), &expected);
        let days: Vec<_> = writer
            .archive().order_days(&filter)
            .unwrap()
            .flat_map(|day| sound(day.unwrap()))
            .collect();
        prop_assert_eq!(&days, &expected);
    }
}

/// Minutes of two coins on two exchanges over two days, with holes.
fn minutes(seed: u64) -> Vec<BarRow> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut bars = Vec::new();
    for exchange in ["binance", "okx"] {
        for symbol in ["BTC", "ETH"] {
            for minute in 0..2 * 1440 {
                if random.u8(0..10) == 0 {
                    continue;
                }
                let mut row = bar(symbol, minute, 0);
                exchange.clone_into(&mut row.exchange);
                let mut prices: Vec<Decimal> = (0..4)
                    .map(|_| Decimal::new(random.i64(1_000_000..2_000_000), 4))
                    .collect();
                prices.sort();
                (row.low, row.open, row.close, row.high) =
                    (prices[0], prices[1], prices[2], prices[3]);
                row.volume = Decimal::new(random.i64(0..1_000_000_000), 9);
                bars.push(row);
            }
        }
    }
    bars
}

/// What `Archive::bars` must return, by looking at every minute of every bar.
fn naive(minutes: &[BarRow], filter: &Filter, size: i64) -> Vec<ResampledBar> {
    let (start, end) = (filter.start.unwrap().0, filter.end.unwrap().0);
    let mut series: BTreeMap<(&str, &str), BTreeMap<i64, &BarRow>> = BTreeMap::new();
    for bar in minutes {
        let known = filter
            .as_of
            .is_none_or(|as_of| bar.received_at <= as_of && bar.close_time() <= as_of);
        if known && filter.coin.as_ref().is_none_or(|coin| *coin == bar.symbol) {
            series
                .entry((&bar.exchange, &bar.symbol))
                .or_default()
                .insert(bar.timestamp.0, bar);
        }
    }
    let mut sized = Vec::new();
    for ((exchange, symbol), bars) in series {
        let mut open_time = 0;
        while open_time < start {
            open_time += (start - open_time + size - 1) / size * size;
        }
        while open_time + size <= end
            && filter.as_of.is_none_or(|as_of| open_time + size <= as_of.0)
        {
            let inside: Vec<_> = bars
                .range(open_time..open_time + size)
                .map(|(_, bar)| bar)
                .collect();
            if let (Some(first), Some(last)) = (inside.first(), inside.last()) {
                sized.push(ResampledBar {
                    exchange: exchange.to_owned(),
                    symbol: symbol.to_owned(),
                    timestamp: Millis(open_time),
                    interval: size,
                    observed: i64::try_from(inside.len()).unwrap() * Millis::MINUTE,
                    open: first.open,
                    high: inside.iter().map(|bar| bar.high).max().unwrap(),
                    low: inside.iter().map(|bar| bar.low).min().unwrap(),
                    close: last.close,
                    volume: inside.iter().map(|bar| bar.volume).sum(),
                    received_at: inside.iter().map(|bar| bar.received_at).max().unwrap(),
                });
            }
            open_time += size;
        }
    }
    sized
}

#[test]
fn bars_of_any_size_are_those_of_a_naive_count() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let minutes = minutes(3);
    writer
        .append(&Batch {
            bars: minutes.clone(),
            ..Batch::default()
        })
        .unwrap();
    let range = |from: i64, until: i64| Filter {
        start: Some(Millis(START + from * Millis::MINUTE + 17)),
        end: Some(Millis(START + until * Millis::MINUTE)),
        ..Filter::default()
    };
    let filters = [
        range(-1, 2 * 1440),
        range(33, 2000),
        Filter {
            coin: Some("ETH".to_owned()),
            as_of: Some(Millis(START + 1700 * Millis::MINUTE + 3)),
            ..range(100, 2 * 1440)
        },
    ];
    for rolled in 0..=2 {
        writer
            .compact(Millis(START + rolled * Millis::DAY))
            .unwrap();
        for filter in &filters {
            for size in [1, 3, 5, 7, 15, 60, 240, 1440, 2880] {
                let size = size * Millis::MINUTE;
                let bars = sound(
                    writer
                        .archive()
                        .bars(filter, PeriodLength::Fixed(size))
                        .unwrap(),
                );
                let expected = naive(&minutes, filter, size);
                assert_eq!(bars, expected, "{size} {filter:?}");
                assert!(!bars.is_empty() || size >= 240 * Millis::MINUTE);
            }
        }
    }
    let scan = writer
        .archive()
        .bars(&range(0, 0), PeriodLength::Fixed(90_000));
    assert!(matches!(scan, Err(ArchiveError::BadRange { .. })));
}

#[test]
fn the_bar_length_with_more_observed_time_counts_and_no_bar_twice() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    // Five of the hour's minutes; the whole hour; and the next hour, both whole and as all its minutes.
    let mut bars: Vec<_> = (0..5)
        .chain(60..120)
        .map(|minute| bar("BTC", minute, 100))
        .collect();
    for hour in 0..2 {
        let mut whole = bar("BTC", hour * 60, 500);
        whole.interval = Millis::HOUR;
        whole.received_at = whole.close_time();
        bars.push(whole);
    }
    writer
        .append(&Batch {
            bars,
            ..Batch::default()
        })
        .unwrap();
    let check = |archive: &Archive| {
        let hours = sound(
            archive
                .bars(&Filter::default(), PeriodLength::Fixed(Millis::HOUR))
                .unwrap(),
        );
        assert_eq!(hours.len(), 2);
        assert_eq!(
            (hours[0].open, hours[0].observed),
            (500.into(), Millis::HOUR)
        );
        assert_eq!((hours[1].open, hours[1].volume), (100.into(), 90.into()));
        let halves = sound(
            archive
                .bars(&Filter::default(), PeriodLength::Fixed(Millis::HOUR / 2))
                .unwrap(),
        );
        assert_eq!(halves.len(), 3);
        assert_eq!(halves[0].observed, 5 * Millis::MINUTE);
    };
    check(writer.archive());
    let rolled = writer.compact(Millis(START + Millis::DAY)).unwrap();
    assert_eq!(rolled.parts.len(), 2);
    check(writer.archive());
}

#[test]
fn a_filter_by_name_and_time_excludes_all_other_rows() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let rows: Vec<_> = (0..300)
        .map(|key| order(key, START + i64::try_from(key).unwrap() * 1_000_000))
        .collect();
    writer.append(&of_orders(rows.clone())).unwrap();
    for rolled in 0..4 {
        writer
            .compact(Millis(START + rolled * Millis::DAY))
            .unwrap();
        for exchange in [None, Some("bybit"), Some("nowhere")] {
            for (symbol, coin) in [
                (None, None),
                (Some("ETHUSDT"), None),
                (None, Some("BTC")),
                (Some("ETHUSDT"), Some("BTC")),
            ] {
                let filter = Filter {
                    start: Some(rows[20].order.timestamp),
                    end: Some(rows[220].order.timestamp),
                    exchange: exchange.map(str::to_owned),
                    symbol: symbol.map(str::to_owned),
                    coin: coin.map(str::to_owned),
                    ..Filter::default()
                };
                let expected: Vec<_> = rows[20..220]
                    .iter()
                    .filter(|row| exchange.is_none_or(|name| name == row.order.exchange))
                    .filter(|row| symbol.is_none_or(|name| name == row.order.symbol))
                    .filter(|row| coin.is_none_or(|name| name == row.coin))
                    .cloned()
                    .collect();
                assert_eq!(
                    sound(writer.archive().orders(&filter).unwrap()),
                    expected,
                    "{filter:?}"
                );
            }
        }
    }
    let backwards = Filter {
        start: Some(Millis(2)),
        end: Some(Millis(1)),
        ..Filter::default()
    };
    assert!(matches!(
        writer.archive().orders(&backwards).unwrap_err(),
        ArchiveError::BadRange {
            parameter: "end",
            ..
        }
    ));
}
