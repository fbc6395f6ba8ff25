//! Discovery of accounts: follows the public trades of an exchange that names both accounts of each trade.
//!
//! Trades are not stored, and missed trades are not backfilled: an active account is discovered by a later trade.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::sync::watch;
use tokio::time::{Instant, interval, sleep, timeout};
use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use url::Url;

use crate::collect::positions::polling::PositionPoller;
use crate::collect::settings::settings::span;
use crate::collect::venue_tasks::is_set;
use crate::feeds::hyperliquid;

/// Time between two pings: the exchange closes connections that are silent for a minute.
const PING: Duration = Duration::from_secs(30);
/// Maximum silence of a connection; the exchange answers pings, so a longer silence is a loss.
const SILENCE: Duration = Duration::from_secs(75);

/// Follows the trades of `coins` until `stop`.
pub(crate) async fn run(
    poller: Arc<PositionPoller>,
    coins: Vec<String>,
    mut stop: watch::Receiver<bool>,
) {
    let pace = &poller.settings.pace;
    let mut backoff = pace.backoff();
    loop {
        let began = Instant::now();
        let lost = tokio::select! {
            lost = follow(&poller, &coins) => lost,
            () = is_set(&mut stop) => return,
        };
        poller.note(|status| status.live = false);
        if began.elapsed() >= span(pace.healthy) {
            backoff.reset();
        }
        poller.trouble(format!("the trade feed was lost: {lost}"));
        tokio::select! {
            () = sleep(backoff.next()) => {}
            () = is_set(&mut stop) => return,
        }
    }
}

/// Runs one connection; returns the reason of its loss.
async fn follow(poller: &PositionPoller, coins: &[String]) -> String {
    let settings = &poller.settings;
    // The names are requested for each connection, because the listed coins may change.
    let coins = match poller.native_names(coins).await {
        Ok(coins) if coins.is_empty() => return "the exchange lists none of the coins".to_owned(),
        Ok(coins) => coins,
        Err(reason) => return reason,
    };
    let address = format!("{}/ws", settings.positions.socket.trim_end_matches('/'));
    let opened = timeout(span(settings.pace.connect), async {
        let url = Url::parse(&address).map_err(|fault| fault.to_string())?;
        let stream = poller.http.connector.open(&url).await?;
        let config = WebSocketConfig::default().max_message_size(Some(settings.frame_bytes));
        let opened = client_async_with_config(address.as_str(), stream, Some(config)).await;
        opened
            .map(|(socket, _)| socket)
            .map_err(|fault| fault.to_string())
    });
    let mut socket = match opened.await {
        Ok(Ok(socket)) => socket,
        Ok(Err(reason)) => return format!("{address}: {reason}"),
        Err(_) => return format!("{address}: no connection in time"),
    };
    for coin in &coins {
        if let Err(fault) = socket
            .send(Message::text(hyperliquid::trades_of(coin)))
            .await
        {
            return fault.to_string();
        }
    }
    let mut pings = interval(PING);
    let mut subscribed = 0;
    loop {
        let received = tokio::select! {
            received = timeout(SILENCE, socket.next()) => received,
            _ = pings.tick() => {
                if let Err(fault) = socket.send(Message::text(hyperliquid::PING)).await {
                    return fault.to_string();
                }
                continue;
            }
        };
        let text = match received {
            Err(_) => return "no message in time".to_owned(),
            Ok(None | Some(Ok(Message::Close(_)))) => {
                return "the connection was closed".to_owned();
            }
            Ok(Some(Err(fault))) => return fault.to_string(),
            Ok(Some(Ok(Message::Text(text)))) => text,
            Ok(Some(Ok(_))) => continue,
        };
        if subscribed < coins.len() && hyperliquid::is_subscribed(&text) {
            subscribed += 1;
            poller.note(|status| status.live = subscribed == coins.len());
        }
        if let Some(reason) = hyperliquid::refusal(&text) {
            poller.trouble(format!("the exchange refuses: {reason}"));
            continue;
        }
        match hyperliquid::trades(&text) {
            Ok(trades) => {
                for trade in trades {
                    for account in &trade.accounts {
                        poller.traded(account, trade.usd);
                    }
                }
            }
            Err(fault) => poller.trouble(format!("a frame cannot be read: {fault}")),
        }
    }
}
