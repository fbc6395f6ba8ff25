//! A venue that is to be heard and is not yet: written down from the collector's start on, with what stands in the way, until
//! the listening begins.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::sleep;

use crate::archive::{Batch, PendingExchange};
use crate::collect::settings::span;
use crate::collect::venue_tasks::VenueTasks;
use crate::model::Millis;

impl VenueTasks {
    /// Writes it down as long as it lasts; never returns.
    pub(crate) async fn record_startup_gap(&self, since: Millis) {
        let each = span(self.intake.settings.pace.seen).max(Duration::from_millis(10));
        while self.note_startup_gap(since) {
            sleep(each).await;
        }
        std::future::pending::<()>().await;
    }

    /// Writes down that the venue has been awaited since `since`, where it still is; whether it is.
    pub(crate) fn note_startup_gap(&self, since: Millis) -> bool {
        let awaited = !self.heard.load(Ordering::Acquire);
        if awaited {
            let why = self.intake.board.notes().status.trouble.clone();
            self.intake.delivery.note(Batch {
                pending: vec![PendingExchange {
                    exchange: self.intake.name().to_owned(),
                    since,
                    until: self.intake.clock.now(),
                    why,
                }],
                ..Batch::default()
            });
        }
        awaited
    }
}
