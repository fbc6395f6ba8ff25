//! Redundancy: a feed group has one connection, or two connections to the same topics.
//!
//! A gap is a time in which all connections have an outage. A dead connection is often detected late, so each new
//! outage is compared with earlier outages of the other connection. Each connection has a list of outages, and an
//! instant up to which it provably received everything. Time for which no connection has proven receipt yet is not
//! reported as covered. A connection that receives no events while the other connection does becomes stale.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::collect::feed_group::liveness::IgnoredControl;
use crate::collect::feed_group::outages::{Outage, difference, intersection};
use crate::model::{Millis, TimeRange};

/// Topics that are not received, each with the start and the reason of its outage.
pub(crate) type UncoveredTopics = BTreeMap<String, (Millis, String)>;

/// One of the connections of a feed group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    First,
    Second,
}

/// Shared state through which one connection updates its feed group.
#[derive(Clone, Debug)]
pub(crate) struct Membership {
    pub(crate) slot: Slot,
    pub(crate) group: Arc<Mutex<FeedGroup>>,
    pub(crate) ignored_control: Arc<IgnoredControl>,
    /// Notified when a connection of the group is lost or comes back. Each connection then sends a ping to prove what
    /// it has received.
    pub(crate) prove: Arc<Notify>,
}

/// Placeholder for the end of an outage that still lasts.
const NEVER: Millis = Millis(i64::MAX);

/// Number of outages per connection that are always remembered. Older outages are dropped once it is decided whether
/// they were gaps.
const REMEMBERED: usize = 64;
/// Maximum number of outages per connection; beyond it, the two oldest are merged.
const AT_MOST: usize = 1024;

/// The state and the coverage of one connection.
#[derive(Clone, Debug, Default)]
struct Member {
    /// The start and the reason of an outage that still lasts.
    down: Option<(Millis, String)>,
    /// Outages that are over.
    outages: VecDeque<Outage>,
    /// The instant up to which everything was provably received.
    proven_until: Option<Millis>,
    /// Time after the last proof of a replaced socket. It may turn out to be an outage.
    handover: Option<TimeRange>,
    /// When the last event was received, or the connection became live.
    last_event: Option<Millis>,
    /// When the other connection first received an event that this connection lacks, by the monotonic clock and by the
    /// collector's clock.
    behind: Option<(Instant, Millis)>,
    uncovered: UncoveredTopics,
    closed: bool,
}

impl Member {
    fn go_down(&mut self, since: Millis, reason: String) {
        self.down.get_or_insert((since, reason));
        self.behind = None;
        self.uncovered.clear();
    }

    /// Ends the current outage; returns when it ended.
    fn end_outage(&mut self, now: Millis) -> Option<Millis> {
        let (start, reason) = self.down.take()?;
        let end = now.max(start.on(1));
        self.outages.push_back(Outage::new(start, end, reason));
        Some(end)
    }

    /// All outages; one that still lasts is cut off at `now`.
    fn outages(&self, now: Millis) -> Vec<Outage> {
        let open = self.down.iter();
        let open = open.map(|(start, reason)| Outage::new(*start, now, reason.as_str()));
        self.outages.iter().cloned().chain(open).collect()
    }

    /// All times in which this connection has received nothing, or may have missed something.
    fn unproven(&self) -> Vec<Outage> {
        let mut all = self.outages(NEVER);
        all.extend(
            self.handover
                .map(|range| Outage::new(range.start, range.end, "")),
        );
        // While this connection is behind the other connection, only the time up to its own last event is proven.
        let proven = self.behind.map_or(self.proven_until, |_| {
            self.proven_until.min(self.last_event)
        });
        all.extend(proven.map(|proven| Outage::new(proven, NEVER, "")));
        all
    }

    /// Drops old outages that ended before `settled`, and merges outages if there are too many.
    fn forget(&mut self, settled: Millis) {
        while self.outages.len() > REMEMBERED
            && self
                .outages
                .front()
                .is_some_and(|outage| outage.range.end <= settled)
        {
            self.outages.pop_front();
        }
        while self.outages.len() > AT_MOST
            && let Some(oldest) = self.outages.pop_front()
            && let Some(next) = self.outages.front_mut()
        {
            next.range.start = next.range.start.min(oldest.range.start);
            next.range.end = next.range.end.max(oldest.range.end);
        }
    }
}

