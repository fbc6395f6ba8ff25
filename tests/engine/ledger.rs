//! The ledger against a plain reference, its invariants, and closed forms.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "tests"
)]

use std::collections::BTreeMap;

use liqdata::engine::{FormingBar, Ledger, Parameters, Step, Tier, TurnoverClock};
use liqdata::model::{FineGrid, Side};
use proptest::prelude::*;

use super::oracle::Oracle;

const SIDES: [Side; 2] = [Side::Long, Side::Short];

fn tiers(leverages: &[f64], margin: f64, power: f64) -> Vec<Tier> {
    let weight = |leverage: f64| leverage.powf(power);
    let sum: f64 = leverages.iter().copied().map(weight).sum();
    leverages
        .iter()
        .map(|&leverage| Tier {
            leverage,
            maintenance: f64::min(
                if leverage >= 100.0 { 0.005 } else { margin },
                0.5 / leverage,
            ),
            weight: weight(leverage) / sum,
        })
        .collect()
}

/// Equal weights and one clock of a quarter a day.
fn one_clock(leverages: &[f64]) -> Parameters {
    Parameters {
        clocks: vec![clock(1.0, 0.25)],
        ..Parameters::new(tiers(leverages, 0.0065, 0.0))
    }
}

fn four_tiers() -> Parameters {
    one_clock(&[10.0, 25.0, 50.0, 100.0])
}

fn ten_tiers() -> Parameters {
    one_clock(&[5.0, 10.0, 15.0, 20.0, 25.0, 33.0, 50.0, 75.0, 100.0, 125.0])
}

fn clock(share: f64, per_day: f64) -> TurnoverClock {
    TurnoverClock { share, per_day }
}

/// The default parameters as `docs/explanation/model.md` lists them.
fn documented() -> Parameters {
    let leverages = [
        2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0, 25.0, 33.0, 50.0, 75.0, 100.0, 125.0,
    ];
    Parameters {
        clocks: vec![clock(0.3, 0.1), clock(0.7, 16.0)],
        kappa: 0.21,
        ..Parameters::new(tiers(&leverages, 0.005, -0.75))
    }
}

/// The documented parameters, and others with one clock or two arbitrary ones.
fn parameters() -> impl Strategy<Value = Parameters> {
    let clocks = (0.01..0.99, 0.0..3.0, 0.0..40.0).prop_map(|(share, slow, fast)| Parameters {
        clocks: vec![clock(share, slow), clock(1.0 - share, fast)],
        ..four_tiers()
    });
    prop_oneof![
        Just(four_tiers()),
        Just(ten_tiers()),
        Just(documented()),
        clocks
    ]
}

/// A tick: price change, whether the range so far is withdrawn, and the other inputs.
type Tick = (f64, bool, f64, f64, Option<(f64, f64)>);

fn ticks() -> impl Strategy<Value = Vec<Vec<Tick>>> {
    // Open interest near zero makes the scale of the cells tiny.
    let open_interest = prop_oneof![9 => 100.0..2000.0_f64, 1 => Just(1e-90), 1 => Just(0.0)];
    let price = prop_oneof![6 => -0.004..0.004_f64, 1 => -0.1..0.1_f64];
    let wrong = prop_oneof![7 => Just(false), 1 => Just(true)];
    let realised = prop::option::of((0.0..50.0_f64, 0.0..50.0_f64));
    let tick = (price, wrong, open_interest, 0.0..3.0_f64, realised);
    prop::collection::vec(prop::collection::vec(tick, 1..6), 1..25)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_bar_that_is_followed_tick_by_tick_is_the_closed_bar_at_every_tick(
        parameters in parameters(),
        bars in ticks(),
    ) {
        let mut stepped = Ledger::new(parameters, 1000.0);
        let mut followed = stepped.clone();
        let mut price: f64 = 100.0;
        for ticks in bars {
            let open = price;
            let mut forming = FormingBar::new(followed);
            prop_assert_eq!(forming.ledger(), &stepped);
            let (mut low, mut high): (f64, f64) = (open, open);
            let mut closed = stepped.clone();
            for (change, wrong, open_interest, volume_ratio, realised) in ticks {
                if wrong {
                    (low, high) = (open.min(price), open.max(price));
                }
                price *= change.exp();
                (low, high) = (low.min(price), high.max(price));
                let bar = Step {
                    low,
                    high,
                    close: price,
                    volume_ratio,
                    days: 15.0 / 1440.0,
                    open_interest,
                    realised: realised.map_or([None; 2], |(long, short)| [Some(long), Some(short)]),
                };
                closed = stepped.clone();
                closed.step(&bar);
                prop_assert_eq!(forming.tick(&bar), &closed);
            }
            stepped = closed;
            followed = forming.close();
            prop_assert_eq!(&followed, &stepped);
        }
    }
}

