//! Daily fits: one fit per UTC day, from data known at its start.
//!
//! A fit finds which share of the crossed USD is reported as liquidated. USD of the liquidation map are crossed when
//! the price reaches their liquidation price. A *period* is an hour, or a given liquidation bar. *Realised* USD are
//! those reported as liquidated. The predictions of a fit are later compared with the periods of its day.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::engine::Parameters;
use crate::engine::fit::day::day_of;
use crate::engine::fit::fit::{Fit, FitState};
use crate::engine::fit::fit_samples::{FitSamples, SideSamples};
use crate::engine::fit::gamma_poisson::{TermRows, TermWeights};
use crate::engine::fit::interval;
use crate::engine::fit::interval::PastRatios;
use crate::engine::fit::outlier_cap;
use crate::engine::observations::bar_intervals::days;
use crate::model::Millis;

/// Half-life of the weight of a period in the fit of the tier shares, in days.
const HALF_LIFE: f64 = 30.0;

/// Half-life of the weight of a period in the level factors, in days.
///
/// The ratio of realised to predicted USD varies from week to week. Chosen on simulations; docs/explanation/scorecard.md has the
/// resulting scores.
const LEVEL_HALF_LIFE: f64 = 3.0;

/// Prior weight of the level of the last days, in typical periods. After so many periods, the level factor is halfway
/// between 1 and the ratio of realised to predicted USD. Chosen on simulations.
const LUCK: f64 = 8.0;

/// Half-life of the shortfall in days, and its prior weight in typical periods. The shortfall is the ratio of realised
/// to predicted USD. Chosen on simulations.
const SHORTFALL_HALF_LIFE: f64 = 60.0;
const SHORTFALL_PRIOR: f64 = 40.0;

/// Time after the first fit, in milliseconds, that the shortfall ignores, because the fit still converges.
const SETTLING: i64 = 14 * Millis::DAY;

/// Ratio of the prior weight of a single tier to that of all tiers together. Chosen on simulations.
const OF_A_TIER: f64 = 10.0;

/// Maximum age of a period in the fit, in milliseconds. Older periods would have a weight below 1/64.
const SPAN: i64 = 180 * Millis::DAY;

/// Maximum share of one period in the sum of amounts: `OF_ALL` for the tier shares, `OF_LATE` for the level.
const OF_ALL: f64 = 0.2;
const OF_LATE: f64 = 1.0 / 3.0;

/// Minimum number of known periods with liquidations. With fewer, the prior is used instead of a fit.
pub const LEAST: usize = 200;

/// Time range of the reported quality measures, in milliseconds.
const RECENT: i64 = 30 * Millis::DAY;

/// Number of path terms.
///
/// Path terms depend on the price path alone, and absorb liquidations unrelated to the map. The first is a constant.
/// The second is the move beyond the previous close, in basis points, plus one. The third is the second to the power of
/// 1.5.
const PATH: usize = 3;

/// Prior share of each path term in the liquidated USD.
const PATH_SHARE: f64 = 0.25 / 3.0;

/// Fits of one coin and one model, computed on demand.
#[derive(Debug)]
pub struct DailyFits {
    study: FitSamples,
    /// The prior of the present day.
    prior: Vec<f64>,
    /// Sum of the prior shares.
    kappa: f64,
    /// Prior share of crossed USD that is liquidated and reported, per tier, and the sum of the shares; each from its
    /// instant on.
    priors: Vec<(Millis, Vec<f64>, f64)>,
    nu: f64,
    days: BTreeMap<Millis, Arc<Fit>>,
    /// The next day for which to compute a fit; `None` if there is too little data for any fit.
    next: Option<Millis>,
    /// Per side, the weights of the previous day, from which the optimiser starts.
    near: [StartingWeights; 2],
    /// Per side and period: the USD predicted by the fit of the day, which uses only earlier data.
    expected: [Vec<Expectation>; 2],
}

/// USD predicted for a period by a fit that uses only earlier data.
#[derive(Clone, Copy, Debug)]
struct Expectation {
    /// Predicted by the map with the corrected level factor, as published.
    predicted: f64,
    /// Predicted by the map with the fitted level factor, without the correction.
    fitted: f64,
    /// Predicted by the map and the path terms together.
    both: f64,
    /// Predicted by the path terms alone, fitted without a map.
    path: f64,
}

