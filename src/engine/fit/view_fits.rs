//! Asking a view for its fits: they are made of all its bars and of what it knows that was realised.

use std::sync::{Arc, PoisonError};

use crate::engine::coverage::feed_coverage::Exposure;
use crate::engine::fit::daily_fits::Learning;
use crate::engine::fit::day::day_of;
use crate::engine::fit::fit::Fit;
use crate::engine::fit::fit_cache::Late;
use crate::engine::fit::fit_samples::{Study, Told};
use crate::engine::ledger::ledger::Ledger;
use crate::engine::ledger::parameters::version;
use crate::engine::ledger::replay::Frame;
use crate::engine::observations::coin_history::History;
use crate::engine::{EngineError, View};
use crate::model::{Bar, Millis, Model};

/// A period of which a smaller share was listened to says too little of what happened in it.
const HEARD: f64 = 0.5;

/// Every bar there is.
const ALL: i64 = Millis::DAY * 365 * 1000;

impl View<'_> {
    /// What a fit as of now knows.
    pub(crate) fn late(self) -> Late {
        // As of an instant, what was known when its day began.
        self.received_by()
            .map_or(Late::All, |by| Late::By(day_of(by)))
    }

    /// The shares of the UTC day that now lies in.
    #[must_use]
    pub fn fit(self, coin: &str) -> Arc<Fit> {
        if let Some(fitted) = self.fitted() {
            let told = fitted.fit(self.own(), coin, self.venue(), day_of(self.now()));
            return told.unwrap_or_else(|| Arc::new(self.prior(coin, self.now())));
        }
        self.fits(coin, self.late(), |learning| learning.at(self.now()))
            .unwrap_or_else(|| Arc::new(self.prior(coin, self.now())))
    }

    /// The shares of the UTC day of each of `instants`, as they were known at its beginning.
    pub(in crate::engine) fn fits_at(self, coin: &str, instants: &[Millis]) -> Vec<Arc<Fit>> {
        let each = |learning: &mut Learning| instants.iter().map(|at| learning.at(*at)).collect();
        self.fits(coin, Late::None, each).unwrap_or_else(|| {
            let prior = |at: &Millis| Arc::new(self.prior(coin, *at));
            instants.iter().map(prior).collect()
        })
    }

    fn prior(self, coin: &str, instant: Millis) -> Fit {
        let parameters = self.parameters(coin);
        Fit::prior(day_of(instant), &parameters.shares(), parameters.kappa)
    }

    fn fits<T>(self, coin: &str, late: Late, work: impl FnOnce(&mut Learning) -> T) -> Option<T> {
        let history = self.history(coin)?;
        // Where nothing was received late, or all of it by then, one fit serves every instant.
        let late = match (late, history.heard_late) {
            (_, None) => Late::All,
            (Late::By(instant), Some(last)) if last <= instant => Late::All,
            _ => late,
        };
        // Those that are told by period are of all exchanges together.
        let venue = self.venue().filter(|_| history.liquidations.is_none());
        let key = (
            coin.to_owned(),
            version(self.own(), Model::Expected),
            venue.map(str::to_owned),
            late,
        );
        let kept = self.observations().fits().of(key);
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let learning =
            kept.get_or_insert_with(|| self.of_venue(venue).learning(coin, history, late));
        learning.as_mut().map(work)
    }

    fn learning(self, coin: &str, history: &History, late: Late) -> Option<Learning> {
        let told = match &history.liquidations {
            Some(liquidations) => Told::of_liquidations(liquidations)?,
            None => Told::of_orders(self.amounts_of(history, |received| match late {
                Late::All => true,
                Late::By(instant) => received <= instant,
                Late::None => false,
            })),
        };
        if told.rows.is_empty() {
            return None;
        }
        let parameters = self.parameters(coin);
        // Bars that are longer than a period, or none at all, leave the prior.
        let exposure = &history.exposure;
        let study = self.study(coin, &told, exposure).ok()?;
        Some(Learning::new(study, &parameters))
    }

    /// Holds what was told against the map of the view's model: of one ledger since the bars begin, in which the usual
    /// share of what was crossed counts as liquidated, so that no row depends on a later one.
    fn study(self, coin: &str, told: &Told, exposure: &Exposure) -> Result<Study, EngineError> {
        let view = self.at_last_bar(coin);
        let frame = Frame::new(view, coin, Model::Expected, ALL, "all", told.period)?.unheard();
        let mut study = Study {
            period: told.period,
            from: told.from,
            tiers: frame.parameters.tiers.len(),
            ..Study::default()
        };
        let known_from = frame.known_from();
        let mut moves = Vec::new();
        let mut rest = frame.bars;
        let mut before: Option<&Bar> = None;
        for &(open, known_at, usd) in &told.rows {
            let end = open.on(told.period);
            while let Some((bar, later)) = rest.split_first()
                && bar.close_time() <= open
            {
                (before, rest) = (Some(bar), later);
            }
            let count = rest.partition_point(|bar| bar.close_time() <= end);
            let inside = rest.get(..count).unwrap_or_default();
            let Some(close) = before.map(|bar| bar.close) else {
                continue;
            };
            let whole: i64 = inside.iter().map(|bar| bar.interval).sum();
            if whole != told.period || open < known_from {
                continue;
            }
            let covered = exposure.of(open, end);
            if covered < HEARD {
                study.left_out.push(known_at);
                continue;
            }
            let low = inside
                .iter()
                .fold(f64::INFINITY, |low, bar| low.min(bar.low));
            let high = inside.iter().fold(0.0, |high: f64, bar| high.max(bar.high));
            moves.push((low, high));
            study.opens.push(open);
            study.known_at.push(known_at);
            study.covered.push(covered);
            let beyond = [1.0 - low / close, high / close - 1.0];
            for ((side, usd), beyond) in study.sides.iter_mut().zip(usd).zip(beyond) {
                side.usd.push(usd);
                side.beyond.push(beyond.max(0.0));
            }
        }
        let mut moves = moves.iter().zip(&study.covered);
        let sides = &mut study.sides;
        frame.replay(&study.opens, |ledger: &Ledger| {
            if let Some(((low, high), covered)) = moves.next() {
                let crossed = ledger.crossed(*low, *high);
                for (side, crossed) in sides.iter_mut().zip(crossed) {
                    side.crossed.extend(crossed.iter().map(|usd| covered * usd));
                }
            }
        });
        Ok(study)
    }
}
