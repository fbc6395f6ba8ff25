//! Fits of a view, made from all bars and known liquidations of a coin.

use std::sync::{Arc, PoisonError};

use crate::engine::coverage::feed_coverage::FeedCoverage;
use crate::engine::fit::daily_fits::DailyFits;
use crate::engine::fit::day::day_of;
use crate::engine::fit::fit::Fit;
use crate::engine::fit::fit_cache::LateOrders;
use crate::engine::fit::fit_samples::{FitSamples, RealisedPeriods};
use crate::engine::ledger::parameters::version;
use crate::engine::ledger::replay::ReplayWindow;
use crate::engine::observations::coin_history::CoinHistory;
use crate::engine::{EngineError, Parameters, View};
use crate::model::{Bar, Millis, Model, Opened};

/// Minimum share of a period that must be recorded for the fit to use it.
const LEAST_RECORDED: f64 = 0.5;

/// A range that covers all bars, in milliseconds.
const ALL: i64 = Millis::DAY * 365 * 1000;

impl View<'_> {
    /// Returns the fit of the UTC day of an instant, as known at the start of that day.
    #[must_use]
    pub fn fit_at(self, coin: &str, instant: Millis) -> Arc<Fit> {
        let day = day_of(instant);
        let fit = if let Some(fitted) = self.fitted() {
            fitted.fit(self.own(), coin, self.venue(), day)
        } else {
            self.fits(coin, LateOrders::By(day), |learning| learning.at(day))
        };
        fit.unwrap_or_else(|| Arc::new(self.prior(coin, day)))
    }

    /// Returns the fit of the UTC day of each instant without late orders.
    pub fn fits_at(self, coin: &str, instants: &[Millis]) -> Vec<Arc<Fit>> {
        let each = |learning: &mut DailyFits| instants.iter().map(|at| learning.at(*at)).collect();
        self.fits(coin, LateOrders::None, each).unwrap_or_else(|| {
            let prior = |at: &Millis| Arc::new(self.prior(coin, *at));
            instants.iter().map(prior).collect()
        })
    }

    fn prior(self, coin: &str, instant: Millis) -> Fit {
        let day = day_of(instant);
        let parameters = self.as_of(day).parameters(coin);
        Fit::prior(day, &parameters.reported(), parameters.kappa)
    }

    fn fits<T>(
        self,
        coin: &str,
        late: LateOrders,
        work: impl FnOnce(&mut DailyFits) -> T,
    ) -> Option<T> {
        let history = self.history(coin)?;
        // Days between two receipts of late orders know the same ones, so they share one series of fits.
        let late = match late {
            LateOrders::By(day) => history
                .last_late_day(day)
                .map_or(LateOrders::None, LateOrders::By),
            LateOrders::None => LateOrders::None,
        };
        // Liquidations given by period cover all exchanges together.
        let venue = self.venue().filter(|_| history.liquidations.is_none());
        let key = (
            coin.to_owned(),
            version(self.own(), Model::Expected),
            venue.map(str::to_owned),
            late,
        );
        let cached = self.observations().fits().of(key);
        let mut cached = cached.lock().unwrap_or_else(PoisonError::into_inner);
        let learning =
            cached.get_or_insert_with(|| self.of_venue(venue).learning(coin, history, late));
        learning.as_mut().map(work)
    }

    fn learning(self, coin: &str, history: &CoinHistory, late: LateOrders) -> Option<DailyFits> {
        let realised = match &history.liquidations {
            Some(liquidations) => RealisedPeriods::of_liquidations(liquidations)?,
            None => RealisedPeriods::of_orders(self.amounts_of(history, |received| match late {
                LateOrders::By(instant) => received <= instant,
                LateOrders::None => false,
            })),
        };
        if realised.rows.is_empty() {
            return None;
        }
        let parameters = Parameters::of(self.own(), coin);
        let of_all = self
            .all_read_from(coin)
            .map(|from| (from, parameters.clone().of_all(self.own())));
        // Without bars, or with bars longer than a period, there is no fit, so the prior is used.
        let exposure = &history.exposure;
        let study = self.study(coin, &realised, exposure).ok()?;
        Some(DailyFits::new(study, &parameters, of_all.as_ref()))
    }

    /// Collects the samples of a fit: USD crossed and USD liquidated, per period.
    ///
    /// The map is read from one ledger that starts at the first bar. The ledger uses the default liquidated share, so
    /// no sample depends on later data.
    fn study(
        self,
        coin: &str,
        realised: &RealisedPeriods,
        exposure: &FeedCoverage,
    ) -> Result<FitSamples, EngineError> {
        let view = self.at_last_bar(coin);
        let window = (ALL, "all", Opened::Ever);
        let frame = ReplayWindow::new(view, coin, Model::Expected, window, realised.period)?
            .without_orders();
        let mut study = FitSamples {
            period: realised.period,
            from: realised.from,
            tiers: frame.parameters.tiers.len(),
            ..FitSamples::default()
        };
        let known_from = frame.known_from();
        let mut moves = Vec::new();
        let mut rest = frame.bars();
        let mut before: Option<Bar> = None;
        for &(open, known_at, usd) in &realised.rows {
            let end = open.on(realised.period);
            while let Some(bar) = rest.first()
                && bar.close_time() <= open
            {
                (before, rest) = (Some(bar), rest.within(1..rest.len()));
            }
            let later = (0..rest.len()).map_while(|place| rest.get(place));
            let inside: Vec<Bar> = later.take_while(|bar| bar.close_time() <= end).collect();
            let Some(close) = before.map(|bar| bar.close) else {
                continue;
            };
            let whole: i64 = inside.iter().map(|bar| bar.interval).sum();
            if whole != realised.period || open < known_from {
                continue;
            }
            // A period with an unjudged bar or reading becomes known when the row is judged.
            let judged = frame.judged_after(open, end);
            let known_at = judged.map_or(known_at, |judged| known_at.max(judged));
            let covered = exposure.of(open, end);
            if covered < LEAST_RECORDED {
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
        frame.replay(&study.opens, |_, state| {
            if let Some(((low, high), covered)) = moves.next() {
                let crossed = state.ledger.crossed(*low, *high);
                for (side, crossed) in sides.iter_mut().zip(crossed) {
                    side.crossed.extend(crossed.iter().map(|usd| covered * usd));
                }
            }
        });
        Ok(study)
    }
}
