//! Asking a service over HTTP.
//!
//! [`Client::send`] is the one function every endpoint goes through. It keeps one deadline over all attempts and the
//! waits between them, tries again what may get better, follows redirects that stay with the same service, and stops
//! reading at a cap. A [`Walk`] reads the growing order feed page by page; an [`OrderStream`] follows it.

mod coding;
mod config;
mod error;
mod events;
mod fault;
mod pace;
mod pool;
mod retry;
mod seat;
mod stream;
mod walk;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use log::{debug, warn};
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Response, StatusCode};
use tokio::time::{Instant, sleep, timeout_at};
use url::Url;

use crate::api::{Endpoint, SIMULATED};
use crate::model::Overview;
use crate::wire::{Arrived, Damage, Decode, Feed, Intake, Reading, intake, read};

pub use config::Config;
pub use error::{Cause, Error};
pub use seat::Seat;
pub use stream::{Arrival, OrderStream};
pub use walk::Walk;

use coding::{Spoiled, Unpacking};
use fault::Fault;
use pool::{Kept, Lines, Pool};
use retry::{Kind, Retries};
use seat::Slot;

/// Where the room's log records go.
const LOG: &str = "liqdata.client";
/// The most redirects that one question follows.
const REDIRECTS: u32 = 3;
/// The most of a refusal's body that is read; a small one is read whole so that its connection can be used again.
const REFUSAL: usize = 64 << 10;
/// How long a refusal's body may take; its status is known by then.
const REFUSAL_PATIENCE: Duration = Duration::from_secs(1);

/// Asks one service; cheap to clone, and safe to use from many tasks and after a fork.
///
/// # Examples
///
/// ```no_run
/// use liqdata::api::Coins;
/// use liqdata::client::{Client, Config};
///
/// # async fn ask() -> Result<(), liqdata::client::Error> {
/// let client = Client::new(Config::new("https://data.example")?)?;
/// for row in client.send(&Coins::new("24h", 30)?).await? {
///     println!("{} {}", row.coin, row.total_usd);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    /// Whose connections are used, where it is not the client's own.
    slot: Option<Arc<Slot>>,
}

struct Shared {
    config: Config,
    pool: Pool,
    simulated: AtomicBool,
}

impl Client {
    /// A client with these options. Opens no connection.
    ///
    /// # Errors
    ///
    /// None at present: options are checked when they are set, and a machine that cannot do TLS says so when asked.
    pub fn new(config: Config) -> Result<Self, Error> {
        let shared = Shared {
            config,
            pool: Pool::default(),
            simulated: AtomicBool::new(false),
        };
        Ok(Self {
            shared: Arc::new(shared),
            slot: None,
        })
    }

    /// A place to ask from on the caller's own thread.
    ///
    /// # Errors
    ///
    /// Where the system gives no more of what a runtime needs, such as file descriptors.
    pub fn seat(&self) -> io::Result<Seat> {
        Seat::take(self)
    }

    /// The options.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// Closes the connections once the calls under way have ended; a later call opens new ones.
    pub fn close(&self) {
        self.shared.pool.leave();
    }

    /// Whether an answer has said that the market behind it is a simulated one.
    #[must_use]
    pub fn simulated(&self) -> bool {
        self.shared.simulated.load(Ordering::Relaxed)
    }

    /// Asks `question`.
    ///
    /// # Errors
    ///
    /// [`Error`]: no answer, no answer in time, a refusal, or an answer outside the contract.
    pub async fn send<E>(&self, question: &E) -> Result<E::Reply, Error>
    where
        E: Endpoint,
        E::Reply: Decode,
    {
        self.send_as(question).await
    }

