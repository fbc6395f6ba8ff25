//! The stream of server-sent events: pieces of any size make the events that the standard says.

#[path = "../../../src/client/stream/server_sent_events.rs"]
mod reader;

use reader::{EventParser, ServerSentEvent};

/// The bytes of a stream, cut at places that they decide.
///
/// # Panics
///
/// Where the events are not those of the whole text, line by line.
pub fn check(stream: &[u8]) {
    let wanted = by_lines(stream);
    for size in [1, 2, 7, stream.len().max(1)] {
        let (mut events, mut seen) = (EventParser::default(), Vec::new());
        for piece in stream.chunks(size) {
            let read = events.read(piece, usize::MAX, &mut seen);
            assert_eq!(read, Ok(()), "no event is too large");
        }
        assert_eq!(seen, wanted, "in pieces of {size}");
    }
    // A bound on the size of an event leaves those before it as they are.
    let (mut events, mut seen) = (EventParser::default(), Vec::new());
    let bounded = events.read(stream, 20, &mut seen);
    assert!(wanted.starts_with(&seen), "{seen:?} against {wanted:?}");
    assert!(bounded.is_err() || seen == wanted, "events are missing");
}

/// The events of a stream by the rules of the HTML standard, applied to its whole text.
fn by_lines(stream: &[u8]) -> Vec<ServerSentEvent> {
    let (mut found, mut event) = (Vec::new(), ServerSentEvent::default());
    for line in lines(stream) {
        let line = String::from_utf8_lossy(&line).into_owned();
        if line.is_empty() {
            let whole = std::mem::take(&mut event);
            if whole.id.is_some() || whole.data.is_some() {
                found.push(whole);
            }
            continue;
        }
        let (field, value) = match line.find(':') {
            Some(colon) => {
                let (field, value) = line.split_at(colon);
                let value = value.get(1..).unwrap_or_default();
                (field, value.strip_prefix(' ').unwrap_or(value))
            }
            None => (line.as_str(), ""),
        };
        match field {
            "event" => value.clone_into(&mut event.kind),
            "id" if !value.contains('\0') => event.id = Some(value.to_owned()),
            "data" => {
                let before = event
                    .data
                    .take()
                    .map(|data| data + "\n")
                    .unwrap_or_default();
                event.data = Some(before + value);
            }
            _ => {}
        }
    }
    found
}

/// The lines that have ended, without their ends; the first one without a byte order mark.
fn lines(stream: &[u8]) -> Vec<Vec<u8>> {
    let (mut lines, mut line) = (Vec::new(), Vec::new());
    let mut bytes = stream.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\r' | b'\n' => {
                if byte == b'\r' {
                    bytes.next_if_eq(&b'\n');
                }
                lines.push(std::mem::take(&mut line));
            }
            byte => line.push(byte),
        }
    }
    if let Some(first) = lines.first_mut()
        && first.starts_with(b"\xef\xbb\xbf")
    {
        first.drain(..3);
    }
    lines
}
