//! Exchanges on loopback, to try a collector without one.
//!
//! ```text
//! cargo run --example exchange_double -- --exchanges binance,bybit --rate 100 --port 0
//! ```
//!
//! `--settings FILE` writes the addresses down as a collector's settings. The first line of output is one JSON object
//! with the addresses of every exchange. With `--rate` liquidations happen at so
//! many a second, shared by the exchanges; without it none happen by themselves. Each line of input is a command, answered
//! with one line; the end of the input ends the program. See `docs/dev/exchange-doubles.md`.
#![allow(clippy::print_stdout, reason = "its output is its purpose")]
#![allow(
    clippy::indexing_slicing,
    reason = "a member that a JSON value lacks is null"
)]

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

#[path = "../tests/doubles/mod.rs"]
mod doubles;

use doubles::{Act, Ending, Exchange, Garbage, Limit, Setup, Truth, dialect, names};

const USAGE: &str = "usage: exchange_double [--exchanges A,B] [--rate EVENTS_PER_SECOND] [--port FIRST_PORT] [--seed N] \
                     [--second SECONDS] [--no-limits] [--settings FILE]";

/// What the command line says.
struct Options {
    venues: Vec<String>,
    rate: u64,
    port: u16,
    seed: u64,
    second: Duration,
    limits: bool,
    settings: Option<PathBuf>,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            venues: names().into_iter().map(str::to_owned).collect(),
            rate: 0,
            port: 0,
            seed: 1,
            second: Duration::from_secs(1),
            limits: true,
            settings: None,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} wants a value"));
            match word.as_str() {
                "--exchanges" => options.venues = value()?.split(',').map(str::to_owned).collect(),
                "--rate" => options.rate = number(&word, &value()?)?,
                "--port" => options.port = number(&word, &value()?)?,
                "--seed" => options.seed = number(&word, &value()?)?,
                "--second" => {
                    options.second = Duration::try_from_secs_f64(number(&word, &value()?)?)
                        .ok()
                        .filter(|second| !second.is_zero())
                        .ok_or_else(|| format!("{word} wants seconds above zero"))?;
                }
                "--settings" => options.settings = Some(value()?.into()),
                "--no-limits" => options.limits = false,
                _ => return Err(format!("{word:?} is not known")),
            }
        }
        match options.venues.iter().find(|venue| dialect(venue).is_none()) {
            Some(venue) => Err(format!(
                "{venue:?} is no exchange; allowed: {}",
                names().join(", ")
            )),
            None => Ok(options),
        }
    }
}

