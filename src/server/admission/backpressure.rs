//! What each peer has been sent and not yet read: one that lets answers pile up is refused before it is in others' way.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;

use crate::server::access::peers::one_client;
use crate::server::reject::Rejection;

/// Answers up to this many bytes are soon with the kernel, and not counted.
const SMALL: usize = 16 << 10;

/// Bytes that wait to be sent, by peer.
#[derive(Debug)]
pub(crate) struct Unread {
    most: usize,
    by_peer: Mutex<HashMap<IpAddr, usize>>,
}

/// Bytes that wait, counted until they have been written.
struct Waiting {
    bytes: Bytes,
    peer: IpAddr,
    unread: Arc<Unread>,
}

impl AsRef<[u8]> for Waiting {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut by_peer = self.unread.by_peer();
        if let Some(held) = by_peer.get_mut(&self.peer) {
            *held = held.saturating_sub(self.bytes.len());
            if *held == 0 {
                by_peer.remove(&self.peer);
            }
        }
    }
}

impl Unread {
    /// Nothing yet, and so many bytes of a peer at most.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            by_peer: Mutex::default(),
        })
    }

    fn by_peer(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.by_peer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses a peer that has left too much unread.
    pub(crate) fn check(&self, peer: IpAddr) -> Result<(), Rejection> {
        let peer = one_client(peer);
        let held = self.by_peer().get(&peer).copied().unwrap_or_default();
        if held <= self.most {
            return Ok(());
        }
        Err(Rejection::Unread {
            held,
            allowed: self.most,
        })
    }

    /// `bytes`, which count for `peer` until they are dropped.
    pub(crate) fn count(self: &Arc<Self>, peer: IpAddr, bytes: Bytes) -> Bytes {
        if bytes.len() <= SMALL {
            return bytes;
        }
        let peer = one_client(peer);
        *self.by_peer().entry(peer).or_default() += bytes.len();
        Bytes::from_owner(Waiting {
            bytes,
            peer,
            unread: Arc::clone(self),
        })
    }
}
