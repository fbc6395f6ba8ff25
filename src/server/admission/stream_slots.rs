//! Slots for event streams, each client's share of them, and what ends a stream.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::http::Response;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use futures_util::StreamExt;
use tokio::sync::{Semaphore, watch};

use crate::server::access::peers::PeerCounts;
use crate::server::access::tokens::{TokenDigest, Tokens};
use crate::server::admission::limits::Limits;
use crate::server::answers::response::{EVENTS, sign};
use crate::server::reject::Rejection;

/// The slots for event streams.
pub(crate) struct StreamSlots {
    free: Arc<Semaphore>,
    by_peer: Arc<PeerCounts>,
    tokens: Tokens,
    /// Changes when token files are read again.
    reloaded: watch::Sender<()>,
    /// Closes when the server stops.
    stopping: watch::Receiver<()>,
}

impl StreamSlots {
    /// The slots that `limits` allows; `free` counts the free ones. Streams end with their token or with the server.
    pub(crate) fn new(
        limits: &Limits,
        free: Arc<Semaphore>,
        tokens: Tokens,
        stopping: watch::Receiver<()>,
    ) -> Self {
        Self {
            free,
            by_peer: PeerCounts::new(limits.stream_share()),
            tokens,
            reloaded: watch::Sender::new(()),
            stopping,
        }
    }

    /// Returns `response`. An event stream takes a slot first, and ends when `token` is revoked or the server stops.
    pub(crate) fn admit(
        &self,
        peer: IpAddr,
        token: Option<TokenDigest>,
        response: Response<Body>,
    ) -> Response<Body> {
        if response.headers().get(CONTENT_TYPE) != Some(&EVENTS) {
            return response;
        }
        let share = self.by_peer.enter(peer).map_err(|open| {
            let allowed = self.by_peer.most();
            Rejection::TooManyStreams { open, allowed }
        });
        let slot = share.and_then(|share| {
            let free = Arc::clone(&self.free).try_acquire_owned();
            free.map(|slot| (share, slot)).map_err(|_| Rejection::Busy)
        });
        let slot = match slot {
            Ok(slot) => slot,
            Err(rejection) => {
                let mut response = rejection.into_response();
                sign(response.headers_mut());
                return response;
            }
        };
        let (tokens, mut stopping) = (self.tokens.clone(), self.stopping.clone());
        let mut reloaded = self.reloaded.subscribe();
        let ended = async move {
            let _slot = slot;
            while token.is_none_or(|token| tokens.accepts(&token)) {
                tokio::select! {
                    stopped = stopping.changed() => if stopped.is_err() { return },
                    dropped = reloaded.changed() => if dropped.is_err() { return },
                }
            }
            log::info!("the token of an event stream was revoked");
        };
        let chunks = |body: Body| body.into_data_stream().take_until(Box::pin(ended));
        response.map(|body| Body::from_stream(chunks(body)))
    }

    /// Reads the token files that have changed. Streams with a revoked token then end.
    pub(crate) fn reload_tokens(&self) {
        if self.tokens.reload_if_changed() {
            self.reloaded.send_replace(());
        }
    }
}