fn number<T: std::str::FromStr>(word: &str, value: &str) -> Result<T, String> {
    value
        .parse()
        .map_err(|_| format!("{word} {value:?} is not a number that fits"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let ended = match Options::read(std::env::args().skip(1)) {
        Ok(options) => run(options).await.map_err(|error| error.to_string()),
        Err(message) => Err(format!("{message}; {USAGE}")),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("{}", json!({"error": message}));
            ExitCode::from(2)
        }
    }
}

async fn run(options: Options) -> std::io::Result<()> {
    let mut exchanges = Vec::new();
    let mut addresses = Map::new();
    for (number, venue) in (0..).zip(&options.venues) {
        let mut setup = Setup::of(venue);
        setup.seed = options.seed;
        setup.second = options.second;
        setup.limits = options.limits;
        setup.port = if options.port == 0 {
            0
        } else {
            options.port + number
        };
        let exchange = Arc::new(Exchange::with(setup).await);
        addresses.insert(
            venue.clone(),
            json!({"ws": exchange.ws(), "rest": exchange.rest()}),
        );
        exchanges.push(exchange);
    }
    if let Some(file) = &options.settings {
        std::fs::write(file, settings(&exchanges))?;
    }
    println!("{}", Value::from(addresses));
    if options.rate > 0 {
        tokio::spawn(happen(exchanges.clone(), options.rate));
    }
    let mut lines = input();
    while let Some(line) = lines.recv().await {
        let answer = obeyed(&exchanges, &line).await;
        println!(
            "{}",
            answer.unwrap_or_else(|message| json!({"error": message}))
        );
    }
    Ok(())
}

/// The lines of the input, until it ends.
fn input() -> mpsc::Receiver<String> {
    let (heard, lines) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if heard.blocking_send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// The addresses as a collector's settings, in TOML.
fn settings(exchanges: &[Arc<Exchange>]) -> String {
    let mut text = String::new();
    for exchange in exchanges {
        let venue = exchange.venue();
        let hosts = liqdata::feeds::venue(venue).map_or(&[][..], |venue| venue.hosts());
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[exchanges.{venue}]");
        for (host, known) in hosts {
            let address = if known.starts_with("ws") {
                exchange.ws()
            } else {
                exchange.rest()
            };
            let _ = writeln!(text, "{host} = {address:?}");
        }
    }
    text
}

/// Liquidations without end, in turn at each exchange.
async fn happen(exchanges: Vec<Arc<Exchange>>, rate: u64) {
    let mut ticks = tokio::time::interval(Duration::from_millis(10));
    let (mut due, mut done) = (0, 0);
    for exchange in exchanges.iter().cycle() {
        // A tick may bring less than one of them.
        while done >= due / 100 {
            ticks.tick().await;
            due += rate;
        }
        let count = (due / 100)
            .saturating_sub(done)
            .div_ceil(exchanges.len() as u64);
        exchange.liquidate(usize::try_from(count).unwrap_or(usize::MAX));
        done += count;
        // Where more is wanted than this machine gives, the sockets come first all the same.
        tokio::task::yield_now().await;
    }
}

/// Does what a line says; the answer, or why it cannot be done.
async fn obeyed(exchanges: &[Arc<Exchange>], line: &str) -> Result<Value, String> {
    let command: Value = serde_json::from_str(line).map_err(|error| format!("no JSON: {error}"))?;
    let wanted = command["exchange"].as_str();
    let chosen: Vec<&Arc<Exchange>> = exchanges
        .iter()
        .filter(|exchange| wanted.is_none_or(|venue| venue == exchange.venue()))
        .collect();
    if chosen.is_empty() {
        return Err(format!(
            "{} is not among the exchanges",
            command["exchange"]
        ));
    }
    let word = command["do"].as_str().unwrap_or_default();
    let mut answers = Map::new();
    for exchange in chosen {
        let answer = one(exchange, word, &command).await?;
        answers.insert(exchange.venue().to_owned(), answer);
    }
    Ok(Value::from(answers))
}

async fn one(exchange: &Exchange, word: &str, command: &Value) -> Result<Value, String> {
    let count = || {
        command["count"]
            .as_u64()
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or(1)
    };
    let acted = |act: Act| Ok(json!({"sockets": exchange.act(act)}));
    match word {
        "liquidate" => Ok(exchange.liquidate(count()).iter().map(told).collect()),
        "truth" => Ok(exchange.truth().iter().map(told).collect()),
        "tally" => Ok(tally(exchange)),
        "fault" => {
            switch(exchange, command)?;
            Ok(json!({"faults": format!("{:?}", exchange.faults())}))
        }
        "mend" => {
            exchange.mend();
            Ok(json!({}))
        }
        "announce" => {
            let native_id = command["native_id"].as_str().unwrap_or_default();
            if !exchange
                .book()
                .markets
                .iter()
                .any(|market| market.native_id == native_id)
            {
                return Err(format!(
                    "{native_id:?} is no market of {}",
                    exchange.venue()
                ));
            }
            exchange.book().announce(native_id);
            Ok(json!({}))
        }
        "shut" => {
            exchange.shut().await;
            Ok(json!({}))
        }
        "reopen" => {
            exchange.reopen().await;
            Ok(json!({}))
        }
        "say" => match command["text"].as_str() {
            Some(text) => Ok(json!({"sockets": exchange.say(text)})),
            None => Err("\"say\" wants a \"text\"".to_owned()),
        },
        "repeat" => acted(Act::Repeat),
        "half_open" => acted(Act::HalfOpen),
        "mute" => acted(Act::Mute),
        "skip" => acted(Act::Skip),
        "ping" => acted(Act::Ping),
        "notice" => acted(Act::Notice),
        "close" => acted(Act::Disconnect(Ending::Close)),
        "fin" => acted(Act::Disconnect(Ending::Fin)),
        "reset" => acted(Act::Disconnect(Ending::Reset)),
        "mid_frame" => acted(Act::Disconnect(Ending::MidFrame)),
        "garbage" => acted(Act::Garbage(match command["kind"].as_str() {
            Some("invalid_utf8") => Garbage::InvalidUtf8,
            Some("binary") => Garbage::Binary,
            Some("truncated_json") => Garbage::TruncatedJson,
            Some("alien") => Garbage::Alien,
            Some("huge") => Garbage::Huge,
            Some("huge_head") => Garbage::HugeHead,
            Some("bad_opcode") => Garbage::BadOpcode,
            _ => return Err(format!("{} is no kind of garbage", command["kind"])),
        })),
        _ => Err(format!("{word:?} is not known")),
    }
}

/// Sets the switches that a command names.
fn switch(exchange: &Exchange, command: &Value) -> Result<(), String> {
    let members = command.as_object().into_iter().flatten();
    for (name, value) in members.filter(|(name, _)| !["do", "exchange"].contains(&name.as_str())) {
        let on = value == &Value::from(true);
        let number = value.as_u64();
        let limit = || Limit {
            status: number
                .and_then(|status| u16::try_from(status).ok())
                .unwrap_or(429),
            retry_after: command["retry_after"].as_u64(),
        };
        let words = || {
            let list = value.as_array().into_iter().flatten();
            list.filter_map(|word| word.as_str().map(str::to_owned))
                .collect::<Vec<_>>()
        };
        let mut known = true;
        exchange.fault(|faults| match name.as_str() {
            "mute" => faults.mute = on,
            "half_open" => faults.half_open = on,
            "no_acks" => faults.no_acks = on,
            "refuse" => faults.refuse = on,
            "handshake" => faults.handshake = number.map(|_| limit()),
            "rest" => faults.rest = number.map(|_| limit()),
            "rest_times" => faults.rest_times = number.and_then(|times| u32::try_from(times).ok()),
            "rest_hangs" => faults.rest_hangs = on,
            "rest_cut" => faults.rest_cut = on,
            "gone" => faults.gone = words(),
            "slow_ms" => faults.slow = number.map(Duration::from_millis),
            "duplicate" => faults.duplicate = on,
            "replay" => {
                faults.replay =
                    number.map_or(0, |count| usize::try_from(count).unwrap_or(usize::MAX));
            }
            "shuffle" => faults.shuffle = on,
            "new_field" => faults.new_field = on,
            "removed_field" => faults.removed_field = value.as_str().map(str::to_owned),
            "amounts_in_quote" => faults.amounts_in_quote = on,
            "bad_topics" => faults.bad_topics = words(),
            "retry_after" => {}
            _ => known = false,
        });
        if !known {
            return Err(format!("{name:?} is no fault"));
        }
    }
    Ok(())
}

fn told(truth: &Truth) -> Value {
    json!({
        "exchange": truth.venue,
        "native_id": truth.native_id(),
        "side": truth.word("LONG", "SHORT"),
        "price": truth.price.normalize().to_string(),
        "qty": truth.qty().to_string(),
        "value_usd": truth.value().to_string(),
        "timestamp": truth.time,
    })
}

fn tally(exchange: &Exchange) -> Value {
    let tally = exchange.tally();
    json!({
        "connections": tally.connections.len(),
        "sockets": tally.sockets.iter().map(|(_, path)| path).collect::<Vec<_>>(),
        "open": tally.open,
        "subscribed": tally.subscribed.iter().map(|(_, topic)| topic).collect::<Vec<_>>(),
        "refused": tally.refused.iter().map(|(_, topic)| topic).collect::<Vec<_>>(),
        "pings": tally.pings,
        "pongs": tally.pongs,
        "strange": tally.strange,
        "over_limit": tally.over_limit,
        "frames_sent": tally.frames_sent,
        "events_sent": tally.events_sent,
        "queued": tally.queued,
        "rest": tally.rest.iter().map(|request| json!({"path": request.path, "query": request.query, "status": request.status})).collect::<Vec<_>>(),
    })
}
