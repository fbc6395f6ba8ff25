//! Limits the number of connections by slots and evicts idle ones.
//!
//! A peer beyond its limit loses its own connection that has been idle longest. A connection with an answer under way
//! is never evicted.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::server::admission::limits::Limits;

/// All open connections.
#[derive(Debug)]
pub(crate) struct ConnectionSlots {
    began: Instant,
    most: usize,
    of_one_peer: usize,
    head: Duration,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    seats: BTreeMap<u64, Arc<Connection>>,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    began: Instant,
    /// The peer. `None` for a trusted proxy, which stands for many clients.
    peer: Option<IpAddr>,
    answers: AtomicUsize,
    /// Whether part of the last answer may still be in the send buffer.
    unsent: AtomicBool,
    /// When the connection became idle, in milliseconds since `began`.
    idle_since: AtomicU64,
    /// When the next request head began to arrive, in milliseconds since `began` plus one; 0 if none is arriving.
    head_since: AtomicU64,
    leave: Notify,
    /// Whether the answer under way is to end when the client closes its side.
    watched: AtomicBool,
    hung_up: Notify,
}

/// A slot that is released when this is dropped.
#[derive(Debug)]
pub(crate) struct SlotGuard {
    seats: Arc<ConnectionSlots>,
    number: u64,
    pub(crate) seat: Arc<Connection>,
}

/// An answer that is being computed or sent. Until this is dropped, its connection is not idle.
#[derive(Debug)]
pub(crate) struct Answering(Arc<Connection>);

impl ConnectionSlots {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            most: limits.connections,
            of_one_peer: limits.per_peer,
            head: limits.head,
            taken: Mutex::default(),
        })
    }

    /// Takes a slot for a new connection. If the peer has reached its limit, or all slots are taken, the connection
    /// that has been idle longest is evicted. Returns `None` if every candidate has an answer under way.
    pub(crate) fn take(self: &Arc<Self>, peer: Option<IpAddr>) -> Option<SlotGuard> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let of_peer = |seat: &Connection| peer.is_some() && seat.peer == peer;
        if taken.seats.values().filter(|seat| of_peer(seat)).count() >= self.of_one_peer {
            taken.let_go(of_peer)?;
        }
        if taken.seats.len() >= self.most {
            taken.let_go(|_| true)?;
        }
        let number = taken.next;
        taken.next += 1;
        let seat = Arc::new(Connection {
            began: self.began,
            peer,
            answers: AtomicUsize::new(0),
            unsent: AtomicBool::new(false),
            idle_since: AtomicU64::new(since(self.began)),
            head_since: AtomicU64::new(0),
            leave: Notify::new(),
            watched: AtomicBool::new(false),
            hung_up: Notify::new(),
        });
        taken.seats.insert(number, Arc::clone(&seat));
        Some(SlotGuard {
            seats: Arc::clone(self),
            number,
            seat,
        })
    }

    /// Evicts connections with a request head that takes too long to arrive.
    pub(crate) fn sweep(&self) {
        let now = since(self.began);
        let most = u64::try_from(self.head.as_millis()).unwrap_or(u64::MAX);
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        for seat in taken.seats.values() {
            let began = seat.head_since.load(Relaxed);
            if began > 0 && !seat.is_answered() && now.saturating_sub(began - 1) >= most {
                seat.leave.notify_one();
            }
        }
    }

    /// Evicts the connection that has been idle longest, if one is idle.
    pub(crate) fn evict_idlest(&self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = taken.let_go(|_| true);
    }

    /// Number of taken slots.
    pub(crate) fn count(&self) -> usize {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.seats.len()
    }
}

impl Taken {
    /// Evicts, among the connections that `those` selects, the one that has been idle longest.
    fn let_go(&mut self, those: impl Fn(&Connection) -> bool) -> Option<()> {
        let (&number, _) = self
            .seats
            .iter()
            .filter(|(_, seat)| those(seat) && !seat.is_answered())
            .min_by_key(|(number, seat)| (seat.idle_since.load(Relaxed), **number))?;
        let seat = self.seats.remove(&number)?;
        log::debug!(
            "an idle connection of {:?} is closed to make room for another",
            seat.peer
        );
        seat.leave.notify_one();
        Some(())
    }
}

impl Connection {
    /// Records that part of the next request head has arrived, unless an answer is under way.
    pub(crate) fn note_received(&self) {
        if !self.is_answered() {
            let now = since(self.began) + 1;
            let _ = self.head_since.compare_exchange(0, now, Relaxed, Relaxed);
        }
    }

    pub(crate) fn is_answered(&self) -> bool {
        self.answers.load(Relaxed) > 0 || self.unsent.load(Relaxed)
    }

    /// Records that all output has been sent.
    pub(crate) fn sent(&self) {
        if self.answers.load(Relaxed) == 0 && self.unsent.swap(false, Relaxed) {
            self.idle_since.store(since(self.began), Relaxed);
        }
    }

    /// Completes once the connection is evicted.
    pub(crate) async fn left(&self) {
        self.leave.notified().await;
    }

    /// Sets whether the answer under way is to end when the client closes its side.
    pub(crate) fn watch(&self, watched: bool) {
        self.watched.store(watched, Relaxed);
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watched.load(Relaxed)
    }

    /// Records that the client has closed its side.
    pub(crate) fn hang_up(&self) {
        self.watched.store(false, Relaxed);
        self.hung_up.notify_one();
    }

    /// Completes once the client of a watched answer has closed its side.
    pub(crate) async fn hung_up(&self) {
        self.hung_up.notified().await;
    }

    pub(crate) fn answering(self: &Arc<Self>) -> Answering {
        self.answers.fetch_add(1, Relaxed);
        self.unsent.store(true, Relaxed);
        self.head_since.store(0, Relaxed);
        Answering(Arc::clone(self))
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.answers.fetch_sub(1, Relaxed);
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        let mut taken = self
            .seats
            .taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        taken.seats.remove(&self.number);
    }
}

fn since(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}
