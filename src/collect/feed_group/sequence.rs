//! Sequence numbers of one connection: a missing number shows a lost message.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::feeds::SequenceNumber;
use crate::model::Millis;

/// Assumed maximum delay of a message, in milliseconds.
const MOST_DELAY: i64 = 60_000;

/// A range of consecutive sequence numbers that have not arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hole {
    first: u64,
    /// The first number after the hole.
    next: u64,
    /// The lost messages were sent between `since` and `until`.
    since: Millis,
    until: Millis,
    /// When the numbers count as lost.
    due: Instant,
}

/// A stream with its own sequence numbers, such as the trades of a market.
#[derive(Debug)]
struct NumberedStream {
    next: u64,
    /// When the last number arrived.
    at: Millis,
    /// The latest event time so far.
    newest: Option<Millis>,
    holes: Vec<Hole>,
}

impl NumberedStream {
    /// The earliest possible time of a message after the last number.
    fn since(&self) -> Millis {
        let newest = self.newest.unwrap_or(self.at);
        newest.max(self.at.back(MOST_DELAY)).min(self.at)
    }
}

/// A series of messages that were lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SequenceHole {
    /// Name of the stream; empty if the whole connection is one stream.
    pub(crate) stream: String,
    pub(crate) count: u64,
    pub(crate) since: Millis,
    pub(crate) until: Millis,
}

/// The sequence numbers of one connection.
#[derive(Debug)]
pub(crate) struct Sequences {
    streams: HashMap<String, NumberedStream>,
    /// How long after its successors a number may still arrive.
    late: Duration,
    /// When the next hole counts as lost.
    due: Option<Instant>,
}

impl Sequences {
    pub(crate) fn new(late: Duration) -> Self {
        Self {
            streams: HashMap::new(),
            late,
            due: None,
        }
    }

    /// Processes the numbers of a frame received at `at`. Returns how many numbers were compared with their
    /// predecessor.
    pub(crate) fn receive(
        &mut self,
        mut numbers: Vec<SequenceNumber>,
        at: Millis,
        now: Instant,
    ) -> u64 {
        // The numbers in one frame may have any order.
        numbers.sort_unstable_by(|a, b| (&a.stream, a.number).cmp(&(&b.stream, b.number)));
        let mut compared = 0;
        for SequenceNumber {
            stream,
            number,
            begins,
            at: timestamp,
        } in numbers
        {
            let Some(known) = self.streams.get_mut(&stream) else {
                let begun = NumberedStream {
                    next: number.saturating_add(1),
                    at,
                    newest: timestamp,
                    holes: Vec::new(),
                };
                self.streams.insert(stream, begun);
                continue;
            };
            if number >= known.next {
                if number > known.next && !begins {
                    let hole = Hole {
                        first: known.next,
                        next: number,
                        since: known.since(),
                        until: at,
                        due: now + self.late,
                    };
                    self.due = Some(self.due.map_or(hole.due, |due| due.min(hole.due)));
                    known.holes.push(hole);
                }
                compared += u64::from(!begins);
                (known.next, known.at) = (number.saturating_add(1), at);
                known.newest = known.newest.max(timestamp);
            } else if let Some(index) = known
                .holes
                .iter()
                .position(|hole| (hole.first..hole.next).contains(&number))
            {
                compared += 1;
                let hole = known.holes.swap_remove(index);
                let parts = [(hole.first, number), (number.saturating_add(1), hole.next)];
                let left = parts.into_iter().filter(|(first, next)| first < next);
                known.holes.extend(left.map(|(first, next)| Hole {
                    first,
                    next,
                    ..hole
                }));
            }
        }
        compared
    }

    /// When the next hole counts as lost.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.due
    }

    /// Whether there is a hole that may still be filled.
    pub(crate) fn is_waiting(&self) -> bool {
        self.due.is_some()
    }

    /// Removes the holes that count as lost `now`, or all holes when the connection ends.
    pub(crate) fn take_lost(&mut self, now: Option<Instant>) -> Vec<SequenceHole> {
        let is_due = |hole: &Hole| now.is_none_or(|now| hole.due <= now);
        if self.due.is_none_or(|due| now.is_some_and(|now| now < due)) {
            return Vec::new();
        }
        let mut lost = Vec::new();
        for (name, stream) in &mut self.streams {
            let due = stream.holes.iter().filter(|hole| is_due(hole));
            lost.extend(due.map(|hole| SequenceHole {
                stream: name.clone(),
                count: hole.next.saturating_sub(hole.first),
                since: hole.since,
                until: hole.until,
            }));
            stream.holes.retain(|hole| !is_due(hole));
        }
        let left = self.streams.values().flat_map(|stream| &stream.holes);
        self.due = left.map(|hole| hole.due).min();
        lost
    }
}

