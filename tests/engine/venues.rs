//! The ledger of one exchange, and maps with a given bin width.

use liqdata::engine::{EngineError, MapOptions, heatmap, liqmap, liqmap_with};
use liqdata::model::{
    BinWidth, Chosen, HeatmapRange, MapRange, Millis, Model, Opened, ShownPrices, Side,
};
use proptest::prelude::*;

use super::definition::{Market, markets};
use super::{MINUTE, NOW, bar, reading};

const INTERVAL: i64 = 15 * MINUTE;
const MOST: usize = 50;

/// The market with every third order on the other exchange.
fn on_two_venues(mut market: Market) -> Market {
    for row in market.orders.iter_mut().step_by(3) {
        "bybit".clone_into(&mut row.order.exchange);
    }
    market
}

/// The market with only that exchange; bars stay.
fn alone(market: &Market, venue: &str) -> Market {
    let mut market = market.clone();
    market.orders.retain(|row| row.order.exchange == venue);
    let is_its = |exchange: &Option<String>| exchange.as_deref() == Some(venue);
    market.open_interest.retain(|row| is_its(&row.exchange));
    market
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_ledger_of_an_exchange_is_that_of_a_market_without_the_others(
        market in markets(INTERVAL, MOST).prop_map(on_two_venues),
        expected in any::<bool>(),
        at in 1..MOST as i64,
    ) {
        let model = if expected { Model::Expected } else { Model::Exposure };
        let now = NOW + at * INTERVAL;
        let all = market.observations(now);
        for venue in ["okx", "bybit"] {
            let view = all.at(None).of_venue(Some(venue));
            let found = heatmap(&view, market.coin, HeatmapRange::All, model, (Opened::Ever, ShownPrices::ALL));
            let map = liqmap(&view, market.coin, MapRange::All, Some(&model.into()));
            let alone = alone(&market, venue);
            if !alone.open_interest.iter().any(|row| row.timestamp.0 <= now) {
                let refused = matches!(found, Err(EngineError::UnknownVenue { .. }));
                let unknown = matches!(found, Err(EngineError::UnknownCoin { .. }));
                prop_assert!(refused || unknown);
                continue;
            }
            let alone = alone.observations(now);
            let wanted = heatmap(&alone.at(None), market.coin, HeatmapRange::All, model, (Opened::Ever, ShownPrices::ALL));
            let wanted_map = liqmap(&alone.at(None), market.coin, MapRange::All, Some(&model.into()));
            prop_assert_eq!(found.is_ok(), wanted.is_ok());
            let (Ok(found), Ok(mut wanted)) = (found, wanted) else { continue };
            prop_assert_eq!(found.explain.exchange.as_deref(), Some(venue));
            wanted.explain.exchange = Some(venue.to_owned());
            prop_assert_eq!(format!("{found:?}"), format!("{wanted:?}"));
            prop_assert_eq!(map.unwrap().reply, wanted_map.unwrap().reply);
        }
    }

    #[test]
    fn bins_of_any_width_hold_the_same_usd(
        market in markets(INTERVAL, MOST),
        width in -3.0..-0.01_f64,
    ) {
        let observations = market.observations(NOW + MOST as i64 * INTERVAL);
        let view = observations.at(None);
        let usual = liqmap(&view, market.coin, MapRange::All, None).unwrap().reply;
        let price = usual.current_price;
        let width = BinWidth::new(price * 10_f64.powf(width)).unwrap();
        let wide = liqmap_with(&view, market.coin, MapOptions { bin: Some(width), ..MapOptions::of(MapRange::All) }, None).unwrap();
        prop_assert_eq!(wide.reply.bin_width, width.get());
        for side in [Side::Long, Side::Short] {
            let sum = |map: &liqdata::model::LiquidationMap| -> f64 {
                map.bins.iter().filter(|bin| bin.side == side).map(|bin| bin.total).sum()
            };
            let (one, other) = (sum(&usual), sum(&wide.reply));
            prop_assert!((one - other).abs() <= 1e-9 * one.max(other), "{one} {other}");
        }
        for bin in &wide.reply.bins {
            // A bin edge lies at the current price.
            let place = (bin.price - price) / width.get() - 0.5;
            prop_assert!((place - place.round()).abs() < 1e-6);
            prop_assert_eq!(bin.price < price, bin.side == Side::Long);
        }
    }
}

#[test]
fn an_exchange_that_was_not_read_is_refused_with_those_that_were() {
    let bars = (0..5).map(|place| {
        let mut bar = bar("BTC", NOW + place * INTERVAL, 100.0);
        bar.interval = Some(INTERVAL);
        bar
    });
    let market = Market {
        coin: "BTC",
        bars: bars.collect(),
        open_interest: vec![
            reading("BTC", Some("okx"), NOW, 10.0),
            reading("BTC", Some("bybit"), NOW + 3 * INTERVAL, 20.0),
        ],
        orders: Vec::new(),
    };
    let observations = market.observations(NOW + 5 * INTERVAL);
    let refused = |venue, at| {
        let view = observations.at(Some(Millis(at))).of_venue(Some(venue));
        liqmap(&view, "BTC", MapRange::D1, None).map(|_| ())
    };
    assert_eq!(refused("okx", NOW + 2 * INTERVAL), Ok(()));
    assert_eq!(refused("bybit", NOW + 4 * INTERVAL), Ok(()));
    for (venue, at, known) in [
        ("bybit", NOW + 2 * INTERVAL, vec!["okx".to_owned()]),
        (
            "gate",
            NOW + 4 * INTERVAL,
            vec!["bybit".to_owned(), "okx".to_owned()],
        ),
    ] {
        let unknown = EngineError::UnknownVenue {
            coin: "BTC".to_owned(),
            exchange: venue.to_owned(),
            now: Millis(at),
            known,
        };
        assert_eq!(refused(venue, at), Err(unknown));
    }
    let unnamed = Market {
        open_interest: vec![reading("BTC", None, NOW, 10.0)],
        ..market
    };
    let unnamed = unnamed.observations(NOW + 5 * INTERVAL);
    let view = unnamed.at(None).of_venue(Some("okx"));
    assert!(matches!(
        liqmap(&view, "BTC", MapRange::D1, None),
        Err(EngineError::UnknownVenue { known, .. }) if known.is_empty()
    ));
}

#[test]
fn a_map_has_at_most_100_000_bins_and_none_is_wider_than_the_price_is_high() {
    let bars = (0..50).map(|place| {
        let mut bar = bar("BTC", NOW + place * INTERVAL, 100.0);
        bar.interval = Some(INTERVAL);
        bar
    });
    let market = Market {
        coin: "BTC",
        bars: bars.collect(),
        open_interest: Vec::new(),
        orders: Vec::new(),
    };
    let observations = market.observations(NOW + 50 * INTERVAL);
    let bins = |width: f64| {
        let width = BinWidth::new(width).unwrap();
        let model = Chosen::from(Model::Exposure);
        let view = observations.at(None);
        liqmap_with(
            &view,
            "BTC",
            MapOptions {
                bin: Some(width),
                ..MapOptions::of(MapRange::D1)
            },
            Some(&model),
        )
        .map(|_| ())
    };
    assert_eq!(bins(100.0), Ok(()));
    assert_eq!(bins(0.01), Ok(()));
    for width in [100.1, 1e300, 1e-4, f64::MIN_POSITIVE] {
        let refused = bins(width).unwrap_err();
        assert!(matches!(refused, EngineError::BadBin { .. }), "{width}");
        assert!(refused.to_string().contains("out of bounds"));
    }
}