#[test]
fn the_default_parameters_are_the_documented_ones() {
    let parameters = Parameters::of(None, "BTC");
    let shares = parameters
        .shares
        .iter()
        .map(|one| (one.exchange.as_str(), one.shares));
    assert_eq!(shares.collect::<Vec<_>>(), [("hyperliquid", [1.0, 0.324])]);
    let without = Parameters {
        shares: Vec::new(),
        ..parameters.clone()
    };
    assert_eq!(without, documented());
    let weights: f64 = parameters.tiers.iter().map(|tier| tier.weight).sum();
    assert!(close(weights, 1.0, 1e-12));
}

/// A bar relative to the previous one.
#[derive(Clone, Debug)]
struct PriceMove {
    change: f64,
    above: f64,
    below: f64,
    volume_ratio: f64,
    open_interest: f64,
    realised: [Option<f64>; 2],
}

fn moves(most: usize) -> impl Strategy<Value = Vec<PriceMove>> {
    let realised = || prop::option::of(prop_oneof![Just(0.0), 0.0..40.0]);
    let one = (
        -0.02..0.02,
        0.0..0.01,
        0.0..0.01,
        prop_oneof![Just(0.0), 0.0..3.0, Just(500.0)],
        prop_oneof![9 => 0.8..1.25, 1 => 0.01..5.0],
        [realised(), realised()],
    )
        .prop_map(
            |(change, above, below, volume_ratio, open_interest, realised)| PriceMove {
                change,
                above,
                below,
                volume_ratio,
                open_interest,
                realised,
            },
        );
    prop::collection::vec(one, 1..most)
}

fn steps(moves: &[PriceMove], price: f64, open_interest: f64) -> Vec<Step> {
    let (mut price, mut open_interest) = (price, open_interest);
    moves
        .iter()
        .map(|step| {
            let open = price;
            let close = open * f64::exp(step.change);
            price = close;
            open_interest *= step.open_interest;
            Step {
                low: open.min(close) * f64::exp(-step.below),
                high: open.max(close) * f64::exp(step.above),
                close,
                volume_ratio: step.volume_ratio,
                days: 1.0 / 96.0,
                open_interest,
                realised: step.realised,
            }
        })
        .collect()
}

fn located(ledger: &Ledger, side: Side, tier: usize) -> BTreeMap<i64, f64> {
    ledger.located(side, tier).collect()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs())
}

/// Compares every cell, the unlocated mass, the crossed mass and the liquidated share to nine digits.
fn agree(ledger: &Ledger, oracle: &Oracle) -> Result<(), TestCaseError> {
    for side in SIDES {
        prop_assert!(close(
            ledger.phi()[side.index()],
            oracle.phi[side.index()],
            1e-9
        ));
        for tier in 0..ledger.parameters().tiers.len() {
            let cells = located(ledger, side, tier);
            let truth = oracle.located(side, tier);
            prop_assert!(
                cells.keys().eq(truth.keys()),
                "{side} {tier}: {cells:?} {truth:?}"
            );
            for (bin, mass) in &cells {
                prop_assert!(
                    close(*mass, truth[bin], 1e-9),
                    "{side} {tier} {bin}: {mass} {}",
                    truth[bin]
                );
            }
            prop_assert!(close(
                ledger.unlocated(side, tier),
                oracle.unlocated(side, tier),
                1e-9
            ));
            prop_assert!(close(
                ledger.flux(side, tier),
                oracle.flux[side.index()][tier],
                1e-9
            ));
        }
    }
    Ok(())
}

