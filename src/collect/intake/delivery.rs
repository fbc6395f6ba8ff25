//! The way of what came in to the archive's [`WriteQueue`], and to the file of what was set aside.
//!
//! Rows are handed over as soon as there is room for them. Where there is none for too long (a full disk, say) they are
//! handed back, for whoever has them to record a gap.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::archive::{
    Acknowledged, ArchiveError, Batch, CommitError, CommitHandle, Completeness, Gap, RawQueue,
    SessionId, WriteQueue, Writer,
};
use crate::collect::clock::AdjustedClock;
use crate::collect::intake::dedupe_keys::Way;
use crate::collect::lock::locked;
use crate::collect::quarantine::dead_letter::{Aside, AsideFile};
use crate::collect::quarantine::readmit::Quarantined;
use crate::collect::settings::{Settings, span};
use crate::model::Millis;

/// How often days that are over are looked for.
const ROLL: Duration = Duration::from_hours(1);
/// How long after its end a day is left in the journal, for orders that come late.
const LATE: i64 = Millis::HOUR;

/// What has become durable so far.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) orders: AtomicU64,
    pub(crate) bars: AtomicU64,
    pub(crate) open_interest: AtomicU64,
    pub(crate) repeated: AtomicU64,
}

/// What is done beside the rows, in the order it is asked for.
#[derive(Debug)]
enum Posted {
    CommitHandle(CommitHandle),
    Note(Box<Batch>),
    Handed(oneshot::Sender<()>),
    Flush(oneshot::Sender<()>),
}

/// The way to the archive; as many as there are tasks.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    inbox: WriteQueue,
    /// Where the frames themselves go.
    pub(crate) raw: RawQueue,
    posted: mpsc::UnboundedSender<Posted>,
    aside: Arc<Mutex<AsideFile>>,
    /// The orders that were quarantined.
    pub(crate) quarantined: Arc<Mutex<Quarantined>>,
    /// The archive's folder.
    pub(crate) archive: Arc<Path>,
    patience: Duration,
    again: Duration,
    /// Whether patience has run out lately: until rows are written again nobody waits, or every socket would stand
    /// still.
    overflowing: Arc<AtomicBool>,
    /// Whether days that are over are on their way into files.
    rolling: Arc<AtomicBool>,
    pub(crate) counts: Arc<Counts>,
}

/// What was handed over.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    /// Why rows can never be kept, of each that was set aside.
    pub(crate) unfit: Vec<String>,
    /// What says that the others are durable; absent where there were none.
    pub(crate) receipt: Option<CommitHandle>,
}

/// Rows that were not taken.
#[derive(Debug)]
pub(crate) struct NotTaken {
    /// The keys of the orders among them.
    pub(crate) keys: Vec<String>,
    /// Why.
    pub(crate) reason: String,
}

impl Delivery {
    /// A way to `inbox`; what is to be done beside it is done on the runtime of the caller.
    pub(crate) fn new(
        inbox: WriteQueue,
        archive: &Path,
        settings: &Settings,
        clock: &Arc<AdjustedClock>,
    ) -> Self {
        let (posted, received) = mpsc::unbounded_channel();
        let counts = Arc::new(Counts::default());
        tokio::spawn(settle(inbox.clone(), received, Arc::clone(&counts)));
        let rolling = Arc::new(AtomicBool::new(true));
        tokio::spawn(roll(inbox.clone(), Arc::clone(&rolling), Arc::clone(clock)));
        Self {
            inbox,
            raw: RawQueue::default(),
            posted,
            aside: Arc::new(Mutex::new(AsideFile::new(archive, settings.aside_bytes))),
            quarantined: {
                let known = Quarantined::read(archive, settings.remembered);
                Arc::new(Mutex::new(known))
            },
            archive: archive.into(),
            patience: span(settings.pace.patience),
            again: span(settings.pace.rewrite),
            overflowing: Arc::default(),
            rolling,
            counts,
        }
    }

    /// The same way, on which the frames go to `raw`.
    pub(crate) fn keeping(self, raw: RawQueue) -> Self {
        Self { raw, ..self }
    }

    /// The way into the archive itself.
    pub(crate) fn queue(&self) -> WriteQueue {
        self.inbox.clone()
    }

    /// Whether days that are over are on their way into files.
    pub(crate) fn is_rolling(&self) -> bool {
        self.rolling.load(Ordering::Acquire)
    }

