//! Answering the contract over HTTP: a router without I/O, and a loop that serves it on a listener.
//!
//! A [`Rejection`] turns an error into its status and body. What one client can cost the others is capped by [`Limits`].

mod encoded;
mod follow;
mod freshness;
mod index;
mod limits;
mod listen;
mod question;
mod ready;
mod reject;
mod respond;
mod response;
mod router;
mod shared;
#[cfg(test)]
mod tests;

pub use limits::Limits;
pub use listen::{run, run_within};
pub use reject::{Rejection, status};
pub use router::router;
