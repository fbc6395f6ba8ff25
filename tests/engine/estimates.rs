//! The estimates.

use std::collections::BTreeMap;

use liqdata::engine::{
    EngineError, MapOptions, Observations, PriceMove, Ring, View, crossed_by_moves,
    crossed_by_periods, heatmap, levels, liqmap, liqmap_with, maxpain,
};
use liqdata::model::{
    Bar, Chosen, FineGrid, Headline, HeatmapGrid, HeatmapRange, LiquidationMap, MapRange, Margins,
    Millis, Model, ObservedOrder, Opened, OrderBrief, ShownPrices, Side, Span, Specification,
    Vocabulary, liquidation_price, maintenance_margin, map_step,
};
use proptest::prelude::*;

use super::definition::{Definition, Market, markets, parameters};
use super::oracle::Oracle;
use super::{DAY, HOUR, MINUTE, NOW, bar, order, reading};

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// USD per fine bin: `kappa` times the tier weights.
fn usd_by_bin(ledger: &Oracle, coin: &str, kappa: f64) -> BTreeMap<i64, f64> {
    let mut usd = BTreeMap::new();
    for side in [Side::Long, Side::Short] {
        for (number, tier) in parameters(coin).tiers.iter().enumerate() {
            for (bin, mass) in ledger.located(side, number) {
                *usd.entry(bin).or_default() +=
                    kappa * tier.weight * mass * FineGrid::default().mid(bin);
            }
        }
    }
    usd
}

