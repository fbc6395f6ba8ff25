//! Orders that are kept though nothing measured them, each counted once, however often it is told again.
//!
//! Within the minutes that keys are remembered nothing is told twice as far as this; beyond them the archive knows which
//! orders it has.

use std::collections::HashSet;

use crate::archive::{Archive, ArchiveError, CounterKind, Filter};
use crate::collect::intake::intake::{Intake, Unjudged};
use crate::collect::lock::locked;
use crate::collect::settings::millis;

/// How far ahead of this machine's an exchange's clock may be.
const MARGIN: i64 = 5000;

impl Intake {
    /// How many of some orders the archive has not got yet.
    pub(crate) async fn new_among(&self, orders: &[Unjudged]) -> u64 {
        let remembered = self.clock.now().back(millis(self.settings.pace.remember));
        // What happened since this process listens is told to it once.
        let since = self.begun.on(MARGIN).max(remembered);
        let old = || orders.iter().filter(|(_, at)| *at < since);
        let all = orders.len();
        let (Some(first), Some(last)) = (
            old().map(|(_, at)| *at).min(),
            old().map(|(_, at)| *at).max(),
        ) else {
            return u64::try_from(all).unwrap_or(u64::MAX);
        };
        let filter = Filter {
            exchange: Some(self.name().to_owned()),
            start: Some(first),
            end: Some(last.on(1)),
            ..Filter::default()
        };
        let path = self.delivery.archive.clone();
        let read = move || -> Result<HashSet<String>, ArchiveError> {
            let rows = Archive::read(&path)?.orders(&filter)?.rows;
            Ok(rows.into_iter().map(|row| row.dedupe_key).collect())
        };
        let kept = match tokio::task::spawn_blocking(read).await {
            Ok(Ok(kept)) => kept,
            Ok(Err(fault)) => {
                let board = &self.board;
                board.trouble(format!("the archive cannot be read: {fault}"));
                HashSet::new()
            }
            Err(_) => HashSet::new(),
        };
        let known = old().filter(|(key, _)| kept.contains(key)).count();
        u64::try_from(all - known).unwrap_or(u64::MAX)
    }

    /// Counts orders that are kept though nothing measured them.
    pub(crate) fn count_unjudged(&self, count: u64) {
        if count > 0 {
            self.board.notes().status.unjudged += count;
            let now = self.clock.now();
            locked(&self.counts).add(CounterKind::Unjudged, count, now);
        }
    }
}
