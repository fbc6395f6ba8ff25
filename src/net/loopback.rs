//! Recognises loopback addresses. Connections to them never use a proxy.

use url::{Host, Url};

/// Whether `url` names this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
        Some(Host::Domain(name)) => is_local_name(name),
        None => false,
    }
}

/// Whether a lower-case host name always means this machine.
pub(crate) fn is_local_name(name: &str) -> bool {
    // A trailing dot marks a fully qualified name.
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_known_in_every_spelling() {
        for url in [
            "http://127.0.0.1",
            "http://127.9.8.7:1/x",
            "http://127.1",
            "http://[::1]",
            "http://[::ffff:127.0.0.1]",
            "http://localhost:80",
            "http://LOCALHOST.",
            "http://api.localhost",
            "wss://api.localhost.:8443/ws",
            "ws://127.0.0.1:1/ws",
        ] {
            assert!(is_loopback(&Url::parse(url).unwrap()), "{url}");
        }
        for url in [
            "http://128.0.0.1",
            "http://[::2]",
            "http://[::ffff:128.0.0.1]",
            "http://localhost.example",
            "http://notlocalhost",
            "ws://localhost..",
        ] {
            assert!(!is_loopback(&Url::parse(url).unwrap()), "{url}");
        }
    }
}
