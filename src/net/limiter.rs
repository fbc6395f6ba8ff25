//! Rate limiter, first come, first served.
//!
//! `governor` does not fit: it starts with a full allowance and does not queue waiters. This limiter serves waiters in
//! order of arrival, and a late wake-up does not lower its rate. It returns the waiting time, so that the caller can
//! exclude that time from time-outs.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// Maximum delay of a wake-up that does not lower the rate. Tokio's timer has a resolution of one millisecond.
const CATCH_UP: Duration = Duration::from_millis(5);
/// Usual share of a window's weight that is granted without delay.
const QUARTER: f64 = 0.25;

/// Limits the rate of requests.
///
/// A waiter sleeps with the mutex locked. The mutex is fair, so requests are granted in order of arrival. Allowance is
/// taken after the sleep, so a cancelled waiter uses none.
#[derive(Debug)]
pub(crate) struct Limiter(Mutex<Allowance>);

impl Limiter {
    /// Allows at most `rate` requests per second, evenly spaced.
    pub(crate) fn per_second(rate: f64) -> Self {
        let each = Duration::from_secs_f64(rate.recip());
        Self(Mutex::new(Allowance {
            each,
            slack: CATCH_UP.min(each),
            due: None,
            saved: Duration::ZERO,
        }))
    }

    /// Allows a total weight of `most` in any time window of length `per`.
    ///
    /// A quarter of that weight is granted without delay; the remaining weight is granted evenly over time.
    pub(crate) fn in_window(most: u32, per: Duration) -> Self {
        Self::in_window_with_burst(most, per, QUARTER)
    }

    /// Allows a total weight of `most` in any time window of length `per`, with another share without delay, 0 to 1.
    pub(crate) fn in_window_with_burst(most: u32, per: Duration, burst: f64) -> Self {
        Self(Mutex::new(Allowance::of_window(most, per, burst)))
    }

    /// Waits until a request of this weight may be sent, and returns the waiting time.
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
    /// Time between two requests of weight one.
    each: Duration,
    /// Maximum unused allowance that accumulates, as a time: `due` may lie this far in the past.
    slack: Duration,
    /// Earliest time of the next request of weight one. `None` before the first request.
    due: Option<Instant>,
    /// Unused allowance before the first request, as a time; zero after the first request.
    saved: Duration,
}

impl Allowance {
    fn of_window(most: u32, per: Duration, burst: f64) -> Self {
        let each = per.div_f64(1.0 - burst) / most.max(1);
        let slack = each.mul_f64((f64::from(most) * burst).floor().max(1.0) - 1.0);
        Self {
            each,
            slack,
            due: None,
            saved: slack,
        }
    }

    /// Earliest send time of a request of this weight that arrived at `came`.
    fn due(&self, weight: u32, came: Instant) -> Instant {
        self.earliest(came) + self.each * weight.saturating_sub(1)
    }

    /// Records that a request of this weight is sent at `now`.
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

    /// Send times, from the start, of requests of these weights that all arrive at the start.
    fn turns(most: u32, per: Duration, weights: &[u32]) -> Vec<Duration> {
        let start = Instant::now();
        let mut allowance = Allowance::of_window(most, per, QUARTER);
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
        // A quarter of the requests is sent without delay, three quarters evenly spaced.
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
        // At a weight of 3 per 9 s, a weight of one takes 4 s, and no allowance accumulates. A request of weight 5 is
        // sent at 24 s: after four further weights, 16 s after its turn.
        let nine = Duration::from_secs(9);
        let gone = turns(3, nine, &[1, 1, 5]);
        assert_eq!(gone, [0, 4, 24].map(Duration::from_secs));
    }
}
