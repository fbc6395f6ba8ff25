//! How many Binance frames a second one core decodes: `cargo run --release --no-default-features --example decode_rate`.
//!
//! With `--frames` it prints the frames instead, one per line, for others to be measured on the same.
#![allow(clippy::print_stdout, reason = "it prints what it measures")]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use liqdata::feeds::{Instruments, decode};
use liqdata::model::Millis;

/// Distinct frames, so that no branch is learned by heart.
const FRAMES: u64 = 4096;
/// How often all of them are decoded.
const ROUNDS: u64 = 250;

fn frame(number: u64) -> String {
    let coins = ["BTC", "ETH", "SOL", "XRP", "1000PEPE", "DOGE", "ADA", "LINK"];
    let at = usize::try_from(number % 8).unwrap_or(0);
    let coin = coins.get(at).copied().unwrap_or("BTC");
    let side = if number.is_multiple_of(3) { "SELL" } else { "BUY" };
    let time = 1_790_000_000_000 + number * 37;
    let (price, qty) = (100 + number % 900, 1 + number % 77);
    format!(
        r#"{{"e":"forceOrder","E":{},"o":{{"s":"{coin}USDT","S":"{side}","o":"LIMIT","f":"IOC","q":"{qty}.014","p":"{price}.90","ap":"{price}.37","X":"FILLED","l":"0.002","z":"{qty}.014","T":{time},"ps":"{coin}USDT","st":1}}}}"#,
        time + 12
    )
}

fn main() -> Result<(), Box<dyn Error>> {
    let frames: Vec<String> = (0..FRAMES).map(frame).collect();
    if std::env::args().any(|argument| argument == "--frames") {
        for frame in &frames {
            println!("{frame}");
        }
        return Ok(());
    }
    let instruments = Instruments::default();
    let received_at = Some(Millis(1_790_000_001_000));
    let mut events = 0;
    let started = Instant::now();
    for _ in 0..ROUNDS {
        for frame in &frames {
            let decoded = decode("binance", black_box(frame.as_bytes()), received_at, &instruments)?;
            events += black_box(decoded).len();
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate to print")]
    let rate = events as f64 / seconds;
    println!("{rate:.0}");
    Ok(())
}
