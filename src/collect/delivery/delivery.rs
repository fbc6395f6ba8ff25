//! Delivery of rows to the archive's write queue.
//!
//! Rows are delivered as soon as the queue has room. If the queue stays full for too long, for example because the disk
//! is full, the rows are handed back. The caller then records a gap.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::archive::{
    Acknowledged, ArchiveError, Batch, CommitError, CommitHandle, Completeness, Gap, RawQueue,
    Retention, SessionId, WriteQueue,
};
use crate::collect::clock::AdjustedClock;
use crate::collect::delivery::dedupe_keys::EventOrigin;
use crate::collect::quarantine::dead_letter::{DeadLetter, DeadLetterKind};
use crate::collect::quarantine::quarantine::Quarantine;
use crate::collect::settings::settings::{Settings, span};
use crate::model::Millis;

/// How often past days are compacted.
const ROLL: Duration = Duration::from_hours(1);
/// How long a past day stays in the journal for late events, in milliseconds.
const LATE: i64 = Millis::HOUR;

/// Number of rows stored durably so far, by table.
#[derive(Debug, Default)]
pub(crate) struct StoredCounts {
    pub(crate) orders: AtomicU64,
    pub(crate) bars: AtomicU64,
    pub(crate) open_interest: AtomicU64,
    pub(crate) repeated: AtomicU64,
}

/// Work for the background task of a delivery, done in order.
#[derive(Debug)]
enum Job {
    CommitHandle(CommitHandle),
    Note(Box<Batch>),
    Sync(oneshot::Sender<()>),
    Flush(oneshot::Sender<()>),
}

/// Delivery of rows and notes (gaps and other records) to the archive. Clones share one write queue.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    inbox: WriteQueue,
    /// The queue of raw frames.
    pub(crate) raw: RawQueue,
    jobs: mpsc::UnboundedSender<Job>,
    pub(crate) quarantine: Arc<Quarantine>,
    /// The archive's folder.
    pub(crate) archive: Arc<Path>,
    /// How long rows wait for room in the write queue before they are handed back.
    patience: Duration,
    /// How long to wait after a failure of the archive.
    retry: Duration,
    /// Whether the write queue was full at the last attempt. Until the queue has room again, live rows do not wait, so
    /// that connections continue to read.
    overflowing: Arc<AtomicBool>,
    /// Whether past days are being compacted.
    rolling: Arc<AtomicBool>,
    pub(crate) counts: Arc<StoredCounts>,
}

/// The result of a delivery.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    /// The reason for each row that the archive can never store. These rows are in the dead-letter file.
    pub(crate) unstorable: Vec<String>,
    /// Resolves once all other rows are durable; `None` if there are no other rows.
    pub(crate) receipt: Option<CommitHandle>,
}

/// Rows that the archive did not accept in time.
#[derive(Debug)]
pub(crate) struct NotTaken {
    pub(crate) batch: Batch,
    pub(crate) reason: String,
}

impl Delivery {
    /// Creates a delivery into the write queue `inbox`. Its background task runs on the caller's runtime.
    pub(crate) fn new(
        inbox: WriteQueue,
        archive: &Path,
        settings: &Settings,
        clock: &Arc<AdjustedClock>,
    ) -> Self {
        let (jobs, received) = mpsc::unbounded_channel();
        let counts = Arc::new(StoredCounts::default());
        tokio::spawn(settle(inbox.clone(), received, Arc::clone(&counts)));
        let rolling = Arc::new(AtomicBool::new(true));
        tokio::spawn(roll(
            inbox.clone(),
            settings.retention(),
            Arc::clone(&rolling),
            Arc::clone(clock),
        ));
        Self {
            inbox,
            raw: RawQueue::default(),
            jobs,
            quarantine: Arc::new(Quarantine::open(
                archive,
                settings.dedupe_keys,
                settings.dead_letter_bytes,
            )),
            archive: archive.into(),
            patience: span(settings.pace.patience),
            retry: span(settings.pace.rewrite),
            overflowing: Arc::default(),
            rolling,
            counts,
        }
    }

    /// Returns this delivery with `raw` as its queue of raw frames.
    pub(crate) fn with_raw(self, raw: RawQueue) -> Self {
        Self { raw, ..self }
    }

    /// The archive's write queue.
    pub(crate) fn queue(&self) -> WriteQueue {
        self.inbox.clone()
    }

    /// Whether past days are being compacted.
    pub(crate) fn is_rolling(&self) -> bool {
        self.rolling.load(Ordering::Acquire)
    }

    /// Number of rows that wait to be committed.
    pub(crate) fn waiting(&self) -> u64 {
        u64::try_from(self.inbox.status().waiting).unwrap_or(u64::MAX)
    }

