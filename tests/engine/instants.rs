//! Series of instants from one replay against separate replays.

use std::collections::BTreeMap;

use liqdata::engine::{
    EngineError, MapOptions, Observations, heatmap, heatmaps, liqmap, liqmap_with, liqmaps, swept,
};
use liqdata::model::{
    Chosen, HeatmapRange, LiquidationMap, MapRange, Millis, Model, Opened, ShownPrices, Side,
    Specification,
};
use proptest::prelude::*;

use super::definition::{Market, doubtful_markets};
use super::{HOUR, MINUTE, NOW, bar, order, reading};

const INTERVAL: i64 = 15 * MINUTE;
const MOST: usize = 60;

/// Receipt of each order: immediately, some bars later, or much later.
fn delays() -> impl Strategy<Value = Vec<i64>> {
    let one = prop_oneof![
        4 => Just(0),
        2 => 0..4 * INTERVAL,
        1 => 0..MOST as i64 * INTERVAL,
    ];
    prop::collection::vec(one, 30)
}

fn models() -> impl Strategy<Value = Option<Chosen>> {
    let own = Specification {
        kappa0: Some(0.4),
        clocks: Some(vec![(1.0, 2.0)]),
        ..Specification::default()
    };
    prop::sample::select(vec![
        None,
        Some(Model::Exposure.into()),
        Some(Model::Expected.into()),
        Some(Chosen::Own(Box::new(own))),
    ])
}

fn received(market: &Market, delays: &[i64]) -> Observations {
    let mut market = market.clone();
    for (order, delay) in market.orders.iter_mut().zip(delays) {
        order.received_at = Some(Millis(order.order.timestamp.0 + delay));
    }
    market.observations(NOW + MOST as i64 * INTERVAL)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_batch_of_maps_equals_single_maps(
        market in doubtful_markets(INTERVAL, MOST),
        delays in delays(),
        model in models(),
        venue in prop::sample::select(vec![None, None, Some("okx"), Some("bybit")]),
        at_closes in prop::collection::vec(0..MOST as i64 * 5 / 4, 0..12),
        between in prop::collection::vec(-HOUR..MOST as i64 * INTERVAL, 0..12),
    ) {
        let observations = received(&market, &delays);
        let view = observations.at(None).of_venue(venue);
        let closes = at_closes.into_iter().map(|bar| bar * INTERVAL);
        let instants: Vec<Millis> = closes.chain(between).map(|at| Millis(NOW + at)).collect();
        let together = liqmaps(&view, market.coin, model.as_ref(), MapOptions::of(MapRange::All), &instants);
        prop_assert_eq!(together.len(), instants.len());
        for (map, at) in together.into_iter().zip(&instants) {
            let view = observations.at(Some(*at)).of_venue(venue);
            let alone = liqmap(&view, market.coin, MapRange::All, model.as_ref());
            prop_assert_eq!(map, alone, "{}", at);
        }
    }

    #[test]
    fn a_batch_of_heatmaps_equals_single_heatmaps(
        market in doubtful_markets(INTERVAL, MOST),
        delays in delays(),
        expected in any::<bool>(),
        venue in prop::sample::select(vec![None, None, Some("okx")]),
        at in prop::collection::vec(-HOUR..MOST as i64 * INTERVAL, 0..8),
    ) {
        let model = if expected { Model::Expected } else { Model::Exposure };
        let observations = received(&market, &delays);
        let view = observations.at(None).of_venue(venue);
        let instants: Vec<Millis> = at.into_iter().map(|at| Millis(NOW + at)).collect();
        let together = heatmaps(&view, market.coin, (model, ShownPrices::ALL), &instants);
        prop_assert_eq!(together.len(), instants.len());
        for (map, at) in together.into_iter().zip(&instants) {
            let view = observations.at(Some(*at)).of_venue(venue);
            let alone = heatmap(&view, market.coin, HeatmapRange::All, model, (Opened::Ever, ShownPrices::ALL));
            // Unknown columns are NaN, which equals nothing.
            prop_assert_eq!(format!("{map:?}"), format!("{alone:?}"), "{}", at);
        }
    }
}

