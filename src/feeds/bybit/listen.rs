//! Two sockets, linear and inverse; each market is a topic.

use serde_json::json;

use crate::feeds::frame::{says, text_of};
use crate::feeds::listen::{Asked, Beat, Heard, Heartbeat, Line, Listing, batched};
use crate::feeds::members::{Cell, Part, Raw, members};
use crate::feeds::{Error, Frame, Kind};

/// Topics of one message; so many were measured to be taken.
const BATCH: usize = 200;
/// Most characters of all topics of one connection.
const CHARACTERS: usize = 21_000;

pub(super) const HEARTBEAT: Heartbeat = Heartbeat::each_20_seconds(Beat::Text(r#"{"op":"ping"}"#));

members!(Message<'a> {
    op = "op",
    success = "success",
    said = "ret_msg",
    request = "req_id",
    topic = "topic",
});

pub(super) fn lines(listings: &[Listing]) -> Vec<Line> {
    let mut lines = Vec::new();
    for (kind, name, path) in [
        (Kind::Linear, "linear", "/v5/public/linear"),
        (Kind::Inverse, "inverse", "/v5/public/inverse"),
    ] {
        let mut topics: Vec<String> = listings
            .iter()
            .filter(|listing| listing.trading && listing.instrument.kind == kind)
            .map(|listing| format!("allLiquidation.{}", listing.native_id))
            .collect();
        topics.sort();
        let mut part = 1;
        while !topics.is_empty() {
            let mut characters = 0;
            let fitting = topics
                .iter()
                .take_while(|topic| {
                    // Quotes and comma count as well.
                    characters += topic.len() + 3;
                    characters <= CHARACTERS
                })
                .count()
                .max(1);
            let rest = topics.split_off(fitting);
            let name = if part == 1 {
                name.to_owned()
            } else {
                format!("{name} {part}")
            };
            lines.push(Line::of(&name, path, batched(topics, BATCH)));
            topics = rest;
            part += 1;
        }
    }
    lines
}

pub(super) fn subscription(number: usize, topics: &[String]) -> String {
    json!({"op": "subscribe", "req_id": number.to_string(), "args": topics}).to_string()
}

pub(super) fn control(frame: &Frame<'_>, asked: &Asked) -> Result<Heard, Error> {
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    if message.topic.is_some() {
        return Ok(Heard::Data);
    }
    if says(message.op, "ping") || says(message.op, "pong") || says(message.said, "pong") {
        return Ok(Heard::Pong);
    }
    let topics = asked.topics(text_of(message.request).as_deref());
    let taken = message.success.map(Raw::text) == Some("true");
    Ok(if taken {
        Heard::Ack { topics }
    } else {
        let said: Cell<'_> = message.said;
        Heard::Refused {
            topics,
            message: text_of(said).unwrap_or_default().into_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feeds::Instrument;

    #[test]
    #[expect(clippy::unwrap_used, reason = "tests")]
    fn topics_are_spread_over_connections_by_their_characters() {
        let listings: Vec<Listing> = (0..1000)
            .map(|number| Listing {
                native_id: format!("COIN{number:04}USDT"),
                instrument: Instrument::read("COIN", "USDT", "linear", "1").unwrap(),
                perpetual: true,
                trading: number != 7,
            })
            .collect();
        let lines = lines(&listings);
        let of = |line: &Line| line.batches.concat();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines.iter().map(|line| of(line).len()).sum::<usize>(), 999);
        for line in &lines {
            let characters: usize = of(line).iter().map(|topic| topic.len() + 3).sum();
            assert!(characters <= CHARACTERS, "{characters}");
            assert!(line.batches.iter().all(|batch| batch.len() <= BATCH));
        }
        let all: Vec<String> = lines.iter().flat_map(of).collect();
        assert!(!all.contains(&"allLiquidation.COIN0007USDT".to_owned()));
    }
}