/// The row of `reply` that contains a price.
fn row_of(reply: &HeatmapGrid, price: f64) -> usize {
    let distance = |row: &f64| (row / price).ln().abs();
    reply
        .prices
        .iter()
        .enumerate()
        .min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)))
        .unwrap()
        .0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_heatmap_cell_equals_the_definition(
        market in markets(15 * MINUTE, 70),
        expected in any::<bool>(),
        ever in any::<bool>(),
        ahead in 0..70_i64,
    ) {
        let model = if expected { Model::Expected } else { Model::Exposure };
        let opened = if ever { Opened::Ever } else { Opened::Range };
        let now = NOW + 15 * MINUTE + ahead * 7 * MINUTE;
        let observations = market.observations(now);
        let Ok(estimate) = heatmap(&observations.at(None), market.coin, HeatmapRange::H12, model, (opened, ShownPrices::ALL)) else {
            // No bar has closed in the twelve hours before now.
            let last = market.bars.iter().map(|bar| bar.timestamp.0 + 15 * MINUTE).filter(|close| *close <= now).max().unwrap();
            prop_assert!(last <= now - 12 * HOUR);
            return Ok(());
        };
        let reply = estimate.reply;
        let window = Definition::new(&market, now, 12 * HOUR);
        let definition = Definition::new(&market, now, if ever { 1000 * DAY } else { 12 * HOUR });
        prop_assert_eq!(reply.updated_at.0, definition.end());
        prop_assert_eq!(reply.current_price, definition.bars.last().unwrap().close);
        prop_assert_eq!(estimate.explain.bars, window.bars.len());
        let known_from = definition.known_from();
        prop_assert_eq!(estimate.explain.open_interest_scale == "relative", known_from.is_none());
        prop_assert_eq!(estimate.explain.partial, Some(false));

        let ends: Vec<i64> = reply.times.iter().map(|time| time.0).collect();
        let first = market.bars[0].timestamp.0;
        let count = (definition.end() - first).min(12 * HOUR) / (15 * MINUTE);
        let wanted: Vec<i64> = (0..count).rev().map(|i| definition.end() - i * 15 * MINUTE).collect();
        prop_assert_eq!(&ends, &wanted);

        let kappa = if expected { 0.21 } else { 1.0 };
        let dust = 1e-12 * reply.matrix.iter().copied().fold(0.0, f64::max);
        for (column, at) in ends.iter().enumerate() {
            let is_known = known_from.is_none_or(|known| known <= *at);
            let mut rows = vec![0.0; reply.prices.len()];
            for (bin, usd) in usd_by_bin(&definition.ledger(model, *at), market.coin, kappa) {
                if is_known {
                    rows[row_of(&reply, FineGrid::default().mid(bin))] += usd;
                }
            }
            for (row, usd) in rows.into_iter().enumerate() {
                let cell = reply.matrix[row * ends.len() + column];
                prop_assert_eq!(cell.is_nan(), !is_known);
                prop_assert!(
                    !is_known || near(cell, usd) || (cell - usd).abs() <= dust,
                    "{row} {column}: {cell} {usd}"
                );
            }
        }
    }

    #[test]
    fn every_map_bin_equals_the_definition(
        (market, interval, range) in prop_oneof![
            (markets(15 * MINUTE, 120), Just(15 * MINUTE), Just(MapRange::D1)),
            // Long enough for bars to leave the seven-day volume window.
            (markets(2 * HOUR, 150), Just(2 * HOUR), Just(MapRange::D7)),
        ],
    ) {
        let now = NOW + 1000 * DAY;
        let observations = market.observations(now);
        let last = market.bars.last().unwrap();
        let view = observations.at(Some(Millis(last.timestamp.0 + interval)));
        let reply = liqmap(&view, market.coin, range, None).unwrap().reply;
        let definition = Definition::new(&market, view.now().0, range.millis());
        let ledger = definition.ledger(Model::Exposure, definition.end());
        let width = map_step(last.close);
        prop_assert_eq!(reply.bin_width, width);
        prop_assert_eq!(&reply.leverages, &[2, 3, 5, 10, 25, 50, 100]);
        let mut bins: BTreeMap<(Side, i64), [f64; 7]> = BTreeMap::new();
        for side in [Side::Long, Side::Short] {
            for (number, tier) in parameters(market.coin).tiers.iter().enumerate() {
                // 7 belongs to 10.
                let most = [2.0, 3.0, 6.9, 17.0, 35.0, 70.0];
                let shown = most.iter().filter(|most| tier.leverage > **most).count();
                for (bin, mass) in ledger.located(side, number) {
                    let mid = FineGrid::default().mid(bin);
                    let place = ((mid - last.close) / width).floor() as i64;
                    bins.entry((side, place)).or_default()[shown] += mass * mid * tier.weight;
                }
            }
        }
        // A change in the last digit of open interest opens a tiny position; the effect must stay tiny.
        let dust = 1e-12 * bins.values().flatten().copied().fold(0.0, f64::max);
        let mut found = BTreeMap::new();
        for (bin, tiers) in reply.bins.iter().zip(reply.tiers.chunks(7)) {
            prop_assert!(bin.total > 0.0);
            prop_assert_eq!(bin.total, tiers.iter().sum::<f64>());
            let place = (bin.price - last.close) / width - 0.5;
            prop_assert!((place - place.round()).abs() < 1e-6);
            found.insert((bin.side, place.round() as i64), tiers.to_vec());
        }
        prop_assert_eq!(found.len(), reply.bins.len());
        for place in found.keys().chain(bins.keys()) {
            let tiers = found.get(place).map_or(&[0.0; 7][..], Vec::as_slice);
            let truth = bins.get(place).copied().unwrap_or_default();
            for (a, b) in tiers.iter().zip(truth) {
                prop_assert!(near(*a, b) || (a - b).abs() <= dust, "{place:?}: {a} {b}");
            }
        }
    }

    #[test]
    fn the_four_estimates_agree(market in markets(15 * MINUTE, 200)) {
        let last = market.bars.last().unwrap().timestamp.0 + 15 * MINUTE;
        let observations = market.observations(last);
        let view = observations.at(None);
        let coin = market.coin;
        let day = liqmap(&view, coin, MapRange::D1, None).unwrap().reply;
        let week = liqmap(&view, coin, MapRange::D7, None).unwrap().reply;
        let pain = maxpain(&view, coin, None, Headline::Strongest).unwrap().reply;
        let levels = levels(&view, coin, None, Headline::Strongest).unwrap().reply;

        for (range, map) in [(HeatmapRange::H24, &day), (HeatmapRange::D7, &week)] {
            let heat = heatmap(&view, coin, range, Model::Exposure, (Opened::Range, ShownPrices::ALL)).unwrap().reply;
            let column: f64 = heat.matrix.chunks(heat.times.len()).map(|row| row.last().unwrap()).sum();
            let total: f64 = map.bins.iter().map(|bin| bin.total).sum();
            prop_assert!(near(column, total), "{column} {total}");
            prop_assert_eq!(heat.current_price, map.current_price);
            prop_assert_eq!(heat.updated_at, map.updated_at);
            prop_assert_eq!(*heat.times.last().unwrap(), heat.updated_at);
            prop_assert_eq!(heat.matrix.len(), heat.prices.len() * heat.times.len());
            prop_assert!(heat.prices.is_sorted() && heat.times.is_sorted());
            prop_assert!(heat.matrix.iter().all(|cell| cell.is_nan() || cell.is_finite() && *cell >= 0.0));
        }
        for (map, pain) in [(&day, pain.d1.unwrap()), (&week, pain.d7.unwrap())] {
            prop_assert!(map.bins.is_sorted_by(|a, b| a.price < b.price));
            for (side, total, cluster) in [(Side::Long, pain.total_long, pain.long), (Side::Short, pain.total_short, pain.short)] {
                let bins = || map.bins.iter().filter(|bin| bin.side == side);
                let shown = MapOptions { shown: ShownPrices::of(Span::Reach), ..MapOptions::of(MapRange::parse(&map.range).unwrap()) };
                let shown = liqmap_with(&view, coin, shown, None).unwrap().reply;
                let of_side = shown.bins.iter().filter(|bin| bin.side == side);
                prop_assert_eq!(total, of_side.fold(0.0, |sum, bin| sum + bin.total));
                prop_assert_eq!(cluster.usd, bins().map(|bin| bin.total).fold(0.0, f64::max));
                if cluster.usd > 0.0 {
                    let nearest = bins()
                        .filter(|bin| bin.total == cluster.usd)
                        .map(|bin| bin.price)
                        .min_by(|a, b| (a - map.current_price).abs().total_cmp(&(b - map.current_price).abs()));
                    prop_assert_eq!(Some(cluster.price), nearest);
                    prop_assert_eq!(cluster.dist_pct, 100.0 * (cluster.price / map.current_price - 1.0));
                    match side {
                        Side::Long => prop_assert!(cluster.price < map.current_price && cluster.dist_pct < 0.0),
                        Side::Short => prop_assert!(cluster.price > map.current_price && cluster.dist_pct > 0.0),
                    }
                }
            }
        }
        // The leverages of the contract.
        prop_assert_eq!(levels.tiers.keys().copied().collect::<Vec<_>>(), [10, 25, 50, 100]);
        let largest = week.tiers.chunks(7).flat_map(|tiers| &tiers[3..]).copied().fold(0.0, f64::max);
        for (leverage, level) in &levels.tiers {
            let place = week.leverages.iter().position(|shown| shown == leverage).unwrap();
            for (side, price, intensity) in [
                (Side::Long, level.long_price, level.long_intensity),
                (Side::Short, level.short_price, level.short_intensity),
            ] {
                let most = week.bins.iter().zip(week.tiers.chunks(7))
                    .filter(|(bin, _)| bin.side == side)
                    .map(|(_, tiers)| tiers[place])
                    .fold(0.0, f64::max);
                if most == 0.0 {
                    let leverage = *leverage as f64;
                    let maintenance = maintenance_margin(coin, leverage);
                    prop_assert_eq!(intensity, 0.0);
                    prop_assert_eq!(price, liquidation_price(side, levels.price, leverage, maintenance));
                } else {
                    prop_assert_eq!(intensity, most / largest);
                    let is_covered = week.bins.iter().zip(week.tiers.chunks(7)).any(|(bin, tiers)| {
                        bin.side == side && bin.price == price && tiers[place] == most
                    });
                    prop_assert!(is_covered);
                }
                match side {
                    Side::Long => prop_assert!(price < levels.price),
                    Side::Short => prop_assert!(price > levels.price),
                }
            }
        }
    }

    #[test]
    fn the_future_does_not_change_an_estimate(market in markets(15 * MINUTE, 60), share in 0.2..1.0) {
        let prefix = ((market.bars.len() as f64 * share) as usize).max(1);
        let as_of = market.bars[prefix - 1].timestamp.0 + 15 * MINUTE;
        let known = Market {
            coin: market.coin,
            bars: market.bars[..prefix].to_vec(),
            open_interest: market.open_interest.iter().filter(|row| row.timestamp.0 <= as_of).cloned().collect(),
            orders: market.orders.iter().filter(|row| row.order.timestamp.0 <= as_of).cloned().collect(),
        };
        let whole = market.observations(NOW + 1000 * HOUR);
        let part = known.observations(as_of);
        for model in [Model::Exposure, Model::Expected] {
            for opened in [Opened::Ever, Opened::Range] {
                let of = |view: &View<'_>| heatmap(view, market.coin, HeatmapRange::H24, model, (opened, ShownPrices::ALL)).unwrap();
                let (found, wanted) = (of(&whole.at(Some(Millis(as_of)))), of(&part.at(None)));
                prop_assert_eq!(format!("{found:?}"), format!("{wanted:?}"));
            }
        }
        prop_assert_eq!(
            maxpain(&whole.at(Some(Millis(as_of))), market.coin, None, Headline::Strongest).unwrap(),
            maxpain(&part.at(None), market.coin, None, Headline::Strongest).unwrap()
        );
    }
}

