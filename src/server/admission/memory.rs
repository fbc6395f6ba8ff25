//! Limits the memory of answers: cached answers, and those that clients are reading.
//!
//! An answer counts once, however many clients read it, until its last reference is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Bytes;

use crate::server::reject::Rejection;

/// Memory used by answers, and its maximum; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    used: Arc<AtomicUsize>,
    most: usize,
}

/// The bytes of an answer, which count as used memory until they are dropped.
struct Counted {
    bytes: Vec<u8>,
    used: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.used
            .fetch_sub(self.bytes.capacity(), Ordering::Relaxed);
    }
}

impl Memory {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            used: Arc::default(),
            most,
        }
    }

    /// The maximum memory in bytes.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// The given number of sixteenths of the maximum memory, in bytes.
    pub(crate) fn share(&self, sixteenths: usize) -> u64 {
        (self.most / 16).saturating_mul(sixteenths) as u64
    }

    /// Number of bytes in use.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Refuses a further answer if the memory is used up.
    pub(crate) fn check(&self) -> Result<(), Rejection> {
        let used = self.used();
        if used < self.most {
            return Ok(());
        }
        Err(Rejection::NoRoom {
            used,
            allowed: self.most,
        })
    }

    /// Counts `bytes` as used memory until they are dropped, and returns them.
    pub(crate) fn count(&self, mut bytes: Vec<u8>) -> Bytes {
        bytes.shrink_to_fit();
        self.used.fetch_add(bytes.capacity(), Ordering::Relaxed);
        Bytes::from_owner(Counted {
            bytes,
            used: Arc::clone(&self.used),
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
        assert_eq!(memory.used(), 100);
        assert!(matches!(
            memory.check(),
            Err(Rejection::NoRoom {
                used: 100,
                allowed: 100
            })
        ));
        drop(answer);
        assert_eq!(memory.used(), 100);
        drop(readers);
        assert_eq!(memory.used(), 0);
        memory.check().unwrap();
    }
}