fn conserved(ledger: &Ledger) -> Result<(), TestCaseError> {
    for side in SIDES {
        for tier in 0..ledger.parameters().tiers.len() {
            let cells = located(ledger, side, tier);
            let unlocated = ledger.unlocated(side, tier);
            prop_assert!(unlocated >= 0.0);
            prop_assert!(cells.values().all(|mass| *mass > 0.0));
            let mass = cells.values().sum::<f64>() + unlocated;
            prop_assert!(
                close(mass, ledger.open_interest(), 1e-9),
                "{side} {tier}: {mass} {}",
                ledger.open_interest()
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_cell_equals_the_oracle(
        moves in moves(120),
        parameters in parameters(),
        p0 in prop_oneof![Just(1.0), Just(7.0)],
        price in prop_oneof![Just(100.0), 1e-5..1e5],
    ) {
        let mut parameters = parameters;
        parameters.grid.p0 = p0;
        let mut ledger = Ledger::new(parameters.clone(), 1000.0);
        let mut oracle = Oracle::new(parameters, 1000.0);
        for (i, step) in steps(&moves, price, 1000.0).iter().enumerate() {
            if i % 29 == 28 {
                ledger.lapse(0.7);
                oracle.lapse(0.7);
            }
            ledger.step(step);
            oracle.step(step);
            agree(&ledger, &oracle)?;
        }
    }

    #[test]
    fn mass_is_conserved_and_never_negative(moves in moves(120), parameters in parameters()) {
        let mut ledger = Ledger::new(parameters.clone(), 1000.0);
        for (i, step) in steps(&moves, 100.0, 1000.0).iter().enumerate() {
            if i % 17 == 16 {
                ledger.lapse(0.3);
                conserved(&ledger)?;
            }
            ledger.step(step);
            conserved(&ledger)?;
            for side in SIDES {
                prop_assert!((0.0..=1.0).contains(&ledger.phi()[side.index()]));
                prop_assert!((0.0..=1.0 + 1e-9).contains(&ledger.located_share()[side.index()]));
            }
        }
    }

    #[test]
    fn no_position_is_left_beyond_the_price(moves in moves(80), parameters in parameters()) {
        let mut ledger = Ledger::new(parameters.clone(), 1000.0);
        for step in steps(&moves, 100.0, 1000.0) {
            let before = ledger.clone();
            ledger.step(&step);
            let grid = ledger.parameters().grid;
            let last = grid.bin(step.close);
            let mut fresh = Ledger::new(parameters.clone(), 0.0);
            fresh.step(&step);
            for tier in 0..parameters.tiers.len() {
                prop_assert!(ledger.located(Side::Long, tier).all(|(bin, _)| bin < last));
                prop_assert!(ledger.located(Side::Short, tier).all(|(bin, _)| bin > last));
                for (side, swept) in [
                    (Side::Long, grid.bin(step.low)..i64::MAX),
                    (Side::Short, i64::MIN..grid.bin(step.high) + 1),
                ] {
                    let (now, deposits) = (located(&ledger, side, tier), located(&fresh, side, tier));
                    for (bin, _) in before.located(side, tier) {
                        if swept.contains(&bin) && !deposits.contains_key(&bin) {
                            prop_assert!(!now.contains_key(&bin), "older mass survives in {bin}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn prices_in_another_unit_give_the_same_bins(moves in moves(60), parameters in parameters(), factor in 0.001..1000.0) {
        let mut scaled = parameters.clone();
        scaled.grid.p0 = factor;
        let mut ledger = Ledger::new(parameters.clone(), 1000.0);
        let mut other = Ledger::new(scaled, 1000.0);
        for step in steps(&moves, 100.0, 1000.0) {
            ledger.step(&step);
            other.step(&Step {
                low: step.low * factor,
                high: step.high * factor,
                close: step.close * factor,
                ..step
            });
        }
        for side in SIDES {
            for tier in 0..parameters.tiers.len() {
                let (a, b) = (located(&ledger, side, tier), located(&other, side, tier));
                prop_assert!(a.keys().eq(b.keys()));
                prop_assert!(a.iter().all(|(bin, mass)| close(*mass, b[bin], 1e-9)));
            }
        }
    }

    #[test]
    fn contracts_in_another_unit_give_proportional_masses(moves in moves(60), parameters in parameters(), factor in 0.001..1000.0) {
        let mut ledger = Ledger::new(parameters.clone(), 1000.0);
        let mut other = Ledger::new(parameters.clone(), 1000.0 * factor);
        for step in steps(&moves, 100.0, 1000.0) {
            ledger.step(&step);
            other.step(&Step {
                open_interest: step.open_interest * factor,
                realised: step.realised.map(|known| known.map(|realised| realised * factor)),
                ..step
            });
        }
        for side in SIDES {
            prop_assert!(close(ledger.phi()[side.index()], other.phi()[side.index()], 1e-9));
            for tier in 0..parameters.tiers.len() {
                let (a, b) = (located(&ledger, side, tier), located(&other, side, tier));
                prop_assert!(a.keys().eq(b.keys()));
                prop_assert!(a.iter().all(|(bin, mass)| close(mass * factor, b[bin], 1e-9)));
            }
        }
    }

    #[test]
    fn a_lower_low_sweeps_no_fewer_longs_and_no_other_shorts(moves in moves(60), parameters in parameters(), deeper in 0.0..0.1_f64) {
        let all = steps(&moves, 100.0, 1000.0);
        let (last, before) = all.split_last().unwrap();
        let mut ledger = Ledger::new(parameters.clone(), 1000.0);
        for step in before {
            ledger.step(step);
        }
        let mut other = ledger.clone();
        ledger.step(last);
        other.step(&Step { low: last.low * f64::exp(-deeper), ..*last });
        for tier in 0..parameters.tiers.len() {
            prop_assert!(other.flux(Side::Long, tier) >= ledger.flux(Side::Long, tier) * (1.0 - 1e-12));
            prop_assert_eq!(other.flux(Side::Short, tier), ledger.flux(Side::Short, tier));
        }
    }

    #[test]
    fn a_bar_in_which_nothing_happens_changes_nothing(moves in moves(60), parameters in parameters()) {
        let mut ledger = Ledger::new(parameters.clone(), 1000.0);
        let all = steps(&moves, 100.0, 1000.0);
        for step in &all {
            ledger.step(step);
        }
        let before = ledger.clone();
        let last = all.last().unwrap();
        ledger.step(&Step {
            low: last.close,
            high: last.close,
            days: 0.0,
            realised: [None; 2],
            ..*last
        });
        for side in SIDES {
            for tier in 0..parameters.tiers.len() {
                prop_assert_eq!(located(&ledger, side, tier), located(&before, side, tier));
                prop_assert_eq!(ledger.unlocated(side, tier), before.unlocated(side, tier));
                prop_assert_eq!(ledger.flux(side, tier), 0.0);
            }
        }
    }

    #[test]
    fn a_higher_churn_lowers_every_older_cell(moves in moves(60), parameters in parameters(), more in 0.05..1.0) {
        let mut all = steps(&moves, 100.0, 1000.0);
        let last = all.last_mut().unwrap();
        last.volume_ratio = 1.0;
        let (last, before) = all.split_last().unwrap();
        let mut ledger = Ledger::new(parameters.clone(), 1000.0);
        for step in before {
            ledger.step(step);
        }
        let older = ledger.clone();
        let mut other = ledger.clone();
        ledger.step(last);
        // More volume means more churn; all else is equal.
        other.step(&Step { volume_ratio: 1.0 + more, ..*last });
        let mut fresh = Ledger::new(parameters.clone(), 0.0);
        fresh.step(last);
        for side in SIDES {
            for tier in 0..parameters.tiers.len() {
                let deposits = located(&fresh, side, tier);
                let (a, b) = (located(&ledger, side, tier), located(&other, side, tier));
                for (bin, _) in older.located(side, tier) {
                    if let (Some(a), Some(b)) = (a.get(&bin), b.get(&bin))
                        && !deposits.contains_key(&bin)
                    {
                        prop_assert!(b < a);
                    }
                }
            }
        }
    }

    #[test]
    fn a_tier_does_not_depend_on_the_others(moves in moves(60), parameters in parameters()) {
        let mut moves = moves;
        // Crossed mass is split by weights only with known liquidations.
        for step in &mut moves {
            step.realised = [None; 2];
        }
        let mut ledger = Ledger::new(parameters.clone(), 1000.0);
        let mut alone: Vec<Ledger> = parameters.tiers.clone()
            .into_iter()
            .map(|tier| Ledger::new(Parameters { tiers: vec![tier], ..parameters.clone() }, 1000.0))
            .collect();
        for step in steps(&moves, 100.0, 1000.0) {
            ledger.step(&step);
            for (tier, alone) in alone.iter_mut().enumerate() {
                alone.step(&step);
                for side in SIDES {
                    prop_assert_eq!(located(&ledger, side, tier), located(alone, side, 0));
                    prop_assert_eq!(ledger.flux(side, tier), alone.flux(side, 0));
                }
            }
        }
    }

    #[test]
    fn a_resumed_ledger_equals_a_replay_bit_for_bit(moves in moves(60), parameters in parameters(), cut in 0..60_usize) {
        let all = steps(&moves, 100.0, 1000.0);
        let mut whole = Ledger::new(parameters.clone(), 1000.0);
        for step in &all {
            whole.step(step);
        }
        let cut = cut.min(all.len());
        let mut first = Ledger::new(parameters.clone(), 1000.0);
        for step in &all[..cut] {
            first.step(step);
        }
        let mut rest = first.clone();
        drop(first);
        for step in &all[cut..] {
            rest.step(step);
        }
        prop_assert_eq!(whole, rest);
    }
}

/// A bar that stays at `price`.
fn still(price: f64, open_interest: f64) -> Step {
    Step {
        low: price,
        high: price,
        close: price,
        volume_ratio: 1.0,
        days: 0.0,
        open_interest,
        realised: [None; 2],
    }
}

fn certain() -> Parameters {
    Parameters {
        clocks: vec![clock(1.0, 0.0)],
        phi0: 1.0,
        ..four_tiers()
    }
}

#[test]
fn one_deposit_lies_at_its_liquidation_price() {
    let mut ledger = Ledger::new(certain(), 0.0);
    ledger.step(&still(100.0, 40.0));
    let grid = FineGrid::default();
    for (tier, (long, short)) in [
        (90.588_827_377_956_72, 109.289_617_486_338_8),
        (96.628_082_536_487_17, 103.328_365_623_447_6),
        (98.641_167_589_330_65, 101.341_281_669_150_5),
        (99.497_487_437_185_92, 100.497_512_437_810_9),
    ]
    .into_iter()
    .enumerate()
    {
        for (side, price) in [(Side::Long, long), (Side::Short, short)] {
            let cells = located(&ledger, side, tier);
            assert_eq!(cells.keys().copied().collect::<Vec<_>>(), [grid.bin(price)]);
            assert!(close(cells[&grid.bin(price)], 40.0, 1e-12));
        }
    }
}

#[test]
fn falling_open_interest_closes_in_proportion() {
    let mut ledger = Ledger::new(certain(), 0.0);
    ledger.step(&still(100.0, 40.0));
    ledger.step(&still(101.0, 60.0));
    let before: Vec<_> = (0..3)
        .map(|tier| located(&ledger, Side::Long, tier))
        .collect();
    ledger.step(&still(101.0, 45.0));
    for (tier, before) in before.iter().enumerate() {
        assert_eq!(before.len(), 2);
        for (bin, mass) in located(&ledger, Side::Long, tier) {
            assert!(close(mass, before[&bin] * 0.75, 1e-12));
        }
    }
}

#[test]
fn a_bin_is_swept_when_it_is_touched_and_not_before() {
    let grid = FineGrid::default();
    let mut ledger = Ledger::new(certain(), 0.0);
    ledger.step(&still(100.0, 40.0));
    let (bin, _) = ledger.located(Side::Long, 3).next().unwrap();
    let touch = |low| Step {
        low,
        high: 100.0,
        ..still(100.0, 40.0)
    };
    let mut above = ledger.clone();
    above.step(&touch(grid.mid(bin + 1)));
    assert_eq!(above.flux(Side::Long, 3), 0.0);
    ledger.step(&touch(grid.mid(bin)));
    assert!(close(ledger.flux(Side::Long, 3), 40.0, 1e-12));
    assert_eq!(ledger.flux(Side::Long, 2), 0.0);
    assert_eq!(ledger.flux(Side::Short, 3), 0.0);
}

#[test]
fn crossed_unliquidated_mass_becomes_unlocated() {
    let mut ledger = Ledger::new(
        Parameters {
            phi0: 0.05,
            ..certain()
        },
        0.0,
    );
    ledger.step(&still(100.0, 40.0));
    ledger.step(&Step {
        low: 98.9,
        high: 100.0,
        ..still(99.9, 40.0)
    });
    assert!(close(ledger.unlocated(Side::Long, 3), 38.0, 1e-12));
    let replaced: f64 = ledger.located(Side::Long, 3).map(|(_, mass)| mass).sum();
    assert!(close(replaced, 2.0, 1e-12));
    assert_eq!(ledger.unlocated(Side::Short, 3), 0.0);
}

#[test]
fn the_realised_amount_says_how_much_of_the_swept_mass_died() {
    let mut known = Ledger::new(certain(), 0.0);
    known.step(&still(100.0, 40.0));
    let swept = |realised| Step {
        low: 98.9,
        high: 100.0,
        realised: [realised, Some(7.0)],
        ..still(99.9, 40.0)
    };
    let mut some = known.clone();
    // Only tier 100 was crossed: 40 contracts with a weight of a quarter.
    some.step(&swept(Some(2.5)));
    assert_eq!(some.phi(), [0.25, 0.0]);
    let mut all = known.clone();
    all.step(&swept(Some(1e6)));
    assert_eq!(all.phi(), [1.0, 0.0]);
    known.step(&swept(Some(0.0)));
    assert_eq!(known.phi(), [0.0, 0.0]);
    assert!(close(known.unlocated(Side::Long, 3), 40.0, 1e-12));
}

#[test]
fn constant_deposits_settle_at_their_sum_over_the_loss() {
    let mut ledger = Ledger::new(
        Parameters {
            clocks: vec![clock(1.0, 0.1)],
            ..certain()
        },
        50.0,
    );
    let step = Step {
        days: 1.0,
        ..still(100.0, 50.0)
    };
    // Every bar replaces a tenth of 50, and nine tenths of the previous mass remain.
    for bars in 1..=500 {
        ledger.step(&step);
        let standing = 5.0 * (1.0 - 0.9_f64.powi(bars)) / (1.0 - 0.9);
        for side in SIDES {
            for tier in 0..4 {
                let mass: f64 = ledger.located(side, tier).map(|(_, mass)| mass).sum();
                assert!(close(mass, standing, 1e-9), "{bars}: {mass} {standing}");
            }
        }
    }
}

#[test]
fn a_vanishing_factor_is_folded_into_the_cells_without_loss() {
    let parameters = certain();
    let mut ledger = Ledger::new(parameters.clone(), 1e9);
    let mut oracle = Oracle::new(parameters, 1e9);
    // Ten decades down and up again: the scale shrinks by 1e-10 in each of 40 rounds.
    for round in 0..80 {
        let step = still(
            100.0 + 0.05 * f64::from(round % 7),
            if round % 2 == 0 { 0.1 } else { 1e9 },
        );
        ledger.step(&step);
        oracle.step(&step);
        conserved(&ledger).unwrap();
    }
    for side in SIDES {
        for tier in 0..4 {
            let cells = located(&ledger, side, tier);
            let truth: f64 = oracle.located(side, tier).values().sum();
            assert!(close(cells.values().sum(), truth, 1e-9));
        }
    }
}

#[test]
fn a_gap_makes_positions_unlocated_but_removes_none() {
    let mut ledger = Ledger::new(
        Parameters {
            clocks: vec![clock(1.0, 0.25)],
            ..certain()
        },
        0.0,
    );
    ledger.step(&still(100.0, 40.0));
    let mut long = ledger.clone();
    ledger.lapse(1.0);
    long.lapse(30.0);
    for side in SIDES {
        for tier in 0..4 {
            let (bin, mass) = ledger.located(side, tier).next().unwrap();
            assert!(close(mass, 30.0, 1e-12));
            assert!(close(ledger.unlocated(side, tier), 10.0, 1e-12));
            assert!(close(located(&long, side, tier)[&bin], 20.0, 1e-12));
        }
    }
    assert_eq!(ledger.open_interest(), 40.0);
}

#[test]
fn an_open_interest_of_zero_empties_the_ledger_and_it_fills_again() {
    let mut ledger = Ledger::new(four_tiers(), 1000.0);
    ledger.step(&still(100.0, 1200.0));
    ledger.step(&still(100.0, 0.0));
    assert_eq!(ledger.located_share(), [0.0; 2]);
    assert!(ledger.located(Side::Long, 0).next().is_none());
    ledger.step(&still(100.0, 10.0));
    assert!((ledger.located_share()[0] - 1.0).abs() < 1e-12);
    conserved(&ledger).unwrap();
}
