//! Asking a service over HTTP.
//!
//! [`Client::send`] is the one function every question goes through. It keeps one deadline over all attempts and the
//! waits between them, tries again what may get better, follows redirects that stay with the same service, and stops
//! reading at a cap. How a service is asked and how it answers is its [`Dialect`]. A [`Walk`] reads the growing order feed
//! page by page; an [`OrderStream`] follows it.

mod call;
mod client;
mod config;
mod connection;
mod dialect;
mod dialects;
mod error;
mod extensions;
mod stream;
mod walk;

pub use call::attempts::Remarks;
pub use call::blocking::Blocking;
#[doc(hidden)]
pub use call::decompress::unpacked;
pub use client::Client;
pub use config::Config;
pub use dialect::{Dialect, Question, Request};
pub use dialects::{Contract, DIALECTS, named};
pub use error::{Cause, Error};
pub use extensions::parameters::Beside;
pub use stream::{Arrival, CascadeStream, OrderStream, RowStream, Streamed};
pub use walk::{End, Stretch, Walk};
