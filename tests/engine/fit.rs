//! The online fit on markets with a known reported share.

use liqdata::engine::{Fit, FitState, Observations, PriceMove, crossed_by_moves, heatmap, liqmap};
use liqdata::model::{
    Chosen, HeatmapRange, MapRange, Millis, Model, ObservedBar, ObservedLiquidations,
    ObservedOpenInterest, Opened, ShownPrices, Specification,
};

use crate::{DAY, HOUR, MINUTE, NOW};

const COIN: &str = "BTC";
const DAYS: i64 = 60;

/// A price path in bars of a quarter of an hour, determined by its seed.
fn path(seed: u64, days: i64) -> (Vec<ObservedBar>, Vec<ObservedOpenInterest>) {
    let mut chance = fastrand::Rng::with_seed(seed);
    let mut normal = move || (0..12).map(|_| chance.f64()).sum::<f64>() - 6.0;
    let mut price = 60_000.0;
    let mut bars = Vec::new();
    let mut readings = Vec::new();
    for place in 0..days * 96 {
        let open = price;
        let close = open * (0.003 * normal()).exp();
        let timestamp = Millis(NOW - days * DAY + place * 15 * MINUTE);
        bars.push(ObservedBar {
            symbol: COIN.to_owned(),
            timestamp,
            closes_at: None,
            open,
            high: open.max(close) * (0.001 * normal().abs()).exp(),
            low: open.min(close) * (-0.001 * normal().abs()).exp(),
            close,
            volume: 5_000.0 * (0.3 * normal()).exp(),
            interval: Some(15 * MINUTE),
        });
        readings.push(ObservedOpenInterest {
            symbol: COIN.to_owned(),
            exchange: None,
            timestamp,
            open_interest: 80_000.0 * (0.02 * normal()).exp(),
        });
        price = close;
    }
    (bars, readings)
}

/// Price moves of whole hours, each from its four bars.
fn moves(bars: &[ObservedBar]) -> Vec<PriceMove> {
    let hours = bars.chunks_exact(4);
    hours
        .map(|hour| PriceMove {
            at: hour[0].timestamp,
            low: hour.iter().fold(f64::INFINITY, |low, bar| low.min(bar.low)),
            high: hour.iter().fold(0.0, |high: f64, bar| high.max(bar.high)),
        })
        .collect()
}

/// A market that reports `share` of the crossed USD, by day and side, times the mean of `calm` exponentials.
fn reported(
    seed: u64,
    days: i64,
    model: &Chosen,
    calm: u32,
    share: impl Fn(i64, usize) -> f64,
) -> (Observations, Vec<PriceMove>) {
    let (bars, readings) = path(seed, days);
    let moves = moves(&bars);
    let unfitted = Observations::new(Vec::new(), bars.clone(), readings.clone(), None).unwrap();
    let of_map = crossed_by_moves(&unfitted.at(None), COIN, model, &moves).unwrap();
    let mut chance = fastrand::Rng::with_seed(seed + 1);
    let mut noise = || {
        let sum: f64 = (0..calm).map(|_| -chance.f64().max(1e-12).ln()).sum();
        sum / f64::from(calm)
    };
    let rows = moves.iter().zip(of_map).filter_map(|(one, usd)| {
        let day = (one.at.0 - (NOW - days * DAY)) / DAY;
        let [longs, shorts] = usd?;
        Some(ObservedLiquidations {
            symbol: COIN.to_owned(),
            timestamp: one.at,
            long_usd: share(day, 0) * longs * noise(),
            short_usd: share(day, 1) * shorts * noise(),
            interval: Some(HOUR),
        })
    });
    let made = Observations::new(Vec::new(), bars, readings, None).unwrap();
    (made.with_liquidations(rows.collect()).unwrap(), moves)
}

/// As `reported` of the exposure map, with the noise of single exponentials.
fn market(
    seed: u64,
    days: i64,
    share: impl Fn(i64, usize) -> f64,
) -> (Observations, Vec<PriceMove>) {
    reported(seed, days, &Model::Exposure.into(), 1, share)
}

fn own(specification: Specification) -> Chosen {
    Chosen::Own(Box::new(specification))
}

