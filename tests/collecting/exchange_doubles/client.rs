//! A plain client, and the decoded events of its frames.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use liqdata::feeds::{Event, Instrument, Instruments, decode};
use liqdata::model::Side;
use rust_decimal::Decimal;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::doubles::{Exchange, Market, Truth};

/// The content of an event, by socket or by REST.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    pub(crate) native_id: String,
    pub(crate) time: i64,
    pub(crate) is_long: bool,
    pub(crate) price: Decimal,
    pub(crate) qty: Option<Decimal>,
    pub(crate) value: Option<Decimal>,
}

impl From<&Event> for Seen {
    fn from(event: &Event) -> Self {
        Self {
            native_id: event.native_id.clone(),
            time: event.timestamp.unwrap().0,
            is_long: event.side == Side::Long,
            price: event.price,
            qty: event.qty,
            value: event.value_usd,
        }
    }
}

impl From<&Truth> for Seen {
    fn from(truth: &Truth) -> Self {
        Self {
            native_id: truth.native_id().to_owned(),
            time: truth.time,
            is_long: truth.side == Side::Long,
            price: truth.price.normalize(),
            qty: Some(truth.qty()),
            value: Some(truth.value()),
        }
    }
}

pub(crate) fn seen<'a, T: 'a>(all: impl IntoIterator<Item = &'a T>) -> Vec<Seen>
where
    Seen: From<&'a T>,
{
    all.into_iter().map(Seen::from).collect()
}

/// The markets of a double as a decoder wants them.
pub(crate) fn instruments<'a>(
    venue: &str,
    markets: impl IntoIterator<Item = &'a Market>,
) -> Instruments {
    markets
        .into_iter()
        .map(|market| {
            let kind = if market.is_inverse() {
                "inverse"
            } else {
                "linear"
            };
            // Bitget needs the lot, which gives the unit of an amount.
            let size = match venue {
                "bitget" => market.step(),
                _ => market.contract_size(),
            };
            let size = size.to_string();
            let instrument = Instrument::read(market.base, market.quote, kind, &size);
            (market.native_id.to_owned(), instrument.unwrap())
        })
        .collect()
}

pub(crate) struct Client {
    pub(crate) socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Client {
    pub(crate) async fn connect(exchange: &Exchange, path: &str) -> Self {
        Self::try_connect(exchange, path).await.unwrap()
    }

    pub(crate) async fn try_connect(exchange: &Exchange, path: &str) -> Result<Self, Error> {
        let (socket, _) = connect_async(format!("{}{path}", exchange.ws())).await?;
        Ok(Self { socket })
    }

    pub(crate) async fn say(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.unwrap();
    }

    /// The next message of the server, of any kind; an error is the end of the connection.
    pub(crate) async fn next(&mut self) -> Result<Message, Error> {
        let next = timeout(Duration::from_secs(30), self.socket.next());
        next.await
            .expect("nothing came in half a minute")
            .unwrap_or(Err(Error::ConnectionClosed))
    }

    /// The next text or binary message, as bytes.
    pub(crate) async fn hear(&mut self) -> Vec<u8> {
        loop {
            match self.next().await.unwrap() {
                Message::Text(text) => return text.as_bytes().to_vec(),
                Message::Binary(bytes) => return bytes.to_vec(),
                Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_) => {}
            }
        }
    }

    pub(crate) async fn hear_text(&mut self) -> String {
        String::from_utf8(self.hear().await).unwrap()
    }

    /// The events of the next messages, until there are `count`.
    pub(crate) async fn events(&mut self, exchange: &Exchange, count: usize) -> Vec<Event> {
        let instruments = instruments(exchange.venue(), exchange.book().markets);
        let mut events = Vec::new();
        while events.len() < count {
            let frame = self.hear().await;
            events.extend(decode(exchange.venue(), &frame, None, &instruments).unwrap());
        }
        events
    }
}
