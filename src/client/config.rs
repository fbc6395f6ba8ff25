//! The options of a client, checked before any connection.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::error::{masked, shortened};
use crate::client::call::secrets::Secrets;
use crate::contract::BadQuery;
use crate::net::{self, NoClient, is_loopback};

const BASE_URLS: &str =
    r#"an http or https URL without user info, query or fragment, such as "https://data.example""#;
const PROXIES: &str = r#"an http or https URL such as "http://user:password@proxy.example:3128""#;
const SECONDS: &str = "a number of seconds from 0.001 to 31536000";
const RETRIES: &str = "a whole number from 0 to 100";
const RATES: &str = "a number of requests per second from 0.000001 to 1000000";
const BODIES: &str = "a whole number of bytes from 1 to 1099511627776";
const HEADERS: &str = "HTTP header names and values, except headers that the client sets itself";

/// Headers that frame or route a request. The client sets them itself.
const FRAMING: [&str; 8] = [
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Checked options of a [`Client`](super::Client).
///
/// # Examples
///
/// ```
/// use liqdata::client::Config;
///
/// let config = Config::new("https://data.example/v1/")?.timeout(30.0)?.retries(2)?;
/// assert_eq!(config.base_url(), "https://data.example/v1");
/// assert_eq!(Config::new("ftp://data.example").unwrap_err().parameter, "base_url");
/// # Ok::<(), liqdata::contract::BadQuery>(())
/// ```
#[derive(Clone)]
pub struct Config {
    base: Url,
    base_text: String,
    timeout: Duration,
    connect_timeout: Duration,
    retries: u32,
    rate_limit: Option<f64>,
    max_body: usize,
    headers: HeaderMap,
    /// Texts that must not be displayed besides the values of headers.
    hidden: Vec<String>,
    /// Texts that must not be displayed: header values, the password of the proxy and `hidden`.
    secrets: Secrets,
    proxy: Option<Url>,
    /// The proxy that the environment sets for the service.
    surrounding: Option<net::Proxy>,
    /// An environment variable that should name the proxy for the service, but names none.
    proxy_fault: Option<net::ProxyFault>,
    user_agent: String,
    #[cfg(test)]
    resolver: Option<std::sync::Arc<dyn reqwest::dns::Resolve>>,
}

impl Config {
    /// Default options for a service at `base_url`, which may have a path prefix and a trailing slash.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for an address that is malformed, not http(s), without a host, or with user info, a query or a
    /// fragment.
    pub fn new(base_url: &str) -> Result<Self, BadQuery> {
        let base = base(base_url)?;
        let proxies = net::Proxies::of_system();
        Ok(Self {
            base_text: base.as_str().trim_end_matches('/').to_owned(),
            surrounding: proxies.towards(&base),
            proxy_fault: proxies.fault(&base).cloned(),
            base,
            timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(5),
            retries: 4,
            rate_limit: None,
            max_body: 64 << 20,
            headers: HeaderMap::new(),
            hidden: Vec::new(),
            secrets: Secrets::default(),
            proxy: None,
            user_agent: concat!("liqdata/", env!("CARGO_PKG_VERSION")).to_owned(),
            #[cfg(test)]
            resolver: None,
        })
    }

    /// Sets the deadline of a call in seconds, over all attempts and the delays between them.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for anything but a number from 0.001 to 31536000 (a year).
    pub fn timeout(mut self, seconds: f64) -> Result<Self, BadQuery> {
        self.timeout = duration("timeout", seconds)?;
        Ok(self)
    }

    /// Sets the deadline of one connection attempt in seconds.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for anything but a number from 0.001 to 31536000 (a year).
    pub fn connect_timeout(mut self, seconds: f64) -> Result<Self, BadQuery> {
        self.connect_timeout = duration("connect_timeout", seconds)?;
        Ok(self)
    }

    /// Sets the maximum number of retries.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for anything but a number from 0 to 100.
    pub fn retries(mut self, retries: i128) -> Result<Self, BadQuery> {
        self.retries = u32::try_from(retries)
            .ok()
            .filter(|&retries| retries <= 100)
            .ok_or_else(|| out_of_bounds("retries", retries, RETRIES))?;
        Ok(self)
    }

    /// Sets the maximum requests per second, retries included; `None` for no limit.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for anything but a number from 0.000001 to 1000000.
    pub fn rate_limit(mut self, per_second: Option<f64>) -> Result<Self, BadQuery> {
        if let Some(rate) = per_second
            && !(1e-6..=1e6).contains(&rate)
        {
            return Err(out_of_bounds("rate_limit", rate, RATES));
        }
        self.rate_limit = per_second;
        Ok(self)
    }

    /// Sets the maximum size of a body, in bytes after decompression.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for anything but a number from 1 to 2^40.
    pub fn max_body(mut self, bytes: i128) -> Result<Self, BadQuery> {
        self.max_body = usize::try_from(bytes)
            .ok()
            .filter(|_| (1..=1 << 40).contains(&bytes))
            .ok_or_else(|| out_of_bounds("max_body", bytes, BODIES))?;
        Ok(self)
    }

    /// The secrets to redact from messages.
    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Sets the headers sent with every request. They replace all headers set before.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for an invalid header, a header that the client itself sets, or a name given twice. The message
    /// never contains a value.
    pub fn headers<N: AsRef<str>, V: AsRef<str>>(
        mut self,
        headers: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, BadQuery> {
        self.headers.clear();
        for (name, value) in headers {
            let name = name.as_ref();
            let refuse = |what: &str| {
                BadQuery::new("headers", format!("{:?} {what}", shortened(name)), HEADERS)
            };
            let key = HeaderName::from_str(name).map_err(|_| refuse("is not a header name"))?;
            if FRAMING.contains(&key.as_str()) {
                return Err(refuse("is set by the client itself"));
            }
            let mut value = HeaderValue::from_str(value.as_ref()).map_err(|_| {
                refuse("has a value with characters that are not allowed in a header")
            })?;
            value.set_sensitive(true);
            if self.headers.insert(key, value).is_some() {
                return Err(refuse("is given twice"));
            }
        }
        self.hide();
        Ok(self)
    }

    /// Sets texts that no error and no log record shows, besides the values of headers: keys that are sent otherwise.
    #[must_use]
    pub fn hidden(mut self, texts: Vec<String>) -> Self {
        self.hidden = texts;
        self.hide();
        self
    }

    fn hide(&mut self) {
        let headers = self.headers.values();
        let headers = headers.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let password = self.proxy.as_ref().and_then(Url::password);
        let password =
            password.map(|text| percent_decode_str(text).decode_utf8_lossy().into_owned());
        self.secrets = Secrets::named(headers.chain(password).chain(self.hidden.iter().cloned()));
    }

    /// Sets the proxy for every request. `None` uses the proxy that the environment sets, which is the default.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for anything but an http(s) URL. The message does not show the password.
    pub fn proxy(mut self, url: Option<&str>) -> Result<Self, BadQuery> {
        self.proxy = url.map(proxy).transpose()?;
        self.hide();
        Ok(self)
    }

    /// Appends `suffix` to the User-Agent, which becomes `liqdata/<version> <suffix>`.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for text that is not valid in a header.
    pub fn user_agent(mut self, suffix: &str) -> Result<Self, BadQuery> {
        let printable = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
        if suffix.trim().is_empty() || !suffix.bytes().all(printable) {
            return Err(BadQuery::new(
                "user_agent",
                format!("{:?} is not allowed in a header", shortened(suffix)),
                "printable ASCII text",
            ));
        }
        self.user_agent = format!(
            "{} {}",
            concat!("liqdata/", env!("CARGO_PKG_VERSION")),
            suffix.trim()
        );
        Ok(self)
    }

    /// The service's address, without a trailing slash.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_text
    }

    /// Whether the proxy address holds credentials, which must not leave the process.
    #[must_use]
    pub fn holds_credentials(&self) -> bool {
        self.proxy
            .as_ref()
            .is_some_and(|proxy| !proxy.username().is_empty() || proxy.password().is_some())
    }

    /// The deadline of a call.
    pub(crate) fn patience(&self) -> Duration {
        self.timeout
    }

    /// The deadline of one attempt to connect.
    pub(crate) fn connect_patience(&self) -> Duration {
        self.connect_timeout
    }

    pub(crate) fn most_retries(&self) -> u32 {
        self.retries
    }

    pub(crate) fn most_bytes(&self) -> usize {
        self.max_body
    }

    pub(crate) fn rate(&self) -> Option<f64> {
        self.rate_limit
    }

    /// The URL of `path` below the base address, with its query.
    pub(crate) fn address<K: AsRef<str>>(&self, path: &str, query: &[(K, String)]) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        if !query.is_empty() {
            let pairs = query.iter().map(|(name, value)| (name.as_ref(), value));
            url.query_pairs_mut().extend_pairs(pairs);
        }
        url
    }

    /// Host and port of the service for messages. Includes the proxy and the setting that names the proxy.
    pub(crate) fn service_name(&self) -> String {
        let service = self.base.authority();
        match (&self.proxy, &self.surrounding) {
            (Some(proxy), _) => format!("{service} (through the proxy {})", bare(proxy)),
            (None, Some(proxy)) => format!("{service} through {proxy}"),
            (None, None) => service.to_owned(),
        }
    }

    /// Refuses an environment variable that should name the proxy for the service, but names none.
    pub(crate) fn check_proxy(&self) -> Result<(), BadQuery> {
        match &self.proxy_fault {
            Some(fault) if self.proxy.is_none() => {
                let problem = format!(
                    "{:?}, the value of {}, is not the address of a proxy",
                    fault.value, fault.variable
                );
                let allowed = format!("{} with a host and a port, or proxy=", net::SCHEMES);
                Err(BadQuery::new("proxy", problem, allowed))
            }
            _ => Ok(()),
        }
    }

    /// Whether requests have an `Authorization` header.
    pub(crate) fn says_who_asks(&self) -> bool {
        self.headers.contains_key(reqwest::header::AUTHORIZATION)
    }

    /// Whether the caller chose the header `Accept`.
    pub(crate) fn accepts(&self) -> bool {
        self.headers.contains_key(reqwest::header::ACCEPT)
    }

    /// Builds the HTTP client. Reads the trusted certificates unless no connection can use TLS.
    ///
    /// # Errors
    ///
    /// Usually that the system has no trusted certificates, for an https address.
    pub(crate) fn http(&self) -> Result<reqwest::Client, NoClient> {
        let secure = self.base.scheme() == "https";
        let tls = if secure {
            Some(net::trusting()?)
        } else if self.proxy.is_none() && is_loopback(&self.base) {
            None
        } else {
            // An https proxy may need TLS.
            net::trusting().ok()
        };
        net::client(self.builder()?, tls)
    }

    fn builder(&self) -> Result<reqwest::ClientBuilder, reqwest::Error> {
        let mut headers = self.headers.clone();
        headers
            .entry(reqwest::header::ACCEPT)
            .or_insert(HeaderValue::from_static("application/json"));
        headers
            .entry(reqwest::header::ACCEPT_ENCODING)
            .or_insert(HeaderValue::from_static(
                crate::client::call::decompress::ACCEPTED,
            ));
        let builder = reqwest::Client::builder()
            .user_agent(&self.user_agent)
            .default_headers(headers)
            .connect_timeout(self.connect_timeout)
            // This client handles decompression, redirects and retries itself.
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never());
        #[cfg(test)]
        let builder = match &self.resolver {
            Some(resolver) => builder.dns_resolver(std::sync::Arc::clone(resolver)),
            None => builder,
        };
        Ok(match &self.proxy {
            Some(proxy) => builder.proxy(reqwest::Proxy::all(proxy.clone())?),
            // Without this, `HTTP_PROXY` would also apply to loopback addresses.
            None if is_loopback(&self.base) => builder.no_proxy(),
            None => builder,
        })
    }

    /// Uses `resolver` for host names.
    #[cfg(test)]
    pub(crate) fn resolver(mut self, resolver: std::sync::Arc<dyn reqwest::dns::Resolve>) -> Self {
        self.resolver = Some(resolver);
        self
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("base_url", &self.base_text)
            .field("timeout", &self.timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("retries", &self.retries)
            .field("rate_limit", &self.rate_limit)
            .field("max_body", &self.max_body)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("proxy", &self.proxy.as_ref().map(bare))
            .field("user_agent", &self.user_agent)
            .finish_non_exhaustive()
    }
}