/// Bars of `interval` up to now within one percent, with constant open interest.
fn calm(interval: i64, count: i64) -> Observations {
    calm_with(interval, count, vec![])
}

fn calm_with(interval: i64, count: i64, orders: Vec<ObservedOrder>) -> Observations {
    let bars = (0..count)
        .map(|i| {
            let price = 100.0 + (i as f64).sin();
            let mut bar = bar("BTC", NOW - (count - i) * interval, price);
            bar.interval = Some(interval);
            bar.high = price + 0.1;
            bar.low = price - 0.1;
            bar
        })
        .collect();
    Observations::new(
        orders,
        bars,
        (0..=count)
            .map(|i| reading("BTC", None, NOW - i * interval, 1000.0))
            .collect(),
        Some(Millis(NOW)),
    )
    .unwrap()
}

/// Checks that columns end at multiples of their length, the last one at the last close.
fn assert_columns(times: &[Millis], length: i64) {
    let (last, whole) = times.split_last().unwrap();
    assert!(whole.iter().all(|at| at.0 % length == 0));
    assert!(whole.windows(2).all(|pair| pair[1].0 - pair[0].0 == length));
    assert_eq!(*last, Millis(NOW));
    assert!((1..=length).contains(&(last.0 - whole.last().unwrap().0)));
}

