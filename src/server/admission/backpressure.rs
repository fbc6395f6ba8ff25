//! Counts the bytes that each peer has not read yet, and refuses a peer with too many of them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;

use crate::server::access::peers::one_client;
use crate::server::reject::Rejection;

/// Maximum size of an uncounted answer, in bytes. An answer of this size fits into the kernel's buffers.
const SMALL: usize = 16 << 10;

/// Unread bytes by peer.
#[derive(Debug)]
pub(crate) struct UnreadBytes {
    most: usize,
    by_peer: Mutex<HashMap<IpAddr, usize>>,
}

/// Bytes of an answer that count as unread until they are written and dropped.
struct Waiting {
    bytes: Bytes,
    peer: IpAddr,
    unread: Arc<UnreadBytes>,
}

impl AsRef<[u8]> for Waiting {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut by_peer = self.unread.by_peer();
        if let Some(unread) = by_peer.get_mut(&self.peer) {
            *unread = unread.saturating_sub(self.bytes.len());
            if *unread == 0 {
                by_peer.remove(&self.peer);
            }
        }
    }
}

impl UnreadBytes {
    /// Creates a counter with a maximum of `most` unread bytes for each peer.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            by_peer: Mutex::default(),
        })
    }

    fn by_peer(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.by_peer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses a request of a peer with too many unread bytes.
    pub(crate) fn check(&self, peer: IpAddr) -> Result<(), Rejection> {
        let peer = one_client(peer);
        let unread = self.by_peer().get(&peer).copied().unwrap_or_default();
        if unread <= self.most {
            return Ok(());
        }
        Err(Rejection::Unread {
            used: unread,
            allowed: self.most,
        })
    }

    /// Counts `bytes` as unread by `peer` until they are dropped, and returns them.
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
