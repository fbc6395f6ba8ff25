//! Asking no faster than allowed: at most so many requests per second, first come, first served.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// How late a wake-up may come without slowing the rate: the clock ticks in milliseconds.
const CATCH_UP: Duration = Duration::from_millis(5);

/// Lets requests through one by one, evenly spaced.
#[derive(Debug)]
pub(super) struct Pace {
    interval: Option<Duration>,
    /// When the next request may start. The lock is fair and is held while its holder waits, so that a caller who
    /// gives up leaves no hole behind.
    next: Mutex<Option<Instant>>,
}

impl Pace {
    pub(super) fn new(per_second: Option<f64>) -> Self {
        Self {
            interval: per_second.map(|rate| Duration::from_secs_f64(rate.recip())),
            next: Mutex::new(None),
        }
    }

    /// Waits for this request's turn; returns how long that took.
    pub(super) async fn turn(&self) -> Duration {
        let Some(interval) = self.interval else {
            return Duration::ZERO;
        };
        let came = Instant::now();
        let mut next = self.next.lock().await;
        let due = next.unwrap_or(came);
        if due > Instant::now() {
            sleep_until(due).await;
        }
        let now = Instant::now();
        *next = Some(due.max(now - CATCH_UP.min(interval)) + interval);
        now - came
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn requests_are_spaced_and_served_in_the_order_they_came() {
        let pace = Arc::new(Pace::new(Some(50.0)));
        let start = Instant::now();
        let turns: Vec<_> = (0..6)
            .map(|_| {
                let pace = Arc::clone(&pace);
                tokio::spawn(async move {
                    pace.turn().await;
                    start.elapsed()
                })
            })
            .collect();
        for (i, turn) in turns.into_iter().enumerate() {
            let earliest = Duration::from_millis(20) * u32::try_from(i).unwrap();
            let at = turn.await.unwrap();
            assert!(at >= earliest, "turn {i} came after {at:?}");
        }
    }

    #[tokio::test]
    async fn who_gives_up_leaves_no_hole() {
        let pace = Pace::new(Some(2.0));
        pace.turn().await;
        let start = Instant::now();
        for _ in 0..20 {
            let gone = tokio::time::timeout(Duration::from_millis(1), pace.turn()).await;
            assert!(gone.is_err());
        }
        pace.turn().await;
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{:?}",
            start.elapsed()
        );
    }

    #[tokio::test]
    async fn without_a_limit_nobody_waits() {
        assert_eq!(Pace::new(None).turn().await, Duration::ZERO);
    }
}