#[test]
fn columns_follow_the_range_and_longer_bars() {
    for (interval, range, columns, length) in [
        (5 * MINUTE, HeatmapRange::H12, 144, 5 * MINUTE),
        (5 * MINUTE, HeatmapRange::H24, 144, 10 * MINUTE),
        (15 * MINUTE, HeatmapRange::H24, 96, 15 * MINUTE),
        (15 * MINUTE, HeatmapRange::D3, 144, 30 * MINUTE),
        (20 * MINUTE, HeatmapRange::D3, 108, 40 * MINUTE),
        (15 * MINUTE, HeatmapRange::D7, 168, HOUR),
        (HOUR, HeatmapRange::M1, 180, 4 * HOUR),
        (HOUR, HeatmapRange::H12, 12, HOUR),
        (2 * HOUR, HeatmapRange::H24, 12, 2 * HOUR),
        (12 * HOUR, HeatmapRange::M3, 180, 12 * HOUR),
        (4 * HOUR, HeatmapRange::M6, 180, DAY),
        (8 * HOUR, HeatmapRange::Y1, 182, 2 * DAY),
    ] {
        let observations = calm(interval, range.millis() / interval + 3);
        let view = observations.at(None);
        let reply = heatmap(
            &view,
            "BTC",
            range,
            Model::Exposure,
            (Opened::Ever, ShownPrices::ALL),
        )
        .unwrap()
        .reply;
        assert_columns(&reply.times, length);
        let partial = usize::from(NOW % length != 0);
        assert_eq!(reply.times.len(), columns + partial, "{interval} {range}");
    }
}

#[test]
fn all_is_as_long_as_the_bars_and_has_at_most_180_columns() {
    for (interval, bars, columns, length) in [
        (5 * MINUTE, 100, 100, 5 * MINUTE),
        (5 * MINUTE, 200, 100, 10 * MINUTE),
        (15 * MINUTE, 2_000, 167, 3 * HOUR),
        (HOUR, 4_300, 180, DAY),
        (HOUR, 4_392, 92, 2 * DAY),
        (HOUR, 9_000, 125, 3 * DAY),
        (DAY, 3, 3, DAY),
    ] {
        let observations = calm(interval, bars);
        let view = observations.at(None);
        let estimate = heatmap(
            &view,
            "BTC",
            HeatmapRange::All,
            Model::Exposure,
            (Opened::Ever, ShownPrices::ALL),
        )
        .unwrap();
        let times = estimate.reply.times;
        assert_columns(&times, length);
        let partial = usize::from(NOW % length != 0);
        assert!(
            (columns..=columns + partial).contains(&times.len()),
            "{interval} {bars}"
        );
        assert_eq!(estimate.explain.bars, usize::try_from(bars).unwrap());
        assert_eq!(estimate.reply.range, "all");
    }
}

#[test]
fn a_long_range_is_available_if_the_bars_reach_its_start() {
    for (range, map, days) in [
        (HeatmapRange::M3, MapRange::M3, 90),
        (HeatmapRange::M6, MapRange::M6, 180),
        (HeatmapRange::Y1, MapRange::Y1, 365),
    ] {
        for (bars, reaches) in [
            (days + 5, true),
            (days, true),
            (days - 1, true),
            (days - 2, false),
        ] {
            let observations = calm(DAY, bars);
            let view = observations.at(None);
            let of_heatmap = heatmap(
                &view,
                "BTC",
                range,
                Model::Exposure,
                (Opened::Ever, ShownPrices::ALL),
            )
            .map(|map| map.explain.bars);
            let of_map = liqmap(&view, "BTC", map, None).map(|map| map.explain.bars);
            assert_eq!(of_heatmap, of_map);
            if reaches {
                assert_eq!(of_map, Ok(usize::try_from(bars.min(days)).unwrap()));
                continue;
            }
            assert_eq!(
                of_map,
                Err(EngineError::TooShort {
                    coin: "BTC".to_owned(),
                    range: map.name(),
                    start: Millis(NOW - days * DAY),
                    first: Millis(NOW - bars * DAY),
                })
            );
        }
    }
    let refused = liqmap(&calm(DAY, 80).at(None), "BTC", MapRange::M3, None).unwrap_err();
    assert_eq!(
        refused.to_string(),
        r#"the bars of "BTC" start at 2026-03-23T00:00:00Z, after the start of 3M at 2026-03-13T00:00:00Z; use the range "all""#
    );
    // Ranges up to a month use the bars there are.
    assert!(liqmap(&calm(DAY, 3).at(None), "BTC", MapRange::M1, None).is_ok());
}

