//! Our pings on their way. An answer proves that everything was heard that was said before the ping, however long either
//! was on its way.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::model::Millis;

/// A ping that was not answered for so long never will be: one answer may stand for several.
const FORGOTTEN: Duration = Duration::from_mins(1);

/// When a ping was said, by both clocks.
#[derive(Clone, Copy, Debug)]
struct Ping {
    at: Millis,
    by: Instant,
    number: u64,
}

/// The pings of one socket that are not answered.
#[derive(Debug, Default)]
pub(crate) struct Pings {
    waiting: VecDeque<Ping>,
    count: u64,
}

impl Pings {
    /// The number of a ping that is said just now.
    pub(crate) fn say(&mut self, at: Millis, by: Instant) -> u64 {
        self.count += 1;
        let number = self.count;
        self.waiting.push_back(Ping { at, by, number });
        number
    }

    /// One is answered: that one, or the oldest where the answer does not say which. Gives when it was said.
    pub(crate) fn hear(&mut self, number: Option<u64>, at: Millis, by: Instant) -> Option<Millis> {
        self.waiting.retain(|ping| match number {
            Some(number) => ping.number >= number,
            None => by.saturating_duration_since(ping.by) <= FORGOTTEN,
        });
        let first = self.waiting.front()?;
        if number.is_some_and(|number| number != first.number) {
            return None;
        }
        let ping = self.waiting.pop_front()?;
        let long = by.saturating_duration_since(ping.by).as_millis();
        // Either clock may have been moved since.
        Some(
            ping.at
                .min(at.back(i64::try_from(long).unwrap_or(i64::MAX))),
        )
    }
}

/// When a ping of theirs was said, where our answer repeats the time in milliseconds.
pub(crate) fn said_at(answer: &str) -> Option<Millis> {
    let mut numbers = answer.split(|letter: char| !letter.is_ascii_digit());
    let millis = numbers.find(|number| number.len() == 13)?;
    millis.parse().ok().map(Millis)
}

#[cfg(test)]
mod tests {
    use crate::collect::health::pings::*;

    #[test]
    fn an_answer_proves_what_was_said_before_its_ping() {
        let start = Instant::now();
        let mut pings = Pings::default();
        let by = |seconds: u64| start + Duration::from_secs(seconds);
        let at = |seconds: i64| Millis(1_000_000 + seconds * 1000);
        assert_eq!(pings.hear(None, at(0), by(0)), None);
        for seconds in [0, 20, 40] {
            let number = pings.say(at(seconds), by(seconds.unsigned_abs()));
            assert_eq!(number, seconds.unsigned_abs() / 20 + 1);
        }
        assert_eq!(pings.hear(None, at(45), by(45)), Some(at(0)));
        // The third answered, the second never will be; nobody asked for a fourth.
        assert_eq!(pings.hear(Some(3), at(46), by(46)), Some(at(40)));
        assert_eq!(pings.hear(Some(4), at(47), by(47)), None);
        // The clock was set back by ten seconds, or on.
        pings.say(at(60), by(60));
        assert_eq!(pings.hear(None, at(52), by(62)), Some(at(50)));
        pings.say(at(80), by(80));
        assert_eq!(pings.hear(None, at(92), by(82)), Some(at(80)));
        // What was forgotten does not stand for what comes.
        pings.say(at(100), by(100));
        pings.say(at(170), by(170));
        assert_eq!(pings.hear(None, at(171), by(171)), Some(at(170)));
    }

    #[test]
    fn their_ping_says_when_it_was_said() {
        let at = Some(Millis(1_492_420_473_058));
        assert_eq!(said_at(r#"{"op":"pong","ts":"1492420473058"}"#), at);
        assert_eq!(said_at(r#"{"pong":1492420473058}"#), at);
        assert_eq!(said_at(r#"{"pong":18212558000}"#), None);
    }
}