    /// Asks `question`, and reads its reply as another type that stands for the same: orders as
    /// [`OrderColumns`](crate::model::OrderColumns).
    ///
    /// # Errors
    ///
    /// As [`Client::send`].
    pub async fn send_as<E: Endpoint, R: Decode>(&self, question: &E) -> Result<R, Error> {
        let mut intake = intake::<R>();
        let answer = self
            .fetch(E::PATH, &question.to_query(), &mut intake)
            .await?;
        let body = match intake.finish(E::ENVELOPED) {
            Arrived::Reply(reply) => return Ok(reply),
            Arrived::Damage(damage) => return Err(answer.damaged(damage)),
            Arrived::Body(body) => body,
        };
        match read::<R>(&body, E::ENVELOPED) {
            Ok(Reading::Reply(reply)) => Ok(reply),
            Ok(Reading::Refused { message }) => Err(Error::Refused {
                status: answer.status.as_u16(),
                body: error::excerpt(&body),
                retry_after: retry::retry_after(&answer.headers),
                message: format!("{} refused {}: {message}", self.config().place(), E::PATH),
            }),
            Err(damage) => Err(answer.damaged(damage)),
        }
    }

    /// The successful answer to `path`, after as many attempts as it takes and the options allow; its body is in
    /// `intake` then.
    async fn fetch(
        &self,
        path: &str,
        query: &[(&'static str, String)],
        intake: &mut dyn Feed,
    ) -> Result<Answer, Error> {
        let config = self.config();
        let lodging = self.shared.pool.enter(config);
        let Some(kept) = lodging.kept() else {
            // Only a lodging that is being dropped is empty.
            return Err(no_answer("the client is closed"));
        };
        let lines = self.slot.as_ref().map_or(&kept.lines, |slot| &slot.lines);
        let mut call = Call {
            config,
            kept,
            lines,
            http: lines
                .http
                .as_ref()
                .map_err(|cause| without_tls(config, cause))?,
            path,
            retries: Retries::new(config.most_retries(), &kept.quota),
            deadline: Instant::now() + config.patience(),
        };
        let start = config.address(path, query);
        lines.freshen().await;
        let mut before = None;
        loop {
            let fault = match call.attempt(&start, intake).await {
                Ok(answer) => {
                    call.retries.succeeded();
                    if answer.headers.contains_key(SIMULATED) {
                        self.shared.simulated.store(true, Ordering::Relaxed);
                    }
                    return Ok(answer);
                }
                Err(Failed::Late) => return Err(call.too_slow(before)),
                Err(Failed::Fault(fault)) => fault,
            };
            let remaining = call.deadline.saturating_duration_since(Instant::now());
            let again =
                call.retries
                    .again(fault.kind, fault.retry_after, remaining, fastrand::f64());
            let Some(wait) = again else {
                debug!(target: LOG, "GET {path}: {}", fault.error);
                return Err(call.counted(fault));
            };
            warn!(
                target: LOG,
                "GET {path}: {}; trying again in {} ms",
                fault.error,
                wait.as_millis()
            );
            before = Some(fault.error);
            if !wait.is_zero() {
                sleep(wait).await;
            }
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Client").field(self.config()).finish()
    }
}

/// A success, apart from its body.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    bytes: usize,
}

impl Answer {
    /// The error of a body that breaks the contract.
    fn damaged(&self, damage: Damage) -> Error {
        match self.alien() {
            Some(content_type) => Error::UnexpectedReply {
                message: format!("{damage} (the answer says it is {content_type:?}, not JSON)"),
                path: damage.path,
            },
            None => damage.into(),
        }
    }

    /// The content type, if it is not JSON's.
    fn alien(&self) -> Option<String> {
        let content_type = self.headers.get(CONTENT_TYPE)?.as_bytes();
        let content_type = String::from_utf8_lossy(content_type);
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        let json = essence.eq_ignore_ascii_case("application/json")
            || essence.to_ascii_lowercase().ends_with("+json");
        (!json).then(|| config::shown(&content_type))
    }
}

/// How an attempt failed.
enum Failed {
    /// The deadline passed.
    Late,
    Fault(Fault),
}

/// One question under way.
struct Call<'a> {
    config: &'a Config,
    kept: &'a Kept,
    lines: &'a Lines,
    http: &'a reqwest::Client,
    path: &'a str,
    retries: Retries<'a>,
    deadline: Instant,
}

impl Call<'_> {
    /// One attempt from `start`, redirects followed.
    async fn attempt(&mut self, start: &Url, intake: &mut dyn Feed) -> Result<Answer, Failed> {
        let mut target = start.clone();
        let mut hop = 0;
        loop {
            // Waiting for one's turn is the caller's wish, not the service's slowness.
            self.deadline += self.kept.pace.turn().await;
            let begun = Instant::now();
            let reached = timeout_at(self.deadline, self.reach(target, hop, intake))
                .await
                .map_err(|_| Failed::Late)?
                .map_err(Failed::Fault)?;
            match reached {
                Reached::Answer(answer) => {
                    debug!(
                        target: LOG,
                        "GET {} -> {} in {} ms, {} bytes (attempt {})",
                        self.path,
                        answer.status.as_u16(),
                        begun.elapsed().as_millis(),
                        answer.bytes,
                        self.retries.attempts()
                    );
                    return Ok(answer);
                }
                // The redirect that would be one too many is a fault.
                Reached::Redirect(next) => target = next,
            }
            hop += 1;
        }
    }

