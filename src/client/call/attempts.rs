//! Makes the attempts of one call.
//!
//! An attempt is one try to get a successful answer. It includes redirects. An unsuccessful answer is a refusal.

use std::time::Duration;

use log::debug;
use reqwest::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Response, StatusCode};
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::client::call::decompress;
use crate::client::call::decompress::{Spoiled, Unpacking};
use crate::client::call::fault::AttemptFault;
use crate::client::call::retries::{FailureKind, Retries};
use crate::client::config::Config;
use crate::client::connection::connections::Connections;
use crate::client::connection::pool::ProcessState;
use crate::client::dialect::Dialect;
use crate::client::error;
use crate::client::error::Error;
use crate::client::extensions::parameters::{Explanation, Headed};
use crate::contract::decode::DecodeError;
use crate::contract::{NOW, OPEN_INTEREST, OPEN_INTEREST_AGE, RELATIVE, RefusedBody};
use crate::model::{EarlierBar, PeriodCoverage, TimeUnit, VenueCoverage};
use crate::net::retry_after;

/// Maximum number of redirects followed in one attempt.
const REDIRECTS: u32 = 3;
/// Maximum number of bytes read from the body of a refusal. A shorter body is read to its end, so that its connection
/// can be reused.
const REFUSAL: usize = 64 << 10;
/// Time limit for reading the body of a refusal.
const REFUSAL_PATIENCE: Duration = Duration::from_secs(1);

/// The log target of the client.
pub(crate) const LOG: &str = "liqdata.client";

/// The log target for reports of missing archive rows. The log queue of the binding never drops such reports.
pub(crate) const ARCHIVE_LOG: &str = "liqdata.archive";

/// Additional facts about a reply, from the headers and the explanation of its answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remarks {
    /// Whether the amounts of an estimate are relative: open interest is unknown, and a multiple of the volume
    /// replaces it.
    pub relative: bool,
    /// Age of the open-interest reading that the estimate uses, in milliseconds, if known.
    pub open_interest_age: Option<i64>,
    /// The explanation as JSON, if requested.
    pub explain: Option<String>,
    /// Coverage of each exchange in the time range of the reply, if requested for realised data.
    pub coverage: Option<Vec<VenueCoverage>>,
    /// The first bar in the requested range that the reply omits because it cannot be converted to the requested
    /// interval. Set if an explanation was requested.
    pub earlier: Option<EarlierBar>,
    /// How much of the period of the reply is covered, if requested for realised data.
    pub period: Option<PeriodCoverage>,
    /// Whether more orders match than the page has, if requested for orders.
    pub more: Option<bool>,
    /// The unit of the times in the answer, if it is not the millisecond. The reply has them converted to milliseconds.
    pub time_unit: Option<TimeUnit>,
}

/// The status and headers of a successful answer.
pub(crate) struct ResponseHead {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    bytes: usize,
}

impl ResponseHead {
    /// The remarks of the answer.
    pub(crate) fn remarks(&self, account: Explanation, time_unit: Option<TimeUnit>) -> Remarks {
        let scale = self.headers.get(OPEN_INTEREST);
        Remarks {
            relative: scale.is_some_and(|scale| scale.as_bytes() == RELATIVE.as_bytes()),
            open_interest_age: self
                .headers
                .get(OPEN_INTEREST_AGE)
                .and_then(|age| age.to_str().ok()?.parse().ok()),
            explain: account.text,
            coverage: account.coverage,
            earlier: account.earlier,
            period: account.period,
            more: account.more,
            time_unit,
        }
    }

    /// The error for a body that breaks the contract.
    pub(crate) fn damaged(&self, damage: DecodeError) -> Error {
        match self.alien() {
            Some(content_type) => Error::UnexpectedReply {
                message: format!(
                    "{damage} (the answer has the content type {content_type:?}, not JSON)"
                ),
                path: damage.path,
            },
            None => damage.into(),
        }
    }

