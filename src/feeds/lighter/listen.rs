//! As many sockets as the markets need, and a message for each market.

use std::time::Duration;

use serde_json::json;

use crate::feeds::frame::{says, text_of};
use crate::feeds::listen::{Beat, Heard, Heartbeat, Line, Listing, batched};
use crate::feeds::members::{Cell, Part, members};
use crate::feeds::{Error, Frame};

/// Most subscriptions of one connection.
const CHANNELS: usize = 100;
/// Two hundred messages are allowed in a minute, over all connections and with the pings.
const BETWEEN: Duration = Duration::from_millis(350);

pub(super) const HEARTBEAT: Heartbeat =
    Heartbeat::each_20_seconds(Beat::Text(r#"{"type":"ping"}"#));

members!(Refusal<'a> {
    code = "code",
    words = "message",
});

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cell<'a>,
    #[serde(borrow)]
    channel: Cell<'a>,
    #[serde(borrow)]
    error: Part<Refusal<'a>>,
}

pub(super) fn lines(listings: &[Listing]) -> Vec<Line> {
    let mut markets: Vec<&str> = listings
        .iter()
        .filter(|listing| listing.trading)
        .map(|listing| listing.native_id.as_str())
        .collect();
    // Numbers in their order: a new market comes last and leaves the connections of the others alone.
    markets.sort_unstable_by_key(|market| (market.len(), *market));
    let topics = markets.into_iter().map(|market| format!("trade/{market}"));
    let lines = batched(topics, CHANNELS);
    let between = BETWEEN * u32::try_from(lines.len()).unwrap_or(u32::MAX);
    lines
        .into_iter()
        .enumerate()
        .map(|(index, topics)| Line {
            between,
            ..Line::of(
                &format!("trades {}", index + 1),
                "/stream",
                batched(topics, 1),
            )
        })
        .collect()
}

/// A message names one channel.
pub(super) fn subscription(topics: &[String]) -> String {
    let topic = topics.first().map(String::as_str).unwrap_or_default();
    json!({"type": "subscribe", "channel": topic}).to_string()
}

pub(super) fn answer(frame: &Frame<'_>) -> Result<Option<String>, Error> {
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    Ok(says(message.kind, "ping").then(|| r#"{"type":"pong"}"#.to_owned()))
}

pub(super) fn control(frame: &Frame<'_>) -> Result<Heard, Error> {
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    if let Part::Object(refusal) = &message.error {
        let said: Vec<_> = [refusal.code, refusal.words]
            .into_iter()
            .filter_map(text_of)
            .collect();
        let said = said.join(" ");
        return Ok(Heard::Refused {
            topics: named(&said).map(str::to_owned).into_iter().collect(),
            message: said,
        });
    }
    Ok(match text_of(message.kind).as_deref() {
        // A channel is asked for with a slash and told with a colon.
        Some("subscribed/trade") => Heard::Ack {
            topics: text_of(message.channel)
                .map(|channel| channel.replacen(':', "/", 1))
                .into_iter()
                .collect(),
        },
        Some("update/trade") => Heard::Data,
        Some("pong") => Heard::Pong,
        _ => Heard::Other,
    })
}

/// The channel that a refusal is about, in `... Invalid Channel: trade/7`.
fn named(said: &str) -> Option<&str> {
    said.split([' ', '(', ')', '"', ',']).find(|word| {
        word.strip_prefix("trade/")
            .is_some_and(|market| !market.is_empty())
    })
}

pub(super) fn recalls(frame: &Frame<'_>) -> bool {
    let message = frame.read::<Message<'_>>();
    message.is_ok_and(|message| says(message.kind, "subscribed/trade"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::feeds::Instrument;

    #[test]
    fn connections_share_the_allowance_and_a_new_market_comes_last() {
        let listings = |count: usize| -> Vec<Listing> {
            (0..count)
                .map(|number| Listing {
                    native_id: number.to_string(),
                    instrument: Instrument::read("COIN", "USD", "linear", "1").unwrap(),
                    perpetual: true,
                    trading: true,
                })
                .collect()
        };
        let (before, after) = (lines(&listings(150)), lines(&listings(151)));
        let counts: Vec<usize> = before.iter().map(|line| line.batches.len()).collect();
        assert_eq!(counts, [CHANNELS, 50]);
        assert_eq!(before.first(), after.first());
        assert_ne!(before.last(), after.last());
        let messages: f64 = before
            .iter()
            .map(|line| 60.0 / line.between.as_secs_f64() + 3.0)
            .sum();
        assert!(messages <= 200.0, "{messages}");
    }

    #[test]
    fn a_refusal_names_its_channel() {
        assert_eq!(named("30005 Invalid Channel: trade/7"), Some("trade/7"));
        assert_eq!(named("30003 Invalid Message"), None);
        assert_eq!(named("30003 trade/"), None);
    }
}
