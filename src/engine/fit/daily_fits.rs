//! The fit day by day: at the beginning of each UTC day on what was known by then, and held against that day.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::engine::Parameters;
use crate::engine::fit::day::day_of;
use crate::engine::fit::fit::{Fit, State};
use crate::engine::fit::fit_samples::{Sided, Study};
use crate::engine::fit::gamma_poisson::{Rows, Weights};
use crate::engine::fit::interval;
use crate::engine::fit::interval::Past;
use crate::engine::fit::outlier_cap;
use crate::engine::observations::coin_history::days;
use crate::model::Millis;

/// A period so many days ago counts half for the weights.
const HALF_LIFE: f64 = 30.0;

/// And for the level of the whole map, which wanders from week to week. Chosen on simulations; docs/scorecard.md has what
/// the fit is worth.
const LEVEL_HALF_LIFE: f64 = 3.0;

/// How many typical periods it takes to move the level of the last days half of the way. Chosen on simulations.
const LUCK: f64 = 8.0;

/// A period so many days ago counts half for what levels told too little, and so many typical periods count for that they
/// told what came. Chosen on simulations.
const SHORTFALL_HALF_LIFE: f64 = 60.0;
const SHORTFALL_PRIOR: f64 = 40.0;

/// For so long after its first day a fit still learns what it cannot have told: none of it counts as told too little.
const SETTLING: i64 = 14 * Millis::DAY;

/// How much more than the level of all tiers it takes to move one of them. Chosen on simulations.
const OF_A_TIER: f64 = 10.0;

/// Older periods are let go: they would count for a sixty-fourth.
const SPAN: i64 = 180 * Millis::DAY;

/// One period counts for so much of all at most, as far as the weights go, and the level of the last days.
const OF_ALL: f64 = 0.2;
const OF_LATE: f64 = 1.0 / 3.0;

/// The prior stands until so many periods with liquidations are known.
pub(crate) const LEAST: usize = 200;

/// What the map is worth is told of so many days.
const RECENT: i64 = 30 * Millis::DAY;

/// Terms of the path, which keep what has nothing to do with the map out of its weights: a constant, how far the price
/// went beyond the close before in basis points plus one, and that to the power of 1.5.
const PATH: usize = 3;

/// Of what is liquidated, the share that each term of the path is expected to carry before anything is known.
const PATH_SHARE: f64 = 0.25 / 3.0;

/// The fits of one coin and one model, as far as they have been asked for.
#[derive(Debug)]
pub(crate) struct Learning {
    study: Study,
    /// What each tier's weight is before anything is known.
    prior: Vec<f64>,
    /// Their sum.
    kappa: f64,
    nu: f64,
    days: BTreeMap<Millis, Arc<Fit>>,
    /// The first day that is not fitted yet.
    next: Option<Millis>,
    /// Per side, what was found the day before.
    near: [Near; 2],
    /// Per side and period, what was expected of it before it began.
    expected: [Vec<Expected>; 2],
}

/// What was expected of a period before it began, in USD.
#[derive(Clone, Copy, Debug)]
struct Expected {
    /// By the map as it was told.
    told: f64,
    /// By the map at the level that was learnt.
    learnt: f64,
    /// By the map and the path.
    both: f64,
    /// By the path alone, fitted without a map.
    path: f64,
}

/// Where the weights of a side are sought, over their prior means.
#[derive(Clone, Debug, Default)]
struct Near {
    whole: Vec<f64>,
    each: Vec<f64>,
    alone: Vec<f64>,
}

/// One side's fit on one day.
struct Side {
    /// Share of each crossed USD that is expected to be reported, by tier, before the level is corrected.
    theta: Vec<f64>,
    spread: Vec<f64>,
    path: [f64; PATH],
    alone: [f64; PATH],
    level: Level,
    /// Periods that count for less than was realised in them.
    capped: usize,
}

/// What the weights have to be multiplied with, so that the map by itself tells as much as is realised: with what the
/// terms of the path carry and with the level of the last days, as far as those are more than a few hours' luck.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// As far as the last periods tell.
    learnt: f64,
    /// And with what such levels told too little before.
    made_up: f64,
}

impl Level {
    /// Of weights that are told as they are.
    const NONE: Self = Self {
        learnt: 1.0,
        made_up: 1.0,
    };
}

