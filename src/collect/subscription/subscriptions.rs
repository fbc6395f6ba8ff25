//! What is subscribed to on one socket: what is still to be asked for, what was taken, what was refused.
//!
//! A batch of topics that is refused is halved until the topic at fault stands alone, so that one bad name does not cost the
//! others. The topic of the control stream is asked for like any other, and is none of those that are to be covered.

use std::collections::{BTreeSet, VecDeque};

use crate::feeds::{Asked, Control, Line};

/// The subscriptions of one socket.
#[derive(Debug)]
pub(crate) struct Subscriptions {
    /// Messages that are still to be sent.
    to_ask: VecDeque<Vec<String>>,
    asked: Asked,
    /// How many topics there are.
    topics: usize,
    /// Topics that are not acknowledged.
    open: BTreeSet<String>,
    refused: BTreeSet<String>,
    /// The topic of the control stream, and how it stands.
    control: Option<(&'static str, ControlStatus)>,
    /// Whether something was refused that was not named.
    is_unknown_refused: bool,
}

/// How a topic stands that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControlStatus {
    Open,
    Taken,
    RefusalOutcome,
}

/// What came of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RefusalOutcome {
    /// Which topic it was shows when its acknowledgement is missing in the end.
    Unknown,
    /// This one is not covered.
    Topic(String),
    /// There is no control stream.
    Control,
    /// The batch is asked for again in two.
    Halved,
}

impl Subscriptions {
    /// Subscriptions to the topics of a line, for none of which it was asked yet.
    pub(crate) fn of(line: &Line) -> Self {
        let open: BTreeSet<String> = line.topics().cloned().collect();
        Self {
            to_ask: line.batches.iter().cloned().collect(),
            asked: Asked::default(),
            topics: open.len(),
            open,
            refused: BTreeSet::new(),
            control: match line.control {
                Control::Topic(topic) => Some((topic, ControlStatus::Open)),
                Control::None | Control::ByItself => None,
            },
            is_unknown_refused: false,
        }
    }

    /// The topic of the control stream, where that is one.
    pub(crate) fn control(&self) -> Option<(&'static str, ControlStatus)> {
        self.control
    }

    /// Notes how the topic of the control stream stands; how it stood before.
    pub(crate) fn note_control(&mut self, standing: ControlStatus) -> Option<ControlStatus> {
        let (_, before) = self.control.as_mut()?;
        Some(std::mem::replace(before, standing))
    }

    /// Whether a venue that took what it was asked for later says nothing at all of the topic of the control stream.
    pub(crate) fn is_control_passed_over(&self) -> bool {
        self.is_control_open() && !self.cover_nothing()
    }

    /// Whether a refusal that named nothing can only have been of the topic of the control stream.
    pub(crate) fn is_control_refused(&self) -> bool {
        self.is_control_open() && self.is_unknown_refused && self.are_settled()
    }

    /// Whether nothing was said yet of the topic of the control stream.
    pub(crate) fn is_control_open(&self) -> bool {
        self.control
            .is_some_and(|(_, it)| it == ControlStatus::Open)
    }

    fn is_control(&self, topic: &str) -> bool {
        self.control.is_some_and(|(control, _)| control == topic)
    }

    /// Whether an answer to a request for a topic is still to come.
    fn is_open(&self, topic: &str) -> bool {
        let control = self.control.filter(|(control, _)| *control == topic);
        control.map_or_else(
            || self.open.contains(topic),
            |(_, standing)| standing == ControlStatus::Open,
        )
    }

    /// What was asked for so far.
    pub(crate) fn asked(&self) -> &Asked {
        &self.asked
    }

    /// Whether messages are still to be sent.
    pub(crate) fn are_to_ask(&self) -> bool {
        !self.to_ask.is_empty()
    }

    /// The number and the topics of the next message.
    pub(crate) fn next(&mut self) -> Option<(usize, Vec<String>)> {
        let topics = self.to_ask.pop_front()?;
        Some((self.asked.number(topics.clone()), topics))
    }

    /// Notes that topics were acknowledged; whether that is news.
    pub(crate) fn take(&mut self, topics: &[String]) -> bool {
        let before = self.open.len();
        for topic in topics {
            if self.is_control(topic) {
                self.note_control(ControlStatus::Taken);
            }
            self.open.remove(topic);
        }
        self.open.len() < before
    }

