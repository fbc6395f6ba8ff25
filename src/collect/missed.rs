//! The liquidations of a venue that nobody heard: which stretches may be missing, and asking for them again.

use std::collections::VecDeque;

use tokio::time::sleep;

use super::clock::now;
use super::settings::{millis, span};
use super::venue::{Failure, VenueTasks};
use crate::archive::{Archive, ArchiveError};
use crate::feeds::Ask;
use crate::model::Millis;

/// How far before a gap a back-fill begins: clocks differ.
const MARGIN: i64 = 5000;

/// A time from here until before there.
pub(super) type Stretch = (Millis, Millis);

/// Stretches with a margin, none before `furthest`, those that touch taken together, the newest first.
fn merged(mut stretches: Vec<Stretch>, furthest: Millis) -> Vec<Stretch> {
    stretches.sort_unstable();
    let mut merged: Vec<Stretch> = Vec::new();
    for (from, until) in stretches {
        let (from, until) = (from.back(MARGIN).max(furthest), until.on(MARGIN));
        if until <= furthest {
            continue;
        }
        match merged.last_mut() {
            Some((_, end)) if from <= *end => *end = until.max(*end),
            _ => merged.push((from, until)),
        }
    }
    merged.reverse();
    merged
}

impl VenueTasks {
    /// The stretches of which liquidations may be missing and can still be asked for: since the archive last listened,
    /// and the gaps on record, for a back-fill may have been cut short; merged, the newest first.
    pub(super) async fn missing(&self) -> Vec<Stretch> {
        let now = now();
        let hours = i64::from(self.intake.settings.missed_hours);
        let reach = hours
            .saturating_mul(Millis::HOUR)
            .min(self.intake.venue.look_back());
        if reach == 0 {
            return Vec::new();
        }
        let furthest = now.back(reach);
        let (path, name) = (self.archive.clone(), self.intake.name());
        let read = move || -> Result<Vec<Stretch>, ArchiveError> {
            let archive = Archive::read(path)?;
            let runs = archive.runs(Millis(0), now.on(1))?;
            let of_venue = runs.into_iter().filter(|run| run.exchange == name);
            let last_seen = of_venue.map(|run| run.seen).max();
            let gaps = archive.gaps(furthest, now.on(1))?;
            let mut missing: Vec<Stretch> = gaps
                .into_iter()
                .filter(|gap| gap.exchange == name)
                .map(|gap| (gap.start, gap.end))
                .collect();
            missing.push((last_seen.unwrap_or(furthest), now));
            Ok(missing)
        };
        let missing = match tokio::task::spawn_blocking(read).await {
            Ok(Ok(missing)) => missing,
            Ok(Err(fault)) => {
                self.trouble(format!("the archive cannot be read: {fault}"));
                vec![(furthest, now)]
            }
            Err(_) => vec![(furthest, now)],
        };
        merged(missing, furthest)
    }

    /// Asks for the liquidations of these stretches, one after the other.
    pub(super) async fn fill_all(&self, missing: Vec<Stretch>) {
        for (from, until) in missing {
            self.fill_missed(from, until).await;
        }
    }

    /// Asks for the liquidations of a gap, with a margin.
    pub(super) async fn fill_around(&self, (since, until): Stretch) {
        self.fill_missed(since.back(MARGIN), until.on(MARGIN)).await;
    }

    /// Asks for the liquidations of a stretch; whether all requests were answered.
    async fn fill_missed(&self, from: Millis, until: Millis) -> bool {
        let venue = self.intake.venue;
        if venue.look_back() == 0 || from >= until {
            return true;
        }
        let mut asks: VecDeque<Ask> = venue.missed(&self.wanted(), from, until).into();
        let board = &self.intake.board;
        board.will_ask(asks.len());
        let (mut answered, mut complete) = (0, true);
        while let Some(ask) = asks.pop_front() {
            if answered >= self.intake.settings.missed_requests {
                let reason = format!(
                    "back-fill given up after {answered} requests (missed_requests); {} are left",
                    asks.len() + 1
                );
                self.trouble(reason.clone());
                self.intake.gap(from, until, &reason);
                return false;
            }
            match self.ask_for_missed(&ask).await {
                Ok(rest) => {
                    board.will_ask(rest.len());
                    asks.extend(rest);
                }
                // The venue no longer answers such requests at all: the live feed goes on without.
                Err(Failure::Rest(fault)) if fault.is_absent() => {
                    self.trouble(format!("no back-fill: {fault}"));
                    complete = false;
                    board.will_not_ask(asks.len());
                    asks.clear();
                }
                Err(fault) => {
                    self.trouble(format!("back-fill: {fault}"));
                    complete = false;
                }
            }
            answered += 1;
            board.notes().status.asked += 1;
        }
        complete
    }

    async fn ask_for_missed(&self, ask: &Ask) -> Result<Vec<Ask>, Failure> {
        let body = self.rest.get(ask).await?;
        let taken = self.intake.take_body(ask, &body).await;
        taken.map_err(|fault| {
            let faults = std::slice::from_ref(&fault);
            self.intake.reject(&body, faults, now());
            fault.into()
        })
    }

    /// Asks a venue without sockets again and again. The time from poll to poll is covered while they are answered; the
    /// past before the first one is asked for and not called covered, as with every other venue.
    pub(super) async fn poll(&self, missing: Vec<Stretch>) {
        let every = span(self.intake.settings.pace.poll);
        let mut stretches = missing.into_iter();
        let mut from = stretches.next().map_or_else(now, |(from, _)| from);
        self.fill_all(stretches.collect()).await;
        let mut run = None;
        // Until when it is covered, and whether a poll since then went unanswered.
        let (mut covered, mut in_vain) = (None, false);
        loop {
            let now = now();
            let answered = self.fill_missed(from, now).await;
            self.intake.board.notes().polled = Some(answered);
            in_vain |= !answered;
            if answered {
                if let Some(since) = covered.replace(now).filter(|_| in_vain) {
                    self.intake.gap(since, now, "a poll was not answered");
                }
                in_vain = false;
                if run.is_none() {
                    run = self.begin_run(now).await;
                }
                if let Some(run) = run {
                    self.intake.delivery.note_seen(run, now);
                }
                // Rows may be reported late.
                from = now.back(millis(self.intake.settings.pace.poll));
            }
            sleep(every).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_that_touch_are_asked_for_once_and_none_beyond_reach() {
        let of = |all: &[(i64, i64)]| {
            let all = all
                .iter()
                .map(|(from, until)| (Millis(from * 1000), Millis(until * 1000)))
                .collect();
            merged(all, Millis(100_000))
        };
        assert_eq!(
            of(&[(300, 310), (200, 210), (215, 220), (10, 20), (50, 120)]),
            [
                (Millis(295_000), Millis(315_000)),
                (Millis(195_000), Millis(225_000)),
                (Millis(100_000), Millis(125_000)),
            ]
        );
        assert_eq!(of(&[]), []);
    }
}