    /// The head of a success, redirects followed; its body has no deadline.
    async fn open(&mut self, start: &Url, headers: &HeaderMap) -> Result<Response, Failed> {
        let mut target = start.clone();
        let mut hop = 0;
        loop {
            self.deadline += self.kept.pace.turn().await;
            let knocked = timeout_at(self.deadline, self.knock(target, hop, headers))
                .await
                .map_err(|_| Failed::Late)?
                .map_err(Failed::Fault)?;
            match knocked {
                Knocked::Success(response) => return Ok(response),
                Knocked::Redirect(next) => target = next,
            }
            hop += 1;
        }
    }

    /// One request and its whole answer.
    async fn reach(&self, target: Url, hop: u32, intake: &mut dyn Feed) -> Result<Reached, Fault> {
        match self.knock(target, hop, &HeaderMap::new()).await? {
            Knocked::Success(response) => self.whole(response, intake).await.map(Reached::Answer),
            Knocked::Redirect(next) => Ok(Reached::Redirect(next)),
        }
    }

    /// One request, up to the head of a success.
    async fn knock(&self, target: Url, hop: u32, headers: &HeaderMap) -> Result<Knocked, Fault> {
        let reused = self.lines.may_reuse() && self.retries.attempts() == 1;
        let response = self
            .http
            .get(target.clone())
            .headers(headers.clone())
            .send()
            .await
            .map_err(|error| Fault::before_the_answer(error, self.config, reused))?;
        let status = response.status();
        if status.is_success() {
            return Ok(Knocked::Success(response));
        }
        if matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
            && let Some(location) = response.headers().get(LOCATION)
        {
            let location = String::from_utf8_lossy(location.as_bytes()).into_owned();
            return match follow(&target, &location, hop) {
                Ok(next) => {
                    // Read to its end, so that the connection can be used again.
                    self.beginning(response).await;
                    Ok(Knocked::Redirect(next))
                }
                Err(why) => Err(self.refused(response, Some(&why)).await),
            };
        }
        Err(self.refused(response, None).await)
    }

