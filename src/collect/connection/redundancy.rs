//! One socket or several that listen to the same: what one of them misses is no gap while another hears it.
//!
//! Of each it is known when it heard nothing, until when it certainly heard, and which topics it does not hear. That it had
//! died is found out late, so the past is held against the past: a gap is the time in which none of them heard, and what
//! none of them has proven yet is not called covered. One that tells nothing while another tells news is taken for mute.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::collect::health::liveness::IgnoredControl;
use crate::model::Millis;

/// Topics that are not heard, with since when and why.
pub(crate) type Unheard = BTreeMap<String, (Millis, String)>;

/// A time in which nothing was heard, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Silence {
    pub(crate) start: Millis,
    pub(crate) end: Millis,
    pub(crate) reason: String,
}

/// One of those who listen to a line: which of them, and all.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) ear: usize,
    pub(crate) ears: Arc<Mutex<Ears>>,
    pub(crate) ignored_control: Arc<IgnoredControl>,
    /// Tells those who listen that another has ceased to, or begun: what was heard until now is to be proven.
    pub(crate) proof: Arc<Notify>,
}

/// The end of what has none yet.
const NEVER: Millis = Millis(i64::MAX);

/// How many silences of one are remembered at least. Of more the oldest are forgotten, once it is known whether another
/// heard what they are of: what another is not yet known to have missed may turn out to be a gap.
const REMEMBERED: usize = 64;
/// How many are remembered at most, whatever is known; of more the oldest two become one, with what lies between.
const AT_MOST: usize = 1024;

/// One of those who listen.
#[derive(Clone, Debug, Default)]
struct Ear {
    /// Since when it hears nothing, and why.
    missing: Option<(Millis, String)>,
    /// When it heard nothing before that.
    past: VecDeque<Silence>,
    /// Until when it certainly heard.
    proven: Option<Millis>,
    /// A time in which it may have heard nothing, until a socket that was replaced shows whether it listened.
    doubt: Option<(Millis, Millis)>,
    /// When it last told anything, or began to hear.
    told: Option<Millis>,
    /// Since when another tells what it does not, by both clocks.
    behind: Option<(Instant, Millis)>,
    unheard: Unheard,
    ended: bool,
}

impl Ear {
    /// All of its silences; the one that goes on ends `now`.
    fn silences(&self, now: Millis) -> Vec<Silence> {
        let open = self.missing.iter().map(|(start, reason)| Silence {
            start: *start,
            end: now,
            reason: reason.clone(),
        });
        self.past.iter().cloned().chain(open).collect()
    }

    /// All times in which it has heard nothing, or may have.
    fn unproven(&self) -> Vec<Silence> {
        let span = |(start, end)| Silence {
            start,
            end,
            reason: String::new(),
        };
        let mut all = self.silences(NEVER);
        all.extend(self.doubt.map(span));
        // What another told and it has not is not proven to be heard.
        let proven = self
            .behind
            .map_or(self.proven, |_| self.proven.min(self.told));
        all.extend(proven.map(|proven| span((proven, NEVER))));
        all
    }

    fn remember(&mut self, silence: Silence) {
        self.past.push_back(silence);
    }

    /// Forgets what is long ago and was over before `settled`, until when it is known what was heard.
    fn forget(&mut self, settled: Millis) {
        while self.past.len() > REMEMBERED
            && self.past.front().is_some_and(|one| one.end <= settled)
        {
            self.past.pop_front();
        }
        while self.past.len() > AT_MOST
            && let Some(oldest) = self.past.pop_front()
            && let Some(next) = self.past.front_mut()
        {
            next.start = next.start.min(oldest.start);
            next.end = next.end.max(oldest.end);
        }
    }
}

/// All who listen to the topics of one line.
#[derive(Clone, Debug)]
pub(crate) struct Ears {
    all: Vec<Ear>,
    /// The topics as they were asked for last.
    topics: BTreeSet<String>,
    /// Whether the time before one lived for the first time is missing.
    planned: bool,
    was_live: bool,
    /// The silences of all that were told already.
    told: VecDeque<Silence>,
}

