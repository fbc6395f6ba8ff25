//! A WebSocket connection to an exchange that names accounts; discovery and the liquidation tape each open one.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::time::{Instant, Interval, interval, timeout, timeout_at};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use url::Url;

use crate::collect::rest_client::HttpClients;
use crate::collect::settings::settings::{Settings, span};
use crate::feeds::hyperliquid;
use crate::net::ByteStream;

/// Time between two pings: the exchange closes connections that are silent for a minute.
const PING: Duration = Duration::from_secs(30);
/// Maximum silence of a connection; the exchange answers pings, so a longer silence is a loss.
pub(crate) const SILENCE: Duration = Duration::from_secs(75);

/// An open connection.
pub(crate) struct AccountSocket {
    stream: WebSocketStream<Box<dyn ByteStream>>,
    pings: Interval,
    last_received: Instant,
}

impl AccountSocket {
    /// Opens a connection; the error is its reason as text.
    pub(crate) async fn open(settings: &Settings, http: &HttpClients) -> Result<Self, String> {
        let address = format!("{}/ws", settings.positions.socket.trim_end_matches('/'));
        let opening = timeout(span(settings.pace.connect), async {
            let url = Url::parse(&address).map_err(|fault| fault.to_string())?;
            let stream = http.connector.open(&url).await?;
            let config = WebSocketConfig::default().max_message_size(Some(settings.frame_bytes));
            let opened = client_async_with_config(address.as_str(), stream, Some(config)).await;
            opened
                .map(|(stream, _)| stream)
                .map_err(|fault| fault.to_string())
        });
        match opening.await {
            Ok(Ok(stream)) => Ok(Self {
                stream,
                pings: interval(PING),
                last_received: Instant::now(),
            }),
            Ok(Err(reason)) => Err(format!("{address}: {reason}")),
            Err(_) => Err(format!("{address}: no connection in time")),
        }
    }

    /// Sends a message; the error is the reason of the loss.
    pub(crate) async fn send(&mut self, message: &str) -> Result<(), String> {
        let sent = self.stream.send(Message::text(message)).await;
        sent.map_err(|fault| fault.to_string())
    }

    /// Receives the next text, and sends pings meanwhile; the error is the reason of the loss. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Result<Utf8Bytes, String> {
        loop {
            let received = tokio::select! {
                received = timeout_at(self.last_received + SILENCE, self.stream.next()) => received,
                _ = self.pings.tick() => {
                    self.send(hyperliquid::PING).await?;
                    continue;
                }
            };
            self.last_received = Instant::now();
            match received {
                Err(_) => return Err("no message in time".to_owned()),
                Ok(None | Some(Ok(Message::Close(_)))) => {
                    return Err("the connection was closed".to_owned());
                }
                Ok(Some(Err(fault))) => return Err(fault.to_string()),
                Ok(Some(Ok(Message::Text(text)))) => return Ok(text),
                Ok(Some(Ok(_))) => {}
            }
        }
    }
}
