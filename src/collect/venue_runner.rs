//! Runs all tasks of one exchange: market refresh, connections, backfill, history and checks.
//!
//! No task of one exchange affects another exchange.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use crate::collect::backfill::backfill::Backfill;
use crate::collect::backfill::history::HistoryBackfill;
use crate::collect::backfill::missing::missing_ranges;
use crate::collect::backfill::poll::poll;
use crate::collect::health::startup_gap::{extend_startup_gap, note_startup_gap};
use crate::collect::quality::venue_totals::compare_totals;
use crate::collect::settings::settings::span;
use crate::collect::venue_tasks::{VenueTasks, is_set};
use crate::model::{Millis, TimeRange};

/// Runs an exchange until `stop`; `since` is the start of collection. Without live collection, runs it until the backfill is complete.
pub(crate) async fn run_venue(
    tasks: Arc<VenueTasks>,
    since: Millis,
    mut stop: watch::Receiver<bool>,
) {
    if tasks.once {
        tokio::select! {
            () = run_once(&tasks) => {}
            () = is_set(&mut stop) => {}
        }
    } else {
        tokio::select! {
            () = run_until_stopped(&tasks, stop) => {}
            () = extend_startup_gap(&tasks, since) => {}
        }
        note_startup_gap(&tasks, since);
    }
    tasks.intake.close();
    tasks.set_filled();
    tasks.context.board.notes().stopped = true;
}

/// Backfills missing data and returns.
async fn run_once(tasks: &VenueTasks) {
    tasks.read_markets_until_known().await;
    let now = tasks.context.clock.now();
    let missing = missing_ranges(&tasks.context, now).await;
    let history = async {
        if let Some(mut history) = HistoryBackfill::of(tasks) {
            history.fill().await;
        }
    };
    tokio::join!(Backfill::new(tasks, missing).run_once(), history);
    tasks.intake.retry_pending().await;
}

/// Collects until `stop`; returns once the connections are closed.
async fn run_until_stopped(tasks: &VenueTasks, stop: watch::Receiver<bool>) {
    let context = &tasks.context;
    let begun = context.clock.now();
    let missing = missing_ranges(context, begun).await;
    let others = async {
        tokio::join!(
            tasks.run_market_refresh(),
            backfill(tasks, missing),
            collect_history(tasks),
            expire_pending(tasks),
            write_counts(tasks),
            compare_totals(tasks),
        );
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = tasks.run_connections(begun, stop) => {}
        () = others => {}
    }
}

/// Backfills the missing ranges. Polls the exchange instead if it has no WebSocket connections.
async fn backfill(tasks: &VenueTasks, missing: Vec<TimeRange>) {
    tasks.markets_are_known().await;
    if tasks.context.venue.is_polled() {
        poll(tasks, missing).await;
    } else {
        Backfill::new(tasks, missing).run().await;
    }
}

/// Collects bars and open interest, if the exchange has any.
async fn collect_history(tasks: &VenueTasks) {
    tasks.markets_are_known().await;
    let Some(mut history) = HistoryBackfill::of(tasks) else {
        return tasks.set_filled();
    };
    history.fill().await;
    tasks.set_filled();
    history.run().await;
}

/// Writes the daily counts periodically; never returns.
async fn write_counts(tasks: &VenueTasks) {
    let each = span(tasks.context.settings.pace.checkpoint).max(Duration::from_millis(10));
    loop {
        tasks.intake.coverage.write_counts();
        sleep(each).await;
    }
}

/// Periodically retries the rows that wait for a contract size, and gives up those that have waited too long.
async fn expire_pending(tasks: &VenueTasks) {
    let each = span(tasks.context.settings.pace.pending).div_f64(4.0);
    loop {
        sleep(each.max(Duration::from_millis(10))).await;
        if tasks.intake.pending.len() > 0 {
            tasks.intake.retry_pending().await;
        }
    }
}