fn base(text: &str) -> Result<Url, BadQuery> {
    let refuse =
        |what: &str| BadQuery::new("base_url", format!("{:?} {what}", masked(text)), BASE_URLS);
    if text.trim().is_empty() {
        return Err(refuse("is blank"));
    }
    let url = address(text).map_err(|what| refuse(&what))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refuse("carries user info"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("has a query or a fragment"));
    }
    Ok(url)
}

fn proxy(text: &str) -> Result<Url, BadQuery> {
    let refuse = |what: &str| BadQuery::new("proxy", format!("{:?} {what}", masked(text)), PROXIES);
    if !text.contains("://") {
        return Err(refuse("has no scheme"));
    }
    let url = address(text).map_err(|what| refuse(&what))?;
    if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("has a path, a query or a fragment"));
    }
    Ok(url)
}

/// Parses the address of a service or proxy. The error says what is wrong with the address.
fn address(text: &str) -> Result<Url, String> {
    // Blanks and line breaks are refused here, because the URL parser silently removes them.
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err("contains blanks or control characters".to_owned());
    }
    let url = Url::parse(text).map_err(|fault| format!("is not a URL: {fault}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("is neither http nor https".to_owned());
    }
    if url.host().is_none() {
        return Err("has no host".to_owned());
    }
    Ok(url)
}