    /// The content type, if it is not JSON.
    fn alien(&self) -> Option<String> {
        let content_type = self.headers.get(CONTENT_TYPE)?.as_bytes();
        let content_type = String::from_utf8_lossy(content_type);
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        let json = essence.eq_ignore_ascii_case("application/json")
            || essence.to_ascii_lowercase().ends_with("+json");
        (!json).then(|| error::shortened(&content_type))
    }
}

/// Why an attempt failed.
pub(crate) enum Failed {
    /// The deadline passed.
    Late,
    Fault(AttemptFault),
}

/// What a request sends in addition to its address, and its weight in the limit of the service.
#[derive(Clone, Copy)]
pub(crate) struct Posted<'a> {
    pub(crate) weight: u32,
    /// The pairs of a form. With them the request is a POST.
    pub(crate) form: Option<&'a [(String, String)]>,
}

impl Default for Posted<'_> {
    fn default() -> Self {
        Self {
            weight: 1,
            form: None,
        }
    }
}

/// A call in progress.
pub(crate) struct Call<'a> {
    pub(crate) config: &'a Config,
    pub(crate) dialect: &'static dyn Dialect,
    pub(crate) live: &'a ProcessState,
    pub(crate) connections: &'a Connections,
    pub(crate) http: &'a reqwest::Client,
    pub(crate) path: &'a str,
    pub(crate) posted: Posted<'a>,
    pub(crate) retries: Retries<'a>,
    pub(crate) deadline: Instant,
}

