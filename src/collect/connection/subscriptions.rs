//! The subscriptions of one connection: requests to send, acknowledged topics, refused topics.
//!
//! A refused batch of topics is halved until the refused topic is alone, so that one bad name does not affect the other
//! topics. The topic of the control stream (see `liveness`) is requested like any other topic, but does not count as
//! coverage.

use std::collections::{BTreeSet, VecDeque};

use crate::feeds::{ConnectionPlan, Control, SentSubscriptions};

/// The subscriptions of one connection.
#[derive(Debug)]
pub(crate) struct Subscriptions {
    /// Requests that are still to be sent.
    requests: VecDeque<Vec<String>>,
    sent: SentSubscriptions,
    /// The number of topics, without the control stream.
    topics: usize,
    /// Topics that were neither acknowledged nor refused yet.
    open: BTreeSet<String>,
    refused: BTreeSet<String>,
    /// The topic of the control stream, and its status.
    control: Option<(&'static str, ControlStatus)>,
    /// Whether some refusal named no topic.
    is_unknown_refused: bool,
}

/// The status of the topic of the control stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControlStatus {
    Open,
    Taken,
    Refused,
}

/// The outcome of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RefusalOutcome {
    /// The refusal names no topic. A missing acknowledgement shows later which topic was refused.
    Unknown,
    /// This topic was refused, so it is not covered.
    Topic(String),
    /// The topic of the control stream was refused.
    Control,
    /// The batch is requested again in two halves.
    Halved,
}

impl Subscriptions {
    /// Creates the subscriptions of a connection plan. No request is sent yet.
    pub(crate) fn of(plan: &ConnectionPlan) -> Self {
        let open: BTreeSet<String> = plan.topics().cloned().collect();
        Self {
            requests: plan.batches.iter().cloned().collect(),
            sent: SentSubscriptions::default(),
            topics: open.len(),
            open,
            refused: BTreeSet::new(),
            control: match plan.control {
                Control::Topic(topic) => Some((topic, ControlStatus::Open)),
                Control::None | Control::ByItself => None,
            },
            is_unknown_refused: false,
        }
    }

    /// The topic of the control stream and its status; `None` without such a topic.
    pub(crate) fn control(&self) -> Option<(&'static str, ControlStatus)> {
        self.control
    }

    /// Sets the status of the topic of the control stream. Returns the old status.
    pub(crate) fn set_control(&mut self, status: ControlStatus) -> Option<ControlStatus> {
        let (_, before) = self.control.as_mut()?;
        Some(std::mem::replace(before, status))
    }

    /// Whether the topic of the control stream got no answer, while another topic was acknowledged.
    pub(crate) fn is_control_ignored(&self) -> bool {
        self.is_control_open() && !self.cover_nothing()
    }

    /// Whether a refusal without a topic can only concern the control stream: all other topics were answered.
    pub(crate) fn is_control_refused(&self) -> bool {
        self.is_control_open() && self.is_unknown_refused && self.are_settled()
    }

    /// Whether the request for the topic of the control stream has no answer yet.
    pub(crate) fn is_control_open(&self) -> bool {
        self.control
            .is_some_and(|(_, it)| it == ControlStatus::Open)
    }

    fn is_control(&self, topic: &str) -> bool {
        self.control.is_some_and(|(control, _)| control == topic)
    }

    /// Whether the request for a topic has no answer yet.
    fn is_open(&self, topic: &str) -> bool {
        let control = self.control.filter(|(control, _)| *control == topic);
        control.map_or_else(
            || self.open.contains(topic),
            |(_, status)| status == ControlStatus::Open,
        )
    }

    /// The subscription requests that were sent.
    pub(crate) fn sent(&self) -> &SentSubscriptions {
        &self.sent
    }

    /// Whether requests are still to be sent.
    pub(crate) fn has_requests(&self) -> bool {
        !self.requests.is_empty()
    }

    /// Removes the next request from the queue; returns its number and topics.
    pub(crate) fn next(&mut self) -> Option<(usize, Vec<String>)> {
        let topics = self.requests.pop_front()?;
        Some((self.sent.number(topics.clone()), topics))
    }

    /// Processes an acknowledgement. Returns whether it is the first acknowledgement of some topic.
    pub(crate) fn acknowledge(&mut self, topics: &[String]) -> bool {
        let before = self.open.len();
        for topic in topics {
            if self.is_control(topic) {
                self.set_control(ControlStatus::Taken);
            }
            self.open.remove(topic);
        }
        self.open.len() < before
    }

    /// Processes the refusal of a subscription request for `topics`.
    pub(crate) fn refuse(&mut self, topics: &[String]) -> RefusalOutcome {
        // Topics that were already acknowledged did not cause the refusal.
        let is_alone = topics.len() == 1;
        let open = topics
            .iter()
            .filter(|topic| is_alone || self.is_open(topic));
        // Repeated requests may name a topic twice. Duplicates are removed, so that halving ends with a single topic.
        let open: BTreeSet<String> = open.cloned().collect();
        let open: Vec<String> = open.into_iter().collect();
        match open.split_at(open.len() / 2) {
            ([], []) => {
                self.is_unknown_refused = true;
                RefusalOutcome::Unknown
            }
            ([], [control]) if self.is_control(control) => {
                self.set_control(ControlStatus::Refused);
                RefusalOutcome::Control
            }
            ([], alone) => {
                self.acknowledge(alone);
                self.refused.extend(alone.iter().cloned());
                RefusalOutcome::Topic(alone.join(", "))
            }
            (first, second) => {
                self.requests.extend([first.to_vec(), second.to_vec()]);
                RefusalOutcome::Halved
            }
        }
    }

