//! What goes wrong at the venues, and what the collector makes of it: sockets that are open and mute, half open, refused,
//! cut; garbage, repetitions, markets and members nobody knows; a venue that is gone.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

#[path = "../collecting/bench.rs"]
mod bench;
#[path = "../doubles/mod.rs"]
mod doubles;

mod content;
mod restart;
mod silence;
mod sockets;
mod weather;

use bench::{Collecting, Doubles};
use doubles::{Act, Ending};

/// Cuts every socket of a venue and waits until the collector listens again.
async fn cut(doubles: &Doubles, collecting: &Collecting, venue: &str, ending: Ending) {
    let exchange = doubles.of(venue);
    let before = exchange.tally();
    let cut = exchange.act(Act::Disconnect(ending));
    let topics = before.subscribed.len() / before.sockets.len() * cut;
    exchange
        .until(|tally| {
            tally.sockets.len() >= before.sockets.len() + cut
                && tally.subscribed.len() >= before.subscribed.len() + topics
        })
        .await;
    collecting.until_live().await;
}