/// Starting weights of the optimiser for one side, as multiples of their prior means.
#[derive(Clone, Debug, Default)]
struct StartingWeights {
    whole: Vec<f64>,
    each: Vec<f64>,
    alone: Vec<f64>,
}

/// Fit of one side on one day.
struct SideFit {
    /// Share of crossed USD expected to be reported, by tier, before multiplication by a level factor.
    theta: Vec<f64>,
    spread: Vec<f64>,
    path: [f64; PATH],
    alone: [f64; PATH],
    level: LevelFactors,
    /// Number of periods with a capped amount.
    capped: usize,
}

/// Factors that make the map alone predict the realised USD.
///
/// They raise the map by the USD that the path terms explain. They follow the ratio of realised to predicted USD in the
/// last days. With few data they are shrunk toward 1, so that a few unusual hours have little effect.
#[derive(Clone, Copy, Debug)]
struct LevelFactors {
    /// Factor from recent periods.
    fitted: f64,
    /// The factor `fitted`, corrected by the shortfall of earlier predictions.
    corrected: f64,
}

impl LevelFactors {
    /// No correction.
    const NONE: Self = Self {
        fitted: 1.0,
        corrected: 1.0,
    };
}

impl DailyFits {
    /// Fits of `study`. The prior is that of `parameters`, or of `later` from its instant on.
    pub fn new(
        study: FitSamples,
        parameters: &Parameters,
        later: Option<&(Millis, Parameters)>,
    ) -> Self {
        let prior = |from: Millis, of: &Parameters| (from, of.reported(), of.kappa);
        let mut priors = vec![prior(Millis(i64::MIN), parameters)];
        priors.extend(later.map(|(from, later)| prior(*from, later)));
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
            prior: parameters.reported(),
            kappa: parameters.kappa,
            priors,
            nu: parameters.nu,
            days: BTreeMap::new(),
            near: [StartingWeights::default(), StartingWeights::default()],
            expected: [(); 2].map(|()| Vec::new()),
            study,
        }
    }

    /// Returns the fit of the UTC day of `instant`.
    pub fn at(&mut self, instant: Millis) -> Arc<Fit> {
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
            self.set_prior(next);
            let fit = self.fit(next);
            self.days.insert(next, Arc::new(fit));
            self.next = Some(next.on(Millis::DAY));
        }
        if let Some(fit) = self.days.get(&day) {
            return Arc::clone(fit);
        }
        self.set_prior(day);
        Arc::new(self.unfitted(day))
    }

    /// Uses the prior of a day.
    fn set_prior(&mut self, day: Millis) {
        let mut priors = self.priors.iter().rev();
        if let Some((_, prior, kappa)) = priors.find(|(from, ..)| *from <= day) {
            self.prior.clone_from(prior);
            self.kappa = *kappa;
        }
    }

    /// Indexes of the periods of the last `span` milliseconds that end by `day`.
    ///
    /// The liquidations of the last of these periods may not be known yet.
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

    /// Number of recent periods left out because too little was recorded.
    ///
    /// Counts those known at `day`.
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
            // Without a known period, these fields stay empty, because a fit must not reveal that liquidations become
            // known later.
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
            // There were enough periods with liquidations, but too few of them are at most [`SPAN`] old.
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
        let predicted = |side: &SideFit| -> Vec<f64> {
            let times = side.level.corrected;
            side.theta.iter().map(|theta| theta * times).collect()
        };
        let theta = [predicted(long), predicted(short)];
        Fit {
            state: FitState::Fitted,
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

    /// The prior, as the fit of a side without liquidations.
    fn prior_side(&self) -> SideFit {
        SideFit {
            theta: self.prior.clone(),
            spread: vec![1.0 / self.nu.sqrt(); self.prior.len()],
            path: [0.0; PATH],
            alone: [0.0; PATH],
            level: LevelFactors::NONE,
            capped: 0,
        }
    }

    /// Fits the tier shares and path terms of one side to the known periods.
    fn side(
        &self,
        side: usize,
        day: Millis,
        known: &[usize],
        near: &mut StartingWeights,
    ) -> SideFit {
        let Some(sided) = self.study.sides.get(side) else {
            return self.prior_side();
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
        // The event size is the mean of both sides, so a side with few liquidations gets small shares.
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
            return self.prior_side();
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
        // The first fit finds a common factor of all tiers; the second finds one more factor per tier. A tier that the
        // price never crossed has the common factor only.
        let mut whole = TermRows::new(1 + PATH);
        let mut alone = TermRows::new(PATH);
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
        let mut each = TermRows::new(tiers + PATH);
        for ((row, counts), usd) in rows().zip(amounts) {
            let crossed = self.study.crossed(side, row).iter().zip(&shared);
            let map = crossed.map(|(usd, shared)| usd * shared / event);
            each.push(map.chain(path(row)), usd / event, counts);
        }
        let weights = each.fit(OF_A_TIER * self.nu, &mut near.each);
        let of_path = |weights: &TermWeights, skip: usize| {
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
        SideFit {
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

    /// Computes the level factors of a side from the known periods.
    fn level(
        &self,
        (sided, amounts): (&SideSamples, &[f64]),
        side: usize,
        day: Millis,
        known: &[usize],
        (theta, path): (&[f64], &[f64; PATH]),
        event: f64,
    ) -> LevelFactors {
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
        let ([realised, map, both], [of_late, predicted]) = (long, short);
        // The prior adds the USD of `LUCK` typical periods to both the predicted and the realised USD. The USD of a
        // typical period are a weighted mean, dominated by large periods.
        let luck = if predicted > 0.0 {
            LUCK * squares / predicted
        } else {
            0.0
        };
        let of_late = if predicted + luck > 0.0 {
            (of_late + luck) / (predicted + luck)
        } else {
            1.0
        };
        // The map alone may predict at most twice the USD of the map and path terms together. Further unexplained
        // liquidations are not attributed to the map.
        let most = 2.0 * realised / both;
        let shortfall = self.shortfall(day, known);
        LevelFactors {
            fitted: (realised / map).min(most) * of_late,
            corrected: (shortfall * realised / map).min(most) * of_late,
        }
    }

    /// Ratio of realised USD to the USD predicted before, over both sides.
    ///
    /// Predictions are too low when liquidations cluster: a fit uses only data from before its day.
    /// They rise only after large liquidations have occurred.
    fn shortfall(&self, day: Millis, known: &[usize]) -> f64 {
        let Some(settled) = self.days.keys().next().map(|first| first.on(SETTLING)) else {
            return 1.0;
        };
        let opens = &self.study.opens;
        let (mut realised, mut predicted, mut squares) = (0.0, 0.0, 0.0);
        let known = known.iter().copied();
        let since = known.filter(|row| opens.get(*row).is_some_and(|open| *open >= settled));
        let since: Vec<usize> = since.collect();
        for side in [0, 1] {
            let outcomes = since.iter().flat_map(|row| {
                let counts = self.counts(day, *row, SHORTFALL_HALF_LIFE);
                let one = self.outcomes(side, std::slice::from_ref(row));
                one.map(move |(expected, usd, _)| (counts * expected.fitted, counts * usd))
            });
            let outcomes: Vec<(f64, f64)> = outcomes.collect();
            let most = outlier_cap::cap(outcomes.iter().map(|(_, usd)| *usd), OF_ALL);
            for (expected, usd) in outcomes {
                realised += usd.min(most);
                predicted += expected;
                squares += expected.powi(2);
            }
        }
        if predicted <= 0.0 {
            return 1.0;
        }
        let prior = SHORTFALL_PRIOR * squares / predicted;
        (realised + prior) / (predicted + prior)
    }

    /// Records what the fit of `day` predicts for the periods of that day.
    ///
    /// The predictions use the price moves in these periods.
    fn expect(&mut self, day: Millis, sides: &[SideFit; 2]) {
        let end = day.on(Millis::DAY);
        let rows = {
            let opens = &self.study.opens;
            opens.partition_point(|open| *open < day)..opens.partition_point(|open| *open < end)
        };
        let both = self.study.sides.iter().zip(&mut self.expected);
        for (side, ((seen, expected), weights)) in both.zip(sides).enumerate() {
            let none = Expectation {
                predicted: f64::NAN,
                fitted: f64::NAN,
                both: f64::NAN,
                path: f64::NAN,
            };
            expected.resize(rows.end.max(expected.len()), none);
            for row in rows.clone() {
                let map = dot(&weights.theta, self.study.crossed(side, row));
                let terms = path_of(&self.study, seen, row);
                if let Some(expected) = expected.get_mut(row) {
                    *expected = Expectation {
                        predicted: map * weights.level.corrected,
                        fitted: map * weights.level.fitted,
                        both: map + dot(&weights.path, &terms),
                        path: dot(&weights.alone, &terms),
                    };
                }
            }
        }
    }

    /// Prediction, realised USD and price move of the periods of one side.
    ///
    /// Skips periods without a prediction. The price move is the distance beyond the previous close.
    fn outcomes<'a>(
        &'a self,
        side: usize,
        rows: &'a [usize],
    ) -> impl Iterator<Item = (Expectation, f64, f64)> + 'a {
        let both = self.expected.get(side).zip(self.study.sides.get(side));
        rows.iter().filter_map(move |row| {
            let (expected, sided) = both?;
            let one = *expected.get(*row)?;
            one.predicted.is_finite().then_some(())?;
            Some((one, *sided.usd.get(*row)?, *sided.beyond.get(*row)?))
        })
    }

    /// Predicted divided by realised USD, per side; `None` for a side without liquidations.
    fn calibration(&self, rows: &[usize]) -> [Option<f64>; 2] {
        [0, 1].map(|side| {
            let outcomes = self.outcomes(side, rows);
            let (predicted, usd) = outcomes.fold((0.0, 0.0), |(predicted, sum), (one, usd, _)| {
                (predicted + one.predicted, sum + usd)
            });
            (usd > 0.0).then_some(predicted / usd)
        })
    }

    /// Information gain of the map over the path terms alone.
    ///
    /// In nats per liquidated USD.
    fn score(&self, rows: &[usize]) -> Option<f64> {
        let (mut gain, mut all) = (0.0, 0.0);
        for (one, usd, _) in self.outcomes(0, rows).chain(self.outcomes(1, rows)) {
            if usd > 0.0 {
                gain += usd * (one.both / one.path).ln();
            }
            gain -= one.both - one.path;
            all += usd;
        }
        (all > 0.0 && gain.is_finite()).then_some(gain / all)
    }

    /// Share of the path terms in the predicted USD, for longs and shorts.
    fn path_share(&self, sides: &[SideFit; 2], rows: &[usize]) -> Option<[f64; 2]> {
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

    fn past(&self, side: usize, day: Millis) -> PastRatios {
        let rows: Vec<usize> = self.known(day, interval::SPAN).collect();
        PastRatios::new(
            self.outcomes(side, &rows)
                .map(|(one, usd, beyond)| (beyond, one.predicted, usd)),
        )
    }
}

fn positive(usd: Option<&f64>) -> bool {
    usd.is_some_and(|usd| *usd > 0.0)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Realised USD of the periods, with large amounts capped.
///
/// No weighted amount exceeds `share` of the weighted sum.
fn at_most(sided: &SideSamples, rows: &[usize], counts: &[f64], share: f64) -> Vec<f64> {
    let usd = |row: &usize| sided.usd.get(*row).copied().unwrap_or(0.0);
    let pairs = || rows.iter().map(usd).zip(counts);
    let most = outlier_cap::cap(pairs().map(|(usd, counts)| usd * counts), share);
    pairs()
        .map(|(usd, counts)| usd.min(most / counts))
        .collect()
}

/// Path terms of a period, multiplied by its recorded share.
fn path_of(study: &FitSamples, sided: &SideSamples, row: usize) -> [f64; PATH] {
    let covered = study.covered.get(row).copied().unwrap_or(1.0);
    path_terms(sided.beyond.get(row)).map(|term| covered * term)
}

fn path_terms(beyond: Option<&f64>) -> [f64; PATH] {
    let points = 1.0 + 1e4 * beyond.copied().unwrap_or(0.0);
    [1.0, points, points.powf(1.5)]
}
