//! The venue's own numbers on one connection: where one is missing, something was not heard.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::feeds::Numbered;
use crate::model::Millis;

/// How long before it came something may have happened at most, in milliseconds: who is under way for longer is given up.
const UNDER_WAY: i64 = 60_000;

/// Numbers that did not come.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hole {
    first: u64,
    /// The first that came again.
    next: u64,
    /// Not before the last before them happened, and not behind when the first behind them came.
    since: Millis,
    until: Millis,
    /// Until when they may still come.
    due: Instant,
}

/// What is counted by itself, such as the trades of a market.
#[derive(Debug)]
struct NumberedStream {
    next: u64,
    /// When the last number came.
    at: Millis,
    /// When the newest of what was told happened.
    told: Option<Millis>,
    holes: Vec<Hole>,
}

impl NumberedStream {
    /// The earliest instant at which what comes behind the last number can have happened.
    fn since(&self) -> Millis {
        let told = self.told.unwrap_or(self.at);
        told.max(self.at.back(UNDER_WAY)).min(self.at)
    }
}

/// Something that was not heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SequenceGap {
    /// What is counted; empty where that is everything on the connection.
    pub(crate) stream: String,
    pub(crate) count: u64,
    pub(crate) since: Millis,
    pub(crate) until: Millis,
}

/// All that is counted on one connection.
#[derive(Debug)]
pub(crate) struct Sequences {
    streams: HashMap<String, NumberedStream>,
    /// How much later than those behind it a number may come.
    late: Duration,
    /// When the next hole is due.
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

    /// Takes the numbers of a frame that came `at`; how many were held against the one before.
    pub(crate) fn hear(&mut self, mut numbers: Vec<Numbered>, at: Millis, now: Instant) -> u64 {
        // What comes together may stand in any order.
        numbers.sort_unstable_by(|a, b| (&a.stream, a.number).cmp(&(&b.stream, b.number)));
        let mut held = 0;
        for Numbered {
            stream,
            number,
            begins,
            at: told,
        } in numbers
        {
            let Some(known) = self.streams.get_mut(&stream) else {
                let begun = NumberedStream {
                    next: number.saturating_add(1),
                    at,
                    told,
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
                held += u64::from(!begins);
                (known.next, known.at) = (number.saturating_add(1), at);
                known.told = known.told.max(told);
            } else if let Some(place) = known
                .holes
                .iter()
                .position(|hole| (hole.first..hole.next).contains(&number))
            {
                held += 1;
                let hole = known.holes.swap_remove(place);
                let parts = [(hole.first, number), (number.saturating_add(1), hole.next)];
                let left = parts.into_iter().filter(|(first, next)| first < next);
                known.holes.extend(left.map(|(first, next)| Hole {
                    first,
                    next,
                    ..hole
                }));
            }
        }
        held
    }

    /// When it is to be looked whether something is missing.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.due
    }

    /// Whether a number is missing and may still come.
    pub(crate) fn is_waiting(&self) -> bool {
        self.due.is_some()
    }

    /// What does not come any more `now`; all that is missing where nothing comes at all.
    pub(crate) fn missed(&mut self, now: Option<Instant>) -> Vec<SequenceGap> {
        let is_due = |hole: &Hole| now.is_none_or(|now| hole.due <= now);
        if self.due.is_none_or(|due| now.is_some_and(|now| now < due)) {
            return Vec::new();
        }
        let mut missed = Vec::new();
        for (name, stream) in &mut self.streams {
            let due = stream.holes.iter().filter(|hole| is_due(hole));
            missed.extend(due.map(|hole| SequenceGap {
                stream: name.clone(),
                count: hole.next.saturating_sub(hole.first),
                since: hole.since,
                until: hole.until,
            }));
            stream.holes.retain(|hole| !is_due(hole));
        }
        let left = self.streams.values().flat_map(|stream| &stream.holes);
        self.due = left.map(|hole| hole.due).min();
        missed
    }
}

#[cfg(test)]
mod tests {
    use crate::collect::connection::sequence::*;

    const LATE: Duration = Duration::from_secs(10);

