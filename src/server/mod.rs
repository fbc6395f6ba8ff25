//! Answering the contract over HTTP: a router without I/O, and a loop that serves it on a listener.
//!
//! A [`Rejection`] turns an error into its status and body. What one client can cost the others is capped by [`Limits`].

mod access;
mod connection;
mod encoded;
mod follow;
mod freshness;
mod index;
mod limits;
mod listen;
mod market_state;
mod memory;
mod metrics;
mod past;
mod peers;
mod question;
mod ready;
mod reject;
mod renewed;
mod respond;
mod response;
mod router;
mod seats;
mod secure;
mod shared;
#[cfg(test)]
mod tests;
mod tokens;
mod traffic;
mod unread;

pub use access::Access;
pub use limits::Limits;
pub use listen::{Settings, run, run_with};
pub use peers::network;
pub use reject::{Rejection, status};
pub use router::{router, router_with};
pub use secure::Tls;
pub use tokens::Tokens;
