//! Markets with a clock: a live simulation, and a replay of an archive.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

use crate::market::{ManualClock, ReplayClock, ScaledClock};
use crate::model::{Millis, Position};
use crate::python::runtime::signals::{Progress, watched};
use crate::simulate::{self, Habits, Simulation};

/// Number of five-minute bars that a live simulation has after its start: thirty days.
const BEYOND: usize = 30 * 288;
/// Length of a bar in milliseconds.
const BAR: i64 = 5 * Millis::MINUTE;

/// How time passes in a moving market.
#[derive(Clone, Debug)]
pub(crate) enum Pace {
    /// Time passes this many times as fast as real time.
    Speed(f64),
    /// Time passes only when a caller advances the clock.
    Driven(Arc<ManualClock>),
}

impl Pace {
    /// Time passes `speed` times as fast as real time. Without a speed, a caller advances the time, beginning at `at`.
    pub(crate) fn of(speed: Option<f64>, at: Millis) -> Self {
        match speed {
            Some(speed) => Self::Speed(speed),
            None => Self::Driven(Arc::new(ManualClock::new(at))),
        }
    }

    /// Creates a clock that starts at `at`.
    pub(crate) fn clock(&self, at: Millis) -> Arc<dyn ReplayClock> {
        match self {
            Self::Speed(speed) => Arc::new(ScaledClock::new(at, *speed)),
            Self::Driven(clock) => {
                clock.advance(at);
                Arc::clone(clock) as _
            }
        }
    }
}

/// The parameters of a live simulation, and its last computed positions.
pub(crate) struct Live {
    seed: u64,
    now: Millis,
    /// The positions at the close of a bar, and the number of that bar since `now`.
    known: Mutex<Option<(usize, Arc<Vec<Position>>)>>,
}

impl Live {
    /// Creates the parameters of a live simulation that starts at `now`.
    pub(crate) fn new(seed: u64, now: Millis) -> Self {
        Self {
            seed,
            now,
            known: Mutex::default(),
        }
    }

    /// Simulates the bars before `now` and [`BEYOND`] bars after it. `progress` counts bars.
    pub(crate) fn world(seed: u64, now: Millis, progress: &Progress) -> Simulation {
        simulate::simulate_watched(Habits::default(), seed, now, BEYOND, &|| progress.count())
    }

    /// Number of simulated bars, summed over all coins.
    pub(crate) fn bars_to_live() -> usize {
        simulate::bars_to_live(BEYOND)
    }

    /// Returns the open trading positions at the close of the last bar until `at`.
    ///
    /// The positions come from another run of the simulation, which ends at that close.
    pub(crate) fn positions(&self, py: Python<'_>, at: Millis) -> PyResult<Arc<Vec<Position>>> {
        let first = self.now.0.div_euclid(BAR);
        let bars = usize::try_from(at.0.div_euclid(BAR) - first).unwrap_or_default();
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, positions)) = &*known()
            && *of == bars
        {
            return Ok(Arc::clone(positions));
        }
        let (seed, now) = (self.seed, self.now);
        let made = watched(py, &Arc::default(), None, move |progress| {
            let habits = Habits::default();
            let goes_on = || progress.count();
            Ok(simulate::simulate_watched(
                habits, seed, now, bars, &goes_on,
            ))
        })?;
        let positions = Arc::new(made.positions);
        *known() = Some((bars, Arc::clone(&positions)));
        Ok(positions)
    }
}