impl Learning {
    pub(crate) fn new(study: Study, parameters: &Parameters) -> Self {
        let enough = study
            .known_at
            .iter()
            .enumerate()
            .filter(|(row, _)| study.sides.iter().any(|side| positive(side.usd.get(*row))))
            .map(|(_, known)| *known)
            .nth(LEAST - 1)
            .filter(|known| known.0 < i64::MAX);
        Self {
            next: enough.map(|known| day_of(known.on(Millis::DAY - 1))),
            prior: parameters.shares(),
            kappa: parameters.kappa,
            nu: parameters.nu,
            days: BTreeMap::new(),
            near: [Near::default(), Near::default()],
            expected: [(); 2].map(|()| Vec::new()),
            study,
        }
    }

    /// The fit of the UTC day that `instant` lies in.
    pub(crate) fn at(&mut self, instant: Millis) -> Arc<Fit> {
        let day = day_of(instant);
        while let Some(next) = self.next.filter(|next| *next <= day) {
            if self
                .study
                .opens
                .last()
                .is_none_or(|last| last.on(SPAN) < next)
            {
                break;
            }
            let fit = self.fit(next);
            self.days.insert(next, Arc::new(fit));
            self.next = Some(next.on(Millis::DAY));
        }
        match self.days.get(&day) {
            Some(fit) => Arc::clone(fit),
            None => Arc::new(self.unfitted(day)),
        }
    }

    /// The periods that a fit on `day` knows; what lies in them may not be known yet of the last of them.
    fn window(&self, day: Millis, span: i64) -> Range<usize> {
        let opens = &self.study.opens;
        let end = opens.partition_point(|open| open.on(self.study.period) <= day);
        opens.partition_point(|open| *open < day.back(span))..end
    }

    fn known(&self, day: Millis, span: i64) -> impl Iterator<Item = usize> {
        self.window(day, span)
            .filter(move |row| self.study.known_at.get(*row).is_some_and(|at| *at <= day))
    }

    fn counts(&self, day: Millis, row: usize, half_life: f64) -> f64 {
        let open = self.study.opens.get(row).copied().unwrap_or(day);
        0.5_f64.powf(days(day.0 - open.0) / half_life)
    }

    /// Periods that are left out by `day`.
    fn left_out(&self, day: Millis) -> usize {
        let known = self.study.left_out.iter();
        let recent = known.filter(|at| (day.back(SPAN)..=day).contains(at));
        recent.count()
    }

