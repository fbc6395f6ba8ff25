//! Requests to the venues' REST interfaces, no more of them than the venues allow.
//!
//! Each kind of request has an allowance; a quarter of it may be used at once and the rest evenly, so that no window of
//! the venue's own sees more than it grants. Where a venue refuses (403, 418, 429) everything of that venue stands still
//! for as long as it says, or for a growing random time.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::StatusCode;
use reqwest::header::RETRY_AFTER;
use tokio::time::Instant;
use url::{Host, Url};

use super::backoff::Backoff;
use super::settings::{Settings, span};
use crate::feeds::{Ask, Limit, Venue};

/// How often a request is tried.
const ATTEMPTS: u32 = 5;
/// Longest wait that a venue may ask for.
const LONGEST: Duration = Duration::from_mins(10);
/// How many bytes of a refusal an error repeats.
const SHOWN: usize = 200;
/// Most bytes of a body: the lists of all markets are the largest.
const LARGEST: usize = 64 << 20;
/// What this program calls itself.
const NAME: &str = concat!("liqdata/", env!("CARGO_PKG_VERSION"));

/// Why a request has no body to show for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RestError {
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
    /// Whether the venue says that there is no such thing.
    pub(super) fn is_absent(&self) -> bool {
        matches!(self, Self::Status { status: 404, .. })
    }
}

fn shown(body: &str) -> String {
    if body.is_empty() {
        String::new()
    } else {
        format!(": {body}")
    }
}

/// When the next request of a kind may go: the theoretical time of arrival of the generic cell rate algorithm.
#[derive(Debug)]
struct Allowance {
    next: Instant,
}

/// When a venue may be asked again after it refused.
#[derive(Debug)]
struct Pause {
    until: Instant,
    backoff: Backoff,
}

/// The requests of all venues.
#[derive(Debug)]
pub(super) struct Rest {
    settings: Arc<Settings>,
    near: reqwest::Client,
    far: reqwest::Client,
    allowances: Mutex<HashMap<(&'static str, &'static str), Allowance>>,
    pauses: Mutex<HashMap<&'static str, Pause>>,
}

impl Rest {
    /// Makes the HTTP clients.
    ///
    /// # Errors
    ///
    /// The library's own, as text.
    pub(super) fn new(settings: Arc<Settings>) -> Result<Self, String> {
        let builder = || {
            reqwest::Client::builder()
                .user_agent(NAME)
                .connect_timeout(span(settings.pace.connect))
                .timeout(span(settings.pace.request))
                .redirect(reqwest::redirect::Policy::none())
                .retry(reqwest::retry::never())
        };
        // This machine needs neither a proxy nor a trust store.
        let near = builder()
            .no_proxy()
            .tls_certs_only([])
            .build()
            .map_err(|error| full(&error))?;
        let far = builder()
            .build()
            .or_else(|_| builder().tls_certs_only([]).build())
            .map_err(|error| full(&error))?;
        Ok(Self {
            settings,
            near,
            far,
            allowances: Mutex::default(),
            pauses: Mutex::default(),
        })
    }

    /// The body of the reply to `ask`, as soon as the venue's limits let it be asked.
    ///
    /// # Errors
    ///
    /// [`RestError`] where all attempts failed, or the first one for good.
    pub(super) async fn get(&self, venue: &dyn Venue, ask: &Ask) -> Result<String, RestError> {
        let pace = &self.settings.pace;
        let mut backoff = Backoff::new(span(pace.retry_first), span(pace.retry_most));
        let mut attempt = 1;
        loop {
            self.wait(venue, ask).await;
            let fault = match self.once(venue, ask).await {
                Ok(body) => {
                    self.resume(venue.name());
                    return Ok(body);
                }
                Err(fault) => fault,
            };
            let wait = match &fault {
                (RestError::Status { status, .. }, after) => match status {
                    403 | 418 | 429 => {
                        self.pause(venue.name(), *after);
                        Some(Duration::ZERO)
                    }
                    408 | 425 | 500 | 502 | 503 | 504 => Some(backoff.next()),
                    _ => None,
                },
                (RestError::NoAnswer { .. }, _) => Some(backoff.next()),
            };
            match wait {
                Some(wait) if attempt < ATTEMPTS => tokio::time::sleep(wait).await,
                _ => return Err(fault.0),
            }
            attempt += 1;
        }
    }