impl Call<'_> {
    /// Requests `start`, follows redirects and passes the body to `intake`.
    pub(crate) async fn attempt(
        &mut self,
        start: &Url,
        headers: &HeaderMap,
        intake: &mut dyn Headed,
    ) -> Result<ResponseHead, Failed> {
        let (response, begun) = self.open(start, headers).await?;
        let answer = timeout_at(self.deadline, self.whole(response, intake))
            .await
            .map_err(|_| Failed::Late)?
            .map_err(Failed::Fault)?;
        debug!(
            target: LOG,
            "GET {} -> {} in {} ms, {} bytes (attempt {})",
            self.path,
            answer.status.as_u16(),
            begun.elapsed().as_millis(),
            answer.bytes,
            self.retries.attempts()
        );
        Ok(answer)
    }

    /// Requests `start` and follows redirects. Returns the successful answer and the time of its request. The body is
    /// not yet read and has no deadline.
    pub(crate) async fn open(
        &mut self,
        start: &Url,
        headers: &HeaderMap,
    ) -> Result<(Response, Instant), Failed> {
        let mut target = start.clone();
        let mut hop = 0;
        loop {
            // Waiting for the rate limiter does not count against the deadline.
            self.deadline += self.live.turn(self.posted.weight).await;
            let begun = Instant::now();
            let head = timeout_at(self.deadline, self.head(target, hop, headers))
                .await
                .map_err(|_| Failed::Late)?
                .map_err(Failed::Fault)?;
            match head {
                Head::Success(response) => return Ok((response, begun)),
                // `head` returns a fault for a redirect beyond the allowed number.
                Head::Redirect(next) => target = next,
            }
            hop += 1;
        }
    }

    /// Sends one request and reads the head of the answer.
    async fn head(&self, target: Url, hop: u32, headers: &HeaderMap) -> Result<Head, AttemptFault> {
        let reused = self.connections.may_reuse() && self.retries.attempts() == 1;
        let request = match self.posted.form {
            Some(form) => {
                let body = url::form_urlencoded::Serializer::new(String::new())
                    .extend_pairs(form)
                    .finish();
                self.http
                    .post(target.clone())
                    .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                    .body(body)
            }
            None => self.http.get(target.clone()),
        };
        let response = request
            .headers(headers.clone())
            .send()
            .await
            .map_err(|error| AttemptFault::before_the_answer(error, self.config, reused))?;
        let status = response.status();
        if status.is_success() {
            return Ok(Head::Success(response));
        }
        if matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
            && let Some(location) = response.headers().get(LOCATION)
        {
            let location = String::from_utf8_lossy(location.as_bytes()).into_owned();
            return match follow(&target, &location, hop) {
                Ok(next) => {
                    // The body is read to its end so that the connection can be reused.
                    self.beginning(response).await;
                    Ok(Head::Redirect(next))
                }
                Err(why) => Err(self.refused(response, Some(&why)).await),
            };
        }
        Err(self.refused(response, None).await)
    }

    /// Passes the body of a successful answer to `intake`. Fails if it exceeds the size limit.
    async fn whole(
        &self,
        mut response: Response,
        intake: &mut dyn Headed,
    ) -> Result<ResponseHead, AttemptFault> {
        let cap = self.config.most_bytes();
        let announced = response
            .content_length()
            .map(|length| usize::try_from(length).unwrap_or(usize::MAX));
        let headers = std::mem::take(response.headers_mut());
        intake.see(&headers);
        let spoiled = |spoiled: Spoiled, came: usize| spoilt(spoiled, cap, came);
        let spare = self.connections.spare();
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
                Err(error) => return Err(AttemptFault::within_the_body(error, self.config, came)),
            }
        }
        let (bytes, spare) = body.finish().map_err(|why| spoiled(why, came))?;
        self.connections.put_spare(spare);
        self.connections.answered();
        Ok(ResponseHead {
            status: response.status(),
            headers,
            bytes,
        })
    }

    /// Reads and decompresses at most [`REFUSAL`] bytes of an unsuccessful answer's body.
    async fn beginning(&self, mut response: Response) -> Vec<u8> {
        let mut body = Vec::new();
        let deadline = self.deadline.min(Instant::now() + REFUSAL_PATIENCE);
        let read = async {
            // If the body breaks off, the part that arrived still goes into the error message.
            while body.len() < REFUSAL
                && let Ok(Some(chunk)) = response.chunk().await
            {
                let room = REFUSAL - body.len();
                body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
            }
        };
        if timeout_at(deadline, read).await.is_ok() {
            self.connections.answered();
        }
        decompress::beginning(response.headers(), body, REFUSAL)
    }

    /// The fault for an unsuccessful status, or for a redirect that is not followed.
    async fn refused(&self, response: Response, unfollowed: Option<&str>) -> AttemptFault {
        let status = response.status();
        let retry_after = retry_after(response.headers());
        let ours = response.headers().contains_key(NOW);
        let body = self.beginning(response).await;
        // Secrets are removed before the text is cut.
        let body = self
            .config
            .secrets()
            .veiled(&String::from_utf8_lossy(&body));
        let body = body.as_bytes();
        if ours
            && status == StatusCode::BAD_REQUEST
            && let Some(refusal) = RefusedBody::bad_query(body)
        {
            return AttemptFault {
                kind: FailureKind::of(status),
                error: refusal.into(),
                retry_after,
            };
        }
        let service = self.config.service_name();
        let path = self.path;
        let message = if let Some(why) = unfollowed {
            format!("{service} redirects {path} {why} ({status})")
        } else {
            let reason = self.dialect.reason(body).or_else(|| error::plain(body));
            let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
            let hint = self.hint(status);
            let wait = retry_after
                .map_or_else(String::new, |seconds| format!("; retry after {seconds} s"));
            format!("{service} refused {path} ({status}){reason}{wait}{hint}")
        };
        let kind = if self.dialect.is_final(body) {
            FailureKind::Final
        } else if self.dialect.throttles(body) {
            FailureKind::Throttled
        } else {
            FailureKind::of(status)
        };
        AttemptFault {
            kind,
            error: Error::Refused {
                status: status.as_u16(),
                body: error::excerpt(body),
                retry_after,
                message,
            },
            retry_after,
        }
    }

    /// The fault for an answer with a successful status and a body that asks to slow down.
    pub(crate) fn throttled(&self, answer: &ResponseHead, body: &[u8]) -> AttemptFault {
        let retry_after = retry_after(&answer.headers);
        let reason = self.dialect.reason(body).unwrap_or_default();
        AttemptFault {
            kind: FailureKind::Throttled,
            error: Error::Refused {
                status: answer.status.as_u16(),
                body: error::excerpt(body),
                retry_after,
                message: format!(
                    "{} refused {} (too many requests): {reason}",
                    self.config.service_name(),
                    self.path
                ),
            },
            retry_after,
        }
    }

    /// A hint about credentials for status 401 or 403, else an empty text.
    fn hint(&self, status: StatusCode) -> String {
        if !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return String::new();
        }
        match self.dialect.key_header() {
            Some(header) => format!("; send a key in the header {header}"),
            None if self.config.says_who_asks() && status == StatusCode::UNAUTHORIZED => {
                "; the token that was sent is not accepted".to_owned()
            }
            None if self.config.says_who_asks() => "; a token was sent".to_owned(),
            None => {
                "; no token was sent: give a token with token= or $LIQDATA_TOKEN, or another key with headers="
                    .to_owned()
            }
        }
    }

    /// The error that ends the call: that of the last attempt, with the number of attempts.
    pub(crate) fn counted(&self, fault: AttemptFault) -> Error {
        self.with_attempts(fault, "")
    }

    /// The error of a stream that ends: it gives the number of attempts since the last new event.
    pub(crate) fn fruitless(&self, fault: AttemptFault) -> Error {
        self.with_attempts(fault, " without a new event")
    }

    fn with_attempts(&self, fault: AttemptFault, suffix: &str) -> Error {
        let attempts = self.retries.attempts();
        let mut error = fault.error;
        if attempts > 1
            && let Error::NoAnswer { message, .. } | Error::Refused { message, .. } = &mut error
        {
            *message = format!("{message}; {attempts} attempts{suffix}");
        }
        error
    }

    pub(crate) fn too_slow(&self, before: Option<Error>) -> Error {
        let seconds = self.config.patience().as_secs_f64();
        Error::TooSlow {
            seconds,
            message: format!(
                "no complete answer from {} to {} within {seconds} s; {} attempts",
                self.config.service_name(),
                self.path,
                self.retries.attempts()
            ),
            source: before.map(Into::into),
        }
    }
}

