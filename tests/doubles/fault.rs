//! What goes wrong: switches that stay, and acts that happen once.

use std::time::Duration;

/// The switches of one venue; all off at first. They hold for the sockets that are open and those to come.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Connects, acknowledges, answers pings, and sends no data.
    pub mute: bool,
    /// Takes bytes and never says a thing, no FIN either.
    pub half_open: bool,
    /// Acknowledges no subscription.
    pub no_acks: bool,
    /// Resets every connection as soon as it is there; the attempts are counted.
    pub refuse: bool,
    /// Answers WebSocket handshakes with this status.
    pub handshake: Option<Limit>,
    /// Path prefixes of sockets that get 503 as the answer to their handshake.
    pub shut: Vec<String>,
    /// Parts of REST requests, path and query, that are answered 503.
    pub broken: Vec<String>,
    /// Answers REST requests with this status.
    pub rest: Option<Limit>,
    /// Answers this many REST requests with the status of `rest`, then no more; `None` is without end.
    pub rest_times: Option<u32>,
    /// Answers 503 to requests for later pages of a REST answer.
    pub later_pages: bool,
    /// Accepts REST requests and never answers.
    pub rest_hangs: bool,
    /// REST reports new events up to so many milliseconds late, each row at its own time.
    pub rest_late: i64,
    /// Cuts the bodies of REST answers in the middle.
    pub rest_cut: bool,
    /// REST requests, path and query, that answer 404, by their beginning.
    pub gone: Vec<String>,
    /// Waits this long before each write.
    pub slow: Option<Duration>,
    /// Delays data until the client closes, as a server with a long queue for a socket does.
    pub late: bool,
    /// Every event happens twice with equal content; the test that makes events reads this.
    pub equal: bool,
    /// Sends every frame twice.
    pub duplicate: bool,
    /// Sends the last so many events again to each new subscriber.
    pub replay: usize,
    /// Sends frames that are published together in another order.
    pub shuffle: bool,
    /// Puts unknown members into every object.
    pub new_field: bool,
    /// Leaves this member out of every object.
    pub removed_field: Option<String>,
    /// Counts the amounts of Bitget's REST body in the quote coin, not the base.
    pub amounts_in_quote: bool,
    /// Topics that are refused, where the venue refuses topics.
    pub bad_topics: Vec<String>,
    /// Topics that the venue neither acknowledges nor sends, where the double supports that.
    pub ignored_topics: Vec<String>,
}

/// A status with which a server turns a client away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub status: u16,
    /// Seconds in `Retry-After`.
    pub retry_after: Option<u64>,
}

/// What happens once to sockets that are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Garbage(Garbage),
    /// The last data frame again.
    Repeat,
    /// From here on takes bytes and says nothing.
    HalfOpen,
    /// From here on sends no data.
    Mute,
    /// The next data frame is lost on its way.
    Skip,
    /// A ping frame out of turn.
    Ping,
    /// The venue's own words before an upgrade of its service, where it has such.
    Notice,
    Disconnect(Ending),
}

/// What no exchange should send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Garbage {
    /// A text frame that is not UTF-8.
    InvalidUtf8,
    /// A binary frame of noise where text belongs (and noise that is no gzip where gzip belongs).
    Binary,
    /// JSON that ends in the middle.
    TruncatedJson,
    /// JSON of an unknown shape.
    Alien,
    /// One message of 100 MB, in fragments.
    Huge,
    /// The head of a frame of 100 MB, with nothing behind it.
    HugeHead,
    /// A frame with an opcode that does not exist.
    BadOpcode,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With a close frame.
    Close,
    /// With FIN and nothing before it.
    Fin,
    /// With RST.
    Reset,
    /// With RST in the middle of a data frame.
    MidFrame,
}