/// Forty bars with sweeps in both directions, open interest from the start, and orders.
fn swinging(orders: &[(i64, i64)]) -> Observations {
    swinging_of(orders, 40)
}

fn swinging_of(orders: &[(i64, i64)], count: i64) -> Observations {
    let bars = (0..count).map(|place| {
        let price = 100.0 + 8.0 * (place as f64 * 1.1).sin();
        let mut bar = bar("BTC", NOW + place * INTERVAL, price);
        bar.interval = Some(INTERVAL);
        bar.high = price + 3.0;
        bar.low = price - 3.0;
        bar
    });
    let readings = (0..=count).map(|place| reading("BTC", None, NOW + place * INTERVAL, 1000.0));
    let orders = orders.iter().map(|(minute, received)| {
        let mut order = order("okx", "BTCUSDT", Side::Long, 900, NOW + minute * MINUTE);
        order.received_at = Some(Millis(NOW + received * MINUTE));
        order
    });
    let (orders, bars, readings) = (orders.collect(), bars.collect(), readings.collect());
    Observations::new(orders, bars, readings, Some(Millis(NOW + count * INTERVAL))).unwrap()
}

/// USD of the map as of `minute`, from one replay for all of `minutes`.
fn totals(observations: &Observations, minutes: &[i64]) -> Vec<f64> {
    let model = Chosen::from(Model::Expected);
    let instants: Vec<Millis> = minutes.iter().map(|at| Millis(NOW + at * MINUTE)).collect();
    let maps = liqmaps(
        &observations.at(None),
        "BTC",
        Some(&model),
        MapOptions::of(MapRange::All),
        &instants,
    );
    let total = |map: Result<
        liqdata::engine::Estimate<liqdata::model::LiquidationMap>,
        EngineError,
    >| { map.unwrap().reply.bins.iter().map(|bin| bin.total).sum() };
    maps.into_iter().map(total).collect()
}

#[test]
fn a_feed_without_an_order_for_a_day_is_unknown() {
    let long =
        |orders: &[(i64, i64)]| totals(&swinging_of(orders, 200), &[600, 1_400, 1_500, 2_900]);
    let (none, one, two) = (
        long(&[]),
        long(&[(20, 20)]),
        long(&[(20, 20), (1_600, 1_600)]),
    );
    // Nothing was liquidated in the day after an order, and after that nothing is known.
    assert_ne!(none[0], one[0]);
    assert_eq!(one[..3], two[..3]);
    assert_ne!(one[3], two[3]);
}

#[test]
fn an_order_that_is_received_late_changes_nothing_before_its_receipt() {
    // The bar of minute 155 crosses longs.
    let late = swinging(&[(20, 20), (155, 400), (590, 590)]);
    let never = swinging(&[(20, 20), (590, 590)]);
    let at_once = swinging(&[(20, 20), (155, 155), (590, 590)]);
    let minutes = [140, 390, 405, 600];
    let [late, never, at_once] = [&late, &never, &at_once].map(|market| totals(market, &minutes));
    assert_eq!(late, never);
    assert_eq!(late[0], at_once[0]);
    assert_ne!(late[2], at_once[2]);
}

