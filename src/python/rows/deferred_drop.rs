//! Drops large vectors on a background thread, so that Ctrl-C takes effect quickly.

use std::mem;
use std::ops::{Deref, DerefMut};
use std::thread;

/// Minimum number of values for a background thread. Smaller vectors drop within milliseconds.
const MANY: usize = 100_000;

/// A vector that is dropped on a background thread if it has many values.
#[derive(Debug)]
pub(crate) struct Unwaited<T: Send + 'static>(Vec<T>);

impl<T: Send + 'static> From<Vec<T>> for Unwaited<T> {
    fn from(values: Vec<T>) -> Self {
        Self(values)
    }
}

impl<T: Send + 'static> Deref for Unwaited<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: Send + 'static> DerefMut for Unwaited<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T: Send + 'static> Drop for Unwaited<T> {
    fn drop(&mut self) {
        let values = mem::take(&mut self.0);
        if values.len() >= MANY {
            let name = "liqdata".to_owned();
            // If no thread can be created, the closure and its values are dropped on this thread.
            drop(thread::Builder::new().name(name).spawn(|| drop(values)));
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::thread::{self, ThreadId};

    use crate::python::rows::deferred_drop::*;

    /// Reports the thread that drops it.
    struct DropReport(Sender<ThreadId>);

    impl Drop for DropReport {
        fn drop(&mut self) {
            self.0.send(thread::current().id()).unwrap();
        }
    }

    /// Returns the threads that drop `count` values.
    fn freed(count: usize) -> Vec<ThreadId> {
        let (tell, reports) = channel();
        let values: Vec<_> = (0..count).map(|_| DropReport(tell.clone())).collect();
        drop((Unwaited::from(values), tell));
        reports.iter().collect()
    }

    #[test]
    fn many_values_drop_in_the_background_and_few_at_once() {
        let here = thread::current().id();
        for (count, waits) in [(MANY - 1, true), (MANY, false)] {
            let freed = freed(count);
            assert_eq!(freed.len(), count);
            assert!(freed.iter().all(|&at| (at == here) == waits), "{count}");
        }
    }
}
