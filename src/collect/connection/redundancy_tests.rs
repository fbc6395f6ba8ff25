//! What is told of those who listen together, held against when each of them heard nothing: over hundreds of losses, one of
//! them never there, or found dead long after it died.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests")]

use fastrand::Rng;

use crate::collect::connection::redundancy::{Ears, Silence};
use crate::model::Millis;

/// A time from here until before there.
type Span = (i64, i64);

/// What one of those who listen does.
#[derive(Clone, Copy)]
enum State {
    /// It hears nothing since then.
    Missing(i64),
    /// It heard until then for certain.
    Hears(i64),
    /// It heard until then, and that it is dead is found out at the other time.
    Dead(i64, i64),
}

/// In order and apart from each other.
fn joined(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut joined: Vec<Span> = Vec::new();
    for (start, end) in spans {
        match joined.last_mut() {
            Some((_, last)) if *last >= start => *last = end.max(*last),
            _ => joined.push((start, end)),
        }
    }
    joined
}

fn common(some: &[Span], others: &[Span]) -> Vec<Span> {
    let pairs = some
        .iter()
        .flat_map(|one| others.iter().map(move |other| (one, other)));
    let pairs = pairs.map(|(one, other)| (one.0.max(other.0), one.1.min(other.1)));
    pairs.filter(|(start, end)| start < end).collect()
}

/// Those who listen, what is told of them, and when each of them really heard nothing.
struct Room {
    ears: Ears,
    states: Vec<State>,
    silences: Vec<Vec<Span>>,
    told: Vec<Span>,
    first: Option<i64>,
    seen: i64,
}

impl Room {
    fn new(count: usize) -> Self {
        Self {
            ears: Ears::new(
                count,
                "line",
                std::iter::once("x".to_owned()).collect(),
                None,
                Millis(0),
            ),
            states: vec![State::Missing(0); count],
            silences: vec![Vec::new(); count],
            told: Vec::new(),
            first: None,
            seen: 0,
        }
    }

    fn is_told(&mut self, gaps: Vec<Silence>) {
        for gap in gaps {
            assert!(
                gap.start.0 >= self.seen,
                "{gap:?} was covered until {}",
                self.seen
            );
            self.told.push((gap.start.0, gap.end.0));
        }
        self.seen = self
            .ears
            .seen()
            .map_or(self.seen, |seen| self.seen.max(seen.0));
    }

    fn lives(&mut self, ear: usize, since: i64, now: i64) {
        self.first.get_or_insert(now);
        self.silences[ear].push((since, now));
        self.states[ear] = State::Hears(now);
        let over = self.ears.lives(ear, Millis(now));
        self.is_told(over);
    }

    fn signs(&mut self, ear: usize, now: i64) {
        self.states[ear] = State::Hears(now);
        self.ears.sign(ear, Millis(now));
        self.is_told(Vec::new());
    }

    fn is_lost(&mut self, ear: usize, since: i64, now: i64) {
        self.states[ear] = State::Missing(since);
        let over = self
            .ears
            .is_lost(ear, Millis(since), "lost".to_owned(), Millis(now));
        self.is_told(over);
    }

    /// Ends it, and holds what was told against what was.
    fn end(mut self, now: i64) -> Vec<Span> {
        for ear in 0..self.states.len() {
            if let State::Dead(since, _) = self.states[ear] {
                self.is_lost(ear, since, now);
            }
            if let State::Missing(since) = self.states[ear] {
                self.silences[ear].push((since, now));
            }
        }
        for ear in 0..self.states.len() {
            let over = self.ears.end(ear, Millis(now));
            self.is_told(over);
        }
        let all = self.silences.iter().cloned();
        let true_gaps = all.reduce(|some, others| common(&some, &others)).unwrap();
        let true_gaps = common(&true_gaps, &[(self.first.unwrap_or(now), now)]);
        let alone: i64 = self.told.iter().map(|(start, end)| end - start).sum();
        let told = joined(self.told);
        let long: i64 = told.iter().map(|(start, end)| end - start).sum();
        assert_eq!(alone, long, "a gap was told twice");
        assert_eq!(told, joined(true_gaps));
        told
    }
}

#[test]
fn one_that_never_connects_makes_no_gap_of_what_another_heard_however_often_that_is_lost() {
    let mut room = Room::new(2);
    let mut now = 5;
    room.lives(0, 0, now);
    for _ in 0..500 {
        now += 3_600_000;
        room.signs(0, now);
        room.is_lost(0, now, now + 40_000);
        now += 60_000;
        room.lives(0, now - 60_000, now);
    }
    assert_eq!(room.end(now + 1).len(), 500);
}

#[test]
fn what_is_told_of_hundreds_of_losses_is_what_nobody_heard() {
    for seed in 0..12 {
        let mut rng = Rng::with_seed(seed);
        let count = 1 + rng.usize(..3);
        let absent = rng.bool().then(|| count - 1).filter(|absent| *absent > 0);
        // How long it takes to find out that one is dead, and how often one is lost meanwhile.
        let late = [1, 100, 1500][rng.usize(..3)];
        let losses = [2, 10, 50][rng.usize(..3)];
        let mut room = Room::new(count);
        let mut now = 0;
        for _ in 0..600 {
            now += rng.i64(1..20);
            let ear = rng.usize(..count);
            match room.states[ear] {
                State::Missing(_) if Some(ear) == absent => {}
                State::Missing(since) => room.lives(ear, since, now),
                State::Hears(since) if rng.usize(..losses) == 0 => {
                    room.states[ear] = State::Dead(since, now + rng.i64(..=late));
                }
                State::Hears(_) => room.signs(ear, now),
                State::Dead(since, found) if now >= found => room.is_lost(ear, since, now),
                State::Dead(..) => {}
            }
        }
        room.end(now + 1);
    }
}
