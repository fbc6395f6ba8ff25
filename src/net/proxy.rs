//! Chooses the proxy for an address from the environment, for HTTP and web sockets alike.

use std::fmt;
use std::sync::Arc;

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper_util::client::proxy::matcher::Matcher;
use url::Url;

use super::is_loopback;

/// Environment variables that name the proxy for one scheme; the first one that is set applies.
type Names = [&'static str; 2];

const HTTP: Names = ["HTTP_PROXY", "http_proxy"];
const HTTPS: Names = ["HTTPS_PROXY", "https_proxy"];
const ALL: Names = ["ALL_PROXY", "all_proxy"];
const NO: Names = ["NO_PROXY", "no_proxy"];

/// Whether a value names a proxy; a value without a scheme names an HTTP proxy.
fn is_proxy(value: &str) -> bool {
    let anywhere = Uri::from_static("http://data.example");
    let alone = Matcher::builder().all(value).build();
    alone.intercept(&anywhere).is_some()
}

/// The address of a proxy with `***` in place of user name and password.
pub(crate) fn without_password(address: &str) -> String {
    let (scheme, rest) = match address.find("://") {
        Some(at) => address.split_at(at + 3),
        None => ("", address),
    };
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}***@{host}"),
        None => address.to_owned(),
    }
}

/// A proxy and its credentials.
#[derive(Clone)]
pub(crate) struct Proxy {
    /// Its address, without credentials.
    pub(super) address: Uri,
    /// Credentials for the `Proxy-Authorization` header.
    pub(super) credentials: Option<HeaderValue>,
    /// The same credentials as user and password, for SOCKS.
    pub(super) user: Option<(String, String)>,
    /// The environment variable or setting that names the proxy; `None` if the system's settings name it.
    variable: Option<Arc<str>>,
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.address.to_string();
        let variable = self.variable.as_deref();
        let variable = variable.unwrap_or("the system's settings");
        write!(
            f,
            "the proxy {} ({variable})",
            address.trim_end_matches('/')
        )
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The printed address contains no credentials.
        fmt::Display::fmt(self, f)
    }
}

/// Schemes of the address of a proxy.
pub(crate) const SCHEMES: &str = "http://, https://, socks5:// or socks5h://";

/// An environment variable of a proxy that names none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{variable}: {value:?} is not the address of a proxy; allowed: {SCHEMES} with a host and a port"
)]
pub(crate) struct ProxyFault {
    pub(crate) variable: &'static str,
    /// Its value, without a password.
    pub(crate) value: String,
}

