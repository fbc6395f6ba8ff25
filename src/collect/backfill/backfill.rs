//! Backfill of one exchange: requests the orders of each gap until it is recovered or lost.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::archive::GapState;
use crate::collect::backfill::pass::{PassOutcome, request_range};
use crate::collect::backfill::queue::{BackfillQueue, BackfillTask};
use crate::collect::settings::settings::span;
use crate::collect::venue_tasks::VenueTasks;
use crate::model::{Millis, TimeRange};
use crate::net::Backoff;

/// A backfill also requests this many milliseconds before and after a gap, because clocks differ.
pub(crate) const MARGIN: i64 = 5000;
/// The shortest part that a time range is split into, in milliseconds.
const SHORTEST: i64 = 10 * Millis::MINUTE;
/// Maximum number of attempts per task in a process that only backfills and then stops.
const ATTEMPTS: u32 = 3;

/// The backfill of one exchange.
pub(crate) struct Backfill<'a> {
    tasks: &'a VenueTasks,
    queue: BackfillQueue,
}

impl<'a> Backfill<'a> {
    /// Creates a backfill of the time ranges in `missing`.
    pub(crate) fn new(tasks: &'a VenueTasks, missing: Vec<TimeRange>) -> Self {
        let mut backfill = Self {
            tasks,
            queue: BackfillQueue::default(),
        };
        for range in missing {
            backfill.add(range);
        }
        backfill
    }

    /// Runs all tasks, including tasks that connections add later; never returns.
    pub(crate) async fn run(mut self) {
        loop {
            self.run_due().await;
            let next = self.queue.next_due();
            tokio::select! {
                () = self.tasks.intake.coverage.backfill.added() => {}
                () = async { sleep_until(next.unwrap_or_else(Instant::now)).await }, if next.is_some() => {}
            }
        }
    }

    /// Runs each task until it succeeds or has failed [`ATTEMPTS`] times.
    pub(crate) async fn run_once(mut self) {
        while let Some(next) = self.queue.next_due() {
            sleep_until(next).await;
            if let Some(task) = self.queue.take_due(Instant::now())
                && let Some(task) = self.attempt(task).await
                && task.attempts < ATTEMPTS
            {
                self.queue.put_back(task);
            }
        }
    }

    /// Runs all due tasks, the latest time range first. Includes tasks that connections add during the run.
    pub(crate) async fn run_due(&mut self) {
        loop {
            for range in self.tasks.intake.coverage.backfill.take() {
                self.add(range);
            }
            let Some(task) = self.queue.take_due(Instant::now()) else {
                return;
            };
            if let Some(task) = self.attempt(task).await {
                self.queue.put_back(task);
            }
        }
    }

    /// Adds a task that is due now.
    pub(crate) fn add(&mut self, range: TimeRange) {
        let tasks = self.tasks;
        let backoff = || backoff(tasks);
        self.queue.add(range, MARGIN, Instant::now(), backoff);
    }

    /// Removes and returns the task with the latest end of its time range.
    pub(crate) fn take_newest(&mut self) -> Option<BackfillTask> {
        self.queue.take_newest()
    }

    /// Requests a time range once and records the outcome. Returns the task if another attempt is needed.
    ///
    /// A range that needs too many requests is split into halves.
    async fn attempt(&mut self, mut task: BackfillTask) -> Option<BackfillTask> {
        let (context, intake) = (&self.tasks.context, &self.tasks.intake);
        let (venue, late) = (context.venue, context.lateness());
        let requested_at = context.clock.now();
        let forgotten = requested_at.back(venue.look_back());
        if task.start < forgotten {
            let how = if venue.look_back() == 0 {
                "the exchange offers no history"
            } else {
                "older than the history that the exchange offers"
            };
            let lost = TimeRange::new(task.start, task.end.min(forgotten));
            intake.coverage.settle(lost, GapState::Lost, 0, how);
            task.start = forgotten;
        }
        if task.start >= task.end {
            return None;
        }
        // The request begins earlier than the gap: events from before the gap that arrived late are missing too, and
        // clocks differ.
        let from = task.start.back(late.max(MARGIN)).max(forgotten);
        let lost = context.board.notes().status.lost;
        let until = task.end.on(MARGIN);
        let mut pass = request_range(self.tasks, from, until, task.watermark).await;
        // A backfilled row counts as a duplicate as soon as its live row was received. The pass is complete only if the
        // archive has taken that live row.
        let is_delivered = intake.delivered_until(task.end) >= task.end
            && lost == context.board.notes().status.lost;
        if pass.outcome == PassOutcome::Whole && !is_delivered {
            pass.outcome = PassOutcome::Partial;
        }
        task.rows += pass.rows;
        task.attempts += 1;
        task.due = Instant::now();
        match pass.outcome {
            PassOutcome::Whole => {
                let complete_at = task.end.on(late);
                let reached = if self.tasks.once {
                    task.end.min(requested_at.back(late))
                } else {
                    task.end
                };
                if requested_at >= complete_at || self.tasks.once {
                    let requests = pass.requests;
                    let how = format!("requested again: {requests} requests answered");
                    if task.start < reached {
                        let range = TimeRange::new(task.start, reached);
                        intake
                            .coverage
                            .settle(range, GapState::Recovered, task.rows, &how);
                    }
                    return None;
                }
                task.watermark = task.watermark.max(Some(requested_at.back(late)));
                let left = complete_at.0.saturating_sub(requested_at.0);
                task.due += Duration::from_millis(u64::try_from(left).unwrap_or(0));
            }
            PassOutcome::Partial => task.due += task.backoff.next(),
            PassOutcome::Gone => task.due += span(context.settings.pace.instruments),
            PassOutcome::TooMany => match self.split(&task, pass.planned) {
                Ok(middle) => {
                    context.trouble(format!("{}: requested in halves", pass.given_up()));
                    task.due += task.backoff.next();
                    // The rows recovered so far count for the second half only.
                    self.queue.put_back(BackfillTask {
                        end: middle,
                        rows: 0,
                        backoff: backoff(self.tasks),
                        ..task
                    });
                    // The halves count as attempted, so that the queue does not join them again.
                    (task.start, task.attempts) = (middle, 1);
                }
                // This process gives up, but the gap stays open: the settings of the next process may allow more
                // requests.
                Err(why) => {
                    let reason = format!("{}; {why}", pass.given_up());
                    context.trouble(reason.clone());
                    intake.coverage.note_gap(task.start, task.end, &reason);
                    return None;
                }
            },
        }
        Some(task)
    }

    /// The instant at which to split a time range that needs too many requests. The error is the reason why the range
    /// is not split.
    fn split(&self, task: &BackfillTask, planned: usize) -> Result<Millis, &'static str> {
        let length = task.end.0.saturating_sub(task.start.0);
        if length < 2 * SHORTEST {
            return Err("it is too short to be split");
        }
        let context = &self.tasks.context;
        let middle = task.start.on(length / 2);
        let from = middle.back(context.lateness().max(MARGIN));
        let until = task.end.on(MARGIN);
        let requests = context
            .venue
            .missed(&context.traded_since(from), from, until);
        let most = usize::try_from(context.settings.backfill_requests).unwrap_or(usize::MAX);
        if requests.len() > most && requests.len() >= planned {
            return Err("it is not split, because a half also needs too many requests");
        }
        Ok(middle)
    }
}

/// The waits between failed attempts.
fn backoff(tasks: &VenueTasks) -> Backoff {
    let pace = &tasks.context.settings.pace;
    Backoff::new(span(pace.retry_first), span(pace.retry_most) * 10)
}
