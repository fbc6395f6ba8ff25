//! The limit of a service: a number of requests in any minute.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// The time window of a limit. A second longer than a minute, because requests take different times to arrive.
const WINDOW: Duration = Duration::from_secs(61);

/// Lets at most a number of requests pass in any minute; a waiter lets none pass it.
#[derive(Debug)]
pub(crate) struct MinuteLimit {
    pub(crate) per_minute: u32,
    /// The requests of the last window: when they were sent, and how many they count as.
    sent: Mutex<VecDeque<(Instant, u32)>>,
}

impl MinuteLimit {
    pub(crate) fn new(per_minute: u32) -> Self {
        Self {
            per_minute,
            sent: Mutex::default(),
        }
    }

    /// Waits until a request of this weight may be sent, and returns the waiting time.
    ///
    /// A heavier request than the limit waits for an empty window.
    pub(crate) async fn turn(&self, weight: u32) -> Duration {
        let came = Instant::now();
        let mut sent = self.sent.lock().await;
        loop {
            let now = Instant::now();
            while sent.front().is_some_and(|(at, _)| now >= *at + WINDOW) {
                sent.pop_front();
            }
            let used: u32 = sent.iter().map(|(_, weight)| weight).sum();
            match sent.front() {
                Some((at, _)) if used.saturating_add(weight) > self.per_minute => {
                    sleep_until(*at + WINDOW).await;
                }
                _ => {
                    sent.push_back((now, weight));
                    return now - came;
                }
            }
        }
    }
}
