//! As many sockets as the markets need, and a message for each market.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::json;

use crate::feeds::frame::{says, text_of};
use crate::feeds::listen::{Heard, Line, Listing, batched};
use crate::feeds::members::{Part, members};
use crate::feeds::{Error, Frame};

const CHANNEL: &str = "v4_trades";
/// Most channels of a kind on one connection.
const CHANNELS: usize = 32;
/// Two subscriptions are allowed in a second, and the network may bring some closer together.
const BETWEEN: Duration = Duration::from_millis(600);

members!(Message<'a> {
    kind = "type",
    channel = "channel",
    id = "id",
    said = "message",
});

pub(super) fn lines(listings: &[Listing]) -> Vec<Line> {
    let mut markets: Vec<String> = listings
        .iter()
        .filter(|listing| listing.trading)
        .map(|listing| listing.native_id.clone())
        .collect();
    markets.sort_unstable();
    let lines = batched(markets, CHANNELS).into_iter().enumerate();
    lines
        .map(|(index, markets)| Line {
            between: BETWEEN,
            ..Line::of(
                &format!("trades {}", index + 1),
                "/v4/ws",
                batched(markets, 1),
            )
        })
        .collect()
}

/// A message names one market.
pub(super) fn subscription(topics: &[String]) -> String {
    let market = topics.first().map(String::as_str).unwrap_or_default();
    json!({"type": "subscribe", "channel": CHANNEL, "id": market}).to_string()
}

pub(super) fn control(frame: &Frame<'_>) -> Result<Heard, Error> {
    let Part::Object(message) = frame.read::<Part<Message<'_>>>()? else {
        return Err(frame.unknown());
    };
    let id = text_of(message.id).map(Cow::into_owned);
    Ok(match text_of(message.kind).as_deref() {
        Some("subscribed") if says(message.channel, CHANNEL) => Heard::Ack {
            topics: id.into_iter().collect(),
        },
        Some("channel_data" | "channel_batch_data") => Heard::Data,
        Some("error") => {
            let said = text_of(message.said).unwrap_or_default();
            Heard::Refused {
                topics: id
                    .or_else(|| named(&said).map(str::to_owned))
                    .into_iter()
                    .collect(),
                message: said.into_owned(),
            }
        }
        _ => Heard::Other,
    })
}

/// The market that a refusal is about, in `... (v4_trades-BTC-USD)` or `... v4_trades-BTC-USD. ...`.
fn named(said: &str) -> Option<&str> {
    let (_, behind) = said.split_once(CHANNEL)?;
    let word = behind.strip_prefix('-')?.split([')', ' ']).next()?;
    let market = word.strip_suffix('.').unwrap_or(word);
    (!market.is_empty()).then_some(market)
}

pub(super) fn recalls(frame: &Frame<'_>) -> bool {
    let message = frame.read::<Message<'_>>();
    message.is_ok_and(|message| says(message.kind, "subscribed"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::feeds::Instrument;

    #[test]
    fn no_connection_has_more_markets_than_it_may() {
        let listings: Vec<Listing> = (0..70)
            .map(|number| Listing {
                native_id: format!("COIN{number:02}-USD"),
                instrument: Instrument::read("COIN", "USD", "linear", "1").unwrap(),
                perpetual: true,
                trading: number != 7,
            })
            .collect();
        let lines = lines(&listings);
        let counts: Vec<usize> = lines.iter().map(|line| line.batches.len()).collect();
        assert_eq!(counts, [32, 32, 5]);
        let topics: Vec<String> = lines
            .iter()
            .flat_map(|line| line.batches.concat())
            .collect();
        assert_eq!(topics.len(), 69);
        assert!(!topics.contains(&"COIN07-USD".to_owned()));
        assert!(
            lines
                .iter()
                .all(|line| line.batches.iter().all(|one| one.len() == 1))
        );
    }

    #[test]
    fn a_refusal_names_its_market() {
        let of = named;
        assert_eq!(
            of("Invalid subscription id for channel: (v4_trades-BTC-USD)"),
            Some("BTC-USD")
        );
        assert_eq!(
            of("Too many subscribe attempts for channel v4_trades-ETH-USD. Please reconnect"),
            Some("ETH-USD")
        );
        assert_eq!(
            of("Per-connection subscription limit reached for v4_trades (limit=32)."),
            None
        );
        assert_eq!(of("Invalid message type"), None);
    }
}