/// The result of one request before its body is read.
enum Head {
    Success(Response),
    Redirect(Url),
}

/// The target of a redirect, or the reason why the redirect is not followed.
fn follow(from: &Url, location: &str, hop: u32) -> Result<Url, String> {
    let masked = error::masked(location);
    let Ok(target) = from.join(location) else {
        return Err(format!("to {masked:?}, which is not a URL"));
    };
    let origin = |url: &Url| {
        (
            url.scheme().to_owned(),
            url.host_str().map(str::to_owned),
            url.port_or_known_default(),
        )
    };
    if origin(from) != origin(&target)
        || !target.username().is_empty()
        || target.password().is_some()
    {
        return Err(format!(
            "to {masked:?}, which is not followed, because its scheme, host or port differs"
        ));
    }
    if hop >= REDIRECTS {
        return Err(format!(
            "to {masked:?}, which is not followed, because at most {REDIRECTS} redirects are followed"
        ));
    }
    Ok(target)
}

/// The fault for a body that cannot be decoded; `came` is the number of bytes received.
fn spoilt(why: Spoiled, cap: usize, came: usize) -> AttemptFault {
    let message = match why {
        Spoiled::Over => {
            format!("the body is larger than max_body = {cap} bytes after decompression")
        }
        Spoiled::Unknown(message) => message,
        Spoiled::Damaged(message) => {
            format!("the body cannot be decompressed after {came} bytes: {message}")
        }
    };
    AttemptFault::final_(Error::UnexpectedReply {
        path: String::new(),
        message,
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::client::call::attempts::*;

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
            assert!(why.contains("at most 3"), "{why}");
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
}