/// The one or two connections that carry the same topics.
#[derive(Clone, Debug)]
pub(crate) struct FeedGroup {
    first: Member,
    second: Option<Member>,
    /// The topics that were requested last.
    topics: BTreeSet<String>,
    /// Whether the time before the first connection is live counts as an outage.
    starts_late: bool,
    was_live: bool,
    /// Times for which no gap is reported again: gaps that were already returned, and the time before the first
    /// connection was live.
    reported: Vec<TimeRange>,
}

impl FeedGroup {
    /// A group of two connections if `is_redundant`, none of them live.
    ///
    /// `started_late` is the start of a group that is added while other groups are live. The time from this start until
    /// its first connection is live counts as an outage.
    pub(crate) fn new(
        is_redundant: bool,
        name: &str,
        topics: BTreeSet<String>,
        started_late: Option<Millis>,
        now: Millis,
    ) -> Self {
        let since = started_late.unwrap_or(now);
        let member = Member {
            down: Some((since, format!("{name}: not connected yet"))),
            ..Member::default()
        };
        Self {
            second: is_redundant.then(|| member.clone()),
            first: member,
            topics,
            starts_late: started_late.is_some(),
            was_live: false,
            reported: Vec::new(),
        }
    }

    fn members(&self) -> impl Iterator<Item = &Member> {
        std::iter::once(&self.first).chain(&self.second)
    }

    fn members_mut(&mut self) -> impl Iterator<Item = &mut Member> {
        std::iter::once(&mut self.first).chain(&mut self.second)
    }

    fn member(&self, slot: Slot) -> Option<&Member> {
        match slot {
            Slot::First => Some(&self.first),
            Slot::Second => self.second.as_ref(),
        }
    }

    fn member_mut(&mut self, slot: Slot) -> Option<&mut Member> {
        match slot {
            Slot::First => Some(&mut self.first),
            Slot::Second => self.second.as_mut(),
        }
    }