#[test]
fn bars_for_fewer_than_twelve_columns_are_refused_with_a_remedy() {
    let observations = calm(61 * MINUTE, 400);
    let refused = heatmap(
        &observations.at(None),
        "BTC",
        HeatmapRange::H12,
        Model::Exposure,
        (Opened::Ever, ShownPrices::ALL),
    )
    .unwrap_err();
    assert_eq!(
        refused,
        EngineError::TooCoarse {
            coin: "BTC".to_owned(),
            range: "12h",
            interval: 61 * MINUTE,
            coarsest: HOUR,
        }
    );
    assert_eq!(
        refused.to_string(),
        r#"the bars of "BTC" are too long for 12h: 61 min; allowed: at most 1 h"#
    );
}

#[test]
fn a_map_takes_bars_up_to_its_range() {
    let observations = calm(DAY, 20);
    let view = observations.at(None);
    assert_eq!(
        liqmap(&view, "BTC", MapRange::D1, None)
            .unwrap()
            .explain
            .bars,
        1
    );
    let observations = calm(2 * DAY, 20);
    let view = observations.at(None);
    assert!(matches!(
        liqmap(&view, "BTC", MapRange::D1, None),
        Err(EngineError::TooCoarse { coarsest: DAY, .. })
    ));
    assert!(levels(&view, "BTC", None, Headline::Strongest).is_ok());
}

#[test]
fn short_data_gives_fewer_columns_and_no_error() {
    let observations = calm(5 * MINUTE, 4);
    let reply = heatmap(
        &observations.at(None),
        "BTC",
        HeatmapRange::H12,
        Model::Exposure,
        (Opened::Ever, ShownPrices::ALL),
    )
    .unwrap()
    .reply;
    let ends: Vec<i64> = reply.times.iter().map(|time| time.0).collect();
    assert_eq!(
        ends,
        [NOW - 15 * MINUTE, NOW - 10 * MINUTE, NOW - 5 * MINUTE, NOW]
    );
}

#[test]
fn rows_have_the_width_of_the_range_and_lie_at_fixed_prices() {
    let bars = (0..48)
        .map(|i| {
            bar(
                "BTC",
                NOW - (48 - i) * 15 * MINUTE,
                100.0 * f64::exp(0.02 * i as f64),
            )
        })
        .collect();
    let observations = Observations::new(vec![], bars, vec![], None).unwrap();
    let reply = heatmap(
        &observations.at(None),
        "BTC",
        HeatmapRange::H12,
        Model::Exposure,
        (Opened::Ever, ShownPrices::ALL),
    )
    .unwrap()
    .reply;
    let rows = |range| {
        heatmap(
            &observations.at(None),
            "BTC",
            range,
            Model::Exposure,
            (Opened::Ever, ShownPrices::ALL),
        )
        .unwrap()
        .reply
        .prices
    };
    assert_eq!(rows(HeatmapRange::H12), reply.prices);
    for (range, bins) in [
        (HeatmapRange::H12, 1.0),
        (HeatmapRange::D3, 1.0),
        (HeatmapRange::D7, 2.0),
        (HeatmapRange::M1, 2.0),
        (HeatmapRange::All, 4.0),
    ] {
        let prices = rows(range);
        let width = f64::exp(bins * 5e-4);
        assert!(
            prices.windows(2).all(|pair| near(pair[1] / pair[0], width)),
            "{range}"
        );
        // The prices of the range with 3 % on both sides.
        assert!(prices[0] < 97.1 && *prices.last().unwrap() > 255.9 * 1.029);
        // Rows lie at the same prices whatever the data.
        let place = prices[0].ln() / (bins * 5e-4) - 0.5;
        assert!((place - place.round()).abs() < 1e-6);
    }
}

#[test]
fn an_unknown_coin_is_refused_with_the_known_ones() {
    let observations = calm(5 * MINUTE, 4);
    let refused = levels(&observations.at(None), "DOGE", None, Headline::Strongest).unwrap_err();
    assert_eq!(
        refused.to_string(),
        r#""DOGE" is unknown: none of its bars has closed by 2026-06-11T00:00:00Z; known coins: BTC"#
    );
    let early = observations.at(Some(Millis(NOW - HOUR)));
    assert!(matches!(
        maxpain(&early, "BTC", None, Headline::Strongest),
        Err(EngineError::UnknownCoin { known, .. }) if known.is_empty()
    ));
}

#[test]
fn a_window_without_bars_is_refused_with_the_last_close() {
    let observations = calm(5 * MINUTE, 400);
    let at = |later| observations.at(Some(Millis(NOW + later)));
    assert!(liqmap(&at(DAY - 1), "BTC", MapRange::D1, None).is_ok());
    let refused = liqmap(&at(DAY), "BTC", MapRange::D1, None).unwrap_err();
    assert_eq!(
        refused,
        EngineError::NoBars {
            coin: "BTC".to_owned(),
            range: "1d",
            now: Millis(NOW + DAY),
            last_close: Millis(NOW),
        }
    );
    assert!(refused.to_string().ends_with("2026-06-11T00:00:00Z"));
    assert!(liqmap(&at(DAY), "BTC", MapRange::D7, None).is_ok());
}

