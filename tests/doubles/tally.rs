//! Counts of the requests to a double.

use std::collections::BTreeMap;

use tokio::time::Instant;

/// One request to the REST side.
#[derive(Clone, Debug)]
pub struct RestRequest {
    pub at: Instant,
    pub path: String,
    pub query: BTreeMap<String, String>,
    pub status: u16,
}

/// A lost frame of a numbered stream.
#[derive(Clone, Debug)]
pub struct Skipped {
    /// The number of its socket.
    pub socket: usize,
    /// The name of the sequence.
    pub stream: String,
    /// The numbers of its events, in their stream of liquidations.
    pub events: Vec<u64>,
    /// When the last frame of the sequence before it was sent on that socket, if any was, and the first behind it.
    pub before: Option<i64>,
    pub behind: Option<i64>,
    /// When the socket ended.
    pub gone: Option<i64>,
}

/// Everything a double counts.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// When each TCP connection came, those refused too.
    pub connections: Vec<Instant>,
    /// When each WebSocket was opened, and its path.
    pub sockets: Vec<(Instant, String)>,
    /// Sockets that are open now.
    pub open: usize,
    /// Topics subscribed to, each time it was acknowledged, with the number of the socket.
    pub subscribed: Vec<(usize, String)>,
    /// Topics refused.
    pub refused: Vec<(usize, String)>,
    /// Pings that clients sent, as frames or in the venue's own words.
    pub pings: usize,
    /// Pongs that clients sent, as frames or in the venue's own words.
    pub pongs: usize,
    /// Messages the dialect has no meaning for.
    pub strange: Vec<String>,
    /// Times a client went beyond a limit of the venue.
    pub over_limit: Vec<String>,
    /// Data frames and events written, over all sockets.
    pub frames_sent: u64,
    pub events_sent: u64,
    /// Data frames that are queued and not written yet.
    pub queued: u64,
    pub rest: Vec<RestRequest>,
    /// Requests for a page behind the first that were refused because later pages are.
    pub pages_refused: usize,
    pub skipped: Vec<Skipped>,
}

impl Tally {
    /// How many REST requests there were for paths that begin so.
    pub fn requests_to(&self, path: &str) -> usize {
        self.rest
            .iter()
            .filter(|request| request.path.starts_with(path))
            .count()
    }
}
