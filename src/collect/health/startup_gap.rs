//! The startup gap: the time from the start of collection until an exchange is covered.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::sleep;

use crate::archive::{Batch, PendingExchange};
use crate::collect::settings::settings::span;
use crate::collect::venue_tasks::VenueTasks;
use crate::model::Millis;

/// Extends the startup gap periodically until a session begins; never returns.
pub(crate) async fn extend_startup_gap(tasks: &VenueTasks, since: Millis) {
    let each = span(tasks.context.settings.pace.checkpoint).max(Duration::from_millis(10));
    while note_startup_gap(tasks, since) {
        sleep(each).await;
    }
    std::future::pending::<()>().await;
}

/// Records the startup gap, with the last warning as its reason. Returns whether the gap still lasts.
pub(crate) fn note_startup_gap(tasks: &VenueTasks, since: Millis) -> bool {
    let lasts = !tasks.has_begun.load(Ordering::Acquire);
    if lasts {
        let context = &tasks.context;
        let why = context.board.notes().status.trouble.clone();
        context.delivery.note(Batch {
            pending: vec![PendingExchange {
                exchange: context.name().to_owned(),
                since,
                until: context.clock.now(),
                why,
            }],
            ..Batch::default()
        });
    }
    lasts
}
