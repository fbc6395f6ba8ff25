//! Parses server-sent events as the HTML standard defines them.
//!
//! `eventsource-stream` does not fit. It does not limit the size of events, it reuses the last id for events without
//! one, and it hides blocks that only set an id.

use std::time::Duration;

/// One event: all lines up to a blank line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerSentEvent {
    /// The event name. An empty name means the default.
    pub(crate) kind: String,
    /// The id that this event sets.
    pub(crate) id: Option<String>,
    /// The data. `None` if the event only sets an id.
    pub(crate) data: Option<String>,
}

/// Parses events from bytes that arrive in pieces of any size.
#[derive(Debug, Default)]
pub(crate) struct EventParser {
    line: Vec<u8>,
    event: ServerSentEvent,
    /// Size of the current event so far, in bytes.
    size: usize,
    begun: bool,
    /// The reconnection time that the service set last.
    retry: Option<Duration>,
    /// Whether the last line ended with a carriage return. A line feed directly after it then belongs to the same line
    /// end.
    returned: bool,
}

/// Error: an event exceeds the size limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

impl EventParser {
    /// The delay before a reconnection that the service asks for with `retry:`.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Parses `bytes` and appends complete events to `events`.
    ///
    /// # Errors
    ///
    /// [`TooLarge`] if an event takes more than `most` bytes.
    pub(crate) fn read(
        &mut self,
        bytes: &[u8],
        most: usize,
        events: &mut impl Extend<ServerSentEvent>,
    ) -> Result<(), TooLarge> {
        for &byte in bytes {
            let after_return = std::mem::take(&mut self.returned);
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => {
                    self.returned = byte == b'\r';
                    events.extend(self.end_line());
                }
                _ if self.size >= most => return Err(TooLarge),
                _ => {
                    self.size += 1;
                    self.line.push(byte);
                }
            }
        }
        Ok(())
    }

    /// Processes a complete line. Returns the event if the line is blank and thus ends one.
    fn end_line(&mut self) -> Option<ServerSentEvent> {
        let line = String::from_utf8_lossy(&self.line).into_owned();
        self.line.clear();
        let line = if std::mem::replace(&mut self.begun, true) {
            line.as_str()
        } else {
            line.strip_prefix('\u{feff}').unwrap_or(&line)
        };
        if line.is_empty() {
            self.size = 0;
            let event = std::mem::take(&mut self.event);
            return (event.id.is_some() || event.data.is_some()).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.kind),
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "data" => match &mut self.event.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                none => *none = Some(value.to_owned()),
            },
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = Some(Duration::from_millis(value.parse().unwrap_or(u64::MAX)));
            }
            // Ignored: unknown fields, and comments, which have an empty field name.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Vec<ServerSentEvent> {
        let mut events = Vec::new();
        EventParser::default()
            .read(text.as_bytes(), 1000, &mut events)
            .unwrap();
        events
    }

    fn event(kind: &str, id: Option<&str>, data: Option<&str>) -> ServerSentEvent {
        ServerSentEvent {
            kind: kind.to_owned(),
            id: id.map(str::to_owned),
            data: data.map(str::to_owned),
        }
    }

    #[test]
    fn the_examples_of_the_standard_read_as_it_says() {
        assert_eq!(
            read("data: YHOO\ndata: +2\ndata: 10\n\n"),
            [event("", None, Some("YHOO\n+2\n10"))]
        );
        assert_eq!(
            read(
                ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n"
            ),
            [
                event("", Some("1"), Some("first event")),
                event("", Some(""), Some("second event")),
                event("", None, Some(" third event")),
            ]
        );
        assert_eq!(
            read("data\n\ndata\ndata\n\ndata:"),
            [event("", None, Some("")), event("", None, Some("\n"))]
        );
    }

    #[test]
    fn names_places_and_line_ends_of_every_kind_are_read() {
        let wanted = [
            event("gap", Some("a-1"), Some("{}")),
            event("", Some("a-2"), None),
        ];
        for end in ["\n", "\r", "\r\n"] {
            let text =
                "\u{feff}event: gap\nid: a-1\nretry: 5\nother: 6\ndata: {}\n\n: here\nid: a-2\n\n";
            assert_eq!(read(&text.replace('\n', end)), wanted, "{end:?}");
        }
        assert_eq!(read("id: a\0b\ndata: x\n\n"), [event("", None, Some("x"))]);
    }

    #[test]
    fn the_last_valid_reconnection_time_counts() {
        let retry = |text: &str| {
            let mut parser = EventParser::default();
            parser.read(text.as_bytes(), 1000, &mut Vec::new()).unwrap();
            parser.retry()
        };
        assert_eq!(
            retry("retry: 250\n\nretry:3000\n"),
            Some(Duration::from_secs(3))
        );
        assert_eq!(
            retry("retry: 70\nretry: -1\nretry\nretry: 1.5\n"),
            Some(Duration::from_millis(70))
        );
        assert_eq!(retry("data: retry: 5\n\n"), None);
        assert_eq!(
            retry("retry: 99999999999999999999\n"),
            Some(Duration::from_millis(u64::MAX))
        );
    }

    #[test]
    fn an_event_without_end_is_too_large() {
        let mut events = EventParser::default();
        let mut seen = Vec::new();
        for _ in 0..10 {
            events.read(b"data: 0123456789\n\n", 20, &mut seen).unwrap();
        }
        assert_eq!(seen.len(), 10);
        assert_eq!(
            events.read(b"data: 0123456789\ndata: 01234", 20, &mut seen),
            Err(TooLarge)
        );
    }

    proptest! {
        #[test]
        fn pieces_of_any_size_make_the_same_events(text in "[a:\r\n ]{0,60}", cut in 0_usize..60) {
            let cut = cut.min(text.len());
            let mut events = EventParser::default();
            let mut seen = Vec::new();
            let (head, tail) = text.as_bytes().split_at(cut);
            events.read(head, 1000, &mut seen).unwrap();
            events.read(tail, 1000, &mut seen).unwrap();
            prop_assert_eq!(seen, read(&text));
        }
    }
}
