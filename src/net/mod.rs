//! What everyone who opens a connection needs, once: which addresses are this machine's, which go through a proxy and which
//! of them want TLS; how fast may be asked, and how long is waited before what failed is tried again.
//!
//! Nothing here knows what is said on a connection, or to whom.

mod connect;
mod limiter;
mod loopback;
mod proxy;
mod retry;
mod tls;

pub(crate) use connect::Connector;
pub use connect::{Dial, Stream};
pub(crate) use limiter::Limiter;
pub(crate) use loopback::{is_local_name, is_loopback};
pub(crate) use proxy::{Proxies, Proxy};
pub(crate) use retry::{Backoff, date, is_passing, longest_wait, retry_after};
pub(crate) use tls::{NoClient, client, trusting};
