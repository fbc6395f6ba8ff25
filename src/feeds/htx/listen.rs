//! Three sockets: contracts in USDT, swaps settled in coin, futures settled in coin. The venue pings, we answer.

use std::time::Duration;

use serde_json::json;

use crate::feeds::frame::text_of;
use crate::feeds::listen::{Asked, Beat, Heard, Heartbeat, Line, Sign};
use crate::feeds::members::{Part, members};
use crate::feeds::{Error, Frame};

/// The topic of all contracts of a socket.
const EVERYTHING: &str = "public.*.liquidation_orders";

/// What the venue says where a topic is subscribed to already.
const REPEATED: &str = "2014";

pub(super) const HEARTBEAT: Heartbeat = Heartbeat {
    // A word of ours keeps the way through the network open; the venue's own pings, five seconds apart, are the proof.
    beat: Beat::Protocol,
    every: Duration::from_secs(20),
    signs: &[(Sign::Ping, Duration::from_secs(30))],
};

members!(Message<'a> {
    op = "op",
    request = "cid",
    topic = "topic",
    code = "err-code",
    said = "err-msg",
});

pub(super) fn lines() -> Vec<Line> {
    [
        ("linear", "/linear-swap-notification"),
        ("swap", "/swap-notification"),
        ("futures", "/notification"),
    ]
    .into_iter()
    .map(|(name, path)| Line::new(name, path, &[EVERYTHING]))
    .collect()
}

pub(super) fn subscription(number: usize, topics: &[String]) -> String {
    // One message takes one topic, and a line has one.
    let topic = topics.first().map_or(EVERYTHING, String::as_str);
    json!({"op": "sub", "cid": number.to_string(), "topic": topic}).to_string()
}

pub(super) fn control(frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    let said = || {
        [message.code, message.said]
            .into_iter()
            .filter_map(text_of)
            .collect::<Vec<_>>()
            .join(" ")
    };
    Ok(match text_of(message.op).as_deref() {
        Some("sub") => {
            let topics = match text_of(message.topic) {
                Some(topic) => vec![topic.into_owned()],
                None => asked.topics(text_of(message.request).as_deref()),
            };
            match text_of(message.code).as_deref() {
                Some("0" | REPEATED) => Heard::Ack { topics },
                _ => Heard::Refused {
                    topics,
                    message: said(),
                },
            }
        }
        Some("error") => Heard::Refused {
            topics: asked.all(),
            message: said(),
        },
        Some("close") => Heard::Notice(said()),
        Some("notify") => Heard::Data,
        _ => Heard::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feeds::{Instruments, venue};

    #[test]
    #[expect(clippy::unwrap_used, reason = "tests")]
    fn a_repeated_subscription_is_one_that_was_taken() {
        let instruments = Instruments::default();
        let hear = |code: u16, op: &str| {
            let text = format!(
                r#"{{"op":"{op}","cid":"1","topic":"public.*.liquidation_orders","err-code":{code},"err-msg":"Said."}}"#
            );
            let frame = Frame {
                venue: venue("htx").unwrap(),
                text: &text,
                received_at: None,
                instruments: &instruments,
                faults: None,
            };
            control(&frame, &Asked::default()).unwrap()
        };
        let topics = vec![EVERYTHING.to_owned()];
        let taken = Heard::Ack {
            topics: topics.clone(),
        };
        assert_eq!(hear(0, "sub"), taken);
        assert_eq!(hear(2014, "sub"), taken);
        let refused = Heard::Refused {
            topics,
            message: "2011 Said.".to_owned(),
        };
        assert_eq!(hear(2011, "sub"), refused);
        assert_eq!(hear(1000, "close"), Heard::Notice("1000 Said.".to_owned()));
    }
}