    /// Notes that a request for these topics was refused.
    pub(crate) fn refuse(&mut self, topics: &[String]) -> RefusalOutcome {
        // Where several are named, those that were taken are not among them.
        let is_alone = topics.len() == 1;
        let open = topics
            .iter()
            .filter(|topic| is_alone || self.is_open(topic));
        // What was asked for again may be named as often: twice of the same is one, or it would never stand alone.
        let open: BTreeSet<String> = open.cloned().collect();
        let open: Vec<String> = open.into_iter().collect();
        match open.split_at(open.len() / 2) {
            ([], []) => {
                self.is_unknown_refused = true;
                RefusalOutcome::Unknown
            }
            ([], [control]) if self.is_control(control) => {
                self.note_control(ControlStatus::RefusalOutcome);
                RefusalOutcome::Control
            }
            ([], alone) => {
                self.take(alone);
                self.refused.extend(alone.iter().cloned());
                RefusalOutcome::Topic(alone.join(", "))
            }
            (first, second) => {
                self.to_ask.extend([first.to_vec(), second.to_vec()]);
                RefusalOutcome::Halved
            }
        }
    }

    /// Asks once more for every topic that is not covered, each by itself, where nothing is to be asked anyway.
    pub(crate) fn ask_again(&mut self) {
        if self.to_ask.is_empty() {
            let uncovered = self.uncovered().into_iter();
            self.to_ask = uncovered.map(|topic| vec![topic]).collect();
            self.open.extend(std::mem::take(&mut self.refused));
            if let Some((control, standing @ ControlStatus::RefusalOutcome)) = &mut self.control {
                *standing = ControlStatus::Open;
                self.is_unknown_refused = false;
                self.to_ask.push_back(vec![(*control).to_owned()]);
            }
        }
    }

    /// Whether every topic is acknowledged or refused.
    pub(crate) fn are_settled(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether there are topics, and every one was refused.
    pub(crate) fn are_refused(&self) -> bool {
        self.topics > 0 && self.refused.len() == self.topics
    }

    /// Whether there are topics, and none is acknowledged.
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
    use crate::collect::subscription::subscriptions::*;
    use std::time::Duration;

    fn line(topics: Vec<String>, control: Control) -> Line {
        Line {
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
    fn a_refusal_that_names_everything_is_of_what_was_not_taken() {
        let topics: Vec<String> = ["a", "always"].map(str::to_owned).into();
        let mut subscriptions = Subscriptions::of(&line(topics.clone(), Control::Topic("always")));
        assert!(subscriptions.next().is_some());
        assert_eq!(subscriptions.refuse(&topics), RefusalOutcome::Halved);
        assert!(subscriptions.next().is_some() && subscriptions.next().is_some());
        assert!(subscriptions.take(&["a".to_owned()]) && subscriptions.are_settled());
        assert_eq!(subscriptions.refuse(&topics), RefusalOutcome::Control);
        let control = subscriptions.control();
        assert_eq!(control, Some(("always", ControlStatus::RefusalOutcome)));
        assert!(subscriptions.uncovered().is_empty() && !subscriptions.cover_nothing());
        // A word that names nothing is of the only one that was not answered.
        subscriptions.note_control(ControlStatus::Open);
        assert!(!subscriptions.is_control_refused());
        assert_eq!(subscriptions.refuse(&[]), RefusalOutcome::Unknown);
        assert!(subscriptions.is_control_refused());
        subscriptions.note_control(ControlStatus::RefusalOutcome);
        // It is asked for again.
        subscriptions.ask_again();
        assert_eq!(subscriptions.next().unwrap().1, ["always"]);
        subscriptions.take(&["always".to_owned()]);
        let control = subscriptions.control();
        assert_eq!(control, Some(("always", ControlStatus::Taken)));
    }

    #[test]
    fn a_topic_that_is_refused_again_by_a_word_that_names_all_is_asked_for_once_each_time() {
        let topics: Vec<String> = ["a", "always"].map(str::to_owned).into();
        let mut subscriptions = Subscriptions::of(&line(topics, Control::Topic("always")));
        assert!(subscriptions.next().is_some());
        subscriptions.take(&["a".to_owned()]);
        assert_eq!(
            subscriptions.refuse(&["always".to_owned()]),
            RefusalOutcome::Control
        );
        // As a venue has it whose refusals name no topic: all that was ever asked for, as often.
        let mut all = vec!["a".to_owned(), "always".to_owned()];
        for _ in 0..20 {
            subscriptions.ask_again();
            assert_eq!(subscriptions.next().unwrap().1, ["always"]);
            all.push("always".to_owned());
            assert_eq!(subscriptions.refuse(&all), RefusalOutcome::Control);
            assert!(subscriptions.next().is_none());
        }
    }

    #[test]
    fn a_refused_batch_is_halved_until_the_topic_at_fault_stands_alone() {
        let topics: Vec<String> = ["a", "b", "bad", "c"].map(str::to_owned).into();
        let mut subscriptions = Subscriptions::of(&line(topics, Control::None));
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
                subscriptions.take(&topics);
            }
        }
        assert_eq!(messages, 5);
        assert!(subscriptions.are_settled() && !subscriptions.cover_nothing());
        assert_eq!(subscriptions.uncovered().into_iter().next().unwrap(), "bad");
        assert_eq!(subscriptions.refuse(&[]), RefusalOutcome::Unknown);
        assert!(!subscriptions.are_refused());
    }
}
