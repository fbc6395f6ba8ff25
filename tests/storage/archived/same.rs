//! The same rows in tables and in an archive.

use liqdata::archive::{Archive, Batch};
use liqdata::contract::{Heatmap, Liqmap, Maxpain, RawModel};
use liqdata::engine::{BarSources, EstimateBasis, FitState, Observations};
use liqdata::market::{Market, MarketQuery, RefusalCode};
use liqdata::model::{Millis, ObservedBar, PeriodLength, TimeRange, Vocabulary, Window};
use liqdata::server::status;

use crate::archive::folder::Folder;
use crate::archived::world::{
    START, bar, estimated, everything, reading, realised, some_days, two_days,
};

/// A market of tables: what is in `batch`, its minute bars joined to five.
fn of_tables(batch: &Batch, now: i64, length: i64) -> Market {
    let day_before = Millis(now).back(Millis::DAY);
    let orders = batch
        .orders
        .iter()
        .filter(|row| row.order.timestamp > day_before || length > 0)
        .cloned()
        .map(|mut row| {
            // An archive stores values without trailing zeros.
            let order = &mut row.order;
            for value in [&mut order.price, &mut order.qty, &mut order.value_usd] {
                *value = value.normalize();
            }
            row.into()
        });
    let minutes: Vec<ObservedBar> = batch.bars.iter().cloned().map(Into::into).collect();
    let bars = minutes.chunks(5).map(|five| ObservedBar {
        interval: Some(5 * Millis::MINUTE),
        closes_at: None,
        high: five.iter().map(|bar| bar.high).fold(f64::MIN, f64::max),
        low: five.iter().map(|bar| bar.low).fold(f64::MAX, f64::min),
        close: five[4].close,
        // Exact where the archive sums decimals: tenths of whole numbers.
        volume: five.iter().map(|bar| bar.volume * 10.0).sum::<f64>() / 10.0,
        ..five[0].clone()
    });
    let readings = batch.open_interest.iter().cloned().map(Into::into);
    // Tables of bars name no exchange; all of these are of one.
    let mut sources = BarSources::default();
    sources.push(Millis(START), &["binance"]);
    let observations = Observations::new(
        orders.collect(),
        bars.collect(),
        readings.collect(),
        Some(Millis(now)),
    )
    .unwrap()
    .with_sources("BTC", sources);
    Market::fixed(observations, "tables")
}

#[test]
fn an_archive_answers_as_tables_of_the_same_rows_do() {
    let folder = Folder::new();
    let batch = two_days();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&batch).unwrap();
    let end = START + 2 * Millis::DAY;

    let check = || {
        let market = Market::open(folder.archive(), None).unwrap();
        assert_eq!(market.now(), Millis(end));
        let (day, all) = (of_tables(&batch, end, 0), of_tables(&batch, end, 1));
        assert_eq!(realised(&market, None), realised(&day, None));
        let said = estimated(&market, "BTC", None);
        assert_eq!(said, estimated(&all, "BTC", None));
        // Three months are not there, open interest was read on one exchange, and no map has so many bins.
        let refused: Vec<&String> = said.iter().filter(|said| !said.starts_with('{')).collect();
        let reasons = [
            "start at",
            "is unknown at",
            "is unknown at",
            "is out of bounds",
        ];
        let matches =
            |(said, reason): (&&String, &str)| said.starts_with("400") && said.contains(reason);
        assert_eq!(refused.len(), reasons.len(), "{refused:?}");
        assert!(refused.iter().zip(reasons).all(matches), "{refused:?}");
        market
    };
    drop(check());
    writer.compact(Millis(START + Millis::DAY)).unwrap();
    drop(check());
    writer.compact(Millis(end)).unwrap();
    let market = check();
    // As of the end nothing has been received later but the last rows.
    let at = Some(Millis(end + 1000));
    let (now, then) = (realised(&market, None), realised(&market, at));
    assert_eq!(now[0].len(), then[0].len());
}