/// The fit behind the present map.
fn fit_of(made: &Observations, model: &Chosen) -> Fit {
    let map = liqmap(&made.at(None), COIN, MapRange::D7, Some(model)).unwrap();
    map.explain.fit.unwrap()
}

fn expected() -> Chosen {
    Model::Expected.into()
}

/// Predicted and realised USD of each hour in the last `days`.
fn predicted_and_realised(
    made: &Observations,
    moves: &[PriceMove],
    days: i64,
) -> Vec<(PriceMove, [f64; 2], [f64; 2])> {
    let predicted = crossed_by_moves(&made.at(None), COIN, &expected(), moves).unwrap();
    let realised = made.liquidations();
    let realised: std::collections::BTreeMap<Millis, [f64; 2]> = realised
        .map(|row| (row.timestamp, [row.long_usd, row.short_usd]))
        .collect();
    moves
        .iter()
        .zip(predicted)
        .filter(|(one, _)| one.at.0 >= NOW - days * DAY)
        .filter_map(|(one, predicted)| Some((*one, predicted?, *realised.get(&one.at)?)))
        .collect()
}

#[test]
fn the_reported_share_is_fitted_for_each_side() {
    let share = |_, side| [0.05, 0.12][side];
    let (made, _) = reported(1, DAYS, &Model::Exposure.into(), 100, share);
    let map = liqmap(&made.at(None), COIN, MapRange::D7, Some(&expected())).unwrap();
    let fit = map.explain.fit.unwrap();
    assert_eq!(
        (fit.state, fit.from),
        (FitState::Fitted, Some("liquidations"))
    );
    assert!(fit.with_liquidations > 1000, "{}", fit.with_liquidations);
    let [long, short] = fit.kappa;
    assert!((0.045..0.055).contains(&long), "{long}");
    assert!((0.108..0.132).contains(&short), "{short}");
    assert_eq!(map.explain.kappa, Some(fit.kappa));
    for (theta, kappa) in fit.theta.iter().zip(fit.kappa) {
        assert!((theta.iter().sum::<f64>() / kappa - 1.0).abs() < 1e-12);
    }
    // Nothing comes from the path here; the prior expected a quarter.
    assert!(fit.path_share.unwrap().iter().all(|share| *share < 0.22));
    assert!(fit.score.unwrap() > 0.05, "{:?}", fit.score);
}

#[test]
fn a_month_of_data_fits_the_reported_share_up_to_noise() {
    const SEEDS: u64 = 8;
    let mut means = [0.0; 2];
    for seed in 20..20 + SEEDS {
        let share = |_, side| [0.05, 0.10][side];
        let (made, _) = market(seed, 30, share);
        for (mean, kappa) in means.iter_mut().zip(fit_of(&made, &expected()).kappa) {
            *mean += kappa / SEEDS as f64;
        }
    }
    let [long, short] = means;
    assert!((0.045..0.055).contains(&long), "{long}");
    assert!((0.09..0.11).contains(&short), "{short}");
}

#[test]
fn predictions_are_calibrated_under_a_drifting_share() {
    let mut sums = [0.0; 2];
    for seed in [3, 4, 5] {
        let drifts = |day: i64, side: usize| {
            0.04 * (1.0 + 0.6 * ((day + 7 * side as i64) as f64 / 9.0).sin())
        };
        let (made, moves) = market(seed, 90, drifts);
        for (_, predicted, realised) in predicted_and_realised(&made, &moves, 60) {
            sums[0] += predicted[0] + predicted[1];
            sums[1] += realised[0] + realised[1];
        }
    }
    let calibration = sums[0] / sums[1];
    assert!((0.95..1.05).contains(&calibration), "{calibration}");
}