    /// Rows that wait to be committed.
    pub(crate) fn waiting(&self) -> u64 {
        u64::try_from(self.inbox.status().waiting).unwrap_or(u64::MAX)
    }

    /// Why nothing can be written, where nothing can.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.inbox.status().stalled
    }

    /// Hands rows over as soon as there is room; gives up where there is none for too long. Rows that the archive can
    /// never keep are set aside, and the others handed over; why is said of each.
    pub(crate) async fn rows(&self, batch: Batch, way: Way) -> Result<Vec<String>, NotTaken> {
        let Sent { unfit, receipt } = self.send(batch, way).await?;
        if let Some(receipt) = receipt {
            let _ = self.posted.send(Posted::CommitHandle(receipt));
        }
        Ok(unfit)
    }

    /// How many orders of what was handed over are new, once that is durable; `None` where it was not kept.
    pub(crate) async fn kept(&self, receipt: CommitHandle) -> Option<u64> {
        match receipt.await {
            Ok(done) => {
                count(&self.counts, done);
                Some(u64::try_from(done.orders).unwrap_or(u64::MAX))
            }
            Err(fault) => {
                log::error!(target: "liqdata::archive", "rows could not be kept: {fault}");
                None
            }
        }
    }

    /// As [`Self::rows`], with the receipt in the hands of the caller. What came as an answer can be asked for again, and
    /// leaves room in the queue for what comes once.
    pub(crate) async fn send(&self, batch: Batch, way: Way) -> Result<Sent, NotTaken> {
        let mut batch = batch;
        let mut unfit = Vec::new();
        loop {
            let sending = async {
                match way {
                    Way::Socket => self.inbox.send(batch.clone()).await,
                    Way::Request => self.inbox.send_backfill(batch.clone()).await,
                }
            };
            // What is asked for has a room of its own, and nobody's socket waits for it.
            let is_once = way == Way::Socket;
            let hopeless =
                is_once && self.overflowing.load(Ordering::Relaxed) && self.trouble().is_some();
            let patience = if hopeless {
                Duration::ZERO
            } else {
                self.patience
            };
            let sent = tokio::time::timeout(patience, sending).await;
            if is_once {
                self.overflowing.store(sent.is_err(), Ordering::Relaxed);
            }
            let reason = match sent {
                Ok(Ok(receipt)) => {
                    return Ok(Sent {
                        unfit,
                        receipt: Some(receipt),
                    });
                }
                Ok(Err(CommitError::Archive(fault))) => match &*fault {
                    ArchiveError::BadRow {
                        table,
                        column,
                        row,
                        message,
                    } => {
                        let reason = format!("{table}: column {column:?}: {message}");
                        self.take_out(&mut batch, table, *row, &reason);
                        unfit.push(reason);
                        if batch.is_empty() {
                            return Ok(Sent {
                                unfit,
                                receipt: None,
                            });
                        }
                        continue;
                    }
                    fault => fault.to_string(),
                },
                Ok(Err(fault)) => fault.to_string(),
                Err(_) => self.trouble().map_or_else(
                    || "rows came faster than they could be kept".to_owned(),
                    |trouble| format!("the archive could not be written: {trouble}"),
                ),
            };
            return Err(NotTaken {
                keys: batch.orders.into_iter().map(|row| row.dedupe_key).collect(),
                reason,
            });
        }
    }

    /// Hands rows over however long that takes; for what can be asked for again and is in no hurry.
    pub(crate) async fn rows_patiently(&self, batch: Batch) {
        while self.rows(batch.clone(), Way::Request).await.is_err() {
            tokio::time::sleep(self.again).await;
        }
    }

    fn take_out(&self, batch: &mut Batch, table: &str, row: usize, reason: &str) {
        let taken = match table {
            "orders" if row < batch.orders.len() => format!("{:?}", batch.orders.remove(row)),
            "bars" if row < batch.bars.len() => format!("{:?}", batch.bars.remove(row)),
            "open_interest" if row < batch.open_interest.len() => {
                format!("{:?}", batch.open_interest.remove(row))
            }
            "positions" if row < batch.positions.len() => {
                format!("{:?}", batch.positions.remove(row))
            }
            // Nothing tells which row is at fault: better to lose the batch than to turn in circles.
            _ => format!("{:?}", std::mem::take(batch)),
        };
        log::warn!(target: "liqdata::archive", "a row cannot be kept: {reason}");
        self.aside(&serde_json::json!({"reason": reason, "row": taken}).to_string());
    }

    /// Writes a gap down.
    pub(crate) fn note_gap(&self, gap: Gap) {
        self.note(Batch {
            gaps: vec![gap],
            ..Batch::default()
        });
    }

    /// Writes down until when a run went on.
    pub(crate) fn note_seen(&self, run: SessionId, at: Millis) {
        self.note(Batch {
            seen: vec![(run, at)],
            ..Batch::default()
        });
    }

    /// Writes down what is no row.
    pub(crate) fn note(&self, batch: Batch) {
        let _ = self.posted.send(Posted::Note(Box::new(batch)));
    }

    /// Begins a run as soon as the archive can be written; `None` where it has been closed.
    pub(crate) async fn begin(
        &self,
        exchange: &'static str,
        completeness: Completeness,
        at: Millis,
    ) -> Option<SessionId> {
        loop {
            let begun = self
                .inbox
                .with(move |writer| writer.begin_session(exchange, completeness, at))
                .ok()?;
            match begun.await {
                Ok(run) => return Some(run),
                Err(CommitError::Stopped) => return None,
                Err(_) => tokio::time::sleep(self.again).await,
            }
        }
    }

    /// Does something else with the writer, after everything that was handed over before it.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Writer) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<T, CommitError> {
        self.inbox.with(work)?.await
    }

    /// Waits until what failed may be tried again.
    pub(crate) async fn pause(&self) {
        tokio::time::sleep(self.again).await;
    }

    /// Sets a line aside, as far as there is room in the file.
    pub(crate) fn aside(&self, line: &str) -> Aside {
        let written = locked(&self.aside).write(line);
        if let Aside::Full(why) = &written {
            log::warn!(target: "liqdata::archive", "{why}");
        }
        written
    }

    /// Returns once the archive's keeper has everything so far, which does not wait for the disk; or has not got it for
    /// too long, because it has no room.
    pub(crate) async fn hand_over(&self, patience: Duration) {
        let (reply, done) = oneshot::channel();
        if self.posted.send(Posted::Handed(reply)).is_ok() {
            let _ = tokio::time::timeout(patience, done).await;
        }
    }

    /// Returns once everything so far is durable, or has not become so for too long.
    pub(crate) async fn flush(&self) {
        let (reply, done) = oneshot::channel();
        if self.posted.send(Posted::Flush(reply)).is_ok() {
            let _ = tokio::time::timeout(self.patience, done).await;
        }
    }
}