    /// Hands the whole body of a success to `intake`, as long as it is not over the cap.
    async fn whole(&self, mut response: Response, intake: &mut dyn Feed) -> Result<Answer, Fault> {
        let cap = self.config.most_bytes();
        let announced = response
            .content_length()
            .map(|length| usize::try_from(length).unwrap_or(usize::MAX));
        let headers = std::mem::take(response.headers_mut());
        let spoiled = |spoiled: Spoiled, came: usize| spoilt(spoiled, cap, came);
        let spare = self.lines.spare();
        let mut body = Unpacking::begin(&headers, announced, cap, intake, spare)
            .map_err(|why| spoiled(why, 0))?;
        let mut came = 0;
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    body.take(&chunk).map_err(|why| spoiled(why, came))?;
                    came += chunk.len();
                }
                Ok(None) => break,
                Err(error) => return Err(Fault::within_the_body(error, self.config, came)),
            }
        }
        let (bytes, spare) = body.finish().map_err(|why| spoiled(why, came))?;
        self.lines.put_spare(spare);
        self.lines.answered();
        Ok(Answer {
            status: response.status(),
            headers,
            bytes,
        })
    }

    /// The beginning of a body that carries no reply.
    async fn beginning(&self, mut response: Response) -> Vec<u8> {
        let mut body = Vec::new();
        let deadline = self.deadline.min(Instant::now() + REFUSAL_PATIENCE);
        let read = async {
            // What breaks off is as good an explanation as there is.
            while body.len() < REFUSAL
                && let Ok(Some(chunk)) = response.chunk().await
            {
                let room = REFUSAL - body.len();
                body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
            }
        };
        if timeout_at(deadline, read).await.is_ok() {
            self.lines.answered();
        }
        coding::beginning(response.headers(), body, REFUSAL)
    }

    /// A status that is no success, or a redirect that is not followed, with the reason.
    async fn refused(&self, response: Response, unfollowed: Option<&str>) -> Fault {
        let status = response.status();
        let retry_after = retry::retry_after(response.headers());
        let body = self.beginning(response).await;
        let place = self.config.place();
        let path = self.path;
        let message = if let Some(why) = unfollowed {
            format!("{place} redirects {path} {why} ({status})")
        } else {
            // Any reply type will do: a refusal looks the same around all.
            match read::<Overview>(&body, true) {
                Ok(Reading::Refused { message }) => {
                    format!("{place} refused {path} ({status}): {message}")
                }
                _ => format!("{place} refused {path} ({status})"),
            }
        };
        Fault {
            kind: Kind::of(status),
            error: Error::Refused {
                status: status.as_u16(),
                body: error::excerpt(&body),
                retry_after,
                message,
            },
            retry_after,
        }
    }

    /// The fault that ends the call, which says after how many attempts.
    fn counted(&self, fault: Fault) -> Error {
        let attempts = self.retries.attempts();
        let mut error = fault.error;
        if attempts > 1
            && let Error::NoAnswer { message, .. } | Error::Refused { message, .. } = &mut error
        {
            *message = format!("{message}; {attempts} attempts");
        }
        error
    }

    fn too_slow(&self, before: Option<Error>) -> Error {
        let seconds = self.config.patience().as_secs_f64();
        Error::TooSlow {
            seconds,
            message: format!(
                "no complete answer from {} to {} within {seconds} s; {} attempts",
                self.config.place(),
                self.path,
                self.retries.attempts()
            ),
            source: before.map(Into::into),
        }
    }
}

/// Where a request led, its answer's body not yet read.
enum Knocked {
    Success(Response),
    Redirect(Url),
}

/// Where a request led.
enum Reached {
    Answer(Answer),
    Redirect(Url),
}

/// Where to follow a redirect to; why not, otherwise.
fn follow(from: &Url, location: &str, hop: u32) -> Result<Url, String> {
    let shown = config::masked(location);
    let Ok(target) = from.join(location) else {
        return Err(format!("to {shown:?}, which is not a URL"));
    };
    let place = |url: &Url| {
        (
            url.scheme().to_owned(),
            url.host_str().map(str::to_owned),
            url.port_or_known_default(),
        )
    };
    if place(from) != place(&target) || !target.username().is_empty() || target.password().is_some()
    {
        return Err(format!(
            "to {shown:?}, which is not followed: only the same scheme, host and port are"
        ));
    }
    if hop >= REDIRECTS {
        return Err(format!(
            "to {shown:?}, which is not followed: it would be more than {REDIRECTS} redirects"
        ));
    }
    Ok(target)
}

/// The fault of a body that cannot be taken after so many bytes.
fn spoilt(why: Spoiled, cap: usize, came: usize) -> Fault {
    let message = match why {
        Spoiled::Over => {
            format!("the body is larger than max_body = {cap} bytes after decompression")
        }
        Spoiled::Unknown(message) => message,
        Spoiled::Damaged(message) => {
            format!("the body cannot be decompressed after {came} bytes: {message}")
        }
    };
    Fault::final_(Error::UnexpectedReply {
        path: String::new(),
        message,
    })
}

