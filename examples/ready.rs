//! Sends ready bytes, the same to whoever asks: the service that clients are measured against.
//!
//! ```text
//! ready FOLDER
//! ```
//!
//! `FOLDER/manifest` has a line for each body: its coding (`plain`, `gzip` or `zstd`), its target without the coding
//! and with sorted parameters, and its file in the folder. A body is asked for below its coding: `/gzip/api/…`. Digits
//! that a symbol ends with do not count, so that a body has many symbols. `FOLDER/feed`, if there is one, holds order
//! rows, one per line; `/feed/api/…?limit=…&offset=…` gives any stretch of them. Who does not accept a coding is told
//! so, and gets no other bytes than the rest.
//!
//! Prints its port. A thread per connection; connections are kept.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;

type Failure = Box<dyn Error + Send + Sync>;

const END: &[u8] = b"\r\n\r\n";
const OPENING: &[u8] = br#"{"success":true,"data":["#;
const CLOSING: &[u8] = b"]}";

/// Whole replies, and the rows that replies are cut from.
struct Replies {
    /// Head and body in one piece, by coding and target.
    ready: HashMap<String, Vec<u8>>,
    feed: Vec<u8>,
    /// Where each row of the feed starts, and where one more would.
    starts: Vec<usize>,
}

impl Replies {
    fn load(folder: &Path) -> Result<Self, Failure> {
        let mut ready = HashMap::new();
        for line in fs::read_to_string(folder.join("manifest"))?.lines() {
            let mut words = line.split(' ');
            let mut next = || words.next().ok_or("a line of three words");
            let (coding, target, file) = (next()?, next()?, next()?);
            let body = fs::read(folder.join(file))?;
            let mut reply = head(body.len(), coding).into_bytes();
            reply.extend(body);
            ready.insert(format!("/{coding}{target}"), reply);
        }
        let mut feed = Vec::new();
        let path = folder.join("feed");
        if path.exists() {
            feed = fs::read(path)?;
        }
        let mut starts = vec![0];
        for (place, byte) in feed.iter_mut().enumerate() {
            if *byte == b'\n' {
                *byte = b',';
                starts.push(place + 1);
            }
        }
        Ok(Self {
            ready,
            feed,
            starts,
        })
    }

    /// The rows from `offset`, at most `limit` of them, without a comma behind the last one.
    fn rows(&self, limit: usize, offset: usize) -> &[u8] {
        let last = self.starts.len().saturating_sub(1);
        let (first, behind) = (offset.min(last), offset.saturating_add(limit).min(last));
        match (self.starts.get(first), self.starts.get(behind)) {
            (Some(&start), Some(&end)) => {
                let rows = self.feed.get(start..end).unwrap_or_default();
                rows.strip_suffix(b",").unwrap_or(rows)
            }
            _ => &[],
        }
    }
}

fn head(length: usize, coding: &str) -> String {
    let coding = match coding {
        "plain" | "feed" => String::new(),
        packed => format!("Content-Encoding: {packed}\r\n"),
    };
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{coding}Content-Length: {length}\r\n\r\n"
    )
}

/// A target with its parameters sorted, and without the digits that a symbol ends with.
fn known_as(target: &str) -> String {
    let Some((path, query)) = target.split_once('?') else {
        return target.to_owned();
    };
    let mut parameters: Vec<&str> = query
        .split('&')
        .map(|parameter| match parameter.strip_prefix("symbol=") {
            Some(_) => parameter.trim_end_matches(|last: char| last.is_ascii_digit()),
            None => parameter,
        })
        .collect();
    parameters.sort_unstable();
    format!("{path}?{}", parameters.join("&"))
}

/// The number that a parameter of `target` has.
fn number(target: &str, name: &str) -> Option<usize> {
    let (_, query) = target.split_once('?')?;
    let parameters = query.split('&').filter_map(|one| one.split_once('='));
    let (_, value) = parameters.into_iter().find(|(key, _)| *key == name)?;
    value.parse().ok()
}

/// Whether a head says that `coding` is accepted.
fn accepts(head: &str, coding: &str) -> bool {
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    fields
        .filter(|(name, _)| name.eq_ignore_ascii_case("accept-encoding"))
        .any(|(_, codings)| codings.contains(coding))
}

fn answer(stream: &mut TcpStream, replies: &Replies, head_of: &str) -> io::Result<()> {
    let target = head_of.split(' ').nth(1).unwrap_or_default();
    let coding = target.split('/').nth(1).unwrap_or_default();
    if coding == "feed" {
        let (limit, offset) = (number(target, "limit"), number(target, "offset"));
        let rows = replies.rows(limit.unwrap_or(50), offset.unwrap_or(0));
        let length = OPENING.len() + rows.len() + CLOSING.len();
        let reply = [head(length, coding).as_bytes(), OPENING, rows, CLOSING].concat();
        return stream.write_all(&reply);
    }
    if matches!(coding, "gzip" | "zstd") && !accepts(head_of, coding) {
        return stream.write_all(b"HTTP/1.1 406 Not Acceptable\r\nContent-Length: 0\r\n\r\n");
    }
    match replies.ready.get(known_as(target).as_str()) {
        Some(reply) => stream.write_all(reply),
        None => stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
    }
}

/// Answers on one connection until the other side leaves.
fn converse(mut stream: TcpStream, replies: &Replies) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut waiting = Vec::new();
    let mut piece = [0; 8192];
    loop {
        let read = stream.read(&mut piece)?;
        if read == 0 {
            return Ok(());
        }
        waiting.extend_from_slice(piece.get(..read).unwrap_or_default());
        while let Some(end) = waiting.windows(END.len()).position(|bytes| bytes == END) {
            let rest = waiting.split_off(end + END.len());
            let head = String::from_utf8_lossy(&waiting);
            answer(&mut stream, replies, &head)?;
            waiting = rest;
        }
    }
}

#[expect(clippy::print_stdout, reason = "whoever starts it reads the port")]
fn main() -> Result<(), Failure> {
    let folder = std::env::args().nth(1).ok_or("which folder?")?;
    let replies = Arc::new(Replies::load(Path::new(&folder))?);
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    println!("{}", listener.local_addr()?.port());
    for stream in listener.incoming() {
        let (stream, replies) = (stream?, Arc::clone(&replies));
        // A connection that breaks off is the other side's affair.
        thread::spawn(move || converse(stream, &replies).ok());
    }
    Ok(())
}