#[test]
fn a_forming_bar_does_not_count() {
    let observations = calm(5 * MINUTE, 400);
    let reply = liqmap(
        &observations.at(Some(Millis(NOW - 1))),
        "BTC",
        MapRange::D1,
        None,
    )
    .unwrap()
    .reply;
    assert_eq!(reply.updated_at, Millis(NOW - 5 * MINUTE));
    let second_to_last: Bar = observations.bars("BTC").get(398).unwrap();
    assert_eq!(reply.current_price, second_to_last.close);
}

#[test]
fn an_empty_map_falls_back_to_the_current_price() {
    let mut still = bar("SOL", NOW - HOUR, 150.0);
    still.interval = Some(HOUR);
    still.volume = 0.0;
    let observations = Observations::new(vec![], vec![still], vec![], None).unwrap();
    let view = observations.at(None);
    let map: LiquidationMap = liqmap(&view, "SOL", MapRange::D1, None).unwrap().reply;
    assert!(map.bins.is_empty() && map.tiers.is_empty());
    let pain = maxpain(&view, "SOL", None, Headline::Strongest)
        .unwrap()
        .reply;
    for cluster in [pain.d1.unwrap().long, pain.d7.unwrap().short] {
        assert_eq!(
            (cluster.price, cluster.usd, cluster.dist_pct),
            (150.0, 0.0, 0.0)
        );
    }
    assert_eq!(pain.d7.unwrap().total_long, 0.0);
    let estimate = levels(&view, "SOL", None, Headline::Strongest).unwrap();
    let ten = estimate.reply.tiers[&10];
    assert_eq!((ten.long_intensity, ten.short_intensity), (0.0, 0.0));
    assert!(near(ten.long_price, 150.0 * 0.9 / 0.99));
    assert!(near(ten.short_price, 150.0 * 1.1 / 1.01));
    assert_eq!(estimate.explain.open_interest_scale, "relative");
}

#[test]
fn an_order_received_after_the_close_of_its_bar_does_not_change_the_ledger() {
    // This bar rises by more than half a percent and crosses shorts.
    let at_receipt = |received: i64| {
        let first = order("okx", "BTCUSDT", Side::Long, 5, NOW - 40 * MINUTE);
        let mut late = order("okx", "BTCUSDT", Side::Short, 900_000, NOW - 20 * MINUTE);
        late.received_at = Some(Millis(received));
        calm_with(15 * MINUTE, 96, vec![first, late])
    };
    let at = |observations: &Observations, as_of| {
        heatmap(
            &observations.at(Some(Millis(as_of))),
            "BTC",
            HeatmapRange::H12,
            Model::Expected,
            (Opened::Ever, ShownPrices::ALL),
        )
        .unwrap()
        .reply
    };
    let (in_time, late) = (
        at_receipt(NOW - 15 * MINUTE),
        at_receipt(NOW - 15 * MINUTE + 1),
    );
    assert_ne!(at(&in_time, NOW), at(&late, NOW));
    let never = at_receipt(NOW + DAY);
    for as_of in [NOW - 1, NOW] {
        assert_eq!(at(&late, as_of), at(&never, as_of));
    }
}

#[test]
fn an_estimate_has_the_orders_of_its_observations_with_any_ring() {
    let crossing = order("okx", "BTCUSDT", Side::Short, 900_000, NOW - 20 * MINUTE);
    let with = calm_with(15 * MINUTE, 96, vec![crossing]);
    let of = |view: &View| {
        heatmap(
            view,
            "BTC",
            HeatmapRange::H12,
            Model::Expected,
            (Opened::Ever, ShownPrices::ALL),
        )
        .unwrap()
    };
    let own = of(&with.at(None));
    assert_ne!(own, of(&calm(15 * MINUTE, 96).at(None)));
    let others = (1..20).map(|at| order("okx", "ETHUSDT", Side::Long, 5, NOW - at * MINUTE));
    for orders in [vec![], others.collect::<Vec<_>>()] {
        let mut ring = Ring::new(Millis(NOW));
        ring.insert(orders.iter().map(OrderBrief::from)).unwrap();
        assert_eq!(of(&ring.view(&with)), own);
    }
}

#[test]
fn gaps_are_counted_from_more_than_three_missing_bars() {
    let gaps = |missing: i64| {
        let bars = (0..24)
            .map(|i| {
                let after = if i < 12 { 0 } else { missing };
                let mut bar = bar("BTC", NOW + (i + after) * 15 * MINUTE, 100.0);
                bar.interval = Some(15 * MINUTE);
                bar
            })
            .collect();
        let observations = Observations::new(vec![], bars, vec![], None).unwrap();
        let map = liqmap(&observations.at(None), "BTC", MapRange::D1, None).unwrap();
        (map.explain.gaps, map.explain.bars)
    };
    assert_eq!(gaps(3), (0, 24));
    assert_eq!(gaps(4), (1, 24));
}