    /// The connections of this group.
    pub(crate) fn slots(&self) -> &'static [Slot] {
        if self.is_redundant() {
            &[Slot::First, Slot::Second]
        } else {
            &[Slot::First]
        }
    }

    /// Whether two connections carry the topics.
    pub(crate) fn is_redundant(&self) -> bool {
        self.second.is_some()
    }

    /// The number of live connections.
    pub(crate) fn live(&self) -> usize {
        let is_live = |member: &&Member| member.down.is_none() && !member.closed;
        self.members().filter(is_live).count()
    }

    /// Marks a connection as live from `now` on. Returns the gaps that this ends.
    pub(crate) fn on_live(&mut self, slot: Slot, now: Millis) -> Vec<Outage> {
        let is_first = !std::mem::replace(&mut self.was_live, true) && !self.starts_late;
        if let Some(member) = self.member_mut(slot) {
            // The outage may begin after `now`, if the clock was set back meanwhile.
            if let Some((start, _)) = &mut member.down {
                *start = now.min(*start);
            }
            let live_at = member.end_outage(now).unwrap_or(now);
            member.proven_until = member.proven_until.max(Some(now));
            (member.last_event, member.behind) = (Some(now), None);
            if is_first {
                self.reported
                    .push(TimeRange::new(Millis(i64::MIN), live_at));
            }
        }
        self.new_gaps(now)
    }

    /// Records that a connection provably received everything up to `at`.
    pub(crate) fn prove(&mut self, slot: Slot, at: Millis) {
        if let Some(member) = self.member_mut(slot) {
            member.proven_until = member.proven_until.max(Some(at));
        }
    }

    /// Records that a connection received events. If the other connection's last event is older than `news`, that
    /// connection is behind from now on.
    pub(crate) fn on_events(&mut self, slot: Slot, news: Option<Millis>, received: Millis) {
        let (member, other) = match slot {
            Slot::First => (Some(&mut self.first), self.second.as_mut()),
            Slot::Second => (self.second.as_mut(), Some(&mut self.first)),
        };
        if let Some(member) = member {
            member.last_event = member.last_event.max(Some(received));
            // The connection stays behind if its events are older than `news`: they may have waited before they were
            // processed.
            member.behind.take_if(|(_, news)| *news <= received);
        }
        if let Some(other) = other
            && let Some(news) = news
            && other.down.is_none()
            && other.uncovered.is_empty()
            && other.last_event < Some(news)
        {
            other.behind.get_or_insert_with(|| (Instant::now(), news));
        }
    }

    /// When a connection counts as stale; `None` if it is not behind the other connection.
    pub(crate) fn stale_at(&self, slot: Slot, patience: Duration) -> Option<Instant> {
        let member = self.member(slot).filter(|member| member.down.is_none())?;
        member.behind.map(|(since, _)| since + patience)
    }

    /// Time of the last event of a connection; `None` if it is not behind the other connection.
    pub(crate) fn behind_since(&self, slot: Slot) -> Option<Millis> {
        let member = self.member(slot)?;
        member.behind.and(member.last_event)
    }

    /// Records that the socket of a connection was replaced at `at`. The time after the old socket's last proof does
    /// not count as received until the old socket is closed, which shows how long it was alive.
    pub(crate) fn begin_handover(&mut self, slot: Slot, at: Millis) {
        if let Some(member) = self.member_mut(slot)
            && member.down.is_none()
        {
            let open = member.handover.map(|range| range.start);
            member.handover = open
                .or(member.proven_until)
                .map(|since| TimeRange::new(since, at));
        }
    }

    /// Records that all replaced sockets of a connection are closed.
    pub(crate) fn end_handover(&mut self, slot: Slot) {
        if let Some(member) = self.member_mut(slot) {
            member.handover = None;
        }
    }

    /// The instant up to which everything was received or lies in a known gap; `None` while no connection is live.
    pub(crate) fn covered_until(&self) -> Option<Millis> {
        if self.live() == 0 {
            return None;
        }
        self.settled_until()
    }

    /// The instant up to which every time is decided: it was received, or its gap was reported.
    fn settled_until(&self) -> Option<Millis> {
        let open = difference(self.common(Member::unproven), &self.reported);
        open.iter().map(|outage| outage.range.start).min()
    }

    /// The times in which all connections have an outage.
    fn common(&self, outages: impl Fn(&Member) -> Vec<Outage>) -> Vec<Outage> {
        let first = outages(&self.first);
        match &self.second {
            Some(second) => intersection(&first, &outages(second)),
            None => first,
        }
    }

    /// Records that a connection has received nothing since `since`. Returns past gaps that become known only now.
    pub(crate) fn on_loss(
        &mut self,
        slot: Slot,
        since: Millis,
        reason: String,
        now: Millis,
    ) -> Vec<Outage> {
        if let Some(member) = self.member_mut(slot) {
            member.go_down(since, reason);
        }
        self.new_gaps(now)
    }

    /// Adds a past outage of a connection. Returns the gaps in this outage.
    pub(crate) fn add_outage(&mut self, slot: Slot, outage: Outage, now: Millis) -> Vec<Outage> {
        if let Some(member) = self.member_mut(slot) {
            member.outages.push_back(outage);
        }
        self.new_gaps(now)
    }

    /// Records that a connection is closed for good. Closing the last connection also ends a gap that still lasts.
    pub(crate) fn close(&mut self, slot: Slot, now: Millis) -> Vec<Outage> {
        if let Some(member) = self.member_mut(slot) {
            member.closed = true;
            member.uncovered.clear();
        }
        if !self.is_closed() || !(self.was_live || self.starts_late) {
            return Vec::new();
        }
        for member in self.members_mut() {
            member.end_outage(now);
        }
        self.new_gaps(now)
    }

    /// Whether all connections are closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.members().all(|member| member.closed)
    }

    /// Returns the past gaps that were not reported yet, and marks them as reported.
    fn new_gaps(&mut self, now: Millis) -> Vec<Outage> {
        let mut gaps = self.common(|member| member.outages(now));
        if self.members().all(|member| member.down.is_some()) {
            // All connections are down: this gap still lasts, so it is not reported yet.
            let open = self.members().filter_map(|member| member.down.as_ref());
            let since = open.map(|(since, _)| *since).max();
            gaps.retain(|gap| Some(gap.range.start) != since);
        }
        let gaps = difference(gaps, &self.reported);
        self.reported.extend(gaps.iter().map(|gap| gap.range));
        let settled = self.settled_until().unwrap_or(NEVER);
        for member in self.members_mut() {
            member.forget(settled);
        }
        // The oldest outage is not the first of the list if the clock of this machine was set.
        let outages = self.members().flat_map(|member| &member.outages);
        if let Some(oldest) = outages.map(|outage| outage.range.start).min() {
            self.reported.retain(|range| range.end > oldest);
        }
        gaps
    }

    /// Changes the topics; no live connection covers the new ones yet.
    pub(crate) fn set_topics(&mut self, topics: BTreeSet<String>, now: Millis) {
        let new: Vec<String> = topics.difference(&self.topics).cloned().collect();
        for member in self.members_mut().filter(|member| member.down.is_none()) {
            for topic in &new {
                let uncovered = || (now, "newly listed topic, not subscribed yet".to_owned());
                member
                    .uncovered
                    .entry(topic.clone())
                    .or_insert_with(uncovered);
            }
        }
        self.topics = topics;
    }

    /// Sets which of its `own` topics a connection does not cover. The report of a connection with an outdated topic
    /// list (`is_outdated`) does not mark any topic as covered.
    pub(crate) fn set_uncovered(
        &mut self,
        slot: Slot,
        own: &BTreeSet<String>,
        uncovered: &BTreeSet<String>,
        is_outdated: bool,
        now: Millis,
    ) {
        let topics = self.topics.clone();
        let Some(member) = self.member_mut(slot) else {
            return;
        };
        if !is_outdated {
            member.uncovered.retain(|topic, _| {
                let is_known = own.contains(topic) || !topics.contains(topic);
                !is_known || uncovered.contains(topic)
            });
        }
        for topic in uncovered {
            let reason = || (now, "not acknowledged, or refused".to_owned());
            member.uncovered.entry(topic.clone()).or_insert_with(reason);
        }
    }

    /// The topics that no connection receives, while other topics are received.
    pub(crate) fn uncovered(&self) -> UncoveredTopics {
        let mut up = self.members().filter(|member| member.down.is_none());
        let Some(first) = up.next() else {
            return UncoveredTopics::new();
        };
        let mut uncovered = first.uncovered.clone();
        for member in self.members() {
            uncovered.retain(|topic, (since, why)| {
                let outage = member.uncovered.get(topic).or(member.down.as_ref());
                if let Some((start, reason)) = outage.filter(|(start, _)| start > since) {
                    (*since, *why) = (*start, reason.clone());
                }
                outage.is_some()
            });
        }
        uncovered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(is_redundant: bool, started_late: Option<i64>) -> FeedGroup {
        let topics = BTreeSet::from(["x".to_owned(), "y".to_owned()]);
        FeedGroup::new(
            is_redundant,
            "line",
            topics,
            started_late.map(Millis),
            Millis(0),
        )
    }

    fn gaps(outages: Vec<Outage>) -> Vec<(i64, i64, String)> {
        let outages = outages.into_iter();
        outages
            .map(|one| (one.range.start.0, one.range.end.0, one.reason))
            .collect()
    }

    fn lost(feeds: &mut FeedGroup, slot: Slot, since: i64, now: i64) -> Vec<(i64, i64, String)> {
        let reason = format!("{slot:?} was lost");
        gaps(feeds.on_loss(slot, Millis(since), reason, Millis(now)))
    }

    fn gap(start: i64, end: i64, slot: Slot) -> (i64, i64, String) {
        (start, end, format!("{slot:?} was lost"))
    }

    #[test]
    fn an_outage_of_a_single_connection_is_a_gap() {
        let mut feeds = group(false, None);
        assert!(feeds.on_live(Slot::First, Millis(5)).is_empty());
        assert!(lost(&mut feeds, Slot::First, 20, 30).is_empty());
        assert_eq!(
            gaps(feeds.on_live(Slot::First, Millis(40))),
            [gap(20, 40, Slot::First)]
        );
        assert!(feeds.close(Slot::First, Millis(50)).is_empty());
        let mut planned = group(false, Some(3));
        let found = gaps(planned.on_live(Slot::First, Millis(5)));
        assert_eq!(found, [(3, 5, "line: not connected yet".to_owned())]);
    }

    #[test]
    fn a_gap_is_an_outage_of_both_connections_and_is_reported_once() {
        let mut feeds = group(true, None);
        feeds.on_live(Slot::First, Millis(5));
        assert!(feeds.on_live(Slot::Second, Millis(7)).is_empty());
        assert!(lost(&mut feeds, Slot::First, 10, 12).is_empty());
        assert_eq!(feeds.live(), 1);
        assert!(lost(&mut feeds, Slot::Second, 15, 17).is_empty());
        assert_eq!(
            gaps(feeds.on_live(Slot::First, Millis(20))),
            [gap(15, 20, Slot::Second)]
        );
        assert!(feeds.on_live(Slot::Second, Millis(30)).is_empty());
        // The connections are down one after the other, never at the same time: no gap.
        assert!(lost(&mut feeds, Slot::First, 40, 41).is_empty());
        assert!(feeds.on_live(Slot::First, Millis(50)).is_empty());
        assert!(lost(&mut feeds, Slot::Second, 50, 51).is_empty());
        assert!(feeds.on_live(Slot::Second, Millis(60)).is_empty());
    }

    #[test]
    fn a_loss_that_is_detected_late_is_compared_with_earlier_outages() {
        let mut feeds = group(true, None);
        feeds.on_live(Slot::First, Millis(1));
        feeds.on_live(Slot::Second, Millis(2));
        assert!(lost(&mut feeds, Slot::First, 10, 11).is_empty());
        assert!(feeds.on_live(Slot::First, Millis(20)).is_empty());
        assert_eq!(
            lost(&mut feeds, Slot::Second, 15, 55),
            [gap(15, 20, Slot::Second)]
        );
        assert!(feeds.on_live(Slot::Second, Millis(60)).is_empty());
        // The first connection fails before the second connection is live for the first time.
        let mut feeds = group(true, None);
        feeds.on_live(Slot::First, Millis(1));
        feeds.on_live(Slot::Second, Millis(30));
        let found = lost(&mut feeds, Slot::First, 10, 40);
        assert_eq!(found, [gap(10, 30, Slot::First)]);
    }

    #[test]
    fn a_gap_that_goes_on_ends_when_the_last_connection_closes() {
        let mut feeds = group(true, None);
        feeds.on_live(Slot::First, Millis(1));
        feeds.on_live(Slot::Second, Millis(2));
        lost(&mut feeds, Slot::First, 10, 11);
        assert!(feeds.close(Slot::Second, Millis(20)).is_empty());
        assert!(feeds.close(Slot::First, Millis(25)).is_empty() && feeds.is_closed());
        let mut feeds = group(true, None);
        feeds.on_live(Slot::First, Millis(1));
        lost(&mut feeds, Slot::First, 10, 11);
        assert!(feeds.close(Slot::First, Millis(20)).is_empty());
        assert_eq!(
            gaps(feeds.close(Slot::Second, Millis(25))),
            [gap(10, 25, Slot::First)]
        );
        let mut never = group(true, None);
        assert!(
            never.close(Slot::First, Millis(20)).is_empty()
                && never.close(Slot::Second, Millis(20)).is_empty()
        );
    }

    #[test]
    fn nothing_unproven_is_covered_unless_it_is_a_known_gap() {
        let mut feeds = group(true, None);
        assert_eq!(feeds.covered_until(), None);
        feeds.on_live(Slot::First, Millis(1));
        feeds.on_live(Slot::Second, Millis(2));
        feeds.prove(Slot::First, Millis(100));
        feeds.prove(Slot::Second, Millis(110));
        assert_eq!(feeds.covered_until(), Some(Millis(110)));
        // The first connection has proven receipt up to 100, and the second is down from 120 to 125. Whether that time
        // is a gap depends on the next report of the first connection.
        assert!(lost(&mut feeds, Slot::Second, 120, 121).is_empty());
        assert!(feeds.on_live(Slot::Second, Millis(125)).is_empty());
        feeds.prove(Slot::Second, Millis(130));
        assert_eq!(feeds.covered_until(), Some(Millis(120)));
        let (mut alive, mut dead) = (feeds.clone(), feeds);
        alive.prove(Slot::First, Millis(126));
        assert_eq!(alive.covered_until(), Some(Millis(130)));
        assert_eq!(
            lost(&mut dead, Slot::First, 100, 140),
            [gap(120, 125, Slot::Second)]
        );
        assert_eq!(dead.covered_until(), Some(Millis(130)));
        assert!(lost(&mut dead, Slot::Second, 130, 150).is_empty());
        assert_eq!(dead.covered_until(), None);
    }

    #[test]
    fn a_clock_that_was_ahead_at_the_start_leaves_no_gap() {
        let topics = BTreeSet::from(["x".to_owned()]);
        let mut feeds = FeedGroup::new(false, "line", topics, None, Millis(900));
        assert!(feeds.on_live(Slot::First, Millis(100)).is_empty());
        assert!(lost(&mut feeds, Slot::First, 150, 160).is_empty());
        assert_eq!(
            gaps(feeds.on_live(Slot::First, Millis(170))),
            [gap(150, 170, Slot::First)]
        );
        feeds.prove(Slot::First, Millis(2000));
        assert_eq!(feeds.covered_until(), Some(Millis(2000)));
        // A connection that is live at its start leaves no gap.
        let topics = BTreeSet::from(["x".to_owned()]);
        let mut feeds = FeedGroup::new(false, "line", topics, None, Millis(100));
        assert!(feeds.on_live(Slot::First, Millis(100)).is_empty());
    }

    #[test]
    fn a_handover_leaves_the_coverage_of_the_other_connection_alone() {
        let mut feeds = group(true, None);
        feeds.on_live(Slot::First, Millis(1));
        feeds.prove(Slot::First, Millis(10));
        feeds.begin_handover(Slot::First, Millis(20));
        feeds.on_live(Slot::First, Millis(20));
        assert_eq!(feeds.covered_until(), Some(Millis(10)));
        feeds.on_live(Slot::Second, Millis(5));
        feeds.prove(Slot::Second, Millis(15));
        assert_eq!(feeds.covered_until(), Some(Millis(15)));
        feeds.end_handover(Slot::First);
        assert_eq!(feeds.covered_until(), Some(Millis(20)));
    }

    #[test]
    fn a_connection_without_the_news_of_the_other_becomes_stale() {
        let patience = Duration::from_secs(40);
        let mut feeds = group(true, None);
        feeds.on_live(Slot::First, Millis(1));
        feeds.on_live(Slot::Second, Millis(2));
        let stale = |feeds: &FeedGroup| {
            [Slot::First, Slot::Second].map(|slot| feeds.stale_at(slot, patience).is_some())
        };
        feeds.on_events(Slot::First, Some(Millis(10)), Millis(10));
        assert_eq!(stale(&feeds), [false, true]);
        assert_eq!(feeds.behind_since(Slot::Second), Some(Millis(2)));
        feeds.on_events(Slot::Second, None, Millis(11));
        assert_eq!(stale(&feeds), [false, false]);
        // Both connections receive the same event, so neither is behind.
        feeds.on_events(Slot::Second, Some(Millis(20)), Millis(20));
        feeds.on_events(Slot::First, Some(Millis(20)), Millis(20));
        assert_eq!(stale(&feeds), [false, false]);
        // A late report of an event that is older than the last events of both connections leaves neither connection
        // behind.
        feeds.on_events(Slot::Second, Some(Millis(19)), Millis(22));
        assert_eq!(stale(&feeds), [false, false]);
        feeds.on_events(Slot::Second, Some(Millis(30)), Millis(30));
        feeds.on_events(Slot::First, None, Millis(25));
        assert_eq!(stale(&feeds), [true, false]);
        assert_eq!(feeds.behind_since(Slot::First), Some(Millis(25)));
        assert!(lost(&mut feeds, Slot::First, 20, 70).is_empty());
        assert_eq!(stale(&feeds), [false, false]);
    }

    #[test]
    fn a_topic_is_uncovered_if_no_connection_receives_it() {
        let set = |topics: &[&str]| -> BTreeSet<String> {
            topics.iter().map(|topic| (*topic).to_owned()).collect()
        };
        let all = set(&["x", "y"]);
        let mut feeds = group(true, None);
        let since = |feeds: &FeedGroup| -> Vec<(String, i64)> {
            let uncovered = feeds.uncovered().into_iter();
            uncovered
                .map(|(topic, (since, _))| (topic, since.0))
                .collect()
        };
        feeds.on_live(Slot::First, Millis(1));
        feeds.set_uncovered(Slot::First, &all, &set(&["x"]), false, Millis(1));
        assert_eq!(since(&feeds), [("x".to_owned(), 1)]);
        feeds.on_live(Slot::Second, Millis(2));
        feeds.set_uncovered(Slot::Second, &all, &set(&[]), false, Millis(2));
        assert!(since(&feeds).is_empty());
        lost(&mut feeds, Slot::Second, 10, 20);
        assert_eq!(since(&feeds), [("x".to_owned(), 10)]);
        lost(&mut feeds, Slot::First, 15, 30);
        assert!(since(&feeds).is_empty(), "no connection is live");
        feeds.on_live(Slot::First, Millis(40));
        feeds.set_uncovered(Slot::First, &all, &set(&[]), false, Millis(40));
        // A new topic is uncovered until it is subscribed.
        let more = set(&["x", "y", "z"]);
        feeds.set_topics(more.clone(), Millis(50));
        feeds.set_uncovered(Slot::First, &all, &set(&[]), false, Millis(51));
        assert_eq!(since(&feeds), [("z".to_owned(), 50)]);
        feeds.set_uncovered(Slot::First, &more, &set(&[]), false, Millis(60));
        assert!(since(&feeds).is_empty());
    }
}