    /// Requests every uncovered topic again, each in its own message, unless requests are still to be sent.
    pub(crate) fn retry_uncovered(&mut self) {
        if self.requests.is_empty() {
            let uncovered = self.uncovered().into_iter();
            self.requests = uncovered.map(|topic| vec![topic]).collect();
            self.open.extend(std::mem::take(&mut self.refused));
            if let Some((control, status @ ControlStatus::Refused)) = &mut self.control {
                *status = ControlStatus::Open;
                self.is_unknown_refused = false;
                self.requests.push_back(vec![(*control).to_owned()]);
            }
        }
    }

    /// Whether every topic was acknowledged or refused.
    pub(crate) fn are_settled(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether all topics were refused.
    pub(crate) fn are_refused(&self) -> bool {
        self.topics > 0 && self.refused.len() == self.topics
    }

    /// Whether no topic was acknowledged.
    pub(crate) fn cover_nothing(&self) -> bool {
        self.topics > 0 && self.topics <= self.open.len() + self.refused.len()
    }

    /// The topics that are not covered.
    pub(crate) fn uncovered(&self) -> BTreeSet<String> {
        self.open.union(&self.refused).cloned().collect()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::collect::connection::subscriptions::*;
    use std::time::Duration;

    fn plan(topics: Vec<String>, control: Control) -> ConnectionPlan {
        ConnectionPlan {
            name: "line".to_owned(),
            host: "socket",
            path: "/".to_owned(),
            headers: &[],
            batches: vec![topics],
            between: Duration::ZERO,
            control,
        }
    }

    #[test]
    fn a_refusal_that_names_every_topic_means_the_unanswered_ones() {
        let topics: Vec<String> = ["a", "always"].map(str::to_owned).into();
        let mut subscriptions = Subscriptions::of(&plan(topics.clone(), Control::Topic("always")));
        assert!(subscriptions.next().is_some());
        assert_eq!(subscriptions.refuse(&topics), RefusalOutcome::Halved);
        assert!(subscriptions.next().is_some() && subscriptions.next().is_some());
        assert!(subscriptions.acknowledge(&["a".to_owned()]) && subscriptions.are_settled());
        assert_eq!(subscriptions.refuse(&topics), RefusalOutcome::Control);
        let control = subscriptions.control();
        assert_eq!(control, Some(("always", ControlStatus::Refused)));
        assert!(subscriptions.uncovered().is_empty() && !subscriptions.cover_nothing());
        // A refusal that names no topic concerns the only unanswered topic.
        subscriptions.set_control(ControlStatus::Open);
        assert!(!subscriptions.is_control_refused());
        assert_eq!(subscriptions.refuse(&[]), RefusalOutcome::Unknown);
        assert!(subscriptions.is_control_refused());
        subscriptions.set_control(ControlStatus::Refused);
        // The refused topic of the control stream is requested again.
        subscriptions.retry_uncovered();
        assert_eq!(subscriptions.next().unwrap().1, ["always"]);
        subscriptions.acknowledge(&["always".to_owned()]);
        let control = subscriptions.control();
        assert_eq!(control, Some(("always", ControlStatus::Taken)));
    }

    #[test]
    fn a_topic_that_is_refused_repeatedly_is_requested_once_each_time() {
        let topics: Vec<String> = ["a", "always"].map(str::to_owned).into();
        let mut subscriptions = Subscriptions::of(&plan(topics, Control::Topic("always")));
        assert!(subscriptions.next().is_some());
        subscriptions.acknowledge(&["a".to_owned()]);
        assert_eq!(
            subscriptions.refuse(&["always".to_owned()]),
            RefusalOutcome::Control
        );
        // Each refusal names every topic that was ever requested.
        let mut all = vec!["a".to_owned(), "always".to_owned()];
        for _ in 0..20 {
            subscriptions.retry_uncovered();
            assert_eq!(subscriptions.next().unwrap().1, ["always"]);
            all.push("always".to_owned());
            assert_eq!(subscriptions.refuse(&all), RefusalOutcome::Control);
            assert!(subscriptions.next().is_none());
        }
    }

    #[test]
    fn a_refused_batch_is_halved_until_the_topic_at_fault_stands_alone() {
        let topics: Vec<String> = ["a", "b", "bad", "c"].map(str::to_owned).into();
        let mut subscriptions = Subscriptions::of(&plan(topics, Control::None));
        let mut messages = 0;
        while let Some((number, topics)) = subscriptions.next() {
            messages += 1;
            assert_eq!(number, messages);
            if topics.iter().any(|topic| topic == "bad") {
                let alone = RefusalOutcome::Topic("bad".to_owned());
                let one = if topics.len() == 1 {
                    alone
                } else {
                    RefusalOutcome::Halved
                };
                assert_eq!(subscriptions.refuse(&topics), one);
            } else {
                assert!(subscriptions.cover_nothing() || !subscriptions.are_settled());
                subscriptions.acknowledge(&topics);
            }
        }
        assert_eq!(messages, 5);
        assert!(subscriptions.are_settled() && !subscriptions.cover_nothing());
        assert_eq!(subscriptions.uncovered().into_iter().next().unwrap(), "bad");
        assert_eq!(subscriptions.refuse(&[]), RefusalOutcome::Unknown);
        assert!(!subscriptions.are_refused());
    }
}
