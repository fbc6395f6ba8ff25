//! Asks one address over and over on kept connections, and says how often it was answered.
//!
//! ```text
//! load http://127.0.0.1:8000/api/liquidations/overview CONNECTIONS SECONDS [NAME:VALUE …]
//! ```
//!
//! The rest are headers. Prints requests per second, and the median and the 99th percentile of an answer in
//! microseconds.

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

type Failure = Box<dyn Error + Send + Sync>;

/// Room for a head.
const HEAD: usize = 64 << 10;

/// One connection that is used until `deadline`: how long each answer took.
async fn ask(place: String, request: Vec<u8>, deadline: Instant) -> Result<Vec<Duration>, Failure> {
    let mut stream = TcpStream::connect(place).await?;
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; HEAD];
    let mut times = Vec::new();
    while Instant::now() < deadline {
        let began = Instant::now();
        stream.write_all(&request).await?;
        let mut read = 0;
        let left = loop {
            let room = buffer.get_mut(read..).unwrap_or_default();
            let more = stream.read(room).await?;
            if more == 0 {
                return Err("the connection was closed".into());
            }
            read += more;
            let head = buffer.get(..read).unwrap_or_default();
            if let Some(end) = head.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                let (head, body) = head.split_at(end + 4);
                break remaining(head)?.checked_sub(body.len()).ok_or("too long")?;
            }
        };
        skip(&mut stream, &mut buffer, left).await?;
        times.push(began.elapsed());
    }
    Ok(times)
}

/// The length of the body behind a head of a success.
fn remaining(head: &[u8]) -> Result<usize, Failure> {
    let head = std::str::from_utf8(head)?;
    let status = head.split(' ').nth(1).unwrap_or_default();
    if status == "304" {
        return Ok(0);
    }
    if status != "200" {
        return Err(head.to_owned().into());
    }
    let length = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .ok_or("an answer without a length")?;
    Ok(length.1.trim().parse()?)
}

async fn skip(stream: &mut TcpStream, buffer: &mut [u8], mut left: usize) -> io::Result<()> {
    while left > 0 {
        let most = left.min(buffer.len());
        let read = stream
            .read(buffer.get_mut(..most).unwrap_or_default())
            .await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        left -= read;
    }
    Ok(())
}

#[tokio::main]
#[expect(
    clippy::print_stdout,
    reason = "what it measured is what it is run for"
)]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |what: &'static str| arguments.next().ok_or(what);
    let address = next("which address?")?;
    let connections: usize = next("how many connections?")?.parse()?;
    let seconds: f64 = next("how many seconds?")?.parse()?;
    let rest = address.strip_prefix("http://").ok_or("not http")?;
    let (place, path) = rest.split_once('/').ok_or("no path")?;
    let mut lines = vec![format!("GET /{path} HTTP/1.1"), format!("Host: {place}")];
    lines.extend(arguments);
    let request = lines.join("\r\n") + "\r\n\r\n";

    let began = Instant::now();
    let deadline = began + Duration::from_secs_f64(seconds);
    let mut asking = JoinSet::new();
    for _ in 0..connections {
        asking.spawn(ask(
            place.to_owned(),
            request.clone().into_bytes(),
            deadline,
        ));
    }
    let mut times = Vec::new();
    while let Some(asked) = asking.join_next().await {
        times.extend(asked??);
    }
    let rate = f64::from(u32::try_from(times.len())?) / began.elapsed().as_secs_f64();
    times.sort_unstable();
    let at = |share: usize| {
        times
            .get(times.len() * share / 100)
            .map_or(0, Duration::as_micros)
    };
    println!("{rate:.0} {} {}", at(50), at(99));
    Ok(())
}
