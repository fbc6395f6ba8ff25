//! Markets whose orders arrive without a network: a simulation that goes on, and an archive that is told again.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

use crate::market::{ManualClock, ReplayClock, ScaledClock};
use crate::model::{Millis, Position};
use crate::python::runtime::signals::{Progress, watched};
use crate::simulate::{self, Habits, Simulation};

/// Five-minute bars for which a simulation goes on: thirty days.
const BEYOND: usize = 30 * 288;
/// The length of one.
const BAR: i64 = 5 * Millis::MINUTE;

/// How time passes in a market that moves.
#[derive(Clone, Debug)]
pub(crate) enum Pace {
    /// So many times as fast as here.
    Speed(f64),
    /// As it is told to.
    Driven(Arc<ManualClock>),
}

impl Pace {
    /// At `speed`, or by hand where there is none; it begins at `at`.
    pub(crate) fn of(speed: Option<f64>, at: Millis) -> Self {
        match speed {
            Some(speed) => Self::Speed(speed),
            None => Self::Driven(Arc::new(ManualClock::new(at))),
        }
    }

    /// A clock that stands at `at`.
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

/// What a simulated market that moves was made of.
pub(crate) struct Live {
    seed: u64,
    now: Millis,
    /// The positions at the close of the bar of this number.
    known: Mutex<Option<(usize, Arc<Vec<Position>>)>>,
}

impl Live {
    /// The one that goes on from `now`.
    pub(crate) fn new(seed: u64, now: Millis) -> Self {
        Self {
            seed,
            now,
            known: Mutex::default(),
        }
    }

    /// What happens in it, from before `now` until long after; its bars are counted.
    pub(crate) fn world(seed: u64, now: Millis, progress: &Progress) -> Simulation {
        simulate::simulate_watched(Habits::default(), seed, now, BEYOND, &|| progress.count())
    }

    /// How many bars its coins live through.
    pub(crate) fn bars_to_live() -> usize {
        simulate::bars_to_live(BEYOND)
    }

    /// The positions at the close of the last bar by `at`: those of the same simulation that ends there.
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
