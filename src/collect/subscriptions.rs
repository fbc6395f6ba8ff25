//! What is subscribed to on one socket: what is still to be asked for, what was taken, what was refused.
//!
//! A batch of topics that is refused is halved until the topic at fault stands alone, so that one bad name does not cost the
//! others.

use std::collections::{BTreeSet, VecDeque};

use crate::feeds::Asked;

/// The subscriptions of one socket.
#[derive(Debug)]
pub(super) struct Subscriptions {
    /// Messages that are still to be sent.
    to_ask: VecDeque<Vec<String>>,
    asked: Asked,
    /// How many topics there are.
    topics: usize,
    /// Topics that are not acknowledged.
    open: BTreeSet<String>,
    refused: BTreeSet<String>,
}

/// What came of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Which topic it was shows when its acknowledgement is missing in the end.
    Unknown,
    /// This one is not covered.
    Topic(String),
    /// The batch is asked for again in two.
    Halved,
}

impl Subscriptions {
    /// Subscriptions by these messages, none of which is sent.
    pub(super) fn of(batches: &[Vec<String>]) -> Self {
        let open: BTreeSet<String> = batches.iter().flatten().cloned().collect();
        Self {
            to_ask: batches.iter().cloned().collect(),
            asked: Asked::default(),
            topics: open.len(),
            open,
            refused: BTreeSet::new(),
        }
    }

    /// What was asked for so far.
    pub(super) fn asked(&self) -> &Asked {
        &self.asked
    }

    /// Whether messages are still to be sent.
    pub(super) fn are_to_ask(&self) -> bool {
        !self.to_ask.is_empty()
    }

    /// The number and the topics of the next message.
    pub(super) fn next(&mut self) -> Option<(usize, Vec<String>)> {
        let topics = self.to_ask.pop_front()?;
        Some((self.asked.number(topics.clone()), topics))
    }

    /// Notes that topics were acknowledged; whether that is news.
    pub(super) fn take(&mut self, topics: &[String]) -> bool {
        let before = self.open.len();
        for topic in topics {
            self.open.remove(topic);
        }
        self.open.len() < before
    }

    /// Notes that a request for these topics was refused.
    pub(super) fn refuse(&mut self, topics: &[String]) -> Refused {
        match topics.split_at(topics.len() / 2) {
            ([], []) => Refused::Unknown,
            ([], alone) => {
                self.take(alone);
                self.refused.extend(alone.iter().cloned());
                Refused::Topic(alone.join(", "))
            }
            (first, second) => {
                self.to_ask.extend([first.to_vec(), second.to_vec()]);
                Refused::Halved
            }
        }
    }

    /// Asks once more for every topic that is not covered, each by itself, where nothing is to be asked anyway.
    pub(super) fn ask_again(&mut self) {
        if self.to_ask.is_empty() {
            let uncovered = self.uncovered().into_iter();
            self.to_ask = uncovered.map(|topic| vec![topic]).collect();
            self.open.extend(std::mem::take(&mut self.refused));
        }
    }

    /// Whether every topic is acknowledged or refused.
    pub(super) fn are_settled(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether there are topics, and every one was refused.
    pub(super) fn are_refused(&self) -> bool {
        self.topics > 0 && self.refused.len() == self.topics
    }

    /// Whether there are topics, and none is acknowledged.
    pub(super) fn cover_nothing(&self) -> bool {
        self.topics > 0 && self.topics <= self.open.len() + self.refused.len()
    }

    /// The topics that are not covered.
    pub(super) fn uncovered(&self) -> BTreeSet<String> {
        self.open.union(&self.refused).cloned().collect()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_refused_batch_is_halved_until_the_topic_at_fault_stands_alone() {
        let topics: Vec<String> = ["a", "b", "bad", "c"].map(str::to_owned).into();
        let mut subscriptions = Subscriptions::of(&[topics]);
        let mut messages = 0;
        while let Some((number, topics)) = subscriptions.next() {
            messages += 1;
            assert_eq!(number, messages);
            if topics.iter().any(|topic| topic == "bad") {
                let alone = Refused::Topic("bad".to_owned());
                let one = if topics.len() == 1 {
                    alone
                } else {
                    Refused::Halved
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
        assert_eq!(subscriptions.refuse(&[]), Refused::Unknown);
        assert!(!subscriptions.are_refused());
    }
}
