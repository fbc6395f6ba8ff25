//! Opens byte streams, directly or through a proxy, with TLS if the URL scheme requires it.

use std::fmt;
use std::io;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use hyper::Uri;
use hyper::http::uri::InvalidUri;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tower::{Service, service_fn};
use url::Url;

use super::proxy::{Proxies, Proxy, ProxyFault, target};
use super::tls;

/// A duplex byte stream, plain or TLS.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// Opens connections by other means than the system's network; tests simulate a network with it.
pub trait Dial: fmt::Debug + Send + Sync {
    /// Opens a connection to the host and port of `url`.
    ///
    /// # Errors
    ///
    /// Why the connection failed, as text.
    fn dial(&self, url: &Url) -> BoxFuture<'static, Result<Box<dyn ByteStream>, String>>;
}

/// Opens connections with the proxies and certificates that the system had at creation.
#[derive(Clone, Debug)]
pub(crate) struct Connector {
    proxies: Arc<Proxies>,
    /// The TLS configuration, or the error of its creation.
    tls: Result<Arc<ClientConfig>, rustls::Error>,
    /// If set, opens all connections in place of the system's network.
    elsewhere: Option<Arc<dyn Dial>>,
}

impl Connector {
    /// Reads proxies and certificates from the system.
    pub(crate) fn of_system() -> Self {
        Self {
            proxies: Arc::new(Proxies::of_system()),
            tls: tls::trusting().map(Arc::new),
            elsewhere: None,
        }
    }

    /// Returns this connector with all connections opened by `elsewhere`.
    pub(crate) fn over(self, elsewhere: Arc<dyn Dial>) -> Self {
        Self {
            elsewhere: Some(elsewhere),
            ..self
        }
    }

    /// Returns a copy that uses the proxy at `address` for all URLs, or no proxy.
    ///
    /// Messages name the proxy's origin as `setting`.
    pub(crate) fn with_proxy(&self, address: Option<&str>, setting: &str) -> Self {
        Self {
            proxies: Arc::new(Proxies::set(address, setting)),
            tls: self.tls.clone(),
            elsewhere: self.elsewhere.clone(),
        }
    }

    /// An environment variable of a proxy that names none, if `url` needs it.
    pub(crate) fn proxy_fault(&self, url: &Url) -> Option<&ProxyFault> {
        self.proxies.fault(url)
    }

    /// The proxy for `url`, if any.
    pub(crate) fn proxy(&self, url: &Url) -> Option<Proxy> {
        self.proxies.towards(url)
    }

    /// The TLS configuration, or the error of its creation.
    pub(crate) fn tls(&self) -> Result<&ClientConfig, &rustls::Error> {
        self.tls.as_deref()
    }

    /// Opens a connection to the host and port of `url`, with TLS for `wss` and `https`.
    ///
    /// # Errors
    ///
    /// Why the connection failed, as text that names the proxy, if one is used.
    pub(crate) async fn open(&self, url: &Url) -> Result<Box<dyn ByteStream>, String> {
        if let Some(elsewhere) = &self.elsewhere {
            return elsewhere.dial(url).await;
        }
        let target = target(url).ok_or("it names no host")?;
        let Some(proxy) = self.proxy(url) else {
            return self.reach(&target).await;
        };
        let through = |error: String| format!("through {proxy}: {error}");
        match proxy.address.scheme_str() {
            Some("http" | "https") => {}
            Some("socks5" | "socks5h") => {
                let stream = self.socks(&proxy, &target).await.map_err(through)?;
                return self.secure(&target, stream).await.map_err(through);
            }
            _ => {
                return Err(format!(
                    "{proxy} has an unsupported scheme; allowed: http, https, socks5 and socks5h"
                ));
            }
        }
        // RFC 6455 requires a CONNECT tunnel for WebSockets even without TLS.
        let connector = self.clone();
        let dial = service_fn(move |proxy: Uri| {
            let connector = connector.clone();
            async move { connector.reach(&proxy).await.map(TokioIo::new) }
        });
        let mut tunnel = Tunnel::new(proxy.address.clone(), dial);
        if let Some(credentials) = &proxy.credentials {
            tunnel = tunnel.with_auth(credentials.clone());
        }
        let stream = tunnel.call(target.clone()).await;
        let stream = stream.map_err(|error| through(cause(&error)))?;
        let secured = self.secure(&target, stream.into_inner()).await;
        secured.map_err(through)
    }

    /// Opens a connection to `target` through a SOCKS proxy.
    async fn socks(&self, proxy: &Proxy, target: &Uri) -> Result<Box<dyn ByteStream>, String> {
        let said = |error: &dyn std::error::Error| error.to_string();
        let connector = self.clone();
        let dial = service_fn(move |proxy: Uri| {
            let connector = connector.clone();
            async move { connector.reach(&proxy).await.map(TokioIo::new) }
        });
        let mut socks = SocksV5::new(proxy.address.clone(), dial);
        if let Some((name, password)) = &proxy.user {
            socks = socks.with_auth(name.clone(), password.clone());
        }
        let port = port(target);
        let mut there = format!("{}:{port}", target.host().unwrap_or_default());
        // By convention `socks5h` lets the proxy resolve the host name, and `socks5` resolves it here.
        if proxy.address.scheme_str() == Some("socks5") {
            let found = lookup_host((host(target), port)).await;
            let mut found = found.map_err(|error| said(&error))?;
            there = found.next().ok_or("its name has no address")?.to_string();
        }
        let there: Uri = there.parse().map_err(|error| said(&error as &InvalidUri))?;
        let stream = socks.call(there).await.map_err(|error| cause(&error))?;
        Ok(stream.into_inner())
    }

    /// Connects to `target` without a proxy, with TLS if it is an https address.
    async fn reach(&self, target: &Uri) -> Result<Box<dyn ByteStream>, String> {
        let said = |error: io::Error| error.to_string();
        let tcp = TcpStream::connect((host(target), port(target)))
            .await
            .map_err(said)?;
        // Pings are small, so Nagle's algorithm would delay them.
        let _ = tcp.set_nodelay(true);
        self.secure(target, Box::new(tcp)).await
    }

    /// Wraps `stream` in TLS if `target` is an https address.
    async fn secure(
        &self,
        target: &Uri,
        stream: Box<dyn ByteStream>,
    ) -> Result<Box<dyn ByteStream>, String> {
        if !is_secure(target) {
            return Ok(stream);
        }
        let failed = |error: &dyn std::error::Error| tls::explained(format!("TLS: {error}"));
        let tls = self.tls.clone().map_err(|error| failed(&error))?;
        let name = ServerName::try_from(host(target).to_owned()).map_err(|error| failed(&error))?;
        let secured = TlsConnector::from(tls).connect(name, stream).await;
        Ok(Box::new(secured.map_err(|error| failed(&error))?))
    }
}

/// The source of an error as text, or the error itself.
fn cause(error: &dyn std::error::Error) -> String {
    let cause = error.source();
    cause.map_or_else(|| error.to_string(), ToString::to_string)
}

fn port(target: &Uri) -> u16 {
    let usual = match target.scheme_str() {
        Some("https") => 443,
        Some("socks5" | "socks5h") => 1080,
        _ => 80,
    };
    target.port_u16().unwrap_or(usual)
}

fn is_secure(target: &Uri) -> bool {
    target.scheme_str() == Some("https")
}

/// The host of `target`; an IPv6 address has no brackets.
fn host(target: &Uri) -> &str {
    let host = target.host().unwrap_or_default();
    host.trim_start_matches('[').trim_end_matches(']')
}