    fn mean_covered(&self, rows: &[usize]) -> Option<f64> {
        let covered = rows.iter().filter_map(|row| self.study.covered.get(*row));
        #[expect(
            clippy::cast_precision_loss,
            reason = "periods are counted in thousands"
        )]
        let count = rows.len() as f64;
        (!rows.is_empty()).then(|| covered.sum::<f64>() / count)
    }

    fn unfitted(&self, day: Millis) -> Fit {
        let known: Vec<usize> = self.known(day, SPAN).collect();
        Fit {
            periods: known.len(),
            left_out: self.left_out(day),
            covered: self.mean_covered(&known),
            with_liquidations: self.with_liquidations(&known),
            // That there will be periods is not known before the first.
            from: (!known.is_empty()).then_some(self.study.from),
            period_ms: (!known.is_empty()).then_some(self.study.period),
            ..Fit::prior(day, &self.prior, self.kappa)
        }
    }

    fn with_liquidations(&self, rows: &[usize]) -> usize {
        let some = |row: &&usize| {
            let mut sides = self.study.sides.iter();
            sides.any(|side| positive(side.usd.get(**row)))
        };
        rows.iter().filter(some).count()
    }

    fn fit(&mut self, day: Millis) -> Fit {
        let known: Vec<usize> = self.known(day, SPAN).collect();
        let with_liquidations = self.with_liquidations(&known);
        if with_liquidations < LEAST {
            // Most of what was known has grown too old.
            return self.unfitted(day);
        }
        let mut near = std::mem::take(&mut self.near);
        let [of_longs, of_shorts] = &mut near;
        let sides =
            [(0, of_longs), (1, of_shorts)].map(|(side, near)| self.side(side, day, &known, near));
        self.near = near;
        self.expect(day, &sides);
        let recent: Vec<usize> = self.known(day, RECENT).collect();
        let [long, short] = &sides;
        let told = |side: &Side| -> Vec<f64> {
            let times = side.level.made_up;
            side.theta.iter().map(|theta| theta * times).collect()
        };
        let theta = [told(long), told(short)];
        Fit {
            state: State::Fitted,
            as_of: day,
            from: Some(self.study.from),
            period_ms: Some(self.study.period),
            periods: known.len(),
            with_liquidations,
            left_out: self.left_out(day),
            covered: self.mean_covered(&known),
            capped: sides.iter().map(|side| side.capped).sum(),
            kappa: theta.each_ref().map(|theta| theta.iter().sum()),
            theta,
            spread: sides.each_ref().map(|side| side.spread.clone()),
            path_share: self.path_share(&sides, &recent),
            calibration: self.calibration(&recent),
            score: self.score(&recent),
            past: [0, 1].map(|side| self.past(side, day)),
            interval: None,
            doubt: None,
        }
    }

    /// A side of which nothing was realised.
    fn unlearnt(&self) -> Side {
        Side {
            theta: self.prior.clone(),
            spread: vec![1.0 / self.nu.sqrt(); self.prior.len()],
            path: [0.0; PATH],
            alone: [0.0; PATH],
            level: Level::NONE,
            capped: 0,
        }
    }

    /// One side's weights, from the periods that are known.
    fn side(&self, side: usize, day: Millis, known: &[usize], near: &mut Near) -> Side {
        let Some(sided) = self.study.sides.get(side) else {
            return self.unlearnt();
        };
        let counts: Vec<f64> = known
            .iter()
            .map(|row| self.counts(day, *row, HALF_LIFE))
            .collect();
        let rows = || known.iter().copied().zip(counts.iter().copied());
        let all: f64 = counts.iter().sum();
        let of_both = self
            .study
            .sides
            .each_ref()
            .map(|sided| at_most(sided, known, &counts, OF_ALL));
        // Of both sides: one of which little is realised is no less sure that little is.
        let sums = of_both.iter().map(|usd| {
            usd.iter()
                .zip(&counts)
                .map(|(usd, counts)| counts * usd)
                .sum::<f64>()
        });
        let event = sums.sum::<f64>() / (2.0 * all);
        let amounts = of_both.get(side).map(Vec::as_slice).unwrap_or_default();
        let capped = known
            .iter()
            .zip(amounts)
            .filter(|(row, usd)| sided.usd.get(**row).is_some_and(|raw| raw > *usd))
            .count();
        let tiers = self.study.tiers;
        if event <= 0.0 || !event.is_finite() {
            return self.unlearnt();
        }
        let mut means = [0.0; PATH];
        for (row, counts) in rows() {
            for (mean, term) in means.iter_mut().zip(path_of(&self.study, sided, row)) {
                *mean += counts * term / all;
            }
        }
        let path_prior = means.map(|mean| PATH_SHARE * event / mean);
        let path = |row: usize| {
            let path = path_of(&self.study, sided, row).into_iter().zip(path_prior);
            path.map(move |(term, prior)| term * prior / event)
        };
        // First what all tiers share, then how they differ: a tier that the price never came to shares it with the others.
        let mut whole = Rows::new(1 + PATH);
        let mut alone = Rows::new(PATH);
        for ((row, counts), usd) in rows().zip(amounts) {
            let map = dot(&self.prior, self.study.crossed(side, row)) / event;
            let usd = usd / event;
            whole.push([map].into_iter().chain(path(row)), usd, counts);
            alone.push(path(row), usd, counts);
        }
        let shared = whole
            .fit(self.nu, &mut near.whole)
            .over_prior
            .first()
            .copied()
            .unwrap_or(1.0);
        let shared: Vec<f64> = self.prior.iter().map(|prior| shared * prior).collect();
        let mut each = Rows::new(tiers + PATH);
        for ((row, counts), usd) in rows().zip(amounts) {
            let crossed = self.study.crossed(side, row).iter().zip(&shared);
            let map = crossed.map(|(usd, shared)| usd * shared / event);
            each.push(map.chain(path(row)), usd / event, counts);
        }
        let weights = each.fit(OF_A_TIER * self.nu, &mut near.each);
        let of_path = |weights: &Weights, skip: usize| {
            let mut path = path_prior;
            for (path, over) in path.iter_mut().zip(weights.over_prior.iter().skip(skip)) {
                *path *= over;
            }
            path
        };
        let theta: Vec<f64> = shared
            .iter()
            .zip(&weights.over_prior)
            .map(|(shared, over)| shared * over)
            .collect();
        let path = of_path(&weights, tiers);
        Side {
            spread: weights
                .events
                .iter()
                .take(tiers)
                .map(|events| 1.0 / events.sqrt())
                .collect(),
            path,
            alone: of_path(&alone.fit(self.nu, &mut near.alone), 0),
            level: self.level((sided, amounts), side, day, known, (&theta, &path), event),
            theta,
            capped,
        }
    }

    /// The level of a side's weights, from the periods that are known.
    fn level(
        &self,
        (sided, amounts): (&Sided, &[f64]),
        side: usize,
        day: Millis,
        known: &[usize],
        (theta, path): (&[f64], &[f64; PATH]),
        event: f64,
    ) -> Level {
        let prior = self.nu * event;
        let (mut long, mut short, mut squares) = ([prior; 3], [0.0; 2], 0.0);
        let late: Vec<f64> = known
            .iter()
            .map(|row| self.counts(day, *row, LEVEL_HALF_LIFE))
            .collect();
        let of_late = at_most(sided, known, &late, OF_LATE);
        for (((&row, usd), counts_of_late), usd_of_late) in
            known.iter().zip(amounts).zip(&late).zip(of_late)
        {
            let map = dot(theta, self.study.crossed(side, row));
            let both = map + dot(path, &path_of(&self.study, sided, row));
            let counts = self.counts(day, row, HALF_LIFE);
            for (sum, value) in long.iter_mut().zip([*usd, map, both]) {
                *sum += counts * value;
            }
            for (sum, value) in short.iter_mut().zip([usd_of_late.min(*usd), both]) {
                *sum += counts_of_late * value;
            }
            squares += (counts_of_late * both).powi(2);
        }
        let ([realised, map, both], [of_late, told]) = (long, short);
        // As much as so many hours of the size that makes most of the sum: told and realised alike.
        let luck = if told > 0.0 {
            LUCK * squares / told
        } else {
            0.0
        };
        let of_late = if told + luck > 0.0 {
            (of_late + luck) / (told + luck)
        } else {
            1.0
        };
        // Doubled at most: what the map does not explain is not told to lie in it.
        let most = 2.0 * realised / both;
        let shortfall = self.shortfall(day, known);
        Level {
            learnt: (realised / map).min(most) * of_late,
            made_up: (shortfall * realised / map).min(most) * of_late,
        }
    }

    /// What was realised over what was expected of it at the level learnt before, of both sides: that lags behind where
    /// liquidations cluster, as they rise on the very days on which much is crossed.
    fn shortfall(&self, day: Millis, known: &[usize]) -> f64 {
        let Some(settled) = self.days.keys().next().map(|first| first.on(SETTLING)) else {
            return 1.0;
        };
        let opens = &self.study.opens;
        let (mut realised, mut told, mut squares) = (0.0, 0.0, 0.0);
        let known = known.iter().copied();
        let since = known.filter(|row| opens.get(*row).is_some_and(|open| *open >= settled));
        let since: Vec<usize> = since.collect();
        for side in [0, 1] {
            let held = since.iter().flat_map(|row| {
                let counts = self.counts(day, *row, SHORTFALL_HALF_LIFE);
                let one = self.held(side, std::slice::from_ref(row));
                one.map(move |(expected, usd, _)| (counts * expected.learnt, counts * usd))
            });
            let held: Vec<(f64, f64)> = held.collect();
            let most = outlier_cap::most(held.iter().map(|(_, usd)| *usd), OF_ALL);
            for (expected, usd) in held {
                realised += usd.min(most);
                told += expected;
                squares += expected.powi(2);
            }
        }
        if told <= 0.0 {
            return 1.0;
        }
        let prior = SHORTFALL_PRIOR * squares / told;
        (realised + prior) / (told + prior)
    }

    /// Takes note of what these weights expect of the periods of the day, from what the price did in them.
    fn expect(&mut self, day: Millis, sides: &[Side; 2]) {
        let end = day.on(Millis::DAY);
        let rows = {
            let opens = &self.study.opens;
            opens.partition_point(|open| *open < day)..opens.partition_point(|open| *open < end)
        };
        let both = self.study.sides.iter().zip(&mut self.expected);
        for (side, ((seen, expected), weights)) in both.zip(sides).enumerate() {
            let none = Expected {
                told: f64::NAN,
                learnt: f64::NAN,
                both: f64::NAN,
                path: f64::NAN,
            };
            expected.resize(rows.end.max(expected.len()), none);
            for row in rows.clone() {
                let map = dot(&weights.theta, self.study.crossed(side, row));
                let terms = path_of(&self.study, seen, row);
                if let Some(expected) = expected.get_mut(row) {
                    *expected = Expected {
                        told: map * weights.level.made_up,
                        learnt: map * weights.level.learnt,
                        both: map + dot(&weights.path, &terms),
                        path: dot(&weights.alone, &terms),
                    };
                }
            }
        }
    }

    /// What was expected of the periods, and what they brought, of one side or of both.
    fn held<'a>(
        &'a self,
        side: usize,
        rows: &'a [usize],
    ) -> impl Iterator<Item = (Expected, f64, f64)> + 'a {
        let both = self.expected.get(side).zip(self.study.sides.get(side));
        rows.iter().filter_map(move |row| {
            let (expected, sided) = both?;
            let one = *expected.get(*row)?;
            one.told.is_finite().then_some(())?;
            Some((one, *sided.usd.get(*row)?, *sided.beyond.get(*row)?))
        })
    }

    /// What the map told over what was realised; none of a side of which nothing was.
    fn calibration(&self, rows: &[usize]) -> [Option<f64>; 2] {
        [0, 1].map(|side| {
            let held = self.held(side, rows);
            let (told, usd) = held.fold((0.0, 0.0), |(told, sum), (one, usd, _)| {
                (told + one.told, sum + usd)
            });
            (usd > 0.0).then_some(told / usd)
        })
    }

    /// Nats per liquidated USD that the map adds to the terms of the path.
    fn score(&self, rows: &[usize]) -> Option<f64> {
        let (mut gain, mut all) = (0.0, 0.0);
        for (one, usd, _) in self.held(0, rows).chain(self.held(1, rows)) {
            if usd > 0.0 {
                gain += usd * (one.both / one.path).ln();
            }
            gain -= one.both - one.path;
            all += usd;
        }
        (all > 0.0 && gain.is_finite()).then_some(gain / all)
    }

    /// The share of what these weights expect of the periods that the path carries.
    fn path_share(&self, sides: &[Side; 2], rows: &[usize]) -> Option<[f64; 2]> {
        let of = |side: usize| {
            let (weights, seen) = sides.get(side).zip(self.study.sides.get(side))?;
            let mut sums = [0.0; 2];
            for &row in rows {
                let path = dot(&weights.path, &path_of(&self.study, seen, row));
                let map = dot(&weights.theta, self.study.crossed(side, row));
                for (sum, value) in sums.iter_mut().zip([path, path + map]) {
                    *sum += value;
                }
            }
            let [path, all] = sums;
            (all > 0.0).then_some(path / all)
        };
        Some([of(0)?, of(1)?])
    }

    fn past(&self, side: usize, day: Millis) -> Past {
        let rows: Vec<usize> = self.known(day, interval::SPAN).collect();
        Past::new(
            self.held(side, &rows)
                .map(|(one, usd, beyond)| (beyond, one.told, usd)),
        )
    }
}

fn positive(usd: Option<&f64>) -> bool {
    usd.is_some_and(|usd| *usd > 0.0)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// What was realised in each of the periods, none of it more than one counts for where they count so much each.
fn at_most(sided: &Sided, rows: &[usize], counts: &[f64], share: f64) -> Vec<f64> {
    let usd = |row: &usize| sided.usd.get(*row).copied().unwrap_or(0.0);
    let pairs = || rows.iter().map(usd).zip(counts);
    let most = outlier_cap::most(pairs().map(|(usd, counts)| usd * counts), share);
    pairs()
        .map(|(usd, counts)| usd.min(most / counts))
        .collect()
}

/// The terms of the path of a period, as far as it was listened to.
fn path_of(study: &Study, sided: &Sided, row: usize) -> [f64; PATH] {
    let covered = study.covered.get(row).copied().unwrap_or(1.0);
    path_terms(sided.beyond.get(row)).map(|term| covered * term)
}

fn path_terms(beyond: Option<&f64>) -> [f64; PATH] {
    let points = 1.0 + 1e4 * beyond.copied().unwrap_or(0.0);
    [1.0, points, points.powf(1.5)]
}
