//! Asking a service over HTTP.
//!
//! [`Client::send`] is the one function every question goes through. It keeps one deadline over all attempts and the
//! waits between them, tries again what may get better, follows redirects that stay with the same service, and stops
//! reading at a cap. How a service is asked and how it answers is its [`Dialect`]. A [`Walk`] reads the growing order feed
//! page by page; an [`OrderStream`] follows it.

mod announced;
mod beside;
mod blocking;
mod call;
mod coding;
mod config;
mod connections;
mod dialect;
mod dialects;
mod error;
mod events;
mod fault;
mod list;
mod pool;
mod retry;
mod secrets;
mod service;
mod stream;
mod walk;

pub use beside::Beside;
pub use blocking::Blocking;
pub use call::Remarks;
#[doc(hidden)]
pub use coding::unpacked;
pub use config::Config;
pub use dialect::{Dialect, Question, Request};
pub use dialects::{Contract, DIALECTS, named};
pub use error::{Cause, Error};
pub use service::Client;
pub use stream::{Arrival, CascadeStream, OrderStream, RowStream, Streamed};
pub use walk::{End, Stretch, Walk};