    /// Waits until the venue is to be asked again, and until this kind of request has an allowance left.
    async fn wait(&self, venue: &dyn Venue, ask: &Ask) {
        loop {
            let paused = {
                let pauses = self.pauses.lock().unwrap_or_else(PoisonError::into_inner);
                pauses.get(venue.name()).map(|pause| pause.until)
            };
            match paused.filter(|until| *until > Instant::now()) {
                Some(until) => tokio::time::sleep_until(until).await,
                None => break,
            }
        }
        let turn = self.turn(venue.name(), ask.limit, ask.weight);
        tokio::time::sleep_until(turn).await;
    }

    /// When a request of this weight may go; it is taken to go then.
    fn turn(&self, venue: &'static str, limit: Limit, weight: u32) -> Instant {
        let now = Instant::now();
        let one = limit.per.mul_f64(4.0 / 3.0) / limit.most.max(1);
        let at_once = one * (limit.most / 4).max(weight);
        let mut allowances = self
            .allowances
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let allowance = allowances
            .entry((venue, limit.name))
            .or_insert(Allowance { next: now });
        let next = allowance.next.max(now) + one * weight;
        allowance.next = next;
        next.checked_sub(at_once).unwrap_or(now).max(now)
    }

    fn pause(&self, venue: &'static str, after: Option<Duration>) {
        let pace = &self.settings.pace;
        let mut pauses = self.pauses.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = pauses.entry(venue).or_insert_with(|| Pause {
            until: Instant::now(),
            backoff: Backoff::new(span(pace.retry_first), span(pace.retry_most)),
        });
        let wait = pause.backoff.next();
        let wait = after.map_or(wait, |after| after.min(LONGEST).max(wait));
        pause.until = pause.until.max(Instant::now() + wait);
    }

    fn resume(&self, venue: &str) {
        let mut pauses = self.pauses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pause) = pauses.get_mut(venue) {
            pause.backoff.reset();
        }
    }

    async fn once(
        &self,
        venue: &dyn Venue,
        ask: &Ask,
    ) -> Result<String, (RestError, Option<Duration>)> {
        let address = self.settings.address(venue, ask.host, &ask.path);
        let no_answer = |message: String| {
            let fault = RestError::NoAnswer {
                url: address.clone(),
                message,
            };
            (fault, None)
        };
        let mut url = Url::parse(&address).map_err(|error| no_answer(error.to_string()))?;
        if !ask.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&ask.query);
        }
        let http = if is_loopback(&url) {
            &self.near
        } else {
            &self.far
        };
        let reply = http
            .get(url)
            .send()
            .await
            .map_err(|error| no_answer(full(&error)))?;
        let status = reply.status();
        let after = reply
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse().ok())
            .map(Duration::from_secs);
        let mut body = Vec::new();
        let mut chunks = reply.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            body.extend_from_slice(&chunk.map_err(|error| no_answer(full(&error)))?);
            if body.len() > LARGEST {
                return Err(no_answer(format!("the body is over {LARGEST} bytes")));
            }
        }
        if status != StatusCode::OK {
            let text = String::from_utf8_lossy(&body);
            let body = text.chars().take(SHOWN).collect();
            let fault = RestError::Status {
                url: address,
                status: status.as_u16(),
                body,
            };
            return Err((fault, after));
        }
        String::from_utf8(body).map_err(|_| no_answer("the body is not UTF-8 text".to_owned()))
    }
}

/// An error with its causes.
fn full(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

/// Whether `url` names this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).to_canonical().is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_window_sees_more_than_it_grants() {
        let rest = Rest::new(Arc::default()).unwrap();
        let limit = Limit::of("x", 20, 2);
        let start = Instant::now();
        let turns: Vec<Duration> = (0..200)
            .map(|_| rest.turn("okx", limit, 1) - start)
            .collect();
        assert!(turns.is_sorted());
        for (index, turn) in turns.iter().enumerate() {
            let window = turns
                .iter()
                .skip(index)
                .take_while(|other| **other < *turn + limit.per)
                .count();
            assert!(window <= 20, "{window} from {turn:?}");
        }
        // What is granted is used: three quarters of it evenly.
        assert!(*turns.last().unwrap() < Duration::from_secs(28));
    }
}
