//! REST requests to the exchanges, within their rate limits.
//!
//! Each kind of request has its own rate limit. If an exchange refuses a request (HTTP 403, 418, 429), all requests to
//! this exchange pause. The pause lasts as long as the exchange asks, or for a growing random time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use tokio::time::Instant;
use url::Url;

use crate::collect::environment::{CustomEnvironment, HttpReply};
use crate::collect::limits::cooldown::{
    REQUESTS, ban_length, cooldown_length, header_length, is_refusal,
};
use crate::collect::lock::locked;
use crate::collect::settings::settings::{Settings, span};
use crate::collect::venue_context::VenueContext;
use crate::feeds::{RestRequest, Venue};
use crate::net::{self, Backoff, Connector, Limiter, date, explained, is_loopback, is_passing};

/// Maximum number of attempts per request.
const ATTEMPTS: u32 = 5;
/// A cooldown of at least this length is logged.
const LONG: Duration = Duration::from_mins(2);
/// Maximum length of the reply text in an error message, in characters.
const SHOWN: usize = 200;
/// Maximum size of a reply body, in bytes; market lists are the largest.
const LARGEST: usize = 64 << 20;
/// The HTTP user agent.
const NAME: &str = concat!("liqdata/", env!("CARGO_PKG_VERSION"));

/// The error of a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RestError {
    /// The exchange replied with an error status.
    #[error("{url} answered with {status}{}", excerpt(.body))]
    Status {
        url: String,
        status: u16,
        body: String,
    },
    /// The request got no reply.
    #[error("{url}: {message}")]
    NoAnswer { url: String, message: String },
}

impl RestError {
    /// The HTTP status of the reply; `None` without a reply.
    fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } => Some(*status),
            Self::NoAnswer { .. } => None,
        }
    }

    /// Whether the exchange replied that the resource does not exist (HTTP 404).
    pub(crate) fn is_absent(&self) -> bool {
        self.status() == Some(404)
    }
}

fn excerpt(body: &str) -> String {
    if body.is_empty() {
        String::new()
    } else {
        format!(": {body}")
    }
}

/// The HTTP clients and the connector of an exchange.
#[derive(Clone, Debug)]
pub(crate) struct HttpClients {
    /// The client for loopback addresses; it uses no proxy.
    loopback: reqwest::Client,
    remote: reqwest::Client,
    /// Opens WebSocket connections through the same proxy.
    pub(crate) connector: Connector,
    /// Replaces the network in tests.
    environment: CustomEnvironment,
}

impl HttpClients {
    /// Creates the HTTP clients for all exchanges without their own proxy setting.
    ///
    /// # Errors
    ///
    /// The error of the HTTP library as text.
    pub(crate) fn new(settings: &Settings, environment: CustomEnvironment) -> Result<Self, String> {
        let mut connector = Connector::of_system();
        if let Some(environment) = environment.clone() {
            connector = connector.over(environment);
        }
        Ok(Self {
            loopback: Self::build(builder(settings).no_proxy(), &connector)?,
            remote: Self::build(builder(settings), &connector)?,
            connector,
            environment,
        })
    }

    /// The clients of one exchange, with the proxy in its settings.
    pub(crate) fn for_venue(&self, settings: &Settings, venue: &str) -> Result<Self, String> {
        let address = settings.exchanges.get(venue);
        let Some(proxy) = address.and_then(|address| address.proxy.as_deref()) else {
            return Ok(self.clone());
        };
        let address = Some(proxy).filter(|address| !address.is_empty());
        let setting = format!("exchanges.{venue}.proxy");
        let mut remote = builder(settings).no_proxy();
        if let Some(address) = address {
            remote = remote.proxy(reqwest::Proxy::all(address).map_err(|error| full(&error))?);
        }
        let connector = self.connector.with_proxy(address, &setting);
        Ok(Self {
            loopback: self.loopback.clone(),
            remote: Self::build(remote, &connector)?,
            connector,
            environment: self.environment.clone(),
        })
    }

    /// An environment variable that should name the proxy for one of these exchanges, but names none.
    pub(crate) fn proxy_fault(&self, settings: &Settings, venues: &[&Venue]) -> Option<String> {
        let has_own = |venue: &Venue| {
            let address = settings.exchanges.get(venue.name());
            address.is_some_and(|address| address.proxy.is_some())
        };
        let surrounded = venues.iter().filter(|venue| !has_own(venue));
        let mut addresses = surrounded.flat_map(|venue| {
            let hosts = venue.hosts().iter();
            hosts.map(|(host, _)| settings.address(venue, host, ""))
        });
        let fault = |address: String| {
            let url = Url::parse(&address).ok()?;
            self.connector.proxy_fault(&url).map(ToString::to_string)
        };
        addresses.find_map(fault)
    }

    fn build(
        builder: reqwest::ClientBuilder,
        connector: &Connector,
    ) -> Result<reqwest::Client, String> {
        let tls = connector.tls().ok().cloned();
        net::client(builder, tls).map_err(|error| full(&error))
    }

