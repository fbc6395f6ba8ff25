//! The backfill queue: time ranges that are requested from an exchange until they are recovered or lost.

use tokio::time::Instant;

use crate::model::{Millis, TimeRange};
use crate::net::Backoff;

/// A time range to request.
#[derive(Debug)]
pub(crate) struct BackfillTask {
    pub(crate) start: Millis,
    pub(crate) end: Millis,
    /// Number of new orders found so far.
    pub(crate) rows: u64,
    /// Watermark: before this instant nothing is missing, late events included.
    pub(crate) watermark: Option<Millis>,
    /// When the next attempt is due.
    pub(crate) due: Instant,
    /// Waits between failed attempts.
    pub(crate) backoff: Backoff,
    pub(crate) attempts: u32,
}

/// The backfill tasks of one exchange.
#[derive(Debug, Default)]
pub(crate) struct BackfillQueue {
    tasks: Vec<BackfillTask>,
}

impl BackfillQueue {
    /// Adds a task that is due now. It absorbs tasks at most `margin` milliseconds away that were not attempted yet.
    pub(crate) fn add(
        &mut self,
        range: TimeRange,
        margin: i64,
        now: Instant,
        backoff: impl FnOnce() -> Backoff,
    ) {
        let mut new = BackfillTask {
            start: range.start,
            end: range.end,
            rows: 0,
            watermark: None,
            due: now,
            backoff: backoff(),
            attempts: 0,
        };
        self.tasks.retain(|task| {
            let touches = task.start <= new.end.on(margin) && new.start <= task.end.on(margin);
            let is_absorbed = touches && task.attempts == 0;
            if is_absorbed {
                new.start = new.start.min(task.start);
                new.end = new.end.max(task.end);
            }
            !is_absorbed
        });
        self.tasks.push(new);
    }

    /// Removes and returns the due task that ends last.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<BackfillTask> {
        let due = self
            .tasks
            .iter()
            .enumerate()
            .filter(|(_, task)| task.due <= now);
        let (index, _) = due.max_by_key(|(_, task)| task.end)?;
        Some(self.tasks.swap_remove(index))
    }

    /// Removes and returns the task that ends last.
    pub(crate) fn take_newest(&mut self) -> Option<BackfillTask> {
        let all = self.tasks.iter().enumerate();
        let (index, _) = all.max_by_key(|(_, task)| task.end)?;
        Some(self.tasks.swap_remove(index))
    }

    /// Puts a task back for another attempt.
    pub(crate) fn put_back(&mut self, task: BackfillTask) {
        self.tasks.push(task);
    }

    /// When the next task is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.tasks.iter().map(|task| task.due).min()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn touching_ranges_are_joined_and_the_newest_comes_first() {
        let now = Instant::now();
        let mut queue = BackfillQueue::default();
        let mut add = |start, end| {
            let backoff = || Backoff::new(Duration::ZERO, Duration::ZERO);
            queue.add(TimeRange::new(Millis(start), Millis(end)), 5, now, backoff);
        };
        add(100, 200);
        add(300, 400);
        add(206, 250);
        add(255, 295);
        assert_eq!(queue.next_due(), Some(now));
        let mut taken = Vec::new();
        while let Some(task) = queue.take_due(now) {
            taken.push((task.start.0, task.end.0));
        }
        assert_eq!(taken, [(206, 400), (100, 200)]);
        assert_eq!(queue.next_due(), None);
    }

    #[test]
    fn a_task_that_is_not_due_waits() {
        let now = Instant::now();
        let mut queue = BackfillQueue::default();
        let backoff = || Backoff::new(Duration::ZERO, Duration::ZERO);
        queue.add(TimeRange::new(Millis(0), Millis(1)), 0, now, backoff);
        let mut task = queue.take_due(now).unwrap();
        let later = now + Duration::from_secs(1);
        task.due = later;
        task.attempts = 1;
        queue.put_back(task);
        // An already attempted task is not merged with the new task.
        queue.add(TimeRange::new(Millis(0), Millis(2)), 0, now, backoff);
        assert_eq!(queue.take_due(now).map(|task| task.end), Some(Millis(2)));
        assert!(queue.take_due(now).is_none());
        assert!(queue.take_due(later).is_some());
    }
}
