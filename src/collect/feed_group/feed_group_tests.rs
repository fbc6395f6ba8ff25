//! Checks the reported gaps against the true outages of each connection, over hundreds of random losses.
//!
//! In some runs, a connection is never live, or its loss is detected late.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests")]

use fastrand::Rng;

use crate::collect::feed_group::feed_group::{FeedGroup, Slot};
use crate::collect::feed_group::outages::Outage;
use crate::model::Millis;

/// The start and the end of an outage.
type Span = (i64, i64);

/// The true state of a connection.
#[derive(Clone, Copy)]
enum State {
    /// Down since this instant.
    Down(i64),
    /// Live; everything up to this instant was received.
    Live(i64),
    /// Dead since the first instant; the loss is detected at the second instant.
    Dead(i64, i64),
}

/// Sorts and merges spans.
fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut merged: Vec<Span> = Vec::new();
    for (start, end) in spans {
        match merged.last_mut() {
            Some((_, last)) if *last >= start => *last = end.max(*last),
            _ => merged.push((start, end)),
        }
    }
    merged
}

fn common(some: &[Span], others: &[Span]) -> Vec<Span> {
    let pairs = some
        .iter()
        .flat_map(|one| others.iter().map(move |other| (one, other)));
    let pairs = pairs.map(|(one, other)| (one.0.max(other.0), one.1.min(other.1)));
    pairs.filter(|(start, end)| start < end).collect()
}

/// A feed group, the gaps it has reported, and the true outages of its connections.
struct Simulation {
    group: FeedGroup,
    states: Vec<State>,
    outages: Vec<Vec<Span>>,
    gaps: Vec<Span>,
    first: Option<i64>,
    covered: i64,
}

impl Simulation {
    fn new(is_redundant: bool) -> Self {
        let topics = std::iter::once("x".to_owned()).collect();
        let group = FeedGroup::new(is_redundant, "line", topics, None, Millis(0));
        let count = group.slots().len();
        Self {
            group,
            states: vec![State::Down(0); count],
            outages: vec![Vec::new(); count],
            gaps: Vec::new(),
            first: None,
            covered: 0,
        }
    }

    fn slot(&self, number: usize) -> Slot {
        self.group.slots()[number]
    }

    fn report(&mut self, gaps: Vec<Outage>) {
        for gap in gaps {
            let (start, end) = (gap.range.start.0, gap.range.end.0);
            assert!(
                start >= self.covered,
                "{gap:?} was covered until {}",
                self.covered
            );
            self.gaps.push((start, end));
        }
        self.covered = self
            .group
            .covered_until()
            .map_or(self.covered, |covered| self.covered.max(covered.0));
    }

    fn on_live(&mut self, number: usize, since: i64, now: i64) {
        self.first.get_or_insert(now);
        self.outages[number].push((since, now));
        self.states[number] = State::Live(now);
        let gaps = self.group.on_live(self.slot(number), Millis(now));
        self.report(gaps);
    }

    fn prove(&mut self, number: usize, now: i64) {
        self.states[number] = State::Live(now);
        self.group.prove(self.slot(number), Millis(now));
        self.report(Vec::new());
    }

    fn on_loss(&mut self, number: usize, since: i64, now: i64) {
        self.states[number] = State::Down(since);
        let (slot, reason) = (self.slot(number), "lost".to_owned());
        let gaps = self.group.on_loss(slot, Millis(since), reason, Millis(now));
        self.report(gaps);
    }

    /// Closes the group and compares the reported gaps with the true ones.
    fn finish(mut self, now: i64) -> Vec<Span> {
        for number in 0..self.states.len() {
            if let State::Dead(since, _) = self.states[number] {
                self.on_loss(number, since, now);
            }
            if let State::Down(since) = self.states[number] {
                self.outages[number].push((since, now));
            }
        }
        for slot in self.group.slots() {
            let gaps = self.group.close(*slot, Millis(now));
            self.report(gaps);
        }
        let all = self.outages.iter().cloned();
        let expected = all.reduce(|some, others| common(&some, &others)).unwrap();
        let expected = common(&expected, &[(self.first.unwrap_or(now), now)]);
        let length = |spans: &[Span]| -> i64 { spans.iter().map(|(start, end)| end - start).sum() };
        let gaps = merged(self.gaps.clone());
        assert_eq!(
            length(&self.gaps),
            length(&gaps),
            "a gap was reported twice"
        );
        assert_eq!(gaps, merged(expected));
        gaps
    }
}

#[test]
fn a_connection_that_is_never_live_makes_no_gaps_however_often_the_other_is_lost() {
    let mut simulation = Simulation::new(true);
    let mut now = 5;
    simulation.on_live(0, 0, now);
    for _ in 0..500 {
        now += 3_600_000;
        simulation.prove(0, now);
        simulation.on_loss(0, now, now + 40_000);
        now += 60_000;
        simulation.on_live(0, now - 60_000, now);
    }
    assert_eq!(simulation.finish(now + 1).len(), 500);
}

#[test]
fn reported_gaps_are_the_times_in_which_no_connection_received_anything() {
    for seed in 0..12 {
        let mut rng = Rng::with_seed(seed);
        let mut simulation = Simulation::new(seed % 3 > 0);
        let count = simulation.states.len();
        let absent = rng.bool().then(|| count - 1).filter(|absent| *absent > 0);
        // The maximum delay until a dead connection is detected, and the inverse probability of a loss per step.
        let late = [1, 100, 1500][rng.usize(..3)];
        let losses = [2, 10, 50][rng.usize(..3)];
        let mut now = 0;
        for _ in 0..600 {
            now += rng.i64(1..20);
            let number = rng.usize(..count);
            match simulation.states[number] {
                State::Down(_) if Some(number) == absent => {}
                State::Down(since) => simulation.on_live(number, since, now),
                State::Live(since) if rng.usize(..losses) == 0 => {
                    simulation.states[number] = State::Dead(since, now + rng.i64(..=late));
                }
                State::Live(_) => simulation.prove(number, now),
                State::Dead(since, found) if now >= found => simulation.on_loss(number, since, now),
                State::Dead(..) => {}
            }
        }
        simulation.finish(now + 1);
    }
}