    /// The client for `url`.
    ///
    /// # Errors
    ///
    /// The error of the TLS setup, for an `https` URL.
    fn client(&self, url: &Url) -> Result<&reqwest::Client, String> {
        match self.connector.tls() {
            Err(error) if url.scheme() == "https" => Err(format!("TLS: {error}")),
            _ if is_loopback(url) => Ok(&self.loopback),
            _ => Ok(&self.remote),
        }
    }

    /// Requests `url`. As soon as the headers arrive, calls `on_headers` with them and the time since the request.
    async fn get(
        &self,
        url: Url,
        patience: Duration,
        on_headers: impl FnOnce(&HeaderMap, Duration),
    ) -> Result<HttpReply, String> {
        let started = Instant::now();
        if let Some(environment) = &self.environment {
            let reply = tokio::time::timeout(patience, environment.get(&url)).await;
            let reply = reply.map_err(|_| "no reply in time".to_owned())??;
            on_headers(&reply.headers, started.elapsed());
            return Ok(reply);
        }
        let sent = self.client(&url)?.get(url).send().await;
        let reply = sent.map_err(|error| full(&error))?;
        on_headers(reply.headers(), started.elapsed());
        Self::read(reply).await
    }

    /// Posts `body`, as JSON, to `url`.
    ///
    /// # Errors
    ///
    /// The reason why there is no reply, as text.
    pub(crate) async fn post(
        &self,
        url: Url,
        body: String,
        patience: Duration,
    ) -> Result<HttpReply, String> {
        if let Some(environment) = &self.environment {
            let reply = tokio::time::timeout(patience, environment.post(&url, body)).await;
            return reply.map_err(|_| "no reply in time".to_owned())?;
        }
        let request = self.client(&url)?.post(url);
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        let reply = request.send().await.map_err(|error| full(&error))?;
        Self::read(reply).await
    }

    async fn read(reply: reqwest::Response) -> Result<HttpReply, String> {
        let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
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

/// The REST client of one exchange.
pub(crate) struct RestClient {
    context: Arc<VenueContext>,
    pub(crate) http: HttpClients,
    limiters: Mutex<HashMap<&'static str, Arc<Limiter>>>,
    /// Minimum length of the next cooldown after a refusal.
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

    /// Sends a request as soon as the rate limit allows it; returns the body.
    ///
    /// # Errors
    ///
    /// [`RestError`] if all attempts failed, or one failed in a way that a retry cannot fix.
    pub(crate) async fn get(&self, request: &RestRequest) -> Result<String, RestError> {
        let mut backoff = self.context.settings.pace.backoff();
        let mut attempt = 1;
        loop {
            self.wait(request).await;
            let (fault, after) = match self.once(request).await {
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

    /// Waits for the end of a cooldown and for the rate limit.
    async fn wait(&self, request: &RestRequest) {
        self.context.cooldowns.wait(REQUESTS).await;
        let limit = request.limit;
        let limiter = Arc::clone(
            locked(&self.limiters)
                .entry(limit.name)
                .or_insert_with(|| Arc::new(Limiter::in_window(limit.most, limit.per))),
        );
        limiter.turn(request.weight).await;
    }

    /// Begins a cooldown, for as long as the exchange asks or for a growing random time.
    fn pause(&self, after: Option<Duration>) {
        let wait = cooldown_length(after, locked(&self.pause).next());
        self.context.cool_down(REQUESTS, wait);
        if wait >= LONG {
            let seconds = wait.as_secs();
            self.context.board.trouble(format!(
                "cooldown: no requests for {seconds} s, as the exchange asks"
            ));
        }
    }

    async fn once(&self, request: &RestRequest) -> Result<String, (RestError, Option<Duration>)> {
        let settings = &self.context.settings;
        let address = settings.address(self.context.venue, request.host, &request.path);
        let parsed = Url::parse(&address);
        let known = parsed.as_ref().ok();
        let route = match known.and_then(|url| self.http.connector.proxy(url)) {
            Some(proxy) => format!("{address} through {proxy}"),
            None => address,
        };
        let no_answer = |message: String| {
            let url = route.clone();
            (RestError::NoAnswer { url, message }, None)
        };
        let mut url = parsed.map_err(|error| no_answer(error.to_string()))?;
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.query);
        }
        let on_headers = |headers: &HeaderMap, took: Duration| {
            if let Some(date) = date(headers) {
                self.context.measure_clock(date, took);
            }
        };
        let patience = span(settings.pace.request);
        let reply = self.http.get(url, patience, on_headers).await;
        let board = &self.context.board;
        board.attempted(reply.as_ref().map_err(String::as_str));
        let reply = reply.map_err(no_answer)?;
        if reply.status != StatusCode::OK {
            let text = String::from_utf8_lossy(&reply.body);
            let (venue, now) = (self.context.venue, self.context.clock.now());
            let after = header_length(&reply.headers)
                .or_else(|| ban_length(venue, reply.status, &text, now));
            let fault = RestError::Status {
                url: route,
                status: reply.status,
                body: text.chars().take(SHOWN).collect(),
            };
            return Err((fault, after));
        }
        String::from_utf8(reply.body)
            .map_err(|_| no_answer("the body is not UTF-8 text".to_owned()))
    }
}

/// The text of an error with its causes.
pub(crate) fn full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    explained(text)
}