/// What is settled in the order in which it was handed over.
#[derive(Debug)]
enum Unsettled {
    CommitHandle(CommitHandle),
    Flush(oneshot::Sender<()>),
}

/// Hands over what was noted, and counts what became durable. Nothing waits for the receipt of anything before it: a
/// transaction takes as long as many of them are made of, and they share one.
async fn settle(
    inbox: WriteQueue,
    mut received: mpsc::UnboundedReceiver<Posted>,
    counts: Arc<Counts>,
) {
    let mut unsettled = VecDeque::new();
    let mut is_open = true;
    while is_open || !unsettled.is_empty() {
        tokio::select! {
            next = received.recv(), if is_open => match next {
                Some(Posted::CommitHandle(receipt)) => unsettled.push_back(Unsettled::CommitHandle(receipt)),
                // Whoever asked may have lost patience.
                Some(Posted::Handed(reply)) => drop(reply.send(())),
                Some(Posted::Flush(reply)) => unsettled.push_back(Unsettled::Flush(reply)),
                Some(Posted::Note(batch)) => match inbox.send(*batch).await {
                    Ok(receipt) => unsettled.push_back(Unsettled::CommitHandle(receipt)),
                    Err(fault) => {
                        log::error!(target: "liqdata::archive", "a gap could not be recorded: {fault}");
                    }
                },
                None => is_open = false,
            },
            () = settle_first(&mut unsettled, &counts), if !unsettled.is_empty() => {}
        }
    }
}

