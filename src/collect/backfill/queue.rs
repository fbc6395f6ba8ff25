//! The stretches of time that a venue still owes: each is asked for again and again until it is told, or lost.

use tokio::time::Instant;

use crate::model::Millis;
use crate::net::Backoff;

/// A time from here until before there.
pub(crate) type Stretch = (Millis, Millis);

/// A stretch that is asked for until it is told.
#[derive(Debug)]
pub(crate) struct Owed {
    pub(crate) start: Millis,
    pub(crate) end: Millis,
    /// Orders that became known so far.
    pub(crate) rows: u64,
    /// Until when all of it was told already, late rows included.
    pub(crate) told_until: Option<Millis>,
    /// When it is asked for next.
    pub(crate) due: Instant,
    /// The waits after what failed.
    pub(crate) backoff: Backoff,
    /// How often it was asked for.
    pub(crate) attempts: u32,
}

/// All that a venue owes.
#[derive(Debug, Default)]
pub(crate) struct Debts {
    owed: Vec<Owed>,
}

impl Debts {
    /// Adds a stretch that is due now; those that it touches, give or take a `margin`, and that were not asked for yet, are
    /// asked for together with it.
    pub(crate) fn add(
        &mut self,
        (start, end): Stretch,
        margin: i64,
        now: Instant,
        backoff: impl FnOnce() -> Backoff,
    ) {
        let mut new = Owed {
            start,
            end,
            rows: 0,
            told_until: None,
            due: now,
            backoff: backoff(),
            attempts: 0,
        };
        self.owed.retain(|one| {
            let touches = one.start <= new.end.on(margin) && new.start <= one.end.on(margin);
            let together = touches && one.attempts == 0;
            if together {
                new.start = new.start.min(one.start);
                new.end = new.end.max(one.end);
            }
            !together
        });
        self.owed.push(new);
    }

    /// Takes the newest of those that are due.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Owed> {
        let due = self
            .owed
            .iter()
            .enumerate()
            .filter(|(_, one)| one.due <= now);
        let (place, _) = due.max_by_key(|(_, one)| one.end)?;
        Some(self.owed.swap_remove(place))
    }

    /// Takes the newest of all.
    pub(crate) fn take_newest(&mut self) -> Option<Owed> {
        let all = self.owed.iter().enumerate();
        let (place, _) = all.max_by_key(|(_, one)| one.end)?;
        Some(self.owed.swap_remove(place))
    }

    /// Takes back what is to be asked for once more.
    pub(crate) fn put_back(&mut self, owed: Owed) {
        self.owed.push(owed);
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.owed.iter().map(|one| one.due).min()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::time::Duration;

    use crate::collect::backfill::queue::*;

    #[test]
    fn what_touches_is_asked_for_together_and_the_newest_comes_first() {
        let now = Instant::now();
        let mut debts = Debts::default();
        let mut add = |start, end| {
            let backoff = || Backoff::new(Duration::ZERO, Duration::ZERO);
            debts.add((Millis(start), Millis(end)), 5, now, backoff);
        };
        add(100, 200);
        add(300, 400);
        add(206, 250);
        add(255, 295);
        assert_eq!(debts.next(), Some(now));
        let mut taken = Vec::new();
        while let Some(owed) = debts.take_due(now) {
            taken.push((owed.start.0, owed.end.0));
        }
        assert_eq!(taken, [(206, 400), (100, 200)]);
        assert_eq!(debts.next(), None);
    }

    #[test]
    fn what_is_not_due_waits() {
        let now = Instant::now();
        let mut debts = Debts::default();
        let backoff = || Backoff::new(Duration::ZERO, Duration::ZERO);
        debts.add((Millis(0), Millis(1)), 0, now, backoff);
        let mut owed = debts.take_due(now).unwrap();
        let later = now + Duration::from_secs(1);
        owed.due = later;
        owed.attempts = 1;
        debts.put_back(owed);
        // What was asked for is not asked for anew because of what is.
        debts.add((Millis(0), Millis(2)), 0, now, backoff);
        assert_eq!(debts.take_due(now).map(|one| one.end), Some(Millis(2)));
        assert!(debts.take_due(now).is_none());
        assert!(debts.take_due(later).is_some());
    }
}
