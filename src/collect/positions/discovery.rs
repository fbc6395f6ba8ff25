//! Discovery of accounts: follows the public trades of an exchange that names both accounts of each trade.
//!
//! Trades are not stored, and missed trades are not backfilled: an active account is discovered by a later trade.

use std::convert::Infallible;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::collect::positions::account_socket::AccountSocket;
use crate::collect::positions::polling::PositionPoller;
use crate::collect::settings::settings::span;
use crate::collect::venue_tasks::is_set;
use crate::feeds::hyperliquid::{AccountMessage, account_message, trades_of};

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
            Err(lost) = follow(&poller, &coins) => lost,
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

/// Runs one connection; the error is the reason of its loss.
async fn follow(poller: &PositionPoller, coins: &[String]) -> Result<Infallible, String> {
    // The names are requested for each connection, because the listed coins may change.
    let coins = poller.native_names(coins).await?;
    if coins.is_empty() {
        return Err("the exchange lists none of the coins".to_owned());
    }
    let mut socket = AccountSocket::open(&poller.settings, &poller.http).await?;
    for coin in &coins {
        socket.send(&trades_of(coin)).await?;
    }
    let mut subscribed = 0;
    loop {
        match account_message(&socket.next().await?) {
            Ok(AccountMessage::Trades(trades)) => {
                for trade in trades {
                    for account in &trade.accounts {
                        poller.traded(account, trade.usd());
                    }
                }
            }
            Ok(AccountMessage::Subscribed(_)) => {
                subscribed += 1;
                poller.note(|status| status.live = subscribed >= coins.len());
            }
            Ok(AccountMessage::Refused(reason)) => {
                poller.trouble(format!("the exchange refuses: {reason}"));
            }
            Ok(AccountMessage::Fills { .. } | AccountMessage::Other) => {}
            Err(fault) => poller.trouble(format!("a frame cannot be read: {fault}")),
        }
    }
}