/// The proxies of this machine.
#[derive(Debug)]
pub(crate) struct Proxies {
    /// The proxy rules that `reqwest` uses, `NO_PROXY` included.
    rules: Matcher,
    /// Intercepts the addresses that `NO_PROXY` does not exclude.
    proxied: Matcher,
    variables: [(&'static str, Option<Arc<str>>); 2],
    faults: [(&'static str, Option<ProxyFault>); 2],
}

impl Proxies {
    /// Reads the environment, and the system's settings for schemes that the environment does not set.
    pub(crate) fn of_system() -> Self {
        Self::new(Matcher::from_system(), |name| std::env::var(name).ok())
    }

    /// Uses the proxy at `address` for all URLs, or no proxy if it is `None`.
    ///
    /// Messages name the proxy's origin as `setting`.
    pub(crate) fn set(address: Option<&str>, setting: &str) -> Self {
        let named = address.map(|_| Arc::from(setting));
        Self {
            rules: Matcher::builder().all(address.unwrap_or_default()).build(),
            proxied: Matcher::builder().build(),
            variables: [("http", named.clone()), ("https", named)],
            faults: [("http", None), ("https", None)],
        }
    }

    fn new(rules: Matcher, value: impl Fn(&str) -> Option<String>) -> Self {
        // An empty variable counts as absent.
        let set = |names: Names| {
            let mut all = names
                .into_iter()
                .filter_map(|name| Some((name, value(name)?)));
            all.next().filter(|(_, value)| !value.is_empty())
        };
        let of = |names| set(names).or_else(|| set(ALL));
        let named = |names| Some(Arc::from(of(names).filter(|(_, value)| is_proxy(value))?.0));
        let fault = |names| {
            let (variable, value) = of(names).filter(|(_, value)| !is_proxy(value))?;
            let value = without_password(&value);
            Some(ProxyFault { variable, value })
        };
        let direct = NO.into_iter().find_map(&value).unwrap_or_default();
        Self {
            rules,
            proxied: Matcher::builder()
                .all("http://proxy.example")
                .no(direct)
                .build(),
            variables: [("http", named(HTTP)), ("https", named(HTTPS))],
            faults: [("http", fault(HTTP)), ("https", fault(HTTPS))],
        }
    }

    /// The environment variable that should name the proxy for `url`, but names none.
    pub(crate) fn fault(&self, url: &Url) -> Option<&ProxyFault> {
        let target = target(url).filter(|_| !is_loopback(url))?;
        self.proxied.intercept(&target)?;
        let mut faults = self.faults.iter();
        let of_scheme = faults.find(|(scheme, _)| target.scheme_str() == Some(*scheme));
        of_scheme.and_then(|(_, fault)| fault.as_ref())
    }

    /// The proxy for `url`. Loopback addresses have none.
    pub(crate) fn towards(&self, url: &Url) -> Option<Proxy> {
        if is_loopback(url) {
            return None;
        }
        let target = target(url)?;
        let found = self.rules.intercept(&target)?;
        let by_scheme = |(scheme, _): &&(&str, _)| target.scheme_str() == Some(*scheme);
        let variable = self.variables.iter().find(by_scheme);
        Some(Proxy {
            address: found.uri().clone(),
            credentials: found.basic_auth().cloned(),
            user: found
                .raw_auth()
                .map(|(name, password)| (name.to_owned(), password.to_owned())),
            variable: variable.and_then(|(_, variable)| variable.clone()),
        })
    }
}

/// Scheme, host and port of `url` as an HTTP address. `wss` becomes `https`, and `ws` becomes `http`.
pub(super) fn target(url: &Url) -> Option<Uri> {
    let scheme = match url.scheme() {
        "wss" | "https" => "https",
        _ => "http",
    };
    let authority = format!("{}:{}", url.host_str()?, url.port_or_known_default()?);
    let uri = Uri::builder().scheme(scheme).authority(authority);
    uri.path_and_query("/").build().ok()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Proxies {
        let value = |name: &str| {
            let mut all = variables.iter();
            all.find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        };
        let first = |names: Names| names.into_iter().find_map(value).unwrap_or_default();
        let rules = Matcher::builder().http(first(HTTP)).https(first(HTTPS));
        let rules = rules.all(first(ALL)).no(first(NO));
        Proxies::new(rules.build(), value)
    }

    fn towards(proxies: &Proxies, url: &str) -> Option<String> {
        let found = proxies.towards(&Url::parse(url).unwrap())?;
        Some(found.to_string())
    }

    #[test]
    fn sockets_go_where_http_goes_and_the_variable_is_named() {
        let of = proxies(&[
            ("https_proxy", "http://me:hunter2@one.example:3128"),
            ("ALL_PROXY", "two.example:8080"),
            ("NO_PROXY", "direct.example, 10.0.0.0/8"),
        ]);
        let one = Some("the proxy http://one.example:3128 (https_proxy)".to_owned());
        let two = Some("the proxy http://two.example:8080 (ALL_PROXY)".to_owned());
        for (url, proxy) in [
            ("wss://stream.example/ws", &one),
            ("https://rest.example", &one),
            ("ws://stream.example:9443/ws", &two),
            ("http://rest.example", &two),
            ("wss://direct.example", &None),
            ("wss://api.direct.example", &None),
            ("ws://10.1.2.3", &None),
            ("ws://127.0.0.1:1", &None),
            ("wss://localhost.", &None),
            ("wss://[::ffff:127.0.0.1]:1", &None),
        ] {
            assert_eq!(towards(&of, url), *proxy, "{url}");
        }
        let url = Url::parse("wss://stream.example").unwrap();
        let credentials = of.towards(&url).unwrap().credentials.unwrap();
        assert_eq!(credentials, "Basic bWU6aHVudGVyMg==");
        assert!(!format!("{of:?}{:?}", of.towards(&url)).contains("hunter2"));
    }

    #[test]
    fn a_variable_that_names_no_proxy_is_a_fault_where_it_applies() {
        let of = proxies(&[
            ("HTTPS_PROXY", "ftp://me:hunter2@one.example"),
            ("HTTP_PROXY", "two.example:3128"),
            ("NO_PROXY", "direct.example"),
        ]);
        let fault = |url: &str| of.fault(&Url::parse(url).unwrap()).map(ToString::to_string);
        let said = "HTTPS_PROXY: \"ftp://***@one.example\" is not the address of a proxy; allowed: http://, https://, \
                    socks5:// or socks5h:// with a host and a port";
        assert_eq!(fault("https://rest.example"), Some(said.to_owned()));
        assert_eq!(fault("wss://stream.example"), Some(said.to_owned()));
        for url in [
            "http://rest.example",
            "https://direct.example",
            "https://127.0.0.1",
        ] {
            assert_eq!(fault(url), None, "{url}");
        }
    }

    #[test]
    fn a_variable_that_names_no_proxy_is_none() {
        let of = proxies(&[("HTTPS_PROXY", ""), ("all_proxy", "ftp://one.example")]);
        assert_eq!(towards(&of, "wss://stream.example"), None);
        let of = proxies(&[("HTTPS_PROXY", ""), ("all_proxy", "http://one.example")]);
        let named = "the proxy http://one.example (all_proxy)".to_owned();
        assert_eq!(towards(&of, "wss://stream.example"), Some(named));
        assert_eq!(
            target(&Url::parse("ws://[::1]").unwrap()).unwrap(),
            "http://[::1]:80/"
        );
    }
}
