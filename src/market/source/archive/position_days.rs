//! A cache of days of account positions, thinned to the snapshots that the columns of a heatmap need.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use crate::archive::{Archive, Filter, PositionsOfDay};
use crate::engine::KnownPositions;
use crate::market::refusal::Refusal;
use crate::model::{Millis, PositionRow};

/// Maximum number of cached positions.
const MOST: usize = 1 << 20;

/// A filter for a day, and the length of a step.
type Key = (Filter, i64);

/// A cached day, with the state in which it was read.
type Cached = (PositionsOfDay, Arc<KnownPositions>);

/// The thinned positions of recently used days, the last used one last.
#[derive(Debug, Default)]
pub(crate) struct PositionDays(Mutex<Vec<(Key, Cached)>>);

impl PositionDays {
    /// Drops all days.
    pub(crate) fn clear(&self) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// The positions that match `filter` in the last snapshot of each exchange in each step of a day.
    ///
    /// `step` is in milliseconds. A day is read again if its rows have changed.
    pub(crate) fn of_day(
        &self,
        archive: &Archive,
        filter: &Filter,
        day: Millis,
        step: i64,
    ) -> Result<Arc<KnownPositions>, Refusal> {
        let filter = Filter {
            start: Some(day),
            end: Some(day.on(Millis::DAY)),
            ..filter.clone()
        };
        // Read the state first. Rows that are added during the read then make the day out of date.
        let state = archive.positions_of_day(&filter)?;
        // As of an instant after a day, what the files of the day contain is known.
        let is_known = |at: &Millis| *at >= day.on(Millis::DAY) && state.is_filed();
        let as_of = filter.as_of.filter(|at| !is_known(at));
        let key = (
            Filter {
                as_of,
                ..filter.clone()
            },
            step,
        );
        let days = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut days = days();
            if let Some(place) = days.iter().position(|(known, _)| *known == key) {
                let found = days.remove(place);
                if found.1.0 == state {
                    let known = Arc::clone(&found.1.1);
                    days.push(found);
                    return Ok(known);
                }
            }
        }
        let known = Arc::new(read(archive, &filter, &state, step)?);
        let mut days = days();
        days.push((key, (state, Arc::clone(&known))));
        let mut sum: usize = days.iter().map(|(_, (_, known))| 1 + known.len()).sum();
        while sum > MOST && !days.is_empty() {
            let (_, (_, dropped)) = days.remove(0);
            sum -= 1 + dropped.len();
        }
        Ok(known)
    }
}

/// Reads the positions of a day and drops all snapshots but the last one of each step.
fn read(
    archive: &Archive,
    filter: &Filter,
    state: &PositionsOfDay,
    step: i64,
) -> Result<KnownPositions, Refusal> {
    let mut rows = archive.positions(filter)?.rows;
    // A snapshot at the end of a step belongs to it.
    let step_of = |at: Millis| at.0.saturating_sub(1).div_euclid(step.max(1));
    let polled = state.polled.iter().map(|(exchange, at)| (exchange, *at));
    let taken = rows.iter().map(|row| (&row.exchange, row.timestamp));
    let mut last: BTreeMap<(&str, i64), Millis> = BTreeMap::new();
    for (exchange, at) in taken.chain(polled) {
        let newest = last.entry((exchange, step_of(at))).or_default();
        *newest = at.max(*newest);
    }
    let chosen: BTreeSet<(String, Millis)> = last
        .into_iter()
        .map(|((exchange, _), at)| (exchange.to_owned(), at))
        .collect();
    rows.retain(|row: &PositionRow| chosen.contains(&(row.exchange.clone(), row.timestamp)));
    let mut known = KnownPositions::new(&rows);
    for (exchange, at) in &chosen {
        known.add_empty(exchange, *at);
    }
    Ok(known)
}