#[test]
fn an_archive_is_fitted_to_its_orders_as_tables_are() {
    let folder = Folder::new();
    let (days, batch) = (12, some_days(12));
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&batch).unwrap();
    let end = START + days * Millis::DAY;
    let tables = of_tables(&batch, end, 1);
    let question = Liqmap::new("BTC", "7d", None, None, None).unwrap();
    // Each of the two seeks a day's weights from those of another day, so they agree as far as both are converged.
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-7 * a.abs();
    for roll in [None, Some(5), Some(11)] {
        if let Some(days) = roll {
            writer.compact(Millis(START + days * Millis::DAY)).unwrap();
        }
        let market = Market::open(folder.archive(), None).unwrap();
        for as_of in [None, Some(Millis(end - 30 * Millis::HOUR + 1_000))] {
            let [one, other] =
                [&market, &tables].map(|market| market.answer(&question, as_of).unwrap());
            let [fit, same] =
                [&one, &other].map(|answer| answer.explain.as_ref().unwrap().fit.clone().unwrap());
            assert_eq!((fit.state, fit.from), (FitState::Fitted, Some("orders")));
            assert_eq!(
                (fit.as_of, fit.periods, fit.with_liquidations),
                (same.as_of, same.periods, same.with_liquidations)
            );
            for (kappa, same) in fit.kappa.into_iter().zip(same.kappa) {
                assert!(kappa > 0.0 && near(kappa, same), "{kappa} {same}");
            }
            assert_eq!(one.reply.bins.len(), other.reply.bins.len());
            for (bin, same) in one.reply.bins.iter().zip(&other.reply.bins) {
                assert_eq!((bin.price, bin.side), (same.price, same.side));
                assert!(near(bin.total, same.total), "{bin:?} {same:?}");
            }
        }
    }
}

#[test]
fn a_market_opened_as_of_an_instant_stays_there() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&two_days()).unwrap();
    let at = Millis(START + 30 * Millis::HOUR);
    let live = Market::open(folder.archive(), None).unwrap();
    let wanted = everything(&live, Some(at));
    let still = Market::open(folder.archive(), Some(at)).unwrap();
    assert_eq!(still.now(), at);
    assert_eq!(everything(&still, None), wanted);
    let before = Some(at.back(Millis::HOUR));
    assert_eq!(everything(&still, before), everything(&live, before));
    let refused = everything(&still, Some(at.on(1)));
    assert!(
        refused
            .iter()
            .all(|said| said.starts_with("400") && said.contains("as_of")),
        "{refused:?}"
    );
}

#[test]
fn the_longest_observed_exchange_gives_the_price_and_all_of_them_the_volume() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let mut bars = Vec::new();
    for minute in 0..60 {
        let mut okx = bar("okx", minute, START);
        okx.volume = 2.into();
        bars.push(okx);
        // Half an hour of the better known exchange, at other prices.
        if minute < 30 {
            let mut binance = bar("binance", minute, START);
            binance.volume = 5.into();
            binance.high += rust_decimal::Decimal::from(100_000);
            bars.push(binance);
        }
        let mut kraken = bar("kraken", 60 + minute, START);
        kraken.volume = 1.into();
        if minute < 10 {
            bars.push(kraken);
        }
    }
    writer
        .append(&Batch {
            bars,
            ..Batch::default()
        })
        .unwrap();
    let market = Market::open(folder.archive(), None).unwrap();
    let series = market.bars("BTC", None).unwrap();
    assert_eq!(series.len(), 70);
    assert!(series.iter().all(|bar| bar.high < 70_000.0));
    let volume = |minute: usize| series[minute].volume;
    assert_eq!((volume(0), volume(30), volume(60)), (7.0, 2.0, 1.0));
    let half = 30 * Millis::MINUTE;
    let larger = market
        .bars_between(
            "BTC",
            None,
            TimeRange::bounded(Some(Millis(START + half)), None),
            Some(PeriodLength::Fixed(half)),
        )
        .unwrap();
    assert_eq!(larger.len(), 1, "a bar that is not over is none");
    assert_eq!(larger[0].volume, 60.0);
    assert!(
        market
            .bars_between("BTC", None, TimeRange::ALL, Some(PeriodLength::Fixed(7)))
            .is_err()
    );
    assert_eq!(market.bars("SOL", None).unwrap(), []);
    assert_eq!(
        market.bars("NOPE", None).unwrap_err().code,
        RefusalCode::BadQuery
    );
}