#[test]
fn bars_without_open_interest_of_an_exchange_are_counted_and_close_no_positions() {
    // Twelve bars of five minutes; one exchange reports at each close, the other every half hour.
    let mapped = |slow: i64| {
        let mut readings = Vec::new();
        for i in 0..=12 {
            readings.push(reading(
                "BTC",
                Some("binance"),
                NOW - i * 5 * MINUTE,
                1000.0,
            ));
        }
        for i in 0..=60 / slow {
            readings.push(reading("BTC", Some("okx"), NOW - i * slow * MINUTE, 500.0));
        }
        let bars = (0..12)
            .map(|i| {
                let mut bar = bar("BTC", NOW - (12 - i) * 5 * MINUTE, 100.0);
                bar.interval = Some(5 * MINUTE);
                bar
            })
            .collect();
        let observations = Observations::new(vec![], bars, readings, None).unwrap();
        liqmap(&observations.at(None), "BTC", MapRange::D1, None).unwrap()
    };
    let maps = [5, 15, 30].map(mapped);
    // A reading lasts fifteen minutes, so it is missing at the closes 20 and 25 minutes later.
    let partial = maps
        .each_ref()
        .map(|map| map.explain.open_interest_partial_bars);
    assert_eq!(partial, [0, 0, 4]);
    // Positions of a silent exchange neither close nor open again.
    let [steady, _, silent] = maps.map(|map| map.explain.located_share);
    for (steady, silent) in steady.iter().zip(&silent) {
        assert!(
            *steady > 0.0 && (steady - silent).abs() < 1e-12,
            "{steady} {silent}"
        );
    }
}

#[test]
fn an_estimate_lists_its_inputs() {
    let observations = calm(15 * MINUTE, 96);
    let view = observations.at(None);
    let two = heatmap(
        &view,
        "BTC",
        HeatmapRange::H24,
        Model::Exposure,
        (Opened::Ever, ShownPrices::ALL),
    )
    .unwrap()
    .explain;
    assert_eq!(
        (two.model_number, two.tiers.len(), two.theta),
        (2, 14, None)
    );
    assert_eq!(two.maintenance_margins[..13], [0.005; 13]);
    assert_eq!(two.maintenance_margins[13], 0.004);
    assert_eq!((two.bars, two.gaps), (96, 0));
    assert_eq!(two.bar_interval_ms, 15 * MINUTE);
    assert_eq!(two.open_interest_age_ms, Some(0));
    assert_eq!(two.open_interest_scale, "usd");
    assert!(
        two.located_share
            .iter()
            .all(|share| *share > 0.0 && *share < 1.0)
    );
    let three = heatmap(
        &view,
        "BTC",
        HeatmapRange::H24,
        Model::Expected,
        (Opened::Ever, ShownPrices::ALL),
    )
    .unwrap()
    .explain;
    assert_eq!(three.view, "expected, USD liquidated and reported");
    let [theta, of_shorts] = three.theta.unwrap();
    assert_eq!(theta, of_shorts);
    assert_eq!(theta.len(), 14);
    assert!(near(theta.iter().sum(), 0.21));
    assert!(near(theta[0] / theta[13], (125.0_f64 / 2.0).powf(0.75)));
    assert_eq!(three.kappa, Some([0.21; 2]));
}

#[test]
fn an_estimate_is_made_with_the_parameters_of_the_caller() {
    let observations = calm(15 * MINUTE, 96);
    let view = observations.at(None);
    let ask = |own: Option<&Specification>| {
        heatmap(
            &view.with_model(own),
            "BTC",
            HeatmapRange::H24,
            Model::Expected,
            (Opened::Ever, ShownPrices::ALL),
        )
        .unwrap()
    };
    let usual = ask(None);
    let mut own = Specification::default();
    assert_eq!(ask(Some(&own)), usual);

    own.kappa0 = Some(0.42);
    let twice = ask(Some(&own));
    assert_eq!(twice.explain.kappa, Some([0.42; 2]));
    let cells = twice.reply.matrix.iter().zip(&usual.reply.matrix);
    assert!(
        cells
            .into_iter()
            .all(|(twice, once)| near(*twice, 2.0 * once))
    );

    own.tiers = Some(vec![20]);
    own.mmr = Some(Margins::Each(vec![0.01]));
    let levels = levels(
        &view.with_model(Some(&own)),
        "BTC",
        None,
        Headline::Strongest,
    )
    .unwrap();
    assert_eq!(levels.explain.tiers, [20.0]);
    assert_eq!(levels.explain.maintenance_margins, [0.01]);
    // Replies show four leverages; tier 20 counts under 25.
    let located = levels.reply.tiers.values();
    let located: Vec<bool> = located.map(|tier| tier.long_intensity > 0.0).collect();
    assert_eq!(located, [false, true, false, false]);
}