fn no_answer(message: impl Into<String>) -> Error {
    Error::NoAnswer {
        message: message.into(),
        source: None,
    }
}

/// Why there can be no connection at all.
fn without_tls(config: &Config, cause: &Arc<reqwest::Error>) -> Error {
    Error::NoAnswer {
        message: format!(
            "https to {} needs trusted certificates and this machine shows none ({}); install the system's \
             certificates or set SSL_CERT_FILE to a PEM file",
            config.place(),
            fault::root(cause.as_ref())
        ),
        source: Some(Cause::from(Arc::clone(cause))),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_service_is_followed_to_and_three_times_at_most() {
        let from = Url::parse("http://data.example:8080/v1/api/x?q=1").unwrap();
        for location in [
            "/y",
            "z?q=2",
            "http://DATA.example:8080/",
            "?",
            "//data.example:8080/y",
        ] {
            assert!(follow(&from, location, 0).is_ok(), "{location}");
            let why = follow(&from, location, 3).unwrap_err();
            assert!(why.contains("more than 3"), "{why}");
        }
        for location in [
            "https://data.example:8080/y",
            "http://data.example/y",
            "http://data.example:8081/y",
            "http://169.254.169.254/latest/meta-data",
            "http://data.example.evil:8080/",
            "//other/y",
            "ftp://data.example:8080/y",
            "file:///etc/passwd",
            "data:,x",
        ] {
            assert!(
                follow(&from, location, 0).unwrap_err().contains(location),
                "{location}"
            );
        }
        let why = follow(&from, "http://me:hunter2@data.example:8080/y", 0).unwrap_err();
        assert!(!why.contains("hunter2"), "{why}");
        assert!(
            follow(&from, "http://[", 0)
                .unwrap_err()
                .contains("not a URL")
        );
    }

    /// Fails to resolve a name as often as told, then gives an address.
    struct Flaky {
        failures: std::sync::atomic::AtomicU32,
        at: std::net::SocketAddr,
    }

    impl reqwest::dns::Resolve for Flaky {
        fn resolve(&self, _: reqwest::dns::Name) -> reqwest::dns::Resolving {
            use std::sync::atomic::Ordering;
            let fails = self
                .failures
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                    left.checked_sub(1)
                })
                .is_ok();
            let at = self.at;
            Box::pin(async move {
                if fails {
                    return Err("no such host".into());
                }
                let addresses: reqwest::dns::Addrs = Box::new(std::iter::once(at));
                Ok(addresses)
            })
        }
    }

    #[tokio::test]
    async fn a_name_that_does_not_resolve_is_tried_again() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4096]).await.unwrap();
            let answer =
                "HTTP/1.1 200 OK\r\ncontent-length: 26\r\n\r\n{\"success\":true,\"data\":[]}";
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
        for (failures, retries, works) in [(3, 2, false), (2, 2, true)] {
            let failures = std::sync::atomic::AtomicU32::new(failures);
            // A resolver's address gives no port of its own.
            let config = Config::new(&format!("http://data.localhost:{}", at.port())).unwrap();
            let config = config.retries(retries).unwrap();
            let client = Client::new(
                config
                    .proxy(None)
                    .unwrap()
                    .resolver(Arc::new(Flaky { failures, at })),
            );
            let answer = client
                .unwrap()
                .send(&crate::api::Coins::new("24h", 1).unwrap())
                .await;
            match answer {
                Ok(rows) => assert!(works && rows.is_empty()),
                Err(error) => {
                    let text = error.to_string();
                    assert!(!works && text.contains("cannot resolve the name"), "{text}");
                    assert!(text.contains("no such host"), "{text}");
                }
            }
        }
    }

    #[test]
    fn a_debugged_client_shows_its_options_and_no_secret() {
        let config = Config::new("http://127.0.0.1:1").unwrap();
        let client = Client::new(config.headers([("X-Key", "hunter2")]).unwrap()).unwrap();
        let debug = format!("{client:?}");
        assert!(
            debug.contains("127.0.0.1:1") && !debug.contains("hunter2"),
            "{debug}"
        );
    }
}
