//! Checks bearer tokens, host names and origins of requests.

use std::net::IpAddr;

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    AUTHORIZATION, HOST, ORIGIN, VARY,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};

use crate::contract::MCP;
use crate::net::is_local_name;
use crate::server::access::tokens::{TokenDigest, Tokens};
use crate::server::reject::Rejection;

/// Who may send requests to a server.
///
/// By default, any client that can reach the server may, if it uses an address of the server or `localhost`.
///
/// # Examples
///
/// ```
/// use liqdata::server::{Access, Tokens};
///
/// # fn main() -> std::io::Result<()> {
/// let access = Access {
///     tokens: Tokens::default().with("correct-horse-battery")?,
///     hosts: vec!["liqdata.example.org".to_owned()],
///     ..Access::default()
/// };
/// assert!(access.origins.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Accepted bearer tokens. If there are none, no token is required.
    pub tokens: Tokens,
    /// Host names that the server answers to, in addition to its addresses and `localhost`.
    pub hosts: Vec<String>,
    /// Origins that may read answers in a browser (CORS).
    pub origins: Vec<String>,
}

/// The headers of a browser's request to `/mcp`, for CORS.
const AGENT_HEADERS: &str =
    "authorization, content-type, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id";

/// Request extension: this server requires a token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guarded;

/// An admitted request: its token, and the headers that a browser needs in the response.
#[derive(Debug, Default)]
pub(crate) struct Passed {
    /// The token that admitted it, if one is required.
    pub(crate) token: Option<TokenDigest>,
    origin: Option<HeaderValue>,
    varies: bool,
}

impl Access {
    /// Whether no token is required.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.tokens.asked_for()
    }

    /// Refuses a request without access. Answers a CORS preflight request.
    ///
    /// `local` says that the server listens on a loopback address only, `open` that the request needs no token.
    pub(crate) fn check<B>(
        &self,
        request: &Request<B>,
        local: bool,
        open: bool,
    ) -> Result<Passed, Box<Response<Body>>> {
        use axum::response::IntoResponse;

        let refused = |rejection: Rejection| Box::new(rejection.into_response());
        let headers = request.headers();
        if let Some(host) = named(request)
            && !self.answers_to(&host, local)
        {
            return Err(refused(Rejection::Misdirected { host }));
        }
        let of_agents = request.uri().path() == MCP;
        if of_agents
            && let Some(origin) = headers.get(ORIGIN)
            && !self.lets_read(origin)
            && !is_own(origin, headers)
        {
            let origin = String::from_utf8_lossy(origin.as_bytes()).into_owned();
            return Err(refused(Rejection::ForeignOrigin { origin }));
        }
        let passed = Passed {
            token: bearer(headers).and_then(|token| self.tokens.accepted(token)),
            origin: headers
                .get(ORIGIN)
                .filter(|origin| self.lets_read(origin))
                .cloned(),
            varies: !self.origins.is_empty(),
        };
        if passed.origin.is_some()
            && request.method() == Method::OPTIONS
            && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
        {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            let (methods, names) = if of_agents {
                ("POST", AGENT_HEADERS)
            } else {
                ("GET, HEAD", "authorization, last-event-id, prefer")
            };
            let allowed = [
                (ACCESS_CONTROL_ALLOW_METHODS, methods),
                (ACCESS_CONTROL_ALLOW_HEADERS, names),
                (ACCESS_CONTROL_MAX_AGE, "600"),
            ];
            for (name, value) in allowed {
                response
                    .headers_mut()
                    .insert(name, HeaderValue::from_static(value));
            }
            passed.add_headers(response.headers_mut());
            return Err(Box::new(response));
        }
        if !open && !self.is_open() && passed.token.is_none() {
            let mut response = refused(Rejection::Unauthorized);
            passed.add_headers(response.headers_mut());
            return Err(response);
        }
        Ok(passed)
    }

    /// The owner of the token in these headers, for the access log.
    pub(crate) fn owner(&self, headers: &HeaderMap) -> Option<String> {
        bearer(headers).and_then(|token| self.tokens.owner(token))
    }

    /// Whether `host` names this server. The check prevents DNS rebinding, in which a foreign host name resolves to
    /// this server.
    fn answers_to(&self, host: &str, local: bool) -> bool {
        if let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
            return !local || address.to_canonical().is_loopback() || self.names(host);
        }
        is_local_name(host) || self.names(host)
    }

    fn names(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        self.hosts
            .iter()
            .any(|name| name.eq_ignore_ascii_case(host))
    }

    fn lets_read(&self, origin: &HeaderValue) -> bool {
        self.origins
            .iter()
            .any(|known| known.as_bytes() == origin.as_bytes())
    }
}

impl Passed {
    /// Adds the CORS headers for an allowed origin.
    pub(crate) fn add_headers(&self, headers: &mut HeaderMap) {
        if self.varies {
            headers.append(VARY, HeaderValue::from(ORIGIN));
        }
        if let Some(origin) = &self.origin {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            let more = "etag, retry-after, x-liqdata-now, x-liqdata-simulated, x-liqdata-open-interest, \
                        x-liqdata-open-interest-age, x-liqdata-damaged, preference-applied";
            headers.insert(
                ACCESS_CONTROL_EXPOSE_HEADERS,
                HeaderValue::from_static(more),
            );
        }
    }
}

/// The host of a request, in lower case without its port. `None` if the request names no host; browsers always do.
fn named<B>(request: &Request<B>) -> Option<String> {
    let host = if let Some(authority) = request.uri().authority() {
        authority.host().to_owned()
    } else {
        let mut named = request.headers().get_all(HOST).iter();
        let first = String::from_utf8_lossy(named.next()?.as_bytes());
        // If there are several values, a proxy may have used a different one. The joined text matches no host, so the
        // request is refused.
        let text = named.fold(first.into_owned(), |all, more| {
            format!("{all}, {}", String::from_utf8_lossy(more.as_bytes()))
        });
        // A value that is not a valid authority is compared unchanged. The value matches no host, so the request is
        // refused.
        text.parse::<Authority>()
            .map_or(text, |authority| authority.host().to_owned())
    };
    Some(host.to_ascii_lowercase())
}

/// Whether a page of this server sends the request.
fn is_own(origin: &HeaderValue, headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).map(HeaderValue::as_bytes);
    let authority = [&b"http://"[..], b"https://"]
        .into_iter()
        .find_map(|scheme| origin.as_bytes().strip_prefix(scheme));
    matches!((authority, host), (Some(authority), Some(host)) if authority.eq_ignore_ascii_case(host))
}

fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    // Two values are ambiguous, so neither is accepted.
    let (one, None) = (given.next()?.as_bytes(), given.next()) else {
        return None;
    };
    let (scheme, token) = one.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}
