//! Ledgers of an archive: histories that start at a checkpoint, and the checkpoints that replays leave.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use crate::archive::Filter;
use crate::engine::{
    FitSource, LedgerCheckpoint, LedgerKey, LedgerStore, Observations, View, advance_ledger,
};
use crate::market::refusal::Refusal;
use crate::market::source::archive::archive_reader::ArchiveReader;
use crate::market::source::view_source::{RequiredHistory, RequiredLedger};
use crate::model::{Chosen, Millis, Model, Specification};

/// Time before a checkpoint that is read too: for the ranks of exchanges and the reference volume.
const WARM_UP: i64 = 8 * Millis::DAY;

/// A ledger that is further behind is replayed month by month, so that few rows are in memory.
const FAR: i64 = 62 * Millis::DAY;

/// Length of a part of a long replay.
const PART: i64 = 31 * Millis::DAY;

/// A question about the ledger of all open positions of a coin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LedgerQuestion<'a> {
    pub(crate) needed: &'a RequiredHistory,
    pub(crate) ledger: &'a RequiredLedger,
    pub(crate) now: Millis,
    pub(crate) as_of: Option<Millis>,
    /// The revision of the coin.
    pub(crate) number: Option<u64>,
}

/// The rows after a checkpoint of each ledger, and the checkpoints.
#[derive(Debug)]
pub(crate) struct LedgerHistory<'a> {
    pub(crate) observations: Arc<Observations>,
    pub(crate) checkpoints: SinceCheckpoints<'a>,
}

impl LedgerQuestion<'_> {
    fn own(&self) -> Option<&Specification> {
        self.ledger.model.as_ref().and_then(Chosen::own)
    }

    fn key(&self, model: Model) -> LedgerKey {
        let exchange = self.needed.exchange.as_deref();
        LedgerKey::new(&self.needed.coin, model, self.own(), exchange)
    }

    fn view<'a>(
        &'a self,
        observations: &'a Observations,
        now: Millis,
        store: &'a SinceCheckpoints<'_>,
    ) -> View<'a> {
        observations
            .at_instant(now)
            .with_model(self.own())
            .of_venue(self.needed.exchange.as_deref())
            .with_ledgers(store)
    }
}

