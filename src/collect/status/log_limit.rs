//! Limits repeated warnings in the log.

use std::collections::HashMap;

use crate::model::Millis;

/// For this many milliseconds after a logged warning, further warnings of its kind are only counted.
const QUIET: i64 = Millis::MINUTE;

/// Limits warnings by kind: the text before the first colon. The first warning of a kind is logged immediately. After
/// that, one line per minute shows the last warning and how many others were not logged.
#[derive(Debug, Default)]
pub(crate) struct LogLimit {
    /// By kind: time of the last log line, the last unlogged warning, and the number of unlogged warnings.
    kinds: HashMap<String, (Millis, String, u64)>,
}

impl LogLimit {
    /// Counts a warning and returns the line to log now, if any.
    pub(crate) fn admit(&mut self, message: &str, now: Millis) -> Option<String> {
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

    /// The lines to log for warnings that were only counted, once their minute is over.
    pub(crate) fn summaries(&mut self, now: Millis) -> Vec<String> {
        let mut sums = Vec::new();
        self.kinds.retain(|_, (since, last, count)| {
            if now.0.saturating_sub(since.0) < QUIET {
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
    use crate::collect::status::log_limit::*;

    #[test]
    fn a_flood_of_warnings_is_one_line_at_once_and_one_a_minute() {
        let mut limit = LogLimit::default();
        let now = Millis(5);
        let admit = |limit: &mut LogLimit, message: &str, at| limit.admit(message, at);
        let first = admit(&mut limit, "rejected: a", now);
        assert_eq!(first.as_deref(), Some("rejected: a"));
        for number in 0..413 {
            assert_eq!(
                admit(&mut limit, &format!("rejected: b{number}"), now.on(number)),
                None
            );
        }
        // A warning of another kind is logged immediately.
        assert!(admit(&mut limit, "usdt: no pong", now).is_some());
        assert!(limit.summaries(now.on(QUIET - 1)).is_empty());
        let minute = now.on(QUIET);
        assert_eq!(limit.summaries(minute), ["rejected: b412 (… 412 more)"]);
        assert!(limit.summaries(minute).is_empty());
        assert_eq!(admit(&mut limit, "rejected: c", minute.on(1)), None);
        let next = limit.summaries(minute.on(QUIET));
        assert_eq!(next, ["rejected: c"]);
        // After a minute without warnings the kind is forgotten, and its next warning is logged immediately.
        assert!(limit.summaries(minute.on(2 * QUIET)).is_empty());
        assert!(limit.kinds.is_empty());
        assert!(admit(&mut limit, "rejected: d", minute.on(2 * QUIET)).is_some());
    }
}
