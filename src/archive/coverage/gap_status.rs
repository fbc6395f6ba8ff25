//! The status of gaps: open (neither recovered nor lost yet), recovered or lost.

use crate::archive::ArchiveError;
use crate::archive::coverage::damage_gaps;
use crate::archive::coverage::intervals::without;
use crate::archive::coverage::report;
use crate::archive::coverage_log::events::GapOutcome;
use crate::archive::coverage_log::pending;
use crate::archive::coverage_log::sessions::{Gap, gaps};
use crate::archive::store::store::Store;
use crate::model::{CoverageGap, GapState, Millis, TimeRange};

/// Implements `CoverageView::gap_statuses`.
pub(crate) fn gap_statuses(
    store: &Store,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> Result<Vec<CoverageGap>, ArchiveError> {
    let gaps = report::gaps_known(store, start, end, as_of)?;
    let of_venues = gaps.into_iter().map(|gap| CoverageGap {
        exchange: gap.exchange,
        start: gap.start,
        end: gap.end,
        reason: gap.reason,
        ..CoverageGap::default()
    });
    let of_topics = report::topic_gaps(store, start, end, as_of)?;
    let of_topics = of_topics.into_iter().map(|gap| CoverageGap {
        exchange: gap.exchange,
        start: gap.start,
        end: gap.end,
        reason: gap.reason,
        topic: Some(gap.topic),
        ..CoverageGap::default()
    });
    let mut missed: Vec<CoverageGap> = of_venues.chain(of_topics).collect();
    let from = missed.iter().map(|gap| gap.start).min();
    let until = missed.iter().map(|gap| gap.end).max();
    if let (Some(from), Some(until)) = (from, until) {
        let mut outcomes = report::outcomes(store, from, until, as_of)?;
        outcomes.sort_by_key(|outcome| outcome.recorded_at);
        for gap in &mut missed {
            apply_outcomes(gap, &outcomes);
        }
    }
    let other = damage_gaps::gaps_of_other_rows(store, start, end, as_of)?.into_iter();
    missed.extend(other.map(|(holds, gap)| CoverageGap {
        exchange: gap.exchange,
        start: gap.start,
        end: gap.end,
        reason: gap.reason,
        holds: Some(holds.to_owned()),
        ..CoverageGap::default()
    }));
    missed.sort_by(|a, b| {
        let key = |one: &CoverageGap| (one.start, one.end);
        (key(a), &a.exchange, &a.topic, &a.reason, &a.holds).cmp(&(
            key(b),
            &b.exchange,
            &b.topic,
            &b.reason,
            &b.holds,
        ))
    });
    Ok(missed)
}

/// Implements `CoverageView::pending_gaps`.
pub(crate) fn pending_gaps(store: &Store) -> Result<Vec<Gap>, ArchiveError> {
    store.ask(pending::open_gaps)
}

/// Implements `CoverageView::open_ranges`.
pub(crate) fn open_ranges(
    store: &Store,
    exchange: &str,
    damaged_since: Millis,
) -> Result<Vec<TimeRange>, ArchiveError> {
    let (start, end) = (Millis(i64::MIN), Millis(i64::MAX));
    let mut gaps = store.ask(|journal| gaps(journal, start, end, None))?;
    gaps.extend(damage_gaps::damage_gaps(store, damaged_since, end)?);
    let gaps = gaps
        .into_iter()
        .map(|gap| (gap.exchange, gap.start, gap.end));
    let topics = report::topic_gaps(store, start, end, None)?.into_iter();
    let topics = topics.map(|gap| (gap.exchange, gap.start, gap.end));
    let outcomes = report::outcomes(store, start, end, None)?.into_iter();
    let outcomes = outcomes.filter(|outcome| outcome.outcome != GapState::Open);
    let outcomes = outcomes.map(|outcome| (outcome.exchange, outcome.start, outcome.end));
    let of_venue = |all: &mut dyn Iterator<Item = (String, Millis, Millis)>| -> Vec<TimeRange> {
        all.filter(|(name, ..)| name == exchange)
            .map(|(_, start, end)| TimeRange::new(start, end))
            .collect()
    };
    Ok(without(
        &of_venue(&mut gaps.chain(topics)),
        &of_venue(&mut { outcomes }),
    ))
}

/// Sets the status of a gap from the outcomes that overlap it.
///
/// The outcomes must be sorted by the time at which they became known.
fn apply_outcomes(gap: &mut CoverageGap, outcomes: &[GapOutcome]) {
    let mut left = vec![TimeRange::new(gap.start, gap.end)];
    let mut lost = Vec::new();
    let touching = outcomes.iter().filter(|outcome| {
        outcome.exchange == gap.exchange && outcome.start < gap.end && outcome.end > gap.start
    });
    for outcome in touching {
        let range = TimeRange::new(outcome.start, outcome.end);
        match outcome.outcome {
            GapState::Recovered => {
                gap.recovered = Some(gap.recovered.unwrap_or(0) + outcome.rows);
                let was_open = !left.is_empty();
                left = without(&left, &[range]);
                if was_open && left.is_empty() {
                    gap.recovered_at = Some(outcome.recorded_at);
                }
            }
            GapState::Lost => lost.push(range),
            GapState::Open => {}
        }
    }
    gap.state = if left.is_empty() {
        GapState::Recovered
    } else if without(&left, &lost) != left {
        GapState::Lost
    } else {
        GapState::Open
    };
}

#[cfg(test)]
mod tests {
    use crate::archive::coverage::gap_status::*;

    fn status_after(
        outcomes: &[(i64, i64, GapState, u64, i64)],
    ) -> (GapState, Option<i64>, Option<u64>) {
        let mut gap = CoverageGap {
            exchange: "okx".to_owned(),
            start: Millis(100),
            end: Millis(200),
            ..CoverageGap::default()
        };
        let outcomes: Vec<GapOutcome> = outcomes
            .iter()
            .map(|&(start, end, outcome, rows, at)| GapOutcome {
                exchange: "okx".to_owned(),
                start: Millis(start),
                end: Millis(end),
                outcome,
                rows,
                how: "a test".to_owned(),
                recorded_at: Millis(at),
            })
            .collect();
        apply_outcomes(&mut gap, &outcomes);
        (gap.state, gap.recovered_at.map(|at| at.0), gap.recovered)
    }

    #[test]
    fn a_gap_is_recovered_once_all_of_it_is_and_lost_as_soon_as_a_part_is() {
        use GapState::{Lost, Open, Recovered};
        assert_eq!(status_after(&[]), (Open, None, None));
        assert_eq!(
            status_after(&[(0, 100, Lost, 0, 1), (200, 300, Recovered, 1, 2)]),
            (Open, None, None)
        );
        assert_eq!(
            status_after(&[(90, 150, Recovered, 3, 1)]),
            (Open, None, Some(3))
        );
        let whole = [(90, 150, Recovered, 3, 1), (150, 210, Recovered, 4, 2)];
        assert_eq!(status_after(&whole), (Recovered, Some(2), Some(7)));
        let part = [(90, 150, Lost, 0, 1), (150, 210, Recovered, 4, 2)];
        assert_eq!(status_after(&part), (Lost, None, Some(4)));
        let after_all = [(100, 200, Lost, 0, 1), (100, 200, Recovered, 0, 2)];
        assert_eq!(status_after(&after_all), (Recovered, Some(2), Some(0)));
    }
}
