//! Listening: who comes gets a seat where there is one, and in the end those being answered are waited for.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use ipnet::IpNet;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::connection::{Followers, House, serve, turn_away};
use crate::server::access::guard::Access;
use crate::server::access::peers::{Peers, one_client};
use crate::server::access::tls::Tls;
use crate::server::admission::backpressure::Unread;
use crate::server::admission::connection_slots::Seats;
use crate::server::admission::limits::Limits;
use crate::server::metrics::traffic::Traffic;

/// How many connections beyond the cap are answered with a refusal at a time; any more are just closed.
const TURNED_AWAY: usize = 64;

/// Longest time to turn a connection away.
const TURNING_AWAY: Duration = Duration::from_secs(2);

/// Pause after a failed accept, which most often means that the process is out of files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// One peer may leave this part of the memory of answers unread.
const OF_ONE_PEER: usize = 4;

/// How often files of tokens and certificates are looked at.
const RENEWAL: Duration = Duration::from_secs(1);

/// How a server serves: to whom, how much of it, and behind what.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What one client can cost the others.
    pub limits: Limits,
    /// Who may ask.
    pub access: Access,
    /// Certificate and key; without them it is plain HTTP.
    pub tls: Option<Tls>,
    /// Proxies whose `X-Forwarded-For` says who asks.
    pub trusted_proxies: Vec<IpNet>,
    /// Whether each answer is noted in the log, as `liqdata::access`.
    pub access_log: bool,
}

/// Serves `router` on `listener` with the default [`Settings`] until `shutdown` completes.
///
/// Answers in flight then have five seconds to finish.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use liqdata::engine::Observations;
/// use liqdata::market::Market;
/// use liqdata::server::{router, run};
/// use tokio::net::TcpListener;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let observations = Observations::new(Vec::new(), Vec::new(), Vec::new(), None)?;
/// let market = Market::fixed(observations, "empty tables");
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let stop = async {};
/// run(listener, router(Arc::new(market)), stop).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Those of the listener that no later accept can mend.
pub async fn run(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    run_with(Settings::default(), listener, router, shutdown).await
}

/// Serves `router` on `listener` with `settings` until `shutdown` completes.
///
/// Dropping the future closes every connection at once.
///
/// # Errors
///
/// Those of the listener that no later accept can mend, and [`InvalidInput`](io::ErrorKind::InvalidInput) for limits
/// that the machine cannot count to.
pub async fn run_with(
    settings: Settings,
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let Settings {
        limits,
        access,
        tls,
        trusted_proxies,
        access_log,
    } = settings;
    limits.validate()?;
    let local = listener.local_addr()?.ip().to_canonical().is_loopback();
    // The signal is given when the sender is dropped.
    let (running, stopping) = watch::channel(());
    let seats = Seats::new(&limits);
    let places = Arc::new(Semaphore::new(limits.streams));
    let house = Arc::new(House {
        limits,
        router,
        access,
        local,
        tls,
        access_log,
        peers: Peers::new(trusted_proxies, limits.per_peer),
        followers: Followers::new(Arc::clone(&places), stopping.clone()),
        unread: Unread::new(limits.answer_memory / OF_ONE_PEER),
        traffic: Arc::new(Traffic::of(Arc::clone(&seats), places, limits.streams)),
    });
    let anteroom = Arc::new(Semaphore::new(TURNED_AWAY));
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    let mut sweeps = ticks((limits.head / 8).clamp(Duration::from_millis(10), RENEWAL));
    let mut renewals = ticks(RENEWAL);
    loop {
        let (stream, peer) = tokio::select! {
            biased;
            () = &mut shutdown => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            _ = sweeps.tick() => {
                seats.sweep();
                continue;
            }
            _ = renewals.tick() => {
                renew(&house);
                continue;
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => (stream, address.ip().to_canonical()),
                Err(failure) => {
                    outlast(failure).await?;
                    continue;
                }
            },
        };
        let held_by = (!house.peers.trusts(peer)).then(|| one_client(peer));
        if let Some(place) = seats.take(held_by) {
            connections.spawn(serve(
                Arc::clone(&house),
                stream,
                peer,
                place,
                stopping.clone(),
            ));
        } else if let Ok(place) = Arc::clone(&anteroom).try_acquire_owned() {
            house.traffic.turns_away();
            log::warn!(
                "{} connections, all of them busy: turning one away",
                seats.count()
            );
            connections.spawn(turned_away(Arc::clone(&house), stream, peer, place));
        }
    }
    drop(listener);
    drop(running);
    let all = async { while connections.join_next().await.is_some() {} };
    if timeout(limits.grace, all).await.is_err() {
        log::warn!("{} answers did not finish in time", connections.len());
    }
    connections.shutdown().await;
    Ok(())
}

async fn turned_away(
    house: Arc<House>,
    stream: TcpStream,
    peer: IpAddr,
    _place: tokio::sync::OwnedSemaphorePermit,
) {
    if timeout(TURNING_AWAY, turn_away(house, stream))
        .await
        .is_err()
    {
        log::debug!("{peer} was turned away and did not go");
    }
}

fn ticks(every: Duration) -> tokio::time::Interval {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Reads tokens and certificates again where their files have changed.
fn renew(house: &Arc<House>) {
    let house = Arc::clone(house);
    // A look at a file may take its time.
    tokio::task::spawn_blocking(move || {
        house.access.tokens.look();
        if let Some(tls) = &house.tls {
            tls.look();
        }
    });
}

/// Lets a failed accept pass where a later one may succeed.
async fn outlast(failure: io::Error) -> io::Result<()> {
    match failure.kind() {
        io::ErrorKind::ConnectionAborted
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionRefused
        | io::ErrorKind::Interrupted => Ok(()),
        io::ErrorKind::InvalidInput => Err(failure),
        _ => {
            log::error!("a connection could not be accepted: {failure}");
            sleep(ACCEPT_PAUSE).await;
            Ok(())
        }
    }
}
