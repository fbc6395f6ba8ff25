//! Accepts connections, and lets running answers finish at shutdown.

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

use super::connection::{ServerState, serve, turn_away};
use crate::server::access::guard::Access;
use crate::server::access::peers::{Peers, one_client};
use crate::server::access::tls::Tls;
use crate::server::admission::backpressure::UnreadBytes;
use crate::server::admission::connection_slots::ConnectionSlots;
use crate::server::admission::limits::Limits;
use crate::server::admission::stream_slots::StreamSlots;
use crate::server::answers::agent_calls::Agents;
use crate::server::metrics::traffic::Traffic;

/// Maximum number of connections beyond the limit that receive a refusal at a time. Further ones are closed without
/// one. Servers with few connections refuse at most a quarter of their number at a time.
const TURNED_AWAY: usize = 64;

/// Maximum time to send the refusal to a connection beyond the limit.
const TURNING_AWAY: Duration = Duration::from_secs(2);

/// Pause after a failed accept, which usually means that the process is out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Divisor of the answer memory that gives the maximum unread bytes of one peer.
const OF_ONE_PEER: usize = 4;

/// Maximum interval at which request heads that take too long are searched for.
const SWEEP: Duration = Duration::from_secs(1);

/// Interval at which token and certificate files are checked. A revoked token ends its streams within a second.
const RELOAD: Duration = Duration::from_millis(250);

/// Settings of a server: limits, access, TLS and proxies.
#[derive(Clone, Debug, Default)]
pub struct ServerSettings {
    /// Limits for each client.
    pub limits: Limits,
    /// Rules for who may send requests.
    pub access: Access,
    /// Certificate and key. `None` means plain HTTP.
    pub tls: Option<Tls>,
    /// Proxies that set `X-Forwarded-For` correctly.
    pub trusted_proxies: Vec<IpNet>,
    /// Whether each answer is logged to `liqdata::access`.
    pub access_log: bool,
    /// Whether the live page is served at `/`. Otherwise `/` is the list of the endpoints.
    pub page: bool,
    /// What answers `/mcp`. `None` refuses agents.
    pub agents: Option<Agents>,
}

/// Serves `router` on `listener` with the default [`ServerSettings`] until `shutdown` completes.
///
/// After that, answers under way have five seconds to finish.
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
/// Listener errors that are permanent, so that no later accept can succeed.
pub async fn run(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    run_with(ServerSettings::default(), listener, router, shutdown).await
}

/// Serves `router` on `listener` with `settings` until `shutdown` completes.
///
/// Dropping the future closes every connection immediately.
///
/// # Errors
///
/// Listener errors that are permanent, and [`InvalidInput`](io::ErrorKind::InvalidInput) for limits that a semaphore or
/// the clock cannot represent.
pub async fn run_with(
    settings: ServerSettings,
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let ServerSettings {
        limits,
        access,
        tls,
        trusted_proxies,
        access_log,
        page,
        agents,
    } = settings;
    limits.validate()?;
    let local = listener.local_addr()?.ip().to_canonical().is_loopback();
    // Dropping the sender `running` signals the shutdown.
    let (running, stopping) = watch::channel(());
    let seats = ConnectionSlots::new(&limits);
    let free_streams = Arc::new(Semaphore::new(limits.streams));
    let tokens = access.tokens.clone();
    let state = Arc::new(ServerState {
        limits,
        router,
        access,
        local,
        tls,
        access_log,
        page,
        agents,
        peers: Peers::new(trusted_proxies, limits.per_peer),
        streams: StreamSlots::new(&limits, Arc::clone(&free_streams), tokens, stopping.clone()),
        unread: UnreadBytes::new(limits.answer_memory / OF_ONE_PEER),
        traffic: Arc::new(Traffic::of(
            Arc::clone(&seats),
            free_streams,
            limits.streams,
        )),
    });
    let anteroom = TURNED_AWAY.min(limits.connections / 4).max(1);
    let anteroom = Arc::new(Semaphore::new(anteroom));
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    let mut sweeps = ticks((limits.head / 8).clamp(Duration::from_millis(10), SWEEP));
    let mut reloads = ticks(RELOAD);
    loop {
        let (stream, peer) = tokio::select! {
            biased;
            () = &mut shutdown => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            _ = sweeps.tick() => {
                seats.sweep();
                continue;
            }
            _ = reloads.tick() => {
                reload(&state);
                continue;
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => (stream, address.ip().to_canonical()),
                Err(failure) => {
                    outlast(failure, &seats).await?;
                    continue;
                }
            },
        };
        let owner = (!state.peers.trusts(peer)).then(|| one_client(peer));
        if let Some(slot) = seats.take(owner) {
            connections.spawn(serve(
                Arc::clone(&state),
                stream,
                peer,
                slot,
                stopping.clone(),
            ));
        } else if let Ok(permit) = Arc::clone(&anteroom).try_acquire_owned() {
            state.traffic.turns_away();
            log::warn!(
                "{} connections, all of them busy: refusing another",
                seats.count()
            );
            connections.spawn(turned_away(Arc::clone(&state), stream, peer, permit));
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
    state: Arc<ServerState>,
    stream: TcpStream,
    peer: IpAddr,
    _permit: tokio::sync::OwnedSemaphorePermit,
) {
    if timeout(TURNING_AWAY, turn_away(state, stream))
        .await
        .is_err()
    {
        log::debug!("{peer} was refused and did not close its connection");
    }
}

fn ticks(every: Duration) -> tokio::time::Interval {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Reads token and certificate files again if they changed.
fn reload(state: &Arc<ServerState>) {
    let state = Arc::clone(state);
    // File access may block, so it runs on a blocking thread.
    tokio::task::spawn_blocking(move || {
        state.streams.reload_tokens();
        if let Some(tls) = &state.tls {
            tls.reload_if_changed();
        }
    });
}

/// Returns an accept error only if it is permanent. Pauses first if the process may have run out of file descriptors.
async fn outlast(failure: io::Error, seats: &ConnectionSlots) -> io::Result<()> {
    match failure.kind() {
        io::ErrorKind::ConnectionAborted
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionRefused
        | io::ErrorKind::Interrupted => Ok(()),
        io::ErrorKind::InvalidInput => Err(failure),
        _ => {
            log::error!("a connection could not be accepted: {failure}");
            // Without a free file descriptor, only the end of another connection lets the next one in.
            seats.evict_idlest();
            sleep(ACCEPT_PAUSE).await;
            Ok(())
        }
    }
}