#[test]
fn a_move_crosses_the_map_between_the_price_and_its_ends() {
    let observations = calm(15 * MINUTE, 96);
    let view = observations.at(None);
    let model = Chosen::Numbered(Model::Exposure);
    let map = liqmap(&view, "BTC", MapRange::D1, None).unwrap().reply;
    let of = |side, reach: f64| -> f64 {
        let bins = map.bins.iter().filter(|bin| bin.side == side);
        bins.filter(|bin| (bin.price / map.current_price - 1.0).abs() <= reach)
            .map(|bin| bin.total)
            .sum()
    };
    let moves = [0.0, 0.05, 0.9].map(|reach| PriceMove {
        at: Millis(NOW),
        low: map.current_price * (1.0 - reach),
        high: map.current_price * (1.0 + reach),
    });
    let found = crossed_by_moves(&view, "BTC", &model, &moves).unwrap();
    let [still, near_by, all] = [0, 1, 2].map(|place| found[place].unwrap());
    assert_eq!(still.map(f64::to_bits), [0; 2]);
    for (side, usd) in [(Side::Long, all[0]), (Side::Short, all[1])] {
        assert!(near(usd, of(side, 0.9)), "{side}: {usd}");
    }
    // Fine bins of 5 basis points do not align with map bins, so one map bin may be split.
    for (side, usd) in [(Side::Long, near_by[0]), (Side::Short, near_by[1])] {
        assert!(
            of(side, 0.048) <= usd && usd <= of(side, 0.052),
            "{side}: {usd}"
        );
    }
}

#[test]
fn a_sweep_uses_no_later_bars() {
    let whole = calm(15 * MINUTE, 400);
    let model = Chosen::Numbered(Model::Expected);
    let bars = whole.bars("BTC").to_vec();
    let moves: Vec<PriceMove> = bars
        .iter()
        .map(|bar| PriceMove {
            at: bar.open_time,
            low: bar.low,
            high: bar.high,
        })
        .collect();
    let opens: Vec<Millis> = bars.iter().map(|bar| bar.open_time).collect();
    let view = whole.at(None);
    let frozen = crossed_by_moves(&view, "BTC", &model, &moves).unwrap();
    assert_eq!(frozen[0], None);
    let by_bar = crossed_by_periods(&view, "BTC", &model, &opens, 15 * MINUTE).unwrap();
    // Nothing is known before the first close.
    assert_eq!(by_bar, frozen);
    let by_hour: Vec<Millis> = opens.iter().copied().step_by(4).collect();
    let hours = crossed_by_periods(&view, "BTC", &model, &by_hour, HOUR).unwrap();
    assert_eq!(hours[0], None);
    for (hour, bars) in hours.iter().zip(by_bar.chunks(4)).skip(1) {
        for side in [0, 1] {
            let sum: f64 = bars.iter().flatten().map(|crossed| crossed[side]).sum();
            assert!(near(hour.unwrap()[side], sum));
        }
    }
    let then = bars[200].open_time;
    let earlier = whole.at(Some(then));
    assert_eq!(
        crossed_by_moves(&earlier, "BTC", &model, &moves[..200]).unwrap(),
        frozen[..200]
    );
    let longer = crossed_by_periods(&view, "BTC", &model, &opens, MINUTE).unwrap_err();
    assert!(matches!(longer, EngineError::TooCoarse { .. }));
}

#[test]
fn a_sweep_uses_no_later_orders_and_readings() {
    let close = |bar: i64| NOW - (400 - bar) * 15 * MINUTE;
    let long = |bar| order("okx", "BTCUSDT", Side::Long, 50_000, close(bar) - MINUTE);
    let orders: Vec<_> = [20, 60, 350].map(long).to_vec();
    let whole = calm_with(15 * MINUTE, 400, orders);
    let (_, bars, readings) = whole.rows();
    let late: Vec<_> = readings
        .into_iter()
        .filter(|reading| reading.timestamp.0 > close(100))
        .collect();
    let (orders, ..) = whole.rows();
    let late = Observations::new(orders, bars, late, None).unwrap();
    let moves: Vec<PriceMove> = whole
        .bars("BTC")
        .iter()
        .map(|bar| PriceMove {
            at: bar.open_time,
            low: bar.low,
            high: bar.high,
        })
        .collect();
    for model in [Model::Exposure, Model::Expected] {
        let model = Chosen::Numbered(model);
        let of = |view: &View<'_>| crossed_by_moves(view, "BTC", &model, &moves).unwrap();
        for all in [&whole, &late] {
            let found = of(&all.at(None));
            for cut in [150, 300] {
                let then = of(&all.at(Some(moves[cut].at)));
                assert_eq!(then[..=cut], found[..=cut], "{model:?} {cut}");
            }
        }
        let found = of(&late.at(None));
        assert_eq!(found.iter().position(Option::is_some), Some(101));
    }
}