#[cfg(test)]
mod tests {
    use crate::collect::feed_group::sequence::*;

    const LATE: Duration = Duration::from_secs(10);

    fn sequence_numbers(stream: &str, numbers: &[u64]) -> Vec<SequenceNumber> {
        let number = |number: &u64| SequenceNumber::of(stream.to_owned(), *number);
        numbers.iter().map(number).collect()
    }

    fn lost(sequences: &mut Sequences, now: Instant) -> Vec<(String, u64, i64, i64)> {
        let lost = sequences.take_lost(Some(now)).into_iter();
        lost.map(|one| (one.stream, one.count, one.since.0, one.until.0))
            .collect()
    }

    #[test]
    fn a_missing_number_is_lost_once_between_its_neighbours() {
        let now = Instant::now();
        let mut sequences = Sequences::new(Duration::ZERO);
        let mut receive = |stream, numbers: &[u64], at| {
            let compared = sequences.receive(sequence_numbers(stream, numbers), Millis(at), now);
            (compared, lost(&mut sequences, now))
        };
        assert_eq!(receive("a", &[7], 1), (0, vec![]));
        assert_eq!(receive("b", &[100, 101], 2), (1, vec![]));
        assert_eq!(receive("a", &[9, 8], 3), (2, vec![]));
        assert_eq!(receive("a", &[13], 9), (1, vec![("a".to_owned(), 3, 3, 9)]));
        // Repeated numbers are not compared.
        assert_eq!(receive("a", &[13, 8], 10), (0, vec![]));
        assert_eq!(receive("a", &[14], 11), (1, vec![]));
    }

    #[test]
    fn a_hole_starts_after_the_message_before_it_however_long_its_delay() {
        let now = Instant::now();
        let hole = |came: i64, newest: Option<i64>| {
            let mut sequences = Sequences::new(Duration::ZERO);
            let number = |number, at: Option<i64>| {
                let of = SequenceNumber::of("a".to_owned(), number);
                let at = at.map(Millis);
                vec![SequenceNumber { at, ..of }]
            };
            sequences.receive(number(1, newest), Millis(came), now);
            sequences.receive(number(3, None), Millis(came + 9), now);
            let (_, _, since, until) = lost(&mut sequences, now).remove(0);
            (since, until)
        };
        let came = 1_000_000;
        assert_eq!(hole(came, Some(came - 10_000)), (came - 10_000, came + 9));
        assert_eq!(hole(came, None), (came, came + 9));
        // An exchange's clock that is ahead does not shorten the hole. An old event time does not widen the hole beyond
        // `MOST_DELAY`.
        assert_eq!(hole(came, Some(came + 70)), (came, came + 9));
        let of_yesterday = Some(came - 90_000);
        assert_eq!(hole(came, of_yesterday), (came - MOST_DELAY, came + 9));
    }

    #[test]
    fn a_late_number_is_not_lost() {
        let now = Instant::now();
        let mut sequences = Sequences::new(LATE);
        let receive = |sequences: &mut Sequences, number, at| {
            sequences.receive(sequence_numbers("", &[number]), Millis(at), now);
        };
        receive(&mut sequences, 0, 1);
        receive(&mut sequences, 4, 2);
        assert!(sequences.is_waiting() && lost(&mut sequences, now).is_empty());
        receive(&mut sequences, 2, 3);
        let later = now + LATE;
        let mut found = lost(&mut sequences, later);
        found.sort();
        let one = (String::new(), 1, 1, 2);
        assert_eq!(found, [one.clone(), one]);
        assert!(!sequences.is_waiting());
        receive(&mut sequences, 6, 5);
        receive(&mut sequences, 5, 6);
        assert!(lost(&mut sequences, later + LATE).is_empty());
        receive(&mut sequences, 8, 7);
        assert_eq!(sequences.take_lost(None).len(), 1);
    }

    #[test]
    fn a_restart_of_the_numbers_is_no_hole() {
        let now = Instant::now();
        let mut sequences = Sequences::new(Duration::ZERO);
        let begin = |number| {
            let begins = SequenceNumber::of("a".to_owned(), number);
            vec![SequenceNumber {
                begins: true,
                ..begins
            }]
        };
        sequences.receive(begin(10), Millis(1), now);
        sequences.receive(begin(20), Millis(2), now);
        assert!(sequences.take_lost(Some(now)).is_empty());
        sequences.receive(sequence_numbers("a", &[22]), Millis(3), now);
        assert_eq!(sequences.take_lost(Some(now)).len(), 1);
    }
}
