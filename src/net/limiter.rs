//! Rate limiter, first come, first served.
//!
//! `governor` does not fit: it counts from a full bucket and does not order those who wait. Here waiters are served in
//! order of arrival, a late wake-up does not lower the rate, and the waiting time is returned, so that the caller can
//! exclude it from time-outs.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// How late a wake-up may come without lowering the rate. The clock ticks in milliseconds.
const CATCH_UP: Duration = Duration::from_millis(5);

/// Grants requests at a bounded rate. The mutex is fair, and a waiter holds it while it sleeps. A cancelled waiter
/// therefore uses no allowance.
#[derive(Debug)]
pub(crate) struct Limiter(Mutex<Allowance>);

impl Limiter {
    /// At most `rate` requests a second, evenly spaced.
    pub(crate) fn per_second(rate: f64) -> Self {
        let each = Duration::from_secs_f64(rate.recip());
        Self(Mutex::new(Allowance {
            each,
            slack: CATCH_UP.min(each),
            due: None,
            saved: Duration::ZERO,
        }))
    }

    /// At most a weight of `most` in any window of `per`. A quarter of the weight may go at once; the rest is spaced
    /// evenly.
    pub(crate) fn in_window(most: u32, per: Duration) -> Self {
        Self(Mutex::new(Allowance::of_window(most, per)))
    }

    /// Waits until a request of this weight may go. Returns the waiting time.
    pub(crate) async fn turn(&self, weight: u32) -> Duration {
        let came = Instant::now();
        let mut allowance = self.0.lock().await;
        let due = allowance.due(weight, came);
        if due > Instant::now() {
            sleep_until(due).await;
        }
        let now = Instant::now();
        allowance.take(weight, now);
        now - came
    }
}

/// State of the generic cell rate algorithm.
#[derive(Debug)]
struct Allowance {
    /// The time that a weight of one takes.
    each: Duration,
    /// Unused allowance that may accumulate, as a time: so far the schedule may lie in the past.
    slack: Duration,
    /// When the next weight of one may go. `None` before the first request.
    due: Option<Instant>,
    /// The slack available to the first request.
    saved: Duration,
}

impl Allowance {
    fn of_window(most: u32, per: Duration) -> Self {
        let each = per.mul_f64(4.0 / 3.0) / most.max(1);
        let slack = each * (most / 4).saturating_sub(1);
        Self {
            each,
            slack,
            due: None,
            saved: slack,
        }
    }

    /// When a request of this weight that arrived at `came` may go.
    fn due(&self, weight: u32, came: Instant) -> Instant {
        self.earliest(came) + self.each * weight.saturating_sub(1)
    }

    /// Records a request of this weight that goes at `now`.
    fn take(&mut self, weight: u32, now: Instant) {
        let least = now.checked_sub(self.slack).unwrap_or(now);
        self.due = Some(self.earliest(now).max(least) + self.each * weight);
        self.saved = Duration::ZERO;
    }

    fn earliest(&self, first: Instant) -> Instant {
        let at_first = first.checked_sub(self.saved).unwrap_or(first);
        self.due.unwrap_or(at_first)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn requests_are_spaced_and_served_in_the_order_they_came() {
        let limiter = Arc::new(Limiter::per_second(50.0));
        let start = Instant::now();
        let turns: Vec<_> = (0..6)
            .map(|_| {
                let limiter = Arc::clone(&limiter);
                tokio::spawn(async move {
                    limiter.turn(1).await;
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
        let limiter = Limiter::per_second(2.0);
        limiter.turn(1).await;
        let start = Instant::now();
        for _ in 0..20 {
            let gone = tokio::time::timeout(Duration::from_millis(1), limiter.turn(1)).await;
            assert!(gone.is_err());
        }
        limiter.turn(1).await;
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{:?}",
            start.elapsed()
        );
    }

    /// When requests of these weights go if all arrive at once.
    fn turns(most: u32, per: Duration, weights: &[u32]) -> Vec<Duration> {
        let start = Instant::now();
        let mut allowance = Allowance::of_window(most, per);
        let mut now = start;
        let mut go = |weight: &u32| {
            now = now.max(allowance.due(*weight, start));
            allowance.take(*weight, now);
            now - start
        };
        weights.iter().map(&mut go).collect()
    }

    #[test]
    fn no_window_sees_more_than_it_grants() {
        let per = Duration::from_secs(2);
        let turns = turns(20, per, &[1; 200]);
        assert!(turns.is_sorted());
        for (index, turn) in turns.iter().enumerate() {
            let rest = turns.iter().skip(index);
            let window = rest.take_while(|other| **other < *turn + per).count();
            assert!(window <= 20, "{window} from {turn:?}");
        }
        // The allowance is used: a quarter at once, three quarters evenly spaced.
        assert_eq!(turns.get(4), Some(&Duration::ZERO));
        assert!(*turns.last().unwrap() < Duration::from_secs(28));
    }

    #[test]
    fn weights_count_as_so_many_and_none_is_too_heavy() {
        let minute = Duration::from_mins(1);
        let heavy = turns(1200, minute, &[40; 30]);
        let light = turns(1200, minute, &[1; 1200]);
        for (index, turn) in heavy.iter().enumerate() {
            assert_eq!(Some(turn), light.get(index * 40 + 39));
        }
        // Of three in nine seconds no two go together. A weight of five waits for all earlier ones.
        let nine = Duration::from_secs(9);
        let gone = turns(3, nine, &[1, 1, 5]);
        assert_eq!(gone, [0, 4, 24].map(Duration::from_secs));
    }
}
