//! Queues log records until a Python thread delivers them to `logging`.
//!
//! A full queue drops its oldest record, except for archive warnings, which must not be lost.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread;

use log::Level;

/// Maximum number of queued records. Records that must not be lost may exceed it.
const CAPACITY: usize = 1000;
/// Maximum attempts of a forked child to lock its queue.
const PATIENCE: usize = 1000;
/// The logger of panics on threads that no call waits for.
pub(crate) const DEFECTS: &str = "liqdata.defects";
/// The loggers with the warnings that must not be lost.
const NEVER_LOST: [&str; 2] = ["liqdata.archive", DEFECTS];

/// Level, logger and text.
pub(crate) type Entry = (Level, String, String);

/// Whether a record must not be lost.
pub(crate) fn is_never_lost((level, target, _): &Entry) -> bool {
    *level <= Level::Warn && NEVER_LOST.contains(&target.as_str())
}

/// Log records in the order of arrival.
pub(crate) struct Queue {
    records: Mutex<VecDeque<Entry>>,
    /// The records of a forked child. The fork may have copied the mutex of `records` while it was locked. The records
    /// in that mutex are delivered by the parent.
    of_children: Mutex<VecDeque<Entry>>,
    waiting: AtomicBool,
    /// The process that created the queue.
    process: OnceLock<u32>,
}

impl Queue {
    pub(crate) const fn new() -> Self {
        Self {
            records: Mutex::new(VecDeque::new()),
            of_children: Mutex::new(VecDeque::new()),
            waiting: AtomicBool::new(false),
            process: OnceLock::new(),
        }
    }

    /// Assigns the queue to the current process, unless it already belongs to one.
    pub(crate) fn begin(&self) {
        self.process.get_or_init(std::process::id);
    }

    /// Locks the records of this process. `None` if this is the child of a forked child and inherited a locked mutex.
    fn records(&self) -> Option<MutexGuard<'_, VecDeque<Entry>>> {
        let began = self.process.get();
        if began.is_none_or(|process| *process == std::process::id()) {
            return Some(self.records.lock().unwrap_or_else(PoisonError::into_inner));
        }
        (0..PATIENCE).find_map(|_| match self.of_children.try_lock() {
            Ok(records) => Some(records),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                thread::yield_now();
                None
            }
        })
    }

    /// Appends a record.
    pub(crate) fn push(&self, entry: Entry) {
        let Some(mut records) = self.records() else {
            return;
        };
        if records.len() >= CAPACITY {
            match records.iter().position(|known| !is_never_lost(known)) {
                Some(oldest) => drop(records.remove(oldest)),
                None if is_never_lost(&entry) => {}
                None => return,
            }
        }
        records.push_back(entry);
        self.waiting.store(true, Ordering::Release);
    }

    /// Puts undelivered records back at the front. If the queue would exceed its capacity, only those that must not be
    /// lost return.
    pub(crate) fn put_back(&self, mut taken: VecDeque<Entry>) {
        if taken.is_empty() {
            return;
        }
        if let Some(mut records) = self.records() {
            if records.len() + taken.len() > CAPACITY {
                taken.retain(is_never_lost);
            }
            for entry in taken.into_iter().rev() {
                records.push_front(entry);
            }
            self.waiting.store(true, Ordering::Release);
        }
    }

    /// Takes all records.
    pub(crate) fn take(&self) -> VecDeque<Entry> {
        if self.waiting.swap(false, Ordering::AcqRel) {
            let records = self.records();
            records.map_or_else(VecDeque::new, |mut records| std::mem::take(&mut *records))
        } else {
            VecDeque::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use crate::python::runtime::log_queue::*;

    const ARCHIVE: &str = NEVER_LOST[0];

    fn entry(level: Level, target: &str, text: usize) -> Entry {
        (level, target.to_owned(), text.to_string())
    }

    #[test]
    fn a_warning_of_an_archive_makes_room_for_nothing() {
        let queue = Queue::new();
        queue.push(entry(Level::Warn, ARCHIVE, 0));
        for number in 1..=2 * CAPACITY {
            queue.push(entry(Level::Debug, "liqdata.client", number));
        }
        let taken = queue.take();
        assert_eq!(taken.len(), CAPACITY);
        assert_eq!(taken.front(), Some(&entry(Level::Warn, ARCHIVE, 0)));
        assert_eq!(
            taken.get(1),
            Some(&entry(Level::Debug, "liqdata.client", CAPACITY + 2))
        );

        for number in 0..2 * CAPACITY {
            queue.push(entry(Level::Warn, ARCHIVE, number));
        }
        queue.push(entry(Level::Info, ARCHIVE, 0));
        let taken = queue.take();
        assert_eq!(taken.len(), 2 * CAPACITY);
        assert!(taken.iter().all(is_never_lost));
        assert!(queue.take().is_empty());

        queue.push(entry(Level::Warn, ARCHIVE, 2));
        queue.put_back(VecDeque::from([entry(Level::Warn, ARCHIVE, 1)]));
        let texts: Vec<String> = queue.take().into_iter().map(|(.., text)| text).collect();
        assert_eq!(texts, ["1", "2"]);
    }

    #[test]
    fn records_of_many_threads_survive_a_concurrent_take() {
        const THREADS: usize = 4;
        const EACH: usize = 20_000;
        let queue = Queue::new();
        let (taken, running) = (AtomicUsize::new(0), AtomicUsize::new(THREADS));
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for number in 0..EACH {
                        queue.push(entry(Level::Warn, ARCHIVE, number));
                    }
                    running.fetch_sub(1, Ordering::AcqRel);
                });
            }
            scope.spawn(|| {
                while running.load(Ordering::Acquire) > 0 {
                    taken.fetch_add(queue.take().len(), Ordering::Relaxed);
                }
            });
        });
        taken.fetch_add(queue.take().len(), Ordering::Relaxed);
        assert_eq!(taken.into_inner(), THREADS * EACH);
    }
}