    /// Why the archive cannot be written; `None` if it can.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.inbox.status().stalled
    }

    /// Delivers rows as soon as the write queue has room; fails if it has no room for too long.
    ///
    /// Returns the reasons for rows that the archive can never store. These rows go to the dead-letter file.
    pub(crate) async fn rows(
        &self,
        batch: Batch,
        origin: EventOrigin,
    ) -> Result<Vec<String>, NotTaken> {
        let Sent {
            unstorable,
            receipt,
        } = self.send(batch, origin).await?;
        if let Some(receipt) = receipt {
            let _ = self.jobs.send(Job::CommitHandle(receipt));
        }
        Ok(unstorable)
    }

    /// Waits until a delivery is durable. Returns the number of its new orders, or `None` if it was not stored.
    pub(crate) async fn stored(&self, receipt: CommitHandle) -> Option<u64> {
        match receipt.await {
            Ok(done) => {
                count(&self.counts, done);
                Some(u64::try_from(done.orders).unwrap_or(u64::MAX))
            }
            Err(fault) => {
                log::error!(target: "liqdata::archive", "rows could not be stored: {fault}");
                None
            }
        }
    }

    /// Like [`Self::rows`], but returns the receipt. Past rows can be requested again, so they leave room in the queue
    /// for live rows.
    pub(crate) async fn send(&self, batch: Batch, origin: EventOrigin) -> Result<Sent, NotTaken> {
        let mut batch = batch;
        let mut unstorable = Vec::new();
        loop {
            // Only the capacity is waited for, so that a batch is still here if the time is up.
            let reserving = async {
                match origin {
                    EventOrigin::Live => self.inbox.reserve(&batch).await,
                    EventOrigin::Past => self.inbox.reserve_backfill(&batch).await,
                }
            };
            // Only live rows give up immediately on a full queue. Past rows have their own part of the queue, and no
            // connection waits for them.
            let is_live = origin == EventOrigin::Live;
            let hopeless =
                is_live && self.overflowing.load(Ordering::Relaxed) && self.trouble().is_some();
            let patience = if hopeless {
                Duration::ZERO
            } else {
                self.patience
            };
            let reserved = tokio::time::timeout(patience, reserving).await;
            if is_live {
                self.overflowing.store(reserved.is_err(), Ordering::Relaxed);
            }
            let reason = match reserved {
                Ok(Ok(permit)) => match self.inbox.send_reserved(batch, permit) {
                    Ok(receipt) => {
                        return Ok(Sent {
                            unstorable,
                            receipt: Some(receipt),
                        });
                    }
                    // The writer has stopped, so no later attempt needs the rows.
                    Err(fault) => {
                        return Err(NotTaken {
                            batch: Batch::default(),
                            reason: fault.to_string(),
                        });
                    }
                },
                Ok(Err(CommitError::Archive(fault))) => match &*fault {
                    ArchiveError::BadRow {
                        table,
                        column,
                        row,
                        message,
                    } => {
                        let reason = format!("{table}: column {column:?}: {message}");
                        self.remove_unstorable(&mut batch, table, *row, &reason);
                        unstorable.push(reason);
                        if batch.is_empty() {
                            return Ok(Sent {
                                unstorable,
                                receipt: None,
                            });
                        }
                        continue;
                    }
                    fault => fault.to_string(),
                },
                Ok(Err(fault)) => fault.to_string(),
                Err(_) => self.trouble().map_or_else(
                    || "rows came faster than they could be stored".to_owned(),
                    |trouble| format!("the archive could not be written: {trouble}"),
                ),
            };
            return Err(NotTaken { batch, reason });
        }
    }

    /// Delivers past rows; retries until the archive takes them.
    pub(crate) async fn rows_patiently(&self, batch: Batch) {
        let mut rows = batch;
        while let Err(NotTaken { batch, .. }) = self.rows(rows, EventOrigin::Past).await {
            tokio::time::sleep(self.retry).await;
            rows = batch;
        }
    }

    fn remove_unstorable(&self, batch: &mut Batch, table: &str, row: usize, reason: &str) {
        let removed = match table {
            "orders" if row < batch.orders.len() => format!("{:?}", batch.orders.remove(row)),
            "bars" if row < batch.bars.len() => format!("{:?}", batch.bars.remove(row)),
            "open_interest" if row < batch.open_interest.len() => {
                format!("{:?}", batch.open_interest.remove(row))
            }
            "positions" if row < batch.positions.len() => {
                format!("{:?}", batch.positions.remove(row))
            }
            // The error names no row, so the whole batch is removed. Otherwise the caller would retry the batch
            // forever.
            _ => format!("{:?}", std::mem::take(batch)),
        };
        log::warn!(target: "liqdata::archive", "a row cannot be stored: {reason}");
        self.quarantine.write(&DeadLetter {
            row: Some(&removed),
            ..DeadLetter::new(DeadLetterKind::Unstorable, reason)
        });
    }

    /// Records a gap.
    pub(crate) fn note_gap(&self, gap: Gap) {
        self.note(Batch {
            gaps: vec![gap],
            ..Batch::default()
        });
    }

    /// Records the instant up to which a session is covered.
    pub(crate) fn note_seen(&self, run: SessionId, at: Millis) {
        self.note(Batch {
            seen: vec![(run, at)],
            ..Batch::default()
        });
    }

    /// Queues records other than rows, such as gaps. Does not wait.
    pub(crate) fn note(&self, batch: Batch) {
        let _ = self.jobs.send(Job::Note(Box::new(batch)));
    }

    /// Begins a session as soon as the archive can be written. Returns `None` if the archive was closed.
    pub(crate) async fn begin(
        &self,
        exchange: &'static str,
        completeness: Completeness,
        at: Millis,
        late: i64,
    ) -> Option<SessionId> {
        loop {
            let begun = self
                .inbox
                .with(move |writer| writer.begin_late_session(exchange, completeness, at, late))
                .ok()?;
            match begun.await {
                Ok(run) => return Some(run),
                Err(CommitError::Stopped) => return None,
                Err(_) => tokio::time::sleep(self.retry).await,
            }
        }
    }

    /// Waits until everything delivered so far is in the write queue, but at most for `patience`. Does not wait for
    /// the disk.
    pub(crate) async fn hand_over(&self, patience: Duration) {
        let (reply, done) = oneshot::channel();
        if self.jobs.send(Job::Sync(reply)).is_ok() {
            let _ = tokio::time::timeout(patience, done).await;
        }
    }

    /// Waits until everything delivered so far is durable, but at most for the configured patience.
    pub(crate) async fn flush(&self) {
        let (reply, done) = oneshot::channel();
        if self.jobs.send(Job::Flush(reply)).is_ok() {
            let _ = tokio::time::timeout(self.patience, done).await;
        }
    }
}