impl Ears {
    /// So many, none of which lives. Where others are listened to already, the time from `planned` on is missing.
    pub(crate) fn new(
        count: usize,
        name: &str,
        topics: BTreeSet<String>,
        planned: Option<Millis>,
        now: Millis,
    ) -> Self {
        let since = planned.unwrap_or(now);
        let ear = Ear {
            missing: Some((since, format!("{name}: not heard yet"))),
            ..Ear::default()
        };
        Self {
            all: vec![ear; count.max(1)],
            topics,
            planned: planned.is_some(),
            was_live: false,
            told: VecDeque::new(),
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// How many of them hear anything.
    pub(crate) fn live(&self) -> usize {
        let is_live = |ear: &&Ear| ear.missing.is_none() && !ear.ended;
        self.all.iter().filter(is_live).count()
    }

    /// One lives from `now` on; gives the gaps that are over with that.
    pub(crate) fn lives(&mut self, number: usize, now: Millis) -> Vec<Silence> {
        let is_first = !std::mem::replace(&mut self.was_live, true) && !self.planned;
        if let Some(ear) = self.all.get_mut(number) {
            let mut lived = now;
            if let Some((start, reason)) = ear.missing.take() {
                // A clock that was ahead may have been set right since.
                let start = start.min(now);
                let end = now.max(start.on(1));
                ear.remember(Silence { start, end, reason });
                lived = end;
            }
            if is_first {
                self.told.push_back(Silence {
                    start: Millis(i64::MIN),
                    end: lived,
                    reason: String::new(),
                });
            }
            ear.proven = ear.proven.max(Some(now));
            (ear.told, ear.behind) = (Some(now), None);
        }
        self.untold(now)
    }

    /// One certainly heard until then.
    pub(crate) fn sign(&mut self, number: usize, at: Millis) {
        if let Some(ear) = self.all.get_mut(number) {
            ear.proven = ear.proven.max(Some(at));
        }
    }

    /// One told something that came at an instant; of `news` since then the others owe it that have told nothing since.
    pub(crate) fn tells(&mut self, number: usize, news: Option<Millis>, came: Millis) {
        for (other, ear) in self.all.iter_mut().enumerate() {
            if other == number {
                ear.told = ear.told.max(Some(came));
                // What came before the other's news may be told of after it.
                ear.behind.take_if(|(_, news)| *news <= came);
            } else if let Some(news) = news
                && ear.missing.is_none()
                && ear.unheard.is_empty()
                && ear.told < Some(news)
            {
                ear.behind.get_or_insert_with(|| (Instant::now(), news));
            }
        }
    }

    /// When one will have owed for `patience` what another told.
    pub(crate) fn is_mute_at(&self, number: usize, patience: Duration) -> Option<Instant> {
        let ear = self.all.get(number).filter(|ear| ear.missing.is_none())?;
        ear.behind.map(|(since, _)| since + patience)
    }

    /// When one that tells nothing while another does last told anything.
    pub(crate) fn is_mute_since(&self, number: usize) -> Option<Millis> {
        let ear = self.all.get(number)?;
        ear.behind.and(ear.told)
    }

    /// The socket of one was replaced at an instant: until it shows whether it listened as long as it had to, nothing is
    /// proven beyond its last sign.
    pub(crate) fn doubt(&mut self, number: usize, replaced: Millis) {
        if let Some(ear) = self.all.get_mut(number)
            && ear.missing.is_none()
        {
            let since = ear.doubt.map_or(ear.proven, |(since, _)| Some(since));
            ear.doubt = since.map(|since| (since, replaced));
        }
    }

    /// All sockets of one that were replaced have shown it.
    pub(crate) fn end_doubt(&mut self, number: usize) {
        if let Some(ear) = self.all.get_mut(number) {
            ear.doubt = None;
        }
    }

    /// Until when everything was certainly heard by one of them, or is known to be missing; absent while nobody hears.
    pub(crate) fn seen(&self) -> Option<Millis> {
        if self.live() == 0 {
            return None;
        }
        self.settled()
    }

    /// Until when it is known of all time whether it was heard, and what is missing of it is told.
    fn settled(&self) -> Option<Millis> {
        let mut left = self.common(Ear::unproven);
        for told in &self.told {
            left = left.iter().flat_map(|one| outside(one, told)).collect();
        }
        left.iter().map(|one| one.start).min()
    }

    /// When all were silent, by the silences of each.
    fn common(&self, silences: impl Fn(&Ear) -> Vec<Silence>) -> Vec<Silence> {
        let all = self.all.iter().map(silences);
        all.reduce(|common, silences| both(&common, &silences))
            .unwrap_or_default()
    }

    /// One has heard nothing since then; gives the gaps that turn out to have been before it was known.
    pub(crate) fn is_lost(
        &mut self,
        number: usize,
        since: Millis,
        reason: String,
        now: Millis,
    ) -> Vec<Silence> {
        if let Some(ear) = self.all.get_mut(number) {
            ear.missing.get_or_insert((since, reason));
            ear.behind = None;
            ear.unheard.clear();
        }
        self.untold(now)
    }

    /// It turns out that one heard nothing for a while that is over; gives what of it is a gap.
    pub(crate) fn was_silent(
        &mut self,
        number: usize,
        silence: Silence,
        now: Millis,
    ) -> Vec<Silence> {
        if let Some(ear) = self.all.get_mut(number) {
            ear.remember(silence);
        }
        self.untold(now)
    }

    /// One is closed for good. When the last one is, the gap that goes on is over; all who heard until they were closed
    /// heard to the end.
    pub(crate) fn end(&mut self, number: usize, now: Millis) -> Vec<Silence> {
        if let Some(ear) = self.all.get_mut(number) {
            ear.ended = true;
            ear.unheard.clear();
        }
        if !self.have_ended() || !(self.was_live || self.planned) {
            return Vec::new();
        }
        for ear in &mut self.all {
            if let Some((start, reason)) = ear.missing.take() {
                let end = now.max(start.on(1));
                ear.remember(Silence { start, end, reason });
            }
        }
        self.untold(now)
    }

    /// Whether all are closed.
    pub(crate) fn have_ended(&self) -> bool {
        self.all.iter().all(|ear| ear.ended)
    }

    /// The silences of all that are over and were not told yet.
    fn untold(&mut self, now: Millis) -> Vec<Silence> {
        let mut new = self.common(|ear| ear.silences(now));
        if self.all.iter().all(|ear| ear.missing.is_some()) {
            // That one goes on.
            let goes_on = self.all.iter().filter_map(|ear| ear.missing.as_ref());
            let since = goes_on.map(|(since, _)| *since).max();
            new.retain(|one| Some(one.start) != since);
        }
        for told in &self.told {
            new = new.iter().flat_map(|one| outside(one, told)).collect();
        }
        self.told.extend(new.iter().cloned());
        let settled = self.settled().unwrap_or(NEVER);
        for ear in &mut self.all {
            ear.forget(settled);
        }
        // Not in order where this machine's clock was moved.
        let past = self.all.iter().flat_map(|ear| &ear.past);
        if let Some(oldest) = past.map(|one| one.start).min() {
            self.told.retain(|one| one.end > oldest);
        }
        new
    }

    /// The topics changed at `now`: the new ones are not heard by anyone who listens.
    pub(crate) fn replan(&mut self, topics: BTreeSet<String>, now: Millis) {
        let reason = "listed since, and not heard yet";
        for topic in topics.difference(&self.topics) {
            for ear in self.all.iter_mut().filter(|ear| ear.missing.is_none()) {
                let unheard = || (now, reason.to_owned());
                ear.unheard.entry(topic.clone()).or_insert_with(unheard);
            }
        }
        self.topics = topics;
    }

    /// One does not cover these topics of `own`; it `is_stale` where it is to be replaced, so that it knows nothing of what
    /// came since.
    pub(crate) fn covers(
        &mut self,
        number: usize,
        own: &BTreeSet<String>,
        uncovered: &BTreeSet<String>,
        is_stale: bool,
        now: Millis,
    ) {
        let Some(ear) = self.all.get_mut(number) else {
            return;
        };
        if !is_stale {
            ear.unheard.retain(|topic, _| {
                let known = own.contains(topic) || !self.topics.contains(topic);
                !known || uncovered.contains(topic)
            });
        }
        for topic in uncovered {
            let unheard = || (now, "not acknowledged, or refused".to_owned());
            ear.unheard.entry(topic.clone()).or_insert_with(unheard);
        }
    }

    /// The topics that nobody hears while others are heard.
    pub(crate) fn unheard(&self) -> Unheard {
        let mut hearing = self.all.iter().filter(|ear| ear.missing.is_none());
        let Some(first) = hearing.next() else {
            return Unheard::new();
        };
        let mut unheard = first.unheard.clone();
        for ear in &self.all {
            unheard.retain(|topic, (since, why)| {
                let silent = match ear.unheard.get(topic) {
                    Some((start, reason)) => Some((*start, reason)),
                    None => ear.missing.as_ref().map(|(start, reason)| (*start, reason)),
                };
                if let Some((start, reason)) = silent.filter(|(start, _)| start > since) {
                    (*since, *why) = (start, reason.clone());
                }
                silent.is_some()
            });
        }
        unheard
    }
}

/// When both were silent; the one that began later says why.
fn both(some: &[Silence], others: &[Silence]) -> Vec<Silence> {
    let mut common = Vec::new();
    for one in some {
        for other in others {
            let later = if one.start > other.start { one } else { other };
            let end = one.end.min(other.end);
            if later.start < end {
                common.push(Silence {
                    end,
                    ..later.clone()
                });
            }
        }
    }
    common
}

/// What of a silence lies outside of another.
fn outside(one: &Silence, other: &Silence) -> Vec<Silence> {
    let parts = [
        (one.start, one.end.min(other.start)),
        (one.start.max(other.end), one.end),
    ];
    let parts = parts.into_iter().filter(|(start, end)| start < end);
    parts
        .map(|(start, end)| Silence {
            start,
            end,
            reason: one.reason.clone(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::collect::connection::redundancy::*;

    fn ears(count: usize, planned: Option<i64>) -> Ears {
        let topics = BTreeSet::from(["x".to_owned(), "y".to_owned()]);
        Ears::new(count, "line", topics, planned.map(Millis), Millis(0))
    }

    fn told(silences: Vec<Silence>) -> Vec<(i64, i64, String)> {
        let told = silences.into_iter();
        told.map(|one| (one.start.0, one.end.0, one.reason))
            .collect()
    }

    fn lost(ears: &mut Ears, number: usize, since: i64, now: i64) -> Vec<(i64, i64, String)> {
        let reason = format!("{number} was lost");
        told(ears.is_lost(number, Millis(since), reason, Millis(now)))
    }

    fn gap(start: i64, end: i64, number: usize) -> (i64, i64, String) {
        (start, end, format!("{number} was lost"))
    }

    #[test]
    fn what_one_alone_misses_is_a_gap() {
        let mut ears = ears(1, None);
        assert!(ears.lives(0, Millis(5)).is_empty());
        assert!(lost(&mut ears, 0, 20, 30).is_empty());
        assert_eq!(told(ears.lives(0, Millis(40))), [gap(20, 40, 0)]);
        assert!(ears.end(0, Millis(50)).is_empty());
        let mut planned = crate::collect::connection::redundancy::tests::ears(1, Some(3));
        let found = told(planned.lives(0, Millis(5)));
        assert_eq!(found, [(3, 5, "line: not heard yet".to_owned())]);
    }

    #[test]
    fn what_one_of_two_misses_is_no_gap_and_what_both_miss_is_one_once() {
        let mut ears = ears(2, None);
        ears.lives(0, Millis(5));
        assert!(ears.lives(1, Millis(7)).is_empty());
        assert!(lost(&mut ears, 0, 10, 12).is_empty());
        assert_eq!(ears.live(), 1);
        assert!(lost(&mut ears, 1, 15, 17).is_empty());
        assert_eq!(told(ears.lives(0, Millis(20))), [gap(15, 20, 1)]);
        assert!(ears.lives(1, Millis(30)).is_empty());
        // One by one, never both.
        assert!(lost(&mut ears, 0, 40, 41).is_empty());
        assert!(ears.lives(0, Millis(50)).is_empty());
        assert!(lost(&mut ears, 1, 50, 51).is_empty());
        assert!(ears.lives(1, Millis(60)).is_empty());
    }

    #[test]
    fn one_that_is_found_dead_late_is_held_against_what_the_other_missed_before() {
        let mut ears = ears(2, None);
        ears.lives(0, Millis(1));
        ears.lives(1, Millis(2));
        assert!(lost(&mut ears, 0, 10, 11).is_empty());
        assert!(ears.lives(0, Millis(20)).is_empty());
        assert_eq!(lost(&mut ears, 1, 15, 55), [gap(15, 20, 1)]);
        assert!(ears.lives(1, Millis(60)).is_empty());
        // The same before the second lived at all.
        let mut ears = crate::collect::connection::redundancy::tests::ears(2, None);
        ears.lives(0, Millis(1));
        ears.lives(1, Millis(30));
        let found = lost(&mut ears, 0, 10, 40);
        assert_eq!(found, [gap(10, 30, 0)]);
    }

    #[test]
    fn a_gap_that_goes_on_ends_with_the_last_and_those_who_heard_heard_to_the_end() {
        let mut ears = ears(2, None);
        ears.lives(0, Millis(1));
        ears.lives(1, Millis(2));
        lost(&mut ears, 0, 10, 11);
        assert!(ears.end(1, Millis(20)).is_empty());
        assert!(ears.end(0, Millis(25)).is_empty() && ears.have_ended());
        let mut ears = crate::collect::connection::redundancy::tests::ears(2, None);
        ears.lives(0, Millis(1));
        lost(&mut ears, 0, 10, 11);
        assert!(ears.end(0, Millis(20)).is_empty());
        assert_eq!(told(ears.end(1, Millis(25))), [gap(10, 25, 0)]);
        let mut never = crate::collect::connection::redundancy::tests::ears(2, None);
        assert!(never.end(0, Millis(20)).is_empty() && never.end(1, Millis(20)).is_empty());
    }

    #[test]
    fn nothing_is_seen_beyond_what_one_has_proven_or_what_is_known_to_be_missing() {
        let mut ears = ears(2, None);
        assert_eq!(ears.seen(), None);
        ears.lives(0, Millis(1));
        ears.lives(1, Millis(2));
        ears.sign(0, Millis(100));
        ears.sign(1, Millis(110));
        assert_eq!(ears.seen(), Some(Millis(110)));
        // The first may have died at 100, the second is lost and comes back: whether anybody heard meanwhile shows later.
        assert!(lost(&mut ears, 1, 120, 121).is_empty());
        assert!(ears.lives(1, Millis(125)).is_empty());
        ears.sign(1, Millis(130));
        assert_eq!(ears.seen(), Some(Millis(120)));
        let (mut alive, mut dead) = (ears.clone(), ears);
        alive.sign(0, Millis(126));
        assert_eq!(alive.seen(), Some(Millis(130)));
        assert_eq!(lost(&mut dead, 0, 100, 140), [gap(120, 125, 1)]);
        assert_eq!(dead.seen(), Some(Millis(130)));
        assert!(lost(&mut dead, 1, 130, 150).is_empty());
        assert_eq!(dead.seen(), None);
    }

    #[test]
    fn a_clock_that_was_ahead_when_the_listening_began_leaves_no_gap_behind() {
        let topics = BTreeSet::from(["x".to_owned()]);
        let mut ears = Ears::new(1, "line", topics, None, Millis(900));
        assert!(ears.lives(0, Millis(100)).is_empty());
        assert!(lost(&mut ears, 0, 150, 160).is_empty());
        assert_eq!(told(ears.lives(0, Millis(170))), [gap(150, 170, 0)]);
        ears.sign(0, Millis(2000));
        assert_eq!(ears.seen(), Some(Millis(2000)));
        // The same where nobody was heard for no time at all.
        let topics = BTreeSet::from(["x".to_owned()]);
        let mut ears = Ears::new(1, "line", topics, None, Millis(100));
        assert!(ears.lives(0, Millis(100)).is_empty());
    }

    #[test]
    fn the_doubt_about_one_that_was_replaced_is_none_about_the_other() {
        let mut ears = ears(2, None);
        ears.lives(0, Millis(1));
        ears.sign(0, Millis(10));
        ears.doubt(0, Millis(20));
        ears.lives(0, Millis(20));
        assert_eq!(ears.seen(), Some(Millis(10)));
        ears.lives(1, Millis(5));
        ears.sign(1, Millis(15));
        assert_eq!(ears.seen(), Some(Millis(15)));
        ears.end_doubt(0);
        assert_eq!(ears.seen(), Some(Millis(20)));
    }

    #[test]
    fn one_that_does_not_tell_what_another_tells_is_mute_since_it_last_told() {
        let patience = Duration::from_secs(40);
        let mut ears = ears(2, None);
        ears.lives(0, Millis(1));
        ears.lives(1, Millis(2));
        let mute = |ears: &Ears| [0, 1].map(|ear| ears.is_mute_at(ear, patience).is_some());
        ears.tells(0, Some(Millis(10)), Millis(10));
        assert_eq!(mute(&ears), [false, true]);
        assert_eq!(ears.is_mute_since(1), Some(Millis(2)));
        ears.tells(1, None, Millis(11));
        assert_eq!(mute(&ears), [false, false]);
        // What it told meanwhile, before the other was done, it does not owe.
        ears.tells(1, Some(Millis(20)), Millis(20));
        ears.tells(0, Some(Millis(20)), Millis(20));
        assert_eq!(mute(&ears), [false, false]);
        // Told of the past, it owes what it told nothing since.
        ears.tells(1, Some(Millis(19)), Millis(22));
        assert_eq!(mute(&ears), [false, false]);
        ears.tells(1, Some(Millis(30)), Millis(30));
        ears.tells(0, None, Millis(25));
        assert_eq!(mute(&ears), [true, false]);
        assert_eq!(ears.is_mute_since(0), Some(Millis(25)));
        assert!(lost(&mut ears, 0, 20, 70).is_empty());
        assert_eq!(mute(&ears), [false, false]);
    }

    #[test]
    fn a_topic_is_unheard_where_nobody_hears_it() {
        let set = |topics: &[&str]| -> BTreeSet<String> {
            topics.iter().map(|topic| (*topic).to_owned()).collect()
        };
        let all = set(&["x", "y"]);
        let mut ears = ears(2, None);
        let since = |ears: &Ears| -> Vec<(String, i64)> {
            let unheard = ears.unheard().into_iter();
            unheard
                .map(|(topic, (since, _))| (topic, since.0))
                .collect()
        };
        ears.lives(0, Millis(1));
        ears.covers(0, &all, &set(&["x"]), false, Millis(1));
        assert_eq!(since(&ears), [("x".to_owned(), 1)]);
        ears.lives(1, Millis(2));
        ears.covers(1, &all, &set(&[]), false, Millis(2));
        assert!(since(&ears).is_empty());
        lost(&mut ears, 1, 10, 20);
        assert_eq!(since(&ears), [("x".to_owned(), 10)]);
        lost(&mut ears, 0, 15, 30);
        assert!(since(&ears).is_empty(), "nothing is heard at all");
        ears.lives(0, Millis(40));
        ears.covers(0, &all, &set(&[]), false, Millis(40));
        // Listed since: by nobody, until one hears it.
        let more = set(&["x", "y", "z"]);
        ears.replan(more.clone(), Millis(50));
        ears.covers(0, &all, &set(&[]), false, Millis(51));
        assert_eq!(since(&ears), [("z".to_owned(), 50)]);
        ears.covers(0, &more, &set(&[]), false, Millis(60));
        assert!(since(&ears).is_empty());
    }
}