#[test]
fn the_interval_covers_four_fifths_of_the_realised_usd() {
    let (made, moves) = market(6, 120, |_, _| 0.06);
    let (mut inside, mut all) = (0.0, 0.0);
    let hours = predicted_and_realised(&made, &moves, 28);
    let every = 7 * 24;
    for week in hours.chunks(every) {
        let as_of = Some(week[0].0.at);
        let map = liqmap(&made.at(as_of), COIN, MapRange::D7, Some(&expected())).unwrap();
        let interval = map.explain.fit.unwrap().interval.unwrap();
        assert_eq!(interval.ends, [0.01, 0.02, 0.05]);
        for (one, predicted, realised) in week {
            let close = made
                .bars(COIN)
                .iter()
                .take_while(|bar| bar.close_time() <= one.at)
                .last();
            let Some(close) = close.map(|bar| bar.close) else {
                continue;
            };
            let beyond = [1.0 - one.low / close, one.high / close - 1.0];
            for (side, factors) in [&interval.long, &interval.short].into_iter().enumerate() {
                let place = interval.ends.iter().position(|end| beyond[side] < *end);
                let Some([low, high]) = place.and_then(|place| factors[place]) else {
                    continue;
                };
                all += predicted[side];
                if (low * predicted[side]..=high * predicted[side]).contains(&realised[side]) {
                    inside += predicted[side];
                }
            }
        }
    }
    let share = inside / all;
    assert!((0.74..0.92).contains(&share), "{share}");
}

#[test]
fn the_prior_stands_until_two_hundred_periods_have_liquidations() {
    let (made, moves) = market(7, 20, |_, _| 0.06);
    let known = |hours: usize| {
        let as_of = Some(moves[hours].at);
        let map = liqmap(&made.at(as_of), COIN, MapRange::D1, None).unwrap();
        (
            map.explain.model_number,
            map.explain.fit.map(|fit| fit.state),
        )
    };
    // Without a fit the map is that of model 2.
    assert_eq!(known(190), (2, None));
    assert_eq!(known(300), (3, Some(FitState::Fitted)));
    let as_of = Some(moves[190].at);
    let map = heatmap(
        &made.at(as_of),
        COIN,
        HeatmapRange::D3,
        Model::Expected,
        (Opened::Ever, ShownPrices::ALL),
    )
    .unwrap();
    let fit = map.explain.fit.unwrap();
    assert_eq!((fit.state, fit.interval), (FitState::Prior, None));
    assert!((150..190).contains(&fit.with_liquidations));
    assert!((map.explain.kappa.unwrap()[0] - 0.21).abs() < 1e-12);
    let none = Observations::new(Vec::new(), path(7, 20).0, Vec::new(), None).unwrap();
    let map = liqmap(&none.at(None), COIN, MapRange::D1, Some(&expected())).unwrap();
    let fit = map.explain.fit.unwrap();
    assert_eq!(
        (fit.state, fit.from, fit.periods),
        (FitState::Prior, None, 0)
    );
}

#[test]
fn a_fit_uses_no_data_after_its_day() {
    let (made, moves) = market(8, 40, |_, _| 0.06);
    let cut = NOW - 10 * DAY;
    let changed: Vec<ObservedLiquidations> = made
        .liquidations()
        .map(|row| {
            let times = if row.timestamp.0 >= cut { 50.0 } else { 1.0 };
            ObservedLiquidations {
                long_usd: row.long_usd * times,
                ..row
            }
        })
        .collect();
    let (_, bars, readings) = made.rows();
    let other = Observations::new(Vec::new(), bars, readings, None).unwrap();
    let other = other.with_liquidations(changed).unwrap();
    let both = [&made, &other]
        .map(|made| crossed_by_moves(&made.at(None), COIN, &expected(), &moves).unwrap());
    let day = cut + DAY;
    let mut differ = 0;
    for (place, one) in moves.iter().enumerate() {
        if one.at.0 < day {
            assert_eq!(both[0][place], both[1][place]);
        } else if both[0][place] != both[1][place] {
            differ += 1;
        }
    }
    assert!(differ > 100, "{differ}");
    // The answer does not depend on earlier questions.
    let alone = market(8, 40, |_, _| 0.06).0;
    let as_of = Some(Millis(cut));
    for made in [&made, &other, &alone] {
        let map = liqmap(&made.at(as_of), COIN, MapRange::D7, None).unwrap();
        let first = liqmap(&alone.at(as_of), COIN, MapRange::D7, None).unwrap();
        assert_eq!(map, first);
    }
}

