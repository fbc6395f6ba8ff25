//! Networking shared by all connections: loopback addresses, proxies, TLS, rate limits and backoff.
//!
//! Nothing in this module depends on a service or exchange.

mod connect;
mod given_file;
mod limiter;
mod loopback;
mod proxy;
mod retry;
mod tls;

pub(crate) use connect::Connector;
pub use connect::{ByteStream, Dial};
pub(crate) use given_file::{kind_name, plain_length};
pub(crate) use limiter::Limiter;
pub(crate) use loopback::{is_local_name, is_loopback};
pub(crate) use proxy::{Proxies, Proxy, ProxyFault, SCHEMES, without_password};
pub(crate) use retry::{Backoff, date, is_passing, longest_wait, retry_after};
pub(crate) use tls::{NoClient, client, explained, trusting};
