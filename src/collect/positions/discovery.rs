//! Hearing of accounts: a socket to the trades of a venue that names both sides of each, opened anew whenever it is lost.
//!
//! Nothing of the tape is kept; a trade that is missed is an account that may be heard of later.

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
use crate::collect::settings::span;
use crate::collect::venue_tasks::is_set;
use crate::feeds::hyperliquid;

/// Time between two pings: the venue closes what it has not heard of for a minute.
const PING: Duration = Duration::from_secs(30);
/// Longest silence: pings are answered.
const SILENCE: Duration = Duration::from_secs(75);

/// Listens to the trades of `coins` until it is to stop.
pub(crate) async fn run(
    rounds: Arc<PositionPoller>,
    coins: Vec<String>,
    mut stop: watch::Receiver<bool>,
) {
    let pace = &rounds.settings.pace;
    let mut backoff = pace.backoff();
    loop {
        let began = Instant::now();
        let lost = tokio::select! {
            lost = hear(&rounds, &coins) => lost,
            () = is_set(&mut stop) => return,
        };
        rounds.note(|status| status.live = false);
        if began.elapsed() >= span(pace.healthy) {
            backoff.reset();
        }
        rounds.trouble(format!("the tape was lost: {lost}"));
        tokio::select! {
            () = sleep(backoff.next()) => {}
            () = is_set(&mut stop) => return,
        }
    }
}

/// One socket, from its opening until it is lost; gives why.
async fn hear(rounds: &PositionPoller, coins: &[String]) -> String {
    let settings = &rounds.settings;
    // Asked anew for each socket: what is listed may change.
    let coins = match rounds.spelled(coins).await {
        Ok(coins) if coins.is_empty() => return "it lists none of the coins".to_owned(),
        Ok(coins) => coins,
        Err(reason) => return reason,
    };
    let address = format!("{}/ws", settings.positions.socket.trim_end_matches('/'));
    let opened = timeout(span(settings.pace.connect), async {
        let url = Url::parse(&address).map_err(|fault| fault.to_string())?;
        let wire = rounds.http.connector.open(&url).await?;
        let config = WebSocketConfig::default().max_message_size(Some(settings.frame_bytes));
        let opened = client_async_with_config(address.as_str(), wire, Some(config)).await;
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
        let heard = tokio::select! {
            heard = timeout(SILENCE, socket.next()) => heard,
            _ = pings.tick() => {
                if let Err(fault) = socket.send(Message::text(hyperliquid::PING)).await {
                    return fault.to_string();
                }
                continue;
            }
        };
        let text = match heard {
            Err(_) => return "nothing was heard".to_owned(),
            Ok(None | Some(Ok(Message::Close(_)))) => return "it was closed".to_owned(),
            Ok(Some(Err(fault))) => return fault.to_string(),
            Ok(Some(Ok(Message::Text(text)))) => text,
            Ok(Some(Ok(_))) => continue,
        };
        if subscribed < coins.len() && hyperliquid::is_subscribed(&text) {
            subscribed += 1;
            rounds.note(|status| status.live = subscribed == coins.len());
        }
        if let Some(said) = hyperliquid::refusal(&text) {
            rounds.trouble(format!("the venue refuses: {said}"));
            continue;
        }
        match hyperliquid::trades(&text) {
            Ok(trades) => {
                for trade in trades {
                    for account in &trade.accounts {
                        rounds.traded(account, trade.usd);
                    }
                }
            }
            Err(fault) => rounds.trouble(format!("a frame cannot be read: {fault}")),
        }
    }
}
