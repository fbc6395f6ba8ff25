//! The connections of a server by who holds them, and which is let go where there are too many: none of a peer's that
//! asks for more than its share is missed, and none that is being answered is cut off.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::server::admission::limits::Limits;

/// All connections that are served.
#[derive(Debug)]
pub(crate) struct Seats {
    began: Instant,
    most: usize,
    of_one_peer: usize,
    head: Duration,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    seats: BTreeMap<u64, Arc<Seat>>,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Seat {
    began: Instant,
    /// None of a trusted proxy, which stands for many.
    peer: Option<IpAddr>,
    answers: AtomicUsize,
    /// Whether the last answer may still lie here in part, though all of it was made.
    unsent: AtomicBool,
    /// Since when nothing is answered, in milliseconds.
    idle_since: AtomicU64,
    /// When the next head began to arrive, in milliseconds and one; none is 0.
    head_since: AtomicU64,
    leave: Notify,
}

/// A seat that is given back with this.
#[derive(Debug)]
pub(crate) struct Place {
    seats: Arc<Seats>,
    number: u64,
    pub(crate) seat: Arc<Seat>,
}

/// An answer that is being made, or handed over to be sent.
#[derive(Debug)]
pub(crate) struct Answering(Arc<Seat>);

impl Seats {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            began: Instant::now(),
            most: limits.connections,
            of_one_peer: limits.per_peer,
            head: limits.head,
            taken: Mutex::default(),
        })
    }

    /// A seat for one more connection. Where its peer holds its share already, or all are taken, the one of them that has
    /// been idle longest has to leave; none is free where all of them are being answered.
    pub(crate) fn take(self: &Arc<Self>, peer: Option<IpAddr>) -> Option<Place> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let of_peer = |seat: &Seat| peer.is_some() && seat.peer == peer;
        if taken.seats.values().filter(|seat| of_peer(seat)).count() >= self.of_one_peer {
            taken.let_go(of_peer)?;
        }
        if taken.seats.len() >= self.most {
            taken.let_go(|_| true)?;
        }
        let number = taken.next;
        taken.next += 1;
        let seat = Arc::new(Seat {
            began: self.began,
            peer,
            answers: AtomicUsize::new(0),
            unsent: AtomicBool::new(false),
            idle_since: AtomicU64::new(since(self.began)),
            head_since: AtomicU64::new(0),
            leave: Notify::new(),
        });
        taken.seats.insert(number, Arc::clone(&seat));
        Some(Place {
            seats: Arc::clone(self),
            number,
            seat,
        })
    }

    /// Lets those go whose next head has been arriving for too long.
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

    /// How many are taken.
    pub(crate) fn count(&self) -> usize {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.seats.len()
    }
}

impl Taken {
    /// Takes the seat from the one of `those` that has been idle longest.
    fn let_go(&mut self, those: impl Fn(&Seat) -> bool) -> Option<()> {
        let (&number, _) = self
            .seats
            .iter()
            .filter(|(_, seat)| those(seat) && !seat.is_answered())
            .min_by_key(|(number, seat)| (seat.idle_since.load(Relaxed), **number))?;
        let seat = self.seats.remove(&number)?;
        log::debug!("a connection of {:?} makes room for another", seat.peer);
        seat.leave.notify_one();
        Some(())
    }
}

impl Seat {
    /// Something of the next head has arrived, if nothing is answered.
    pub(crate) fn hears(&self) {
        if !self.is_answered() {
            let now = since(self.began) + 1;
            let _ = self.head_since.compare_exchange(0, now, Relaxed, Relaxed);
        }
    }

    pub(crate) fn is_answered(&self) -> bool {
        self.answers.load(Relaxed) > 0 || self.unsent.load(Relaxed)
    }

    /// All that was made has been sent.
    pub(crate) fn sent(&self) {
        if self.answers.load(Relaxed) == 0 && self.unsent.swap(false, Relaxed) {
            self.idle_since.store(since(self.began), Relaxed);
        }
    }

    /// Completes once the connection has to make room for another.
    pub(crate) async fn left(&self) {
        self.leave.notified().await;
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

impl Drop for Place {
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
