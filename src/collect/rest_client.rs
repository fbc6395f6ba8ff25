//! Requests to the venues' REST interfaces, no more of them than the venues allow.
//!
//! Each kind of request has an allowance of its own, so that no window of the venue's sees more than it grants. Where a
//! venue refuses (403, 418, 429) everything of that venue stands still for as long as it says, however long that is, or
//! for a growing random time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use tokio::time::Instant;
use url::Url;

use crate::collect::environment::{CustomEnvironment, HttpReply};
use crate::collect::health::cooldown::{REQUESTS, ban_length, cooldown_length, is_refusal, said};
use crate::collect::lock::locked;
use crate::collect::settings::{Settings, span};
use crate::collect::venue_context::VenueContext;
use crate::feeds::Ask;
use crate::net::{self, Backoff, Connector, Limiter, date, is_loopback, is_passing};

/// How often a request is tried.
const ATTEMPTS: u32 = 5;
/// A wait that is worth a word.
const LONG: Duration = Duration::from_mins(2);
/// How many bytes of a refusal an error repeats.
const SHOWN: usize = 200;
/// Most bytes of a body: the lists of all markets are the largest.
const LARGEST: usize = 64 << 20;
/// What this program calls itself.
const NAME: &str = concat!("liqdata/", env!("CARGO_PKG_VERSION"));

/// Why a request has no body to show for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RestError {
    /// The venue answers with a status that says no.
    #[error("{url} answers {status}{}", shown(.body))]
    Status {
        url: String,
        status: u16,
        body: String,
    },
    /// There is no answer.
    #[error("{url}: {message}")]
    NoAnswer { url: String, message: String },
}

impl RestError {
    /// The status that is the answer.
    fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } => Some(*status),
            Self::NoAnswer { .. } => None,
        }
    }

    /// Whether the venue says that there is no such thing.
    pub(crate) fn is_absent(&self) -> bool {
        self.status() == Some(404)
    }
}

fn shown(body: &str) -> String {
    if body.is_empty() {
        String::new()
    } else {
        format!(": {body}")
    }
}

/// What a venue is reached by.
#[derive(Clone, Debug)]
pub(crate) struct HttpClients {
    near: reqwest::Client,
    far: reqwest::Client,
    /// The same way for sockets.
    pub(crate) connector: Connector,
    /// What is asked in their place.
    world: CustomEnvironment,
}

impl HttpClients {
    /// Makes the HTTP clients of all venues.
    ///
    /// # Errors
    ///
    /// The library's own, as text.
    pub(crate) fn new(settings: &Settings, world: CustomEnvironment) -> Result<Self, String> {
        let mut connector = Connector::of_system();
        if let Some(world) = world.clone() {
            connector = connector.over(world);
        }
        Ok(Self {
            near: Self::made(builder(settings).no_proxy(), &connector)?,
            far: Self::made(builder(settings), &connector)?,
            connector,
            world,
        })
    }

    /// The same for one venue, with the proxy that its settings name, where they do.
    pub(crate) fn of_venue(&self, settings: &Settings, venue: &str) -> Result<Self, String> {
        let reach = settings.venues.get(venue);
        let Some(proxy) = reach.and_then(|reach| reach.proxy.as_deref()) else {
            return Ok(self.clone());
        };
        let address = Some(proxy).filter(|address| !address.is_empty());
        let setting = format!("venues.{venue}.proxy");
        let mut far = builder(settings).no_proxy();
        if let Some(address) = address {
            far = far.proxy(reqwest::Proxy::all(address).map_err(|error| full(&error))?);
        }
        let connector = self.connector.with_proxy(address, &setting);
        Ok(Self {
            near: self.near.clone(),
            far: Self::made(far, &connector)?,
            connector,
            world: self.world.clone(),
        })
    }

    fn made(
        builder: reqwest::ClientBuilder,
        connector: &Connector,
    ) -> Result<reqwest::Client, String> {
        let tls = connector.tls().ok().cloned();
        net::client(builder, tls).map_err(|error| full(&error))
    }

    /// The client for `url`; why there can be none, otherwise.
    pub(crate) fn client(&self, url: &Url) -> Result<&reqwest::Client, String> {
        match self.connector.tls() {
            Err(error) if url.scheme() == "https" => Err(format!("TLS: {error}")),
            _ if is_loopback(url) => Ok(&self.near),
            _ => Ok(&self.far),
        }
    }