#[test]
fn bars_are_cut_alike_in_tables_and_in_an_archive() {
    let folder = Folder::new();
    let batch = two_days();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&batch).unwrap();
    let now = START + 2 * Millis::DAY;
    let archived = Market::open(folder.archive(), None).unwrap();
    let tables = of_tables(&batch, now, 0);
    let hour = 60 * Millis::MINUTE;
    let at = |minutes: i64| Some(Millis(START + Millis::DAY + minutes * Millis::MINUTE));
    for size in [5, 15, 60, 240].map(|minutes| minutes * Millis::MINUTE) {
        for (start, end) in [
            (at(0), at(480)),
            (at(35), None),
            (at(35), at(755)),
            (at(5), at(475)),
            (at(1), at(479)),
            (at(61), at(119)),
            (None, at(-1)),
            (at(700), at(2880)),
        ] {
            for as_of in [None, at(721), at(737)] {
                let ask = |market: &Market| {
                    market
                        .bars_between(
                            "BTC",
                            as_of,
                            TimeRange::bounded(start, end),
                            Some(PeriodLength::Fixed(size)),
                        )
                        .unwrap()
                };
                let (wanted, found) = (ask(&archived), ask(&tables));
                assert_eq!(
                    found.len(),
                    wanted.len(),
                    "{size} {start:?} {end:?} {as_of:?}"
                );
                for (bar, other) in found.iter().zip(&wanted) {
                    assert_eq!(bar.open_time, other.open_time);
                    assert_eq!(bar.interval, other.interval);
                    assert_eq!((bar.open, bar.close), (other.open, other.close));
                    assert_eq!((bar.high, bar.low), (other.high, other.low));
                    assert!((bar.volume - other.volume).abs() < 1e-6 * other.volume);
                    assert!(start.is_none_or(|start| bar.open_time >= start));
                    assert!(end.is_none_or(|end| bar.close_time() <= end));
                }
            }
        }
    }
    let first = |start| {
        tables
            .bars_between(
                "BTC",
                None,
                TimeRange::bounded(start, None),
                Some(PeriodLength::Fixed(hour)),
            )
            .unwrap()[0]
    };
    assert_eq!(Some(first(at(35)).open_time), at(60));
    // A bar that is not made is left out at its end too.
    let end = at(12);
    let last = *tables
        .bars_between("BTC", None, TimeRange::bounded(None, end), None)
        .unwrap()
        .last()
        .unwrap();
    assert_eq!(Some(last.close_time()), at(10));
}

#[test]
fn a_length_that_bars_cannot_be_made_into_is_a_400() {
    let tables = of_tables(&two_days(), START + 2 * Millis::DAY, 0);
    for minutes in [1, 7] {
        let refused = tables
            .bars_between(
                "BTC",
                None,
                TimeRange::ALL,
                Some(PeriodLength::Fixed(minutes * Millis::MINUTE)),
            )
            .unwrap_err();
        assert_eq!(status(refused.code), 400);
        let message = refused.to_string();
        assert!(message.contains(&format!("{minutes} min")), "{message}");
        assert!(message.ends_with("whole multiples of 5 min"), "{message}");
    }
    let nothing = tables.bars_between(
        "SOL",
        None,
        TimeRange::ALL,
        Some(PeriodLength::Fixed(Millis::MINUTE)),
    );
    assert_eq!(nothing.unwrap(), []);
}

/// Number of bars by exchange.
type BarCounts<'a> = Vec<(&'a str, usize)>;

/// Bars by exchange of prices, of volumes and of open interest.
fn venues(explain: &EstimateBasis) -> [BarCounts<'_>; 3] {
    [
        &explain.price_exchanges,
        &explain.volume_exchanges,
        &explain.open_interest_exchanges,
    ]
    .map(|venues| {
        venues
            .iter()
            .map(|(name, bars)| (name.as_str(), *bars))
            .collect()
    })
}

