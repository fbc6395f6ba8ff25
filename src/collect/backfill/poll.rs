//! Polls an exchange that has no WebSocket feed of liquidations.

use std::sync::Arc;

use tokio::time::sleep;

use crate::archive::{GapState, SessionId};
use crate::collect::backfill::backfill::Backfill;
use crate::collect::backfill::pass::{PassOutcome, request_range};
use crate::collect::reference_data::markets::Markets;
use crate::collect::settings::settings::{millis, span};
use crate::collect::venue_tasks::VenueTasks;
use crate::model::{Millis, TimeRange};

/// Polls an exchange; never returns.
///
/// The time between two answered polls counts as covered. The time before the first poll is requested like a gap.
pub(crate) async fn poll(tasks: &VenueTasks, missing: Vec<TimeRange>) {
    let (context, coverage) = (&tasks.context, &tasks.intake.coverage);
    let pace = &context.settings.pace;
    let late = context.lateness();
    // Each poll overlaps the previous poll, because events may appear late.
    let overlap = late.max(millis(pace.poll));
    let mut backfill = Backfill::new(tasks, missing);
    // The first poll also requests the newest of the missing ranges.
    let mut from = context.clock.now();
    let mut before = None;
    if let Some(mut newest) = backfill.take_newest() {
        // The first poll requests only the last day of a long range. The rest is requested later, so that live events
        // do not wait for it.
        let day = from.back(Millis::DAY);
        if newest.start < day {
            backfill.add(TimeRange::new(newest.start, day));
            newest.start = day;
        }
        before = Some(newest.start);
        from = newest.start.back(overlap);
    }
    let mut run: Option<(SessionId, Millis)> = None;
    // The end of the covered time, and whether a poll since then failed.
    let (mut covered, mut has_failed) = (None, false);
    let mut saved: Option<Arc<Markets>> = None;
    let mut known = context.markets.load_full();
    // If new markets were listed since the previous process read the market lists, the time since that read is
    // requested too, after newer ranges.
    if let Some(before_us) = tasks.take_cached_markets()
        && let Some(since) = before_us.known_until()
        && since < from
        && known.has_more_than(&before_us)
    {
        backfill.add(TimeRange::new(since, from));
    }
    loop {
        let now = context.clock.now();
        let markets = context.markets.load_full();
        // A new market may have traded at any time since the last read of the markets.
        if let Some(since) = known
            .known_until()
            .filter(|_| markets.has_more_than(&known))
        {
            from = from.min(since);
        }
        known = markets;
        let pass = request_range(tasks, from, now, None).await;
        let answered = pass.outcome == PassOutcome::Whole;
        if pass.outcome == PassOutcome::TooMany {
            context.trouble(pass.given_up());
            coverage.note_gap(from, now, &pass.given_up());
        }
        context.board.notes().polled = Some(answered);
        has_failed |= !answered;
        if answered {
            if run.is_none() {
                // A poll covers the time until `late` before it, until the next poll is answered.
                let begun = tasks.begin_session(now, late + 2 * millis(pace.poll)).await;
                run = begun.map(|run| (run, now));
            }
            let complete_until = now.back(late);
            let seen = run.map_or(complete_until, |(_, begun)| complete_until.max(begun));
            if let Some(since) = covered.replace(seen).filter(|_| has_failed) {
                let range = TimeRange::new(since, seen);
                coverage.note_gap(since, seen, "a poll was not answered");
                let how = "recovered by the next poll";
                coverage.settle(range, GapState::Recovered, pass.rows, how);
            }
            has_failed = false;
            let is_saved = saved
                .as_ref()
                .is_some_and(|saved| Arc::ptr_eq(saved, &known));
            if !is_saved && context.is_complete(&known) {
                tasks.store_lists(&known);
                saved = Some(Arc::clone(&known));
            }
            if let Some((run, begun)) = run {
                context.delivery.note_seen(run, seen);
                // Records the gap between the previous session and this session as recovered.
                if let Some(start) = before.take_if(|_| complete_until >= begun)
                    && start < begun
                {
                    let how = "recovered by the first polls";
                    let range = TimeRange::new(start, begun);
                    coverage.settle(range, GapState::Recovered, pass.rows, how);
                }
            }
            from = now.back(overlap);
        }
        backfill.run_due().await;
        sleep(span(pace.poll)).await;
    }
}
