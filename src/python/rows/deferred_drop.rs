//! Drops large vectors on a background thread, so that Ctrl-C stays responsive.

use std::mem;
use std::ops::{Deref, DerefMut};
use std::thread;

/// Smaller vectors drop within milliseconds.
const MANY: usize = 100_000;

/// Values that are dropped on a background thread if there are many.
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
            // Without a thread, the closure and its values are dropped here.
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

    /// Reports the thread on which it is dropped.
    struct DropReport(Sender<ThreadId>);

    impl Drop for DropReport {
        fn drop(&mut self) {
            self.0.send(thread::current().id()).unwrap();
        }
    }

    /// The threads on which `count` values are dropped.
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