#[test]
fn an_estimate_names_the_exchanges_it_is_made_of() {
    fn explain<E: MarketQuery>(
        market: &Market,
        question: &E,
        as_of: Option<Millis>,
    ) -> EstimateBasis {
        market.answer(question, as_of).unwrap().explain.unwrap()
    }
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let day = 24 * 60;
    let at = |minute: i64| START + minute * Millis::MINUTE;
    let mut batch = Batch::default();
    for minute in 0..2 * day {
        // Binance and okx were observed as long the first day, so the better known one has the prices of the second. The
        // second day binance was away for an hour, and bybit came late.
        if !(day + 300..day + 360).contains(&minute) {
            batch.bars.push(bar("binance", minute, at(minute + 1)));
        }
        batch.bars.push(bar("okx", minute, at(minute + 1)));
        if minute >= day + 720 {
            batch.bars.push(bar("bybit", minute, at(minute + 1)));
        }
        // Of two exchanges that are read every five minutes one falls silent; a reading is fresh for a quarter of an
        // hour, so three closes behind the last one still have it.
        if minute % 5 == 0 {
            batch.open_interest.push(reading("okx", minute, at(minute)));
            if minute <= day + 600 {
                batch
                    .open_interest
                    .push(reading("bybit", minute, at(minute)));
            }
        }
    }
    writer.append(&batch).unwrap();
    for rolled in [false, true] {
        if rolled {
            writer.compact(Millis(at(2 * day))).unwrap();
        }
        let market = Market::open(folder.archive(), None).unwrap();
        let map = explain(
            &market,
            &Heatmap::new("BTC", "24h", RawModel::Number(2), None).unwrap(),
            None,
        );
        assert_eq!(map.bars, 288);
        assert_eq!(
            venues(&map),
            [
                vec![("binance", 276), ("okx", 12)],
                vec![("binance", 276), ("bybit", 144), ("okx", 288)],
                vec![("bybit", 123), ("okx", 288)],
            ]
        );
        let half = explain(
            &market,
            &Heatmap::new("BTC", "12h", RawModel::Number(3), None).unwrap(),
            None,
        );
        assert_eq!(
            venues(&half),
            [
                vec![("binance", 144)],
                vec![("binance", 144), ("bybit", 144), ("okx", 144)],
                vec![("okx", 144)],
            ]
        );
        // As of an instant of the first day, both were observed as long: the better known one has the price.
        let then = Some(Millis(at(day)));
        let map = explain(
            &market,
            &Liqmap::new("BTC", "1d", None, None, None).unwrap(),
            then,
        );
        assert_eq!(map.bars, 288);
        assert_eq!(
            venues(&map),
            [
                vec![("binance", 288)],
                vec![("binance", 288), ("okx", 288)],
                vec![("bybit", 288), ("okx", 288)],
            ]
        );
        let pain = explain(&market, &Maxpain::new("BTC", None).unwrap(), None);
        // Its longer range reads the first day, too.
        assert_eq!(pain.bars, 576);
        assert_eq!(
            venues(&pain),
            [
                vec![("binance", 564), ("okx", 12)],
                vec![("binance", 564), ("bybit", 144), ("okx", 576)],
                vec![("bybit", 411), ("okx", 576)],
            ]
        );
        // It is in the explanation and not in the reply.
        let text = serde_json::to_value(&map).unwrap();
        assert_eq!(text["priceExchanges"], serde_json::json!({"binance": 288}));
        assert_eq!(text["openInterestExchanges"]["okx"], 288);
    }
}

#[test]
fn coverage_counts_orders_and_reports_sessions_and_gaps() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let mut batch = two_days();
    let end = Millis(START + 2 * Millis::DAY);
    let run = writer
        .begin_session(
            "okx",
            liqdata::archive::Completeness::Complete,
            end.back(12 * Millis::HOUR),
        )
        .unwrap();
    batch.seen.push((run, end));
    batch.gaps.push(liqdata::archive::Gap {
        exchange: "okx".to_owned(),
        start: end.back(Millis::HOUR),
        end: end.back(Millis::HOUR / 2),
        reason: "a test".to_owned(),
        recorded_at: end.back(Millis::HOUR / 2),
        ..liqdata::archive::Gap::default()
    });
    writer.append(&batch).unwrap();
    let market = Market::open(folder.archive(), None).unwrap();
    for &window in Window::ALL {
        let since = end.back(window.millis());
        let rows = market.coverage(None, window).unwrap();
        let names: Vec<_> = rows.iter().map(|row| row.exchange.as_str()).collect();
        assert_eq!(names, ["binance", "bybit", "okx"]);
        for row in &rows {
            let wanted = batch.orders.iter().filter(|order| {
                order.order.exchange == row.exchange && order.order.timestamp > since
            });
            assert_eq!(row.cnt, u64::try_from(wanted.clone().count()).unwrap());
            let last = wanted.map(|order| order.order.timestamp).max();
            assert_eq!(row.last_event, last);
        }
        assert_eq!(rows[0].connected_share, None);
        let share = rows[2].connected_share.unwrap();
        let whole = window.millis() as f64;
        let listened = whole.min(12.0 * 3_600_000.0) - 1_800_000.0;
        assert!((share - listened / whole).abs() < 1e-6, "{share}");
        assert_eq!((rows[2].gaps, rows[2].completeness.name()), (1, "complete"));
    }
}
