//! How long to wait before something that failed is tried again: a random part of a time that doubles.

use std::time::Duration;

/// Waits that grow with every failure, with full jitter.
#[derive(Debug)]
pub(super) struct Backoff {
    first: Duration,
    most: Duration,
    failures: u32,
}

impl Backoff {
    /// Waits of up to `first` at the beginning and of up to `most` in the end.
    pub(super) fn new(first: Duration, most: Duration) -> Self {
        Self {
            first,
            most,
            failures: 0,
        }
    }

    /// The wait after one more failure.
    pub(super) fn next(&mut self) -> Duration {
        let doubled = 1_u32.checked_shl(self.failures).unwrap_or(u32::MAX);
        let most = self.first.saturating_mul(doubled).min(self.most);
        self.failures = self.failures.saturating_add(1).min(31);
        most.mul_f64(fastrand::f64())
    }

    /// Begins anew.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_random_and_bounded_by_a_time_that_doubles() {
        let second = Duration::from_secs(1);
        let mut longest = [Duration::ZERO; 10];
        for _ in 0..200 {
            let mut backoff = Backoff::new(second, Duration::from_mins(1));
            for (failure, longest) in (0..).zip(&mut longest) {
                let wait = backoff.next();
                assert!(wait <= (second * 2_u32.pow(failure)).min(Duration::from_mins(1)));
                *longest = wait.max(*longest);
            }
            backoff.reset();
            assert!(backoff.next() <= second);
        }
        // Of 200 draws one lies in the upper half, up to a chance of 2^-200.
        assert!(longest[0] > second / 2);
        assert!(longest[9] > Duration::from_secs(30));
    }
}
