//! Pings without an answer yet. A pong proves that everything sent before its ping was received, even if the pong is
//! late.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::model::Millis;

/// An unanswered ping is dropped after this time. It may never get an answer, because one pong may answer several
/// pings.
const DROPPED_AFTER: Duration = Duration::from_mins(1);

/// A sent ping, with its time by the collector's clock and by the monotonic clock.
#[derive(Clone, Copy, Debug)]
struct Ping {
    at: Millis,
    by: Instant,
    number: u64,
}

/// The unanswered pings of one connection.
#[derive(Debug, Default)]
pub(crate) struct Pings {
    waiting: VecDeque<Ping>,
    count: u64,
}

impl Pings {
    /// Adds a ping; returns its number.
    pub(crate) fn send(&mut self, at: Millis, by: Instant) -> u64 {
        self.count += 1;
        let number = self.count;
        self.waiting.push_back(Ping { at, by, number });
        number
    }

    /// Removes the answered ping, or the oldest ping if the pong has no number. Also drops pings that no pong will
    /// answer. Returns when the answered ping was sent.
    pub(crate) fn on_pong(
        &mut self,
        number: Option<u64>,
        at: Millis,
        by: Instant,
    ) -> Option<Millis> {
        self.waiting.retain(|ping| match number {
            Some(number) => ping.number >= number,
            None => by.saturating_duration_since(ping.by) <= DROPPED_AFTER,
        });
        let first = self.waiting.front()?;
        if number.is_some_and(|number| number != first.number) {
            return None;
        }
        let ping = self.waiting.pop_front()?;
        let long = by.saturating_duration_since(ping.by).as_millis();
        // The system clock may have been set since the ping, so the monotonic clock limits the result.
        Some(
            ping.at
                .min(at.back(i64::try_from(long).unwrap_or(i64::MAX))),
        )
    }
}

/// When the exchange sent a ping: a time of 13 digits in the pong `answer`, in milliseconds.
pub(crate) fn ping_time(answer: &str) -> Option<Millis> {
    let mut numbers = answer.split(|letter: char| !letter.is_ascii_digit());
    let millis = numbers.find(|number| number.len() == 13)?;
    millis.parse().ok().map(Millis)
}

#[cfg(test)]
mod tests {
    use crate::collect::connection::pings::*;

    #[test]
    fn a_pong_proves_receipt_up_to_its_ping() {
        let start = Instant::now();
        let mut pings = Pings::default();
        let by = |seconds: u64| start + Duration::from_secs(seconds);
        let at = |seconds: i64| Millis(1_000_000 + seconds * 1000);
        assert_eq!(pings.on_pong(None, at(0), by(0)), None);
        for seconds in [0, 20, 40] {
            let number = pings.send(at(seconds), by(seconds.unsigned_abs()));
            assert_eq!(number, seconds.unsigned_abs() / 20 + 1);
        }
        assert_eq!(pings.on_pong(None, at(45), by(45)), Some(at(0)));
        // A pong with number 3 also drops ping 2. A pong with number 4 matches no ping.
        assert_eq!(pings.on_pong(Some(3), at(46), by(46)), Some(at(40)));
        assert_eq!(pings.on_pong(Some(4), at(47), by(47)), None);
        // The system clock is set back by ten seconds, then forward by ten.
        pings.send(at(60), by(60));
        assert_eq!(pings.on_pong(None, at(52), by(62)), Some(at(50)));
        pings.send(at(80), by(80));
        assert_eq!(pings.on_pong(None, at(92), by(82)), Some(at(80)));
        // A ping that is older than `DROPPED_AFTER` is dropped; the pong answers the next ping.
        pings.send(at(100), by(100));
        pings.send(at(170), by(170));
        assert_eq!(pings.on_pong(None, at(171), by(171)), Some(at(170)));
    }

    #[test]
    fn the_time_of_a_ping_is_read_from_our_answer() {
        let at = Some(Millis(1_492_420_473_058));
        assert_eq!(ping_time(r#"{"op":"pong","ts":"1492420473058"}"#), at);
        assert_eq!(ping_time(r#"{"pong":1492420473058}"#), at);
        assert_eq!(ping_time(r#"{"pong":18212558000}"#), None);
    }
}