    fn numbered(stream: &str, numbers: &[u64]) -> Vec<Numbered> {
        let number = |number: &u64| Numbered::of(stream.to_owned(), *number);
        numbers.iter().map(number).collect()
    }

    fn missed(sequences: &mut Sequences, now: Instant) -> Vec<(String, u64, i64, i64)> {
        let missed = sequences.missed(Some(now)).into_iter();
        missed
            .map(|one| (one.stream, one.count, one.since.0, one.until.0))
            .collect()
    }

    #[test]
    fn a_number_that_does_not_come_is_missed_once_between_its_neighbours() {
        let now = Instant::now();
        let mut sequences = Sequences::new(Duration::ZERO);
        let mut hear = |stream, numbers: &[u64], at| {
            let held = sequences.hear(numbered(stream, numbers), Millis(at), now);
            (held, missed(&mut sequences, now))
        };
        assert_eq!(hear("a", &[7], 1), (0, vec![]));
        assert_eq!(hear("b", &[100, 101], 2), (1, vec![]));
        assert_eq!(hear("a", &[9, 8], 3), (2, vec![]));
        assert_eq!(hear("a", &[13], 9), (1, vec![("a".to_owned(), 3, 3, 9)]));
        // The same again is nothing new.
        assert_eq!(hear("a", &[13, 8], 10), (0, vec![]));
        assert_eq!(hear("a", &[14], 11), (1, vec![]));
    }

    #[test]
    fn what_is_missing_happened_behind_the_one_before_it_however_long_that_was_under_way() {
        let now = Instant::now();
        let hole = |came: i64, told: Option<i64>| {
            let mut sequences = Sequences::new(Duration::ZERO);
            let number = |number, at: Option<i64>| {
                let of = Numbered::of("a".to_owned(), number);
                let at = at.map(Millis);
                vec![Numbered { at, ..of }]
            };
            sequences.hear(number(1, told), Millis(came), now);
            sequences.hear(number(3, None), Millis(came + 9), now);
            let (_, _, since, until) = missed(&mut sequences, now).remove(0);
            (since, until)
        };
        let came = 1_000_000;
        assert_eq!(hole(came, Some(came - 10_000)), (came - 10_000, came + 9));
        assert_eq!(hole(came, None), (came, came + 9));
        // A clock that is ahead makes it no narrower, and what is long over no wider than anything is under way.
        assert_eq!(hole(came, Some(came + 70)), (came, came + 9));
        let of_yesterday = Some(came - 90_000);
        assert_eq!(hole(came, of_yesterday), (came - UNDER_WAY, came + 9));
    }

    #[test]
    fn what_comes_late_is_not_missed_and_the_rest_is() {
        let now = Instant::now();
        let mut sequences = Sequences::new(LATE);
        let hear = |sequences: &mut Sequences, number, at| {
            sequences.hear(numbered("", &[number]), Millis(at), now);
        };
        hear(&mut sequences, 0, 1);
        hear(&mut sequences, 4, 2);
        assert!(sequences.is_waiting() && missed(&mut sequences, now).is_empty());
        hear(&mut sequences, 2, 3);
        let later = now + LATE;
        let mut found = missed(&mut sequences, later);
        found.sort();
        let one = (String::new(), 1, 1, 2);
        assert_eq!(found, [one.clone(), one]);
        assert!(!sequences.is_waiting());
        hear(&mut sequences, 6, 5);
        hear(&mut sequences, 5, 6);
        assert!(missed(&mut sequences, later + LATE).is_empty());
        hear(&mut sequences, 8, 7);
        assert_eq!(sequences.missed(None).len(), 1);
    }

    #[test]
    fn where_a_count_begins_anew_nothing_is_missed() {
        let now = Instant::now();
        let mut sequences = Sequences::new(Duration::ZERO);
        let begin = |number| {
            let begins = Numbered::of("a".to_owned(), number);
            vec![Numbered {
                begins: true,
                ..begins
            }]
        };
        sequences.hear(begin(10), Millis(1), now);
        sequences.hear(begin(20), Millis(2), now);
        assert!(sequences.missed(Some(now)).is_empty());
        sequences.hear(numbered("a", &[22]), Millis(3), now);
        assert_eq!(sequences.missed(Some(now)).len(), 1);
    }
}