#[test]
fn a_fit_uses_no_outlier_verdict_after_its_day() {
    let made = market(8, 40, |_, _| 0.06).0;
    let (_, bars, mut readings) = made.rows();
    // No open interest from two hours before midnight until half an hour after it.
    let midnight = NOW - 10 * DAY;
    for reading in &mut readings {
        if (midnight - 2 * HOUR..=midnight + 30 * MINUTE).contains(&reading.timestamp.0) {
            reading.open_interest = 0.0;
        }
    }
    let map = |until: i64| {
        let bars = bars
            .iter()
            .filter(|bar| bar.timestamp.0 + 15 * MINUTE <= until);
        let readings = readings.iter().filter(|row| row.timestamp.0 <= until);
        let (bars, readings) = (bars.cloned().collect(), readings.cloned().collect());
        let known = Observations::new(Vec::new(), bars, readings, None).unwrap();
        let liquidations = made
            .liquidations()
            .filter(|row| row.timestamp.0 + HOUR <= until);
        let known = known.with_liquidations(liquidations.collect()).unwrap();
        liqmap(&known.at(Some(Millis(midnight))), COIN, MapRange::D7, None).unwrap()
    };
    let as_of = map(midnight);
    assert_eq!(as_of.explain.open_interest_unjudged, 9);
    assert_eq!(as_of.explain.fit.as_ref().unwrap().state, FitState::Fitted);
    assert_eq!(map(NOW), as_of);
}

#[test]
fn reported_tiers_are_distinguished_from_unreported_ones() {
    // A tenth of the tiers from 50 on is reported, and nothing of those below.
    let high = own(Specification {
        tiers: Some(vec![50, 75, 100, 125]),
        ..Specification::default()
    });
    let (made, _) = reported(9, DAYS, &high, 100, |_, _| 0.1);
    let plain = Specification::default();
    // Movement of the reported tiers away from the prior, over that of the others.
    let ratio = |nu: Option<f64>| {
        let model = own(Specification {
            kappa0: Some(0.3),
            nu,
            ..plain.clone()
        });
        let fit = fit_of(&made, &model);
        let tiers = plain.leverages().iter();
        let mut sums = [[0.0; 2]; 2];
        for (leverage, theta) in tiers.zip(&fit.theta[0]) {
            let prior = f64::from(*leverage).powf(-0.75);
            let [found, before] = &mut sums[usize::from(*leverage >= 50)];
            *found += theta;
            *before += prior;
        }
        let [low, high] = sums.map(|[found, before]| found / before);
        high / low
    };
    let (weak, usual, fixed) = (ratio(Some(0.1)), ratio(None), ratio(Some(1e5)));
    assert!(weak > usual && usual > 1.2, "{weak} {usual}");
    assert!((fixed - 1.0).abs() < 0.01, "{fixed}");
}

#[test]
fn liquidations_that_a_map_does_not_explain_do_not_raise_its_factors() {
    let (made, _) = market(10, DAYS, |_, _| 0.06);
    // Positions with leverage 2 lie beyond the price path.
    let far = own(Specification {
        tiers: Some(vec![2]),
        kappa0: Some(0.3),
        ..Specification::default()
    });
    let fit = fit_of(&made, &far);
    assert_eq!(fit.state, FitState::Fitted);
    assert!(fit.path_share.unwrap().iter().all(|share| *share > 0.99));
    assert!(
        fit.kappa.iter().all(|kappa| *kappa < 1.0),
        "{:?}",
        fit.kappa
    );
}

#[test]
fn a_side_without_liquidations_has_a_small_share() {
    let (made, moves) = market(11, DAYS, |_, side| [0.06, 0.0][side]);
    let [long, short] = fit_of(&made, &expected()).kappa;
    assert!(short < 0.02 * long, "{long} {short}");
    // A single dollar does not change the result.
    let changed: Vec<ObservedLiquidations> = made
        .liquidations()
        .map(|row| ObservedLiquidations {
            short_usd: if row.timestamp == moves[moves.len() / 2].at {
                1.0
            } else {
                0.0
            },
            ..row
        })
        .collect();
    let (_, bars, readings) = made.rows();
    let other = Observations::new(Vec::new(), bars, readings, None).unwrap();
    let other = other.with_liquidations(changed).unwrap();
    let [_, with] = fit_of(&other, &expected()).kappa;
    assert!((with / short - 1.0).abs() < 1e-3, "{short} {with}");
}