/// Settles the first of those that are not settled; whoever stops waiting has lost nothing.
async fn settle_first(unsettled: &mut VecDeque<Unsettled>, counts: &Counts) {
    if let Some(Unsettled::CommitHandle(receipt)) = unsettled.front_mut() {
        match receipt.await {
            Ok(done) => count(counts, done),
            Err(fault) => {
                log::error!(target: "liqdata::archive", "rows could not be kept: {fault}");
            }
        }
    }
    // Whoever asked may have lost patience.
    if let Some(Unsettled::Flush(reply)) = unsettled.pop_front() {
        let _ = reply.send(());
    }
}

fn count(counts: &Counts, done: Acknowledged) {
    let add = |counter: &AtomicU64, rows: usize| {
        counter.fetch_add(u64::try_from(rows).unwrap_or(0), Ordering::Relaxed);
    };
    add(&counts.orders, done.orders);
    add(&counts.bars, done.bars);
    add(&counts.open_interest, done.open_interest);
    add(&counts.repeated, done.repeated);
}

/// Moves the days that are over into files, at the start and once an hour.
async fn roll(inbox: WriteQueue, rolling: Arc<AtomicBool>, clock: Arc<AdjustedClock>) {
    loop {
        let until = clock.now().back(LATE);
        rolling.store(true, Ordering::Release);
        let rolled = match inbox.compact(until) {
            Ok(rolled) => rolled.await,
            Err(fault) => Err(fault),
        };
        rolling.store(false, Ordering::Release);
        match rolled {
            Err(CommitError::Stopped) => return,
            Ok(rolled) if rolled.rows > 0 => {
                log::info!(
                    target: "liqdata::archive",
                    "rolled {} rows into {} files", rolled.rows, rolled.parts.len()
                );
            }
            Ok(_) => {}
            // The rows stay in the journal and are rolled another time.
            Err(fault) => log::warn!(target: "liqdata::archive", "not rolled: {fault}"),
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
    use crate::collect::intake::delivery::*;

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
    async fn what_is_asked_for_leaves_room_for_what_comes_once() {
        let folder = std::env::temp_dir().join(format!("liqdata-room-{}", std::process::id()));
        let writer = Archive::create_or_open(&folder).unwrap();
        let pace = CommitPolicy {
            queue: 20,
            ..CommitPolicy::default()
        };
        let mut by_hand = ManualGroupCommitWriter::new(writer, pace);
        let delivery = {
            let clock = Arc::new(AdjustedClock::new(None));
            Delivery::new(by_hand.queue(), &folder, &Settings::default(), &clock)
        };
        // A page of more rows than there is room for, and one that finds none.
        let first = delivery.send(readings(100), Way::Request).await.unwrap();
        let next = tokio::spawn({
            let delivery = delivery.clone();
            async move { delivery.send(readings(1), Way::Request).await }
        });
        let soon = Duration::from_millis(1);
        for _ in 0..10 {
            let heard = delivery.send(readings(1), Way::Socket);
            tokio::time::timeout(soon, heard).await.unwrap().unwrap();
        }
        assert!(!next.is_finished());
        let heard = delivery.send(readings(1), Way::Socket);
        let heard = tokio::time::timeout(soon, heard).await;
        assert!(heard.is_err(), "all places are taken");
        by_hand.work();
        first.receipt.unwrap().await.unwrap();
        next.await.unwrap().unwrap();
        drop(by_hand);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[tokio::test]
    async fn notes_share_a_transaction_and_a_flush_waits_for_them() {
        let folder = std::env::temp_dir().join(format!("liqdata-keep-{}", std::process::id()));
        let writer = Archive::create_or_open(&folder).unwrap();
        let pace = CommitPolicy {
            delay: Duration::from_millis(100),
            ..CommitPolicy::default()
        };
        let keeper = GroupCommitWriter::start_with(writer, pace).unwrap();
        let delivery = {
            let clock = Arc::new(AdjustedClock::new(None));
            Delivery::new(keeper.queue(), &folder, &Settings::default(), &clock)
        };
        let gap = |at: i64| Gap {
            exchange: "okx".to_owned(),
            start: Millis(at),
            end: Millis(at + 1),
            reason: "a test".to_owned(),
            recorded_at: Millis(at + 1),
        };
        for at in 0..200 {
            delivery.note_gap(gap(at));
        }
        delivery.flush().await;
        let kept = Archive::read(&folder).unwrap();
        assert_eq!(kept.gaps(Millis(0), Millis(1000)).unwrap().len(), 200);
        let commits = keeper.queue().status().commits;
        assert!(commits < 100, "{commits}");
        drop(keeper);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