#[test]
fn a_column_is_the_map_of_its_instant_in_every_range_and_at_every_later_instant() {
    let market = swinging_of(&[(20, 20), (100, 400), (590, 590), (1_200, 1_900)], 300);
    let model = Model::Expected;
    let end = 300 * INTERVAL / MINUTE;
    let mut seen: BTreeMap<i64, Vec<(u64, u64)>> = BTreeMap::new();
    for (range, minutes) in [
        (HeatmapRange::H12, end),
        (HeatmapRange::H24, end),
        (HeatmapRange::H24, end - 45),
        (HeatmapRange::D3, end),
        (HeatmapRange::D3, 2_000),
    ] {
        let view = market.at(Some(Millis(NOW + minutes * MINUTE)));
        let map = heatmap(&view, "BTC", range, model, (Opened::Ever, ShownPrices::ALL))
            .unwrap()
            .reply;
        for (column, at) in map.times.iter().enumerate() {
            let cells = map.matrix.iter().skip(column).step_by(map.times.len());
            let cells = map.prices.iter().zip(cells).filter(|(_, usd)| **usd > 0.0);
            let cells: Vec<(u64, u64)> = cells
                .map(|(price, usd)| (price.to_bits(), usd.to_bits()))
                .collect();
            assert!(!cells.is_empty() || at.0 <= NOW);
            assert_eq!(
                seen.entry(at.0).or_insert_with(|| cells.clone()),
                &cells,
                "{range} {at}"
            );
        }
    }
    for (at, cells) in seen.into_iter().step_by(7) {
        let view = market.at(Some(Millis(at)));
        let fine = liqmap(&view, "BTC", MapRange::All, Some(&model.into()))
            .unwrap()
            .explain
            .fine
            .unwrap();
        let usd: f64 = fine.usd.iter().sum();
        let column: f64 = cells.iter().map(|(_, usd)| f64::from_bits(*usd)).sum();
        assert!((usd - column).abs() <= 1e-9 * usd, "{usd} {column}");
    }
}

#[test]
fn an_instant_before_the_first_bar_is_refused_and_the_others_are_answered() {
    let observations = swinging(&[]);
    let instants = [NOW + 40 * INTERVAL, NOW, NOW + INTERVAL].map(Millis);
    let maps = liqmaps(
        &observations.at(None),
        "BTC",
        None,
        MapOptions::of(MapRange::All),
        &instants,
    );
    assert!(maps[0].is_ok() && maps[2].is_ok());
    assert!(matches!(maps[1], Err(EngineError::UnknownCoin { .. })));
    let unknown = liqmaps(
        &observations.at(None),
        "DOGE",
        None,
        MapOptions::of(MapRange::All),
        &instants,
    );
    assert!(unknown.iter().all(Result::is_err));
    assert!(
        liqmaps(
            &observations.at(None),
            "BTC",
            None,
            MapOptions::of(MapRange::All),
            &[]
        )
        .is_empty()
    );
}

#[test]
fn a_map_that_shows_a_part_of_the_prices_crosses_as_much_as_the_whole_map() {
    let observations = swinging(&[]);
    let view = observations.at(None);
    let options = |shown| MapOptions {
        shown,
        ..MapOptions::of(MapRange::All)
    };
    let map = |shown| liqmap_with(&view, "BTC", options(shown), None).unwrap();
    let whole = map(ShownPrices::ALL);
    let price = whole.reply.current_price;
    let bounds = ShownPrices {
        low: Some(0.9 * price),
        high: Some(1.1 * price),
        ..ShownPrices::ALL
    };
    let part = map(bounds).reply;
    let cells = |map: &LiquidationMap| map.fine.as_ref().unwrap().usd.len();
    assert!(cells(&part) < cells(&whole.reply));
    let mut crossed = 0;
    for share in [0.0, 0.0003, 0.01, 0.05, 0.08] {
        let ends = (price * (1.0 - share), price * (1.0 + share));
        let found = swept(&part, ends.0, ends.1).unwrap();
        assert_eq!(found, swept(&whole.reply, ends.0, ends.1).unwrap());
        crossed += found.iter().flatten().filter(|usd| **usd > 0.0).count();
    }
    assert!(crossed > 0);
    let beyond = swept(&part, 0.2 * price, price).unwrap_err();
    assert_eq!(beyond.side, Side::Long);
    assert!((beyond.missing - part.outside.unwrap().long_usd).abs() < 1e-9);
    // The explanation has all cells.
    let explained = LiquidationMap {
        fine: whole.explain.fine,
        ..part
    };
    assert!(swept(&explained, 0.2 * price, price).is_ok());
}