fn duration(name: &'static str, seconds: f64) -> Result<Duration, BadQuery> {
    if (0.001..=31_536_000.0).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(out_of_bounds(name, seconds, SECONDS))
    }
}

fn out_of_bounds(name: &'static str, value: impl fmt::Display, allowed: &str) -> BadQuery {
    BadQuery::new(name, format!("{value} is out of bounds"), allowed)
}

/// Scheme, host and port of `url`, without credentials.
fn bare(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{}://{host}:{port}", url.scheme()),
        None => format!("{}://{host}", url.scheme()),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn refused<T: fmt::Debug>(result: Result<T, BadQuery>) -> (String, String) {
        let refusal = result.unwrap_err();
        assert!(!refusal.allowed.is_empty());
        (refusal.parameter.into_owned(), refusal.message)
    }

    fn config() -> Config {
        Config::new("http://127.0.0.1:1").unwrap()
    }

    #[test]
    fn a_base_url_keeps_its_prefix_and_loses_its_trailing_slash() {
        for (given, stored) in [
            ("https://data.example", "https://data.example"),
            ("https://data.example/", "https://data.example"),
            ("HTTPS://Data.Example:443/v1/", "https://data.example/v1"),
            ("http://[::1]:8080/a/b", "http://[::1]:8080/a/b"),
        ] {
            let config = Config::new(given).unwrap();
            assert_eq!(config.base_url(), stored);
            assert_eq!(
                config
                    .address("/api/x", &[("q", "a&b".to_owned())])
                    .as_str(),
                format!("{stored}/api/x?q=a%26b")
            );
            assert_eq!(
                config.address::<&str>("/api/x", &[]).as_str(),
                format!("{stored}/api/x")
            );
        }
    }

    #[test]
    fn a_base_url_that_names_no_http_service_is_refused_without_its_secrets() {
        for text in [
            "",
            "  ",
            "data.example",
            "ftp://data.example",
            "file:///etc/passwd",
            "http://",
            "http:// data.example",
            "http://data.example\n",
            "http://data.example:99999",
            "https://me:hunter2@data.example",
            "https://hunter2@data.example",
            "https://me:hun/ter2@:x",
            "https://data.example/?key=hunter2",
            "https://data.example/#hunter2",
        ] {
            let (parameter, message) = refused(Config::new(text));
            assert_eq!(parameter, "base_url", "{text}");
            assert!(!message.contains("ter2"), "{message}");
        }
    }

    #[test]
    fn numbers_out_of_bounds_are_refused_by_name() {
        for number in [f64::NAN, 0.0, -1.0, f64::INFINITY, 1e300, 1e-9] {
            assert_eq!(refused(config().timeout(number)).0, "timeout");
            assert_eq!(
                refused(config().connect_timeout(number)).0,
                "connect_timeout"
            );
            assert_eq!(refused(config().rate_limit(Some(number))).0, "rate_limit");
        }
        assert_eq!(
            refused(config().timeout(f64::NAN)).1,
            "NaN is out of bounds"
        );
        for retries in [-1, 101, i128::MAX] {
            assert_eq!(refused(config().retries(retries)).0, "retries");
        }
        for bytes in [-1, 0, (1 << 40) + 1, i128::MAX] {
            assert_eq!(refused(config().max_body(bytes)).0, "max_body");
        }
    }

    #[test]
    fn headers_are_checked_and_never_shown() {
        for headers in [
            [("X Y", "hunter2")],
            [("", "hunter2")],
            [("X-Key", "hunter2\r\nX-Evil: 1")],
            [("Content-Length", "5")],
            [("Host", "elsewhere")],
        ] {
            let (parameter, message) = refused(config().headers(headers));
            assert_eq!(parameter, "headers");
            assert!(!message.contains("hunter2"), "{message}");
        }
        assert_eq!(
            refused(config().headers([("a", "1"), ("A", "2")])).0,
            "headers"
        );
        let config = config()
            .headers([("X-Key", "hunter2")])
            .unwrap()
            .proxy(Some("http://me:hunter3@proxy.example:3128"))
            .unwrap();
        let debug = format!("{config:?}");
        assert!(
            debug.contains("x-key") && debug.contains("proxy.example"),
            "{debug}"
        );
        assert!(!debug.contains("hunter"), "{debug}");
        assert!(!config.service_name().contains("hunter"));
        assert!(config.holds_credentials());
    }

    #[test]
    fn a_proxy_is_an_http_address_and_its_password_stays_hidden() {
        for text in [
            "",
            "socks5://me:hunter2@p:1",
            "me:hunter2@p:1",
            "http://me:hunter2@p/x",
        ] {
            let (parameter, message) = refused(config().proxy(Some(text)));
            assert_eq!(parameter, "proxy");
            assert!(!message.contains("hunter2"), "{message}");
        }
        assert!(config().proxy(Some("http://p:1")).is_ok());
    }

    #[test]
    fn the_user_agent_names_package_version_and_asker() {
        let config = config().user_agent("python/3.12").unwrap();
        assert_eq!(
            config.user_agent,
            format!("liqdata/{} python/3.12", env!("CARGO_PKG_VERSION"))
        );
        assert_eq!(refused(config.user_agent("a\r\nb")).0, "user_agent");
    }
}