/// Work that waits for the archive, processed in the order of delivery.
#[derive(Debug)]
enum Unsettled {
    CommitHandle(CommitHandle),
    Flush(oneshot::Sender<()>),
}

/// Delivers notes and counts durable rows.
///
/// A note does not wait for the receipt of the previous note, so that many notes share one transaction.
async fn settle(
    inbox: WriteQueue,
    mut received: mpsc::UnboundedReceiver<Job>,
    counts: Arc<StoredCounts>,
) {
    let mut unsettled = VecDeque::new();
    let mut is_open = true;
    while is_open || !unsettled.is_empty() {
        tokio::select! {
            next = received.recv(), if is_open => match next {
                Some(Job::CommitHandle(receipt)) => unsettled.push_back(Unsettled::CommitHandle(receipt)),
                // The caller may have stopped waiting, so the send may fail.
                Some(Job::Sync(reply)) => drop(reply.send(())),
                Some(Job::Flush(reply)) => unsettled.push_back(Unsettled::Flush(reply)),
                Some(Job::Note(batch)) => match inbox.send(*batch).await {
                    Ok(receipt) => unsettled.push_back(Unsettled::CommitHandle(receipt)),
                    Err(fault) => {
                        log::error!(target: "liqdata::archive", "a record could not be written: {fault}");
                    }
                },
                None => is_open = false,
            },
            () = settle_first(&mut unsettled, &counts), if !unsettled.is_empty() => {}
        }
    }
}

/// Waits for the first receipt and counts its rows. Cancel-safe: a cancelled wait loses nothing.
async fn settle_first(unsettled: &mut VecDeque<Unsettled>, counts: &StoredCounts) {
    if let Some(Unsettled::CommitHandle(receipt)) = unsettled.front_mut() {
        match receipt.await {
            Ok(done) => count(counts, done),
            Err(fault) => {
                log::error!(target: "liqdata::archive", "rows could not be stored: {fault}");
            }
        }
    }
    // The caller may have stopped waiting, so the send may fail.
    if let Some(Unsettled::Flush(reply)) = unsettled.pop_front() {
        let _ = reply.send(());
    }
}

fn count(counts: &StoredCounts, done: Acknowledged) {
    let add = |counter: &AtomicU64, rows: usize| {
        counter.fetch_add(u64::try_from(rows).unwrap_or(0), Ordering::Relaxed);
    };
    add(&counts.orders, done.orders);
    add(&counts.bars, done.bars);
    add(&counts.open_interest, done.open_interest);
    add(&counts.repeated, done.repeated);
}

