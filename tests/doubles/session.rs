//! One socket as its dialect sees it.

use std::collections::{BTreeMap, HashMap, HashSet};

use tokio::time::Instant;

/// A message of the server other than data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Say {
    Text(String),
    Ping,
    Close(u16, String),
}

/// The requests of one socket so far.
#[derive(Debug, Default)]
pub struct Session {
    /// In the order in which sockets came.
    pub number: usize,
    pub path: String,
    pub query: BTreeMap<String, String>,
    /// Its subscriptions, as the dialect spells topics.
    pub topics: HashSet<String>,
    /// Nothing but acknowledgements will come, as on an address that was moved.
    pub dead_end: bool,
    /// Pings that were not answered.
    pub unanswered: u32,
    /// The tokens of pings that may still be answered, in their order.
    pub tokens: Vec<u64>,
    /// The dialect's own numbers.
    pub notes: HashMap<&'static str, u64>,
    /// When it sent requests that are limited.
    pub times: Vec<Instant>,
    pub out: Vec<Say>,
    /// The numbered streams that have a message in `out`.
    pub sent_streams: Vec<String>,
    /// For the tally.
    pub acknowledged: Vec<String>,
    pub refused: Vec<String>,
    pub pings: usize,
    pub pongs: usize,
    pub strange: Vec<String>,
    pub over_limit: Vec<String>,
}

impl Session {
    pub fn say(&mut self, text: impl Into<String>) {
        self.out.push(Say::Text(text.into()));
    }

    pub fn ping(&mut self) {
        self.out.push(Say::Ping);
        self.unanswered += 1;
    }

    pub fn close(&mut self, code: u16, reason: &str) {
        self.out.push(Say::Close(code, reason.to_owned()));
    }

    /// The subscribed names of a channel, where a topic is the channel and a name behind a space.
    pub fn names_of(&self, channel: &str) -> Vec<String> {
        let names = self
            .topics
            .iter()
            .filter_map(|topic| topic.strip_prefix(channel)?.strip_prefix(' '));
        names.map(str::to_owned).collect()
    }

    /// Takes a topic on; the acknowledgement is the dialect's to word.
    pub fn take(&mut self, topic: impl Into<String>) {
        let topic = topic.into();
        self.acknowledged.push(topic.clone());
        self.topics.insert(topic);
    }

    pub fn refuse(&mut self, topic: impl Into<String>) {
        self.refused.push(topic.into());
    }

    pub fn note_pong(&mut self) {
        self.pongs += 1;
        self.unanswered = 0;
    }

    pub fn note(&mut self, name: &'static str) -> &mut u64 {
        self.notes.entry(name).or_default()
    }
}
