//! The memory of answers: what is kept for the next asker and what is still being read by those who were answered.
//!
//! An answer is counted once however many read it, from when it is whole until nobody holds it any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Bytes;

use crate::server::reject::Rejection;

/// How much memory answers take, and how much they may; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    held: Arc<AtomicUsize>,
    most: usize,
}

/// An answer's bytes, counted until they are dropped.
struct Counted {
    bytes: Vec<u8>,
    held: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.held
            .fetch_sub(self.bytes.capacity(), Ordering::Relaxed);
    }
}

impl Memory {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            held: Arc::default(),
            most,
        }
    }

    /// How much there may be, in bytes.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// So many sixteenths of what there may be.
    pub(crate) fn share(&self, sixteenths: usize) -> u64 {
        (self.most / 16).saturating_mul(sixteenths) as u64
    }

    /// How much there is, in bytes.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Refuses another answer where there is no room for one.
    pub(crate) fn check(&self) -> Result<(), Rejection> {
        let held = self.held();
        if held < self.most {
            return Ok(());
        }
        Err(Rejection::NoRoom {
            held,
            allowed: self.most,
        })
    }

    /// `bytes` as an answer that counts.
    pub(crate) fn count(&self, mut bytes: Vec<u8>) -> Bytes {
        bytes.shrink_to_fit();
        self.held.fetch_add(bytes.capacity(), Ordering::Relaxed);
        Bytes::from_owner(Counted {
            bytes,
            held: Arc::clone(&self.held),
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::server::admission::memory::*;

    #[test]
    fn an_answer_counts_once_until_its_last_reader_has_gone() {
        let memory = Memory::new(100);
        memory.check().unwrap();
        let answer = memory.count(vec![7; 100]);
        let readers: Vec<Bytes> = (0..50).map(|_| answer.clone()).collect();
        assert_eq!(memory.held(), 100);
        assert!(matches!(
            memory.check(),
            Err(Rejection::NoRoom {
                held: 100,
                allowed: 100
            })
        ));
        drop(answer);
        assert_eq!(memory.held(), 100);
        drop(readers);
        assert_eq!(memory.held(), 0);
        memory.check().unwrap();
    }
}