    /// The answer to a request for `url`; as soon as its head is there, `heard` gets it, and how long that took.
    async fn get(
        &self,
        url: Url,
        patience: Duration,
        heard: impl FnOnce(&HeaderMap, Duration),
    ) -> Result<HttpReply, String> {
        let asked = Instant::now();
        if let Some(world) = &self.world {
            let reply = tokio::time::timeout(patience, world.get(&url)).await;
            let reply = reply.map_err(|_| "no reply in time".to_owned())??;
            heard(&reply.headers, asked.elapsed());
            return Ok(reply);
        }
        let sent = self.client(&url)?.get(url).send().await;
        let reply = sent.map_err(|error| full(&error))?;
        let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
        heard(&headers, asked.elapsed());
        let mut body = Vec::new();
        let mut chunks = reply.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            body.extend_from_slice(&chunk.map_err(|error| full(&error))?);
            if body.len() > LARGEST {
                return Err(format!("the body is over {LARGEST} bytes"));
            }
        }
        Ok(HttpReply {
            status,
            headers,
            body,
        })
    }
}

fn builder(settings: &Settings) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .user_agent(NAME)
        .connect_timeout(span(settings.pace.connect))
        .timeout(span(settings.pace.request))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
}

/// The requests of one venue.
pub(crate) struct RestClient {
    context: Arc<VenueContext>,
    pub(crate) http: HttpClients,
    limiters: Mutex<HashMap<&'static str, Arc<Limiter>>>,
    /// How long the venue is left alone at least that refuses.
    pause: Mutex<Backoff>,
}

impl RestClient {
    pub(crate) fn new(context: Arc<VenueContext>, http: HttpClients) -> Self {
        let pause = context.settings.pace.backoff();
        Self {
            context,
            http,
            limiters: Mutex::default(),
            pause: Mutex::new(pause),
        }
    }

    /// The body of the reply to `ask`, as soon as the venue's limits let it be asked.
    ///
    /// # Errors
    ///
    /// [`RestError`] where all attempts failed, or the first one for good.
    pub(crate) async fn get(&self, ask: &Ask) -> Result<String, RestError> {
        let mut backoff = self.context.settings.pace.backoff();
        let mut attempt = 1;
        loop {
            self.wait(ask).await;
            let (fault, after) = match self.once(ask).await {
                Ok(body) => {
                    locked(&self.pause).reset();
                    return Ok(body);
                }
                Err(fault) => fault,
            };
            let wait = match fault.status() {
                Some(status) if is_refusal(status) => {
                    self.pause(after);
                    Duration::ZERO
                }
                Some(status) if !is_passing(status) => return Err(fault),
                _ => backoff.next(),
            };
            if attempt == ATTEMPTS {
                return Err(fault);
            }
            tokio::time::sleep(wait).await;
            attempt += 1;
        }
    }

    /// Waits until the venue is to be asked again, and until this kind of request has an allowance left.
    async fn wait(&self, ask: &Ask) {
        self.context.cooldowns.over(REQUESTS).await;
        let limit = ask.limit;
        let limiter = Arc::clone(
            locked(&self.limiters)
                .entry(limit.name)
                .or_insert_with(|| Arc::new(Limiter::in_window(limit.most, limit.per))),
        );
        limiter.turn(ask.weight).await;
    }

    /// Leaves the venue alone for as long as it says, or for a growing random time.
    fn pause(&self, after: Option<Duration>) {
        let wait = cooldown_length(after, locked(&self.pause).next());
        self.context.cool_down(REQUESTS, wait);
        if wait >= LONG {
            let seconds = wait.as_secs();
            self.context.board.trouble(format!(
                "left alone: nothing is asked for {seconds} s, as it says"
            ));
        }
    }

    async fn once(&self, ask: &Ask) -> Result<String, (RestError, Option<Duration>)> {
        let settings = &self.context.settings;
        let address = settings.address(self.context.venue, ask.host, &ask.path);
        let parsed = Url::parse(&address);
        let known = parsed.as_ref().ok();
        let place = match known.and_then(|url| self.http.connector.proxy(url)) {
            Some(proxy) => format!("{address} through {proxy}"),
            None => address,
        };
        let no_answer = |message: String| {
            let url = place.clone();
            (RestError::NoAnswer { url, message }, None)
        };
        let mut url = parsed.map_err(|error| no_answer(error.to_string()))?;
        if !ask.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&ask.query);
        }
        let heard = |headers: &HeaderMap, took: Duration| {
            if let Some(date) = date(headers) {
                self.context.measure_clock(date, took);
            }
        };
        let patience = span(settings.pace.request);
        let reply = self.http.get(url, patience, heard).await;
        let reply = reply.map_err(no_answer)?;
        if reply.status != StatusCode::OK {
            let text = String::from_utf8_lossy(&reply.body);
            let (venue, now) = (self.context.venue, self.context.clock.now());
            let after =
                said(&reply.headers).or_else(|| ban_length(venue, reply.status, &text, now));
            let fault = RestError::Status {
                url: place,
                status: reply.status,
                body: text.chars().take(SHOWN).collect(),
            };
            return Err((fault, after));
        }
        String::from_utf8(reply.body)
            .map_err(|_| no_answer("the body is not UTF-8 text".to_owned()))
    }
}

/// An error with its causes.
pub(crate) fn full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
