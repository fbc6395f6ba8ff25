//! What of a venue's troubles is said to the log: the first of a kind at once, then once a minute how many more there were.

use std::collections::HashMap;

use crate::model::Millis;

/// How long a kind of trouble is only counted after it was said to the log.
const SAID: i64 = Millis::MINUTE;

/// The troubles that were said to the log: the first of a kind at once, then in a minute only their number.
#[derive(Debug, Default)]
pub(crate) struct LogLimit {
    /// When each kind was last said, the last that was not said since, and how many these are.
    kinds: HashMap<String, (Millis, String, u64)>,
}

impl LogLimit {
    /// What is to be said of a trouble now.
    pub(crate) fn hear(&mut self, message: &str, now: Millis) -> Option<String> {
        let kind = message
            .split_once(": ")
            .map_or(message, |(kind, _)| kind)
            .to_owned();
        if let Some((_, last, count)) = self.kinds.get_mut(&kind) {
            message.clone_into(last);
            *count += 1;
            return None;
        }
        self.kinds.insert(kind, (now, String::new(), 0));
        Some(message.to_owned())
    }

    /// What is to be said of those that were only counted, once their minute is over.
    pub(crate) fn sum_up(&mut self, now: Millis) -> Vec<String> {
        let mut sums = Vec::new();
        self.kinds.retain(|_, (since, last, count)| {
            if now.0.saturating_sub(since.0) < SAID {
                return true;
            }
            if *count == 0 {
                return false;
            }
            sums.push(match *count - 1 {
                0 => last.clone(),
                more => format!("{last} (… {more} more)"),
            });
            (*since, *count) = (now, 0);
            true
        });
        sums.sort();
        sums
    }
}

#[cfg(test)]
mod tests {
    use crate::collect::health::log_limit::*;

    #[test]
    fn a_flood_of_troubles_is_one_line_at_once_and_one_a_minute() {
        let mut said = LogLimit::default();
        let now = Millis(5);
        let hear = |said: &mut LogLimit, message: &str, at| said.hear(message, at);
        let first = hear(&mut said, "rejected: a", now);
        assert_eq!(first.as_deref(), Some("rejected: a"));
        for number in 0..413 {
            assert_eq!(
                hear(&mut said, &format!("rejected: b{number}"), now.on(number)),
                None
            );
        }
        // Another kind is not drowned.
        assert!(hear(&mut said, "usdt: no pong", now).is_some());
        assert!(said.sum_up(now.on(SAID - 1)).is_empty());
        let minute = now.on(SAID);
        assert_eq!(said.sum_up(minute), ["rejected: b412 (… 412 more)"]);
        assert!(said.sum_up(minute).is_empty());
        assert_eq!(hear(&mut said, "rejected: c", minute.on(1)), None);
        let next = said.sum_up(minute.on(SAID));
        assert_eq!(next, ["rejected: c"]);
        // Once a minute was quiet the next is said at once, and nothing is remembered for ever.
        assert!(said.sum_up(minute.on(2 * SAID)).is_empty());
        assert!(said.kinds.is_empty());
        assert!(hear(&mut said, "rejected: d", minute.on(2 * SAID)).is_some());
    }
}
