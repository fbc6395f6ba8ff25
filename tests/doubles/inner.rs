//! The state that all tasks of a double share.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::book::{Book, Setup};
use super::dialect::Dialect;
use super::fault::Faults;
use super::frame::Frame;
use super::quota::Used;
use super::rest::Ask;
use super::socket::Order;
use super::tally::Tally;
use super::truth::Truth;

/// Two requests within so long that differ in numbers and times alone are two pages of one answer.
const PAGES: Duration = Duration::from_secs(10);

/// What the tasks of a double share.
pub struct Inner {
    pub dialect: &'static dyn Dialect,
    pub book: Book,
    pub faults: watch::Sender<Arc<Faults>>,
    pub tally: Mutex<Tally>,
    /// Counts the changes of the tally.
    pub changes: watch::Sender<u64>,
    pub sockets: Mutex<BTreeMap<usize, mpsc::UnboundedSender<Order>>>,
    pub used: Mutex<Used>,
    /// By request without page: the first page and when that was.
    first_pages: Mutex<HashMap<String, (String, Instant)>>,
    topics: Mutex<HashMap<&'static str, Arc<[String]>>>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Inner of {:?}", self.book)
    }
}

impl Inner {
    /// A venue where nothing has happened yet.
    pub fn of(dialect: &'static dyn Dialect, setup: Setup) -> Self {
        Self {
            dialect,
            book: Book::new(setup, dialect.markets()),
            faults: watch::Sender::new(Arc::default()),
            tally: Mutex::default(),
            changes: watch::Sender::new(0),
            sockets: Mutex::default(),
            used: Mutex::default(),
            first_pages: Mutex::default(),
            topics: Mutex::default(),
        }
    }

    pub fn count(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.tally.lock().unwrap());
        self.changes.send_modify(|number| *number += 1);
    }

    /// A socket has ended, with so many frames not written.
    pub fn gone(&self, number: usize, lost: u64) {
        self.sockets.lock().unwrap().remove(&number);
        let now = self.book.now();
        self.count(|tally| {
            let skipped = tally.skipped.iter_mut();
            let skipped = skipped.filter(|one| one.socket == number);
            skipped.for_each(|one| one.gone = Some(now));
            tally.open -= 1;
            tally.queued -= lost;
        });
    }

    /// Whether a request is for a later page of an answer.
    pub fn is_later_page(&self, target: &str, ask: &Ask) -> bool {
        let is_name = |value: &str| !value.starts_with(|first: char| first.is_ascii_digit());
        let mut named = ask.path.clone();
        for (name, value) in ask.query.iter().filter(|(_, value)| is_name(value)) {
            named.extend([" ", name, "=", value]);
        }
        let mut pages = self.first_pages.lock().unwrap();
        let fresh = || (target.to_owned(), Instant::now());
        let (first, at) = pages.entry(named).or_insert_with(fresh);
        if first != target && at.elapsed() < PAGES {
            return true;
        }
        (*first, *at) = fresh();
        false
    }

    fn topics_of(&self, truth: &Truth) -> Arc<[String]> {
        let mut topics = self.topics.lock().unwrap();
        let known = topics
            .entry(truth.market.native_id)
            .or_insert_with(|| self.dialect.topics(truth.market).into());
        Arc::clone(known)
    }

    /// Events cut into the frames a venue would send them in.
    pub fn frames(&self, truths: &[Truth]) -> Vec<Arc<Frame>> {
        let most = self.dialect.most().min(self.book.setup.rows).max(1);
        let mut frames = Vec::new();
        let mut rest = truths;
        while let Some(first) = rest.first() {
            let topics = self.topics_of(first);
            let together = rest
                .iter()
                .take(most)
                .take_while(|truth| self.topics_of(truth) == topics)
                .count();
            let (taken, left) = rest.split_at(together);
            frames.push(Arc::new(Frame {
                truths: taken.to_vec(),
                topics,
                bytes: Mutex::default(),
            }));
            rest = left;
        }
        frames
    }

    pub fn order(&self, frames: &[Arc<Frame>]) {
        let sockets = self.sockets.lock().unwrap();
        let queued = frames.len() as u64 * sockets.len() as u64;
        self.count(|tally| tally.queued += queued);
        let mut lost = 0;
        for frame in frames {
            for orders in sockets.values() {
                lost += u64::from(orders.send(Order::Data(Arc::clone(frame))).is_err());
            }
        }
        self.count(|tally| tally.queued -= lost);
    }
}