impl ArchiveReader {
    /// The history that answers a question, from the last checkpoints before the first state that it needs.
    ///
    /// Replays the ledgers up to there if there are none.
    pub(crate) fn ledger_history(
        &self,
        question: LedgerQuestion<'_>,
    ) -> Result<LedgerHistory<'_>, Refusal> {
        let LedgerQuestion {
            needed, now, as_of, ..
        } = question;
        let last = self.days.last_close(&self.archive, needed, now, as_of)?;
        let by = last.map_or(now, |last| last.back(question.ledger.back));
        let mut since = SinceCheckpoints {
            reader: self,
            needed: needed.clone(),
            as_of,
            generation: self.days.ledgers.generation(),
            starts: BTreeMap::new(),
        };
        let model = self.model(question, last.unwrap_or(now));
        let start = self.replay_to(question, model, by, &mut since)?;
        // Without a checkpoint, the history starts with the first bar.
        let from = start
            .as_ref()
            .map_or(Millis(i64::MIN), |start| start.closed);
        if let Some(start) = start {
            since.starts.insert(question.key(model), start);
        }
        Ok(LedgerHistory {
            observations: self.since(question, from, now)?,
            checkpoints: since,
        })
    }

    /// The model that answers a question; the last bar closed at `last`.
    fn model(&self, question: LedgerQuestion<'_>, last: Millis) -> Model {
        if let Some(model) = &question.ledger.model {
            return model.view();
        }
        let day = Millis(last.0.div_euclid(Millis::DAY).saturating_mul(Millis::DAY));
        let (coin, exchange) = (&question.needed.coin, question.needed.exchange.as_deref());
        let fit = self.fit(question.own(), coin, exchange, day);
        match fit {
            Some(fit) if fit.is_fitted() => Model::Expected,
            _ => Model::Exposure,
        }
    }

    /// Coins with a ledger that warms up.
    pub(crate) fn warming_up(&self) -> BTreeSet<String> {
        let coins = self.warming_up.lock();
        coins.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The rows from the warm-up before a checkpoint on.
    fn since(
        &self,
        question: LedgerQuestion<'_>,
        closed: Millis,
        now: Millis,
    ) -> Result<Arc<Observations>, Refusal> {
        let midnight = Millis(closed.0.div_euclid(Millis::DAY).saturating_mul(Millis::DAY));
        let history = (question.needed, midnight.back(WARM_UP));
        let number = question.number.filter(|_| now == question.now);
        self.days
            .observations_since(&self.archive, history, now, question.as_of, number)
    }

    /// The last checkpoint of a ledger by `by`, after a replay of the months before if there is none near.
    fn replay_to(
        &self,
        question: LedgerQuestion<'_>,
        model: Model,
        by: Millis,
        since: &mut SinceCheckpoints<'_>,
    ) -> Result<Option<Arc<LedgerCheckpoint>>, Refusal> {
        let key = question.key(model);
        let mut start = self.days.ledgers.last_known(&key, by, question.as_of);
        let is_near = |start: &Arc<LedgerCheckpoint>| by.back(FAR) <= start.closed;
        if !start.as_ref().is_some_and(is_near) {
            let stored = self.stored(question, &key, by, since.generation);
            start = start
                .into_iter()
                .chain(stored)
                .max_by_key(|start| start.closed);
        }
        let coin = &question.needed.coin;
        let behind = match &start {
            Some(start) => start.closed,
            None => match self.first_open(question)? {
                Some(open) => open,
                None => return Ok(None),
            },
        };
        if by.back(FAR) <= behind {
            return Ok(start);
        }
        let _warm_up = WarmUp::new(&self.warming_up, coin);
        log::info!(target: "liqdata::market", "the ledger of {coin} warms up, from {behind} on");
        let mut at = behind;
        while at.on(PART) < by {
            at = at.on(PART);
            let from = start
                .as_ref()
                .map_or(Millis(i64::MIN), |start| start.closed);
            if let Some(start) = &start {
                since.starts.insert(key.clone(), Arc::clone(start));
            }
            let observations = self.since(question, from, at)?;
            let view = question.view(&observations, at, since);
            // Without a bar in this part, the next part starts at the same checkpoint.
            if advance_ledger(&view, coin, model).is_err() {
                continue;
            }
            start = self
                .days
                .ledgers
                .last_known(&key, at, question.as_of)
                .or(start);
        }
        log::info!(target: "liqdata::market", "the ledger of {coin} is warm");
        Ok(start)
    }

    /// The last checkpoint by `by` that the archive has in a file.
    fn stored(
        &self,
        question: LedgerQuestion<'_>,
        key: &LedgerKey,
        by: Millis,
        generation: u64,
    ) -> Option<Arc<LedgerCheckpoint>> {
        if !key.is_default {
            return None;
        }
        let (name, coin) = (key.file_name(), &question.needed.coin);
        let instants = self.archive.ledger_instants(&name).into_iter();
        for at in instants.filter(|at| *at <= by) {
            let until = LedgerCheckpoint::month_after(at);
            let found = self.archive.ledger((&name, coin), at, until);
            let found = found.unwrap_or_else(|fault| {
                log::debug!("the ledger of {coin} at {at} cannot be read: {fault}");
                None
            });
            let Some(found) = found.and_then(|bytes| LedgerCheckpoint::decode(coin, &bytes)) else {
                continue;
            };
            let is_known = |as_of| found.known_by.is_some_and(|known_by| known_by <= as_of);
            if question.as_of.is_none_or(is_known) {
                let ledgers = &self.days.ledgers;
                ledgers.put_at(generation, key, found.clone());
                return Some(Arc::new(found));
            }
        }
        None
    }

    /// Opening time of the first bar of the coin.
    fn first_open(&self, question: LedgerQuestion<'_>) -> Result<Option<Millis>, Refusal> {
        let filter = Filter {
            end: Some(question.now.on(1)),
            as_of: question.as_of,
            coin: Some(question.needed.coin.clone()),
            ..Filter::default()
        };
        let first = self.archive.first_bar(&filter)?;
        Ok(first.map(|bar| bar.timestamp))
    }
}

