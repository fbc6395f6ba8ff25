//! Everything about one venue, together: its markets, its sockets, what was missed, its history. Nothing that happens here
//! touches another venue.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::collect::backfill::history::History;
use crate::collect::settings::span;
use crate::collect::venue_tasks::{VenueTasks, said};
use crate::model::Millis;

/// Why the listening to a venue ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    /// It was told to.
    Wanted,
    /// What the venue tells must not be kept: since when that is known, and the reason of the gap.
    Disproved(Millis, String),
}

/// Tends a venue until `stop`, or until its past is filled where that is all that is wanted.
pub(crate) async fn tend(venue: Arc<VenueTasks>, mut stop: watch::Receiver<bool>) {
    if venue.once {
        tokio::select! {
            () = venue.run_once() => {}
            () = said(&mut stop) => {}
        }
    } else {
        let since = venue.intake.clock.now();
        tokio::select! {
            () = venue.listen(stop) => {}
            () = venue.record_startup_gap(since) => {}
        }
        venue.note_startup_gap(since);
    }
    venue.intake.give_up_held();
    venue.intake.end_loss();
    venue.intake.write_counts();
    venue.is_filled();
    venue.intake.board.notes().stopped = true;
}

impl VenueTasks {
    /// Listens until `stop`, as long as what the venue tells may be kept.
    async fn listen(&self, mut stop: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                () = async {
                    self.withdraw_doubted().await;
                    self.until_proven().await;
                } => {}
                () = said(&mut stop) => return,
            }
            if self.run(stop.clone()).await == End::Wanted {
                return;
            }
        }
    }

    /// Asks for the past and ends.
    async fn run_once(&self) {
        self.withdraw_doubted().await;
        if !self.is_proven().await {
            return;
        }
        self.read_markets_until_known().await;
        let missing = self.missing(self.intake.clock.now()).await;
        let history = async {
            if let Some(mut history) = History::of(self) {
                history.begin().await;
            }
        };
        tokio::join!(self.fill_all(missing), history);
        self.intake.try_held().await;
    }

    /// Listens until `stop`, or until what the venue tells must not be kept; returns once the sockets are closed.
    async fn run(&self, mut stop: watch::Receiver<bool>) -> End {
        let begun = self.intake.clock.now();
        let missing = self.missing(begun).await;
        let beside = async {
            tokio::join!(
                self.run_market_refresh(),
                self.tend_missed(missing),
                self.tend_history(),
                self.tend_held(),
                self.tend_counts(),
                self.tend_totals(),
            );
            std::future::pending::<()>().await;
        };
        let (leave, leaving) = watch::channel(false);
        let end = async {
            let end = tokio::select! {
                () = said(&mut stop) => End::Wanted,
                (asked, reason) = self.until_disproved(), if self.is_in_doubt() => {
                    End::Disproved(asked, reason)
                }
            };
            leave.send_replace(true);
            end
        };
        let end = tokio::select! {
            (end, ()) = async { tokio::join!(end, self.run_connections(begun, leaving)) } => end,
            () = beside => End::Wanted,
        };
        if let End::Disproved(asked, reason) = &end {
            // What came until the sockets were closed.
            self.intake.gap(*asked, self.intake.clock.now(), reason);
        }
        end
    }

    /// Asks for bars and open interest, where the venue's are collected.
    async fn tend_history(&self) {
        self.markets_are_known().await;
        let Some(mut history) = History::of(self) else {
            return self.is_filled();
        };
        history.begin().await;
        self.is_filled();
        let pace = &self.intake.settings.pace;
        let mut readings = Instant::now();
        loop {
            sleep(span(pace.bars)).await;
            let due = readings <= Instant::now();
            if due {
                readings = Instant::now() + span(pace.poll);
            }
            history.go_on(due).await;
        }
    }

    /// Writes down what could not be told.
    async fn tend_counts(&self) {
        let each = span(self.intake.settings.pace.seen).max(Duration::from_millis(10));
        loop {
            self.intake.write_counts();
            sleep(each).await;
        }
    }

    /// Gives up the rows that have waited too long.
    async fn tend_held(&self) {
        let each = span(self.intake.settings.pace.hold).div_f64(4.0);
        loop {
            sleep(each.max(Duration::from_millis(10))).await;
            if self.intake.held() > 0 {
                self.intake.try_held().await;
            }
        }
    }
}