/// Compacts past days and deletes days that exceed the retention, at the start and once an hour.
async fn roll(
    inbox: WriteQueue,
    retention: Retention,
    rolling: Arc<AtomicBool>,
    clock: Arc<AdjustedClock>,
) {
    loop {
        let now = clock.now();
        let until = now.back(LATE);
        rolling.store(true, Ordering::Release);
        let rolled = match inbox.compact(until) {
            Ok(rolled) => rolled.await,
            Err(fault) => Err(fault),
        };
        let deleted = match inbox.with(move |writer| writer.retain(&retention, now)) {
            Ok(deleted) => deleted.await,
            Err(fault) => Err(fault),
        };
        rolling.store(false, Ordering::Release);
        match deleted {
            Err(CommitError::Stopped) => return,
            Ok(deleted) => {
                for (table, rows) in deleted.rows {
                    log::info!(target: "liqdata::archive", "deleted {rows} rows of {table}: older than they are kept");
                }
            }
            Err(fault) => {
                log::warn!(target: "liqdata::archive", "old days are not deleted yet: {fault}");
            }
        }
        match rolled {
            Err(CommitError::Stopped) => return,
            Ok(rolled) if rolled.rows > 0 => {
                log::info!(
                    target: "liqdata::archive",
                    "compacted {} rows into {} files", rolled.rows, rolled.parts.len()
                );
            }
            Ok(_) => {}
            // The rows stay in the journal until the next attempt.
            Err(fault) => {
                log::warn!(target: "liqdata::archive", "past days are not compacted yet: {fault}");
            }
        }
        tokio::time::sleep(ROLL).await;
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::archive::{
        Archive, CommitPolicy, GroupCommitWriter, ManualGroupCommitWriter, OpenInterestRow,
    };
    use crate::collect::delivery::delivery::*;

    fn readings(count: i64) -> Batch {
        let row = |at: i64| OpenInterestRow {
            exchange: "okx".to_owned(),
            symbol: "BTC".to_owned(),
            timestamp: Millis(at),
            open_interest: 1.into(),
            received_at: Millis(at),
        };
        Batch {
            open_interest: (0..count).map(row).collect(),
            ..Batch::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn past_rows_leave_room_for_live_rows() {
        let folder = std::env::temp_dir().join(format!("liqdata-room-{}", std::process::id()));
        let archive = Archive::create_or_open(&folder).unwrap();
        let pace = CommitPolicy {
            queue: 20,
            ..CommitPolicy::default()
        };
        let mut by_hand = ManualGroupCommitWriter::new(archive, pace);
        let delivery = {
            let clock = Arc::new(AdjustedClock::new(None));
            Delivery::new(by_hand.queue(), &folder, &Settings::default(), &clock)
        };
        // Past rows exceed their part of the queue: the next past batch waits, but live rows do not.
        let first = delivery
            .send(readings(100), EventOrigin::Past)
            .await
            .unwrap();
        let next = tokio::spawn({
            let delivery = delivery.clone();
            async move { delivery.send(readings(1), EventOrigin::Past).await }
        });
        let soon = Duration::from_millis(1);
        for _ in 0..10 {
            let live = delivery.send(readings(1), EventOrigin::Live);
            tokio::time::timeout(soon, live).await.unwrap().unwrap();
        }
        assert!(!next.is_finished());
        let live = delivery.send(readings(1), EventOrigin::Live);
        let live = tokio::time::timeout(soon, live).await;
        assert!(live.is_err(), "the queue is full");
        by_hand.work();
        first.receipt.unwrap().await.unwrap();
        next.await.unwrap().unwrap();
        drop(by_hand);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[tokio::test]
    async fn notes_share_a_transaction_and_a_flush_waits_for_them() {
        let folder = std::env::temp_dir().join(format!("liqdata-keep-{}", std::process::id()));
        let archive = Archive::create_or_open(&folder).unwrap();
        let pace = CommitPolicy {
            delay: Duration::from_millis(100),
            ..CommitPolicy::default()
        };
        let writer = GroupCommitWriter::start_with(archive, pace).unwrap();
        let delivery = {
            let clock = Arc::new(AdjustedClock::new(None));
            Delivery::new(writer.queue(), &folder, &Settings::default(), &clock)
        };
        let gap = |at: i64| Gap {
            exchange: "okx".to_owned(),
            start: Millis(at),
            end: Millis(at + 1),
            reason: "a test".to_owned(),
            recorded_at: Millis(at + 1),
            ..Gap::default()
        };
        for at in 0..200 {
            delivery.note_gap(gap(at));
        }
        delivery.flush().await;
        let stored = Archive::read(&folder).unwrap();
        assert_eq!(
            stored
                .coverage()
                .gaps(Millis(0), Millis(1000))
                .unwrap()
                .len(),
            200
        );
        let commits = writer.queue().status().commits;
        assert!(commits < 100, "{commits}");
        drop(writer);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