/// Names a coin while its ledger warms up.
struct WarmUp<'a> {
    coins: &'a Mutex<BTreeSet<String>>,
    coin: String,
}

impl<'a> WarmUp<'a> {
    fn new(coins: &'a Mutex<BTreeSet<String>>, coin: &str) -> Self {
        let mut named = coins.lock().unwrap_or_else(PoisonError::into_inner);
        named.insert(coin.to_owned());
        drop(named);
        Self {
            coins,
            coin: coin.to_owned(),
        }
    }
}

impl Drop for WarmUp<'_> {
    fn drop(&mut self) {
        let mut named = self.coins.lock().unwrap_or_else(PoisonError::into_inner);
        named.remove(&self.coin);
    }
}

/// The checkpoints from which a history goes on.
#[derive(Debug)]
pub(crate) struct SinceCheckpoints<'a> {
    reader: &'a ArchiveReader,
    needed: RequiredHistory,
    as_of: Option<Millis>,
    generation: u64,
    starts: BTreeMap<LedgerKey, Arc<LedgerCheckpoint>>,
}

impl SinceCheckpoints<'_> {
    /// The instant by which all rows behind a state were received.
    fn known_by(&self, key: &LedgerKey, closed: Millis) -> Option<Millis> {
        let reader = self.reader;
        let start = self.starts.get(key);
        let (from, before) = match start {
            Some(start) => (start.closed, start.known_by?),
            None => (self.first_open()?, Millis(i64::MIN)),
        };
        let days = (from, closed.back(1));
        let rows = reader.days.known_by(&reader.archive, &self.needed, days);
        Some(rows.ok()?.max(before))
    }

    /// Writes a checkpoint to a file, if the archive can be written to.
    fn store(&self, key: &LedgerKey, checkpoint: &LedgerCheckpoint) {
        let LedgerCheckpoint { closed, .. } = *checkpoint;
        let (name, coin) = (key.file_name(), &self.needed.coin);
        let until = LedgerCheckpoint::month_after(closed);
        let archive = &self.reader.archive;
        let stored = archive.put_ledger((&name, coin), closed, until, &checkpoint.encode());
        if let Err(fault) = stored {
            log::debug!("the ledger of {coin} at {closed} is not stored: {fault}");
        }
    }

    fn first_open(&self) -> Option<Millis> {
        let filter = Filter {
            coin: Some(self.needed.coin.clone()),
            ..Filter::default()
        };
        Some(self.reader.archive.first_bar(&filter).ok()??.timestamp)
    }
}

impl LedgerStore for SinceCheckpoints<'_> {
    fn last(&self, key: &LedgerKey, by: Millis) -> Option<Arc<LedgerCheckpoint>> {
        let start = self.starts.get(key).filter(|start| start.closed <= by);
        let cached = self.reader.days.ledgers.last_known(key, by, self.as_of);
        match (start, cached) {
            // Rows before the start are not in memory.
            (Some(start), Some(cached)) if cached.closed < start.closed => Some(Arc::clone(start)),
            (Some(_), Some(cached)) => Some(cached),
            (Some(start), None) => Some(Arc::clone(start)),
            (None, cached) => cached,
        }
    }

    fn put(&self, key: &LedgerKey, checkpoint: LedgerCheckpoint) {
        let known_by = self.known_by(key, checkpoint.closed);
        // The state lacks rows that were received later.
        let is_whole = self
            .as_of
            .is_none_or(|at| known_by.is_some_and(|known_by| known_by <= at));
        if is_whole {
            let checkpoint = LedgerCheckpoint {
                known_by,
                ..checkpoint
            };
            let ledgers = &self.reader.days.ledgers;
            if checkpoint.is_month && key.is_default && !ledgers.has(key, checkpoint.closed) {
                self.store(key, &checkpoint);
            }
            ledgers.put_at(self.generation, key, checkpoint);
        }
    }
}
