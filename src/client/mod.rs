//! The HTTP client.
//!
//! A question is a checked query for one endpoint of the contract ([`api`](crate::contract)). The service sends an answer,
//! which is an HTTP response; the reply is the data decoded from it.
//!
//! [`Client::send`] sends every question. One deadline covers all attempts and delays. The client retries temporary
//! failures, follows redirects within the same service, and bounds the size of a body. A [`Dialect`] describes the
//! service's API. A [`Walk`] reads the growing order feed page by page. An [`OrderStream`] receives new orders as they
//! arrive.

mod call;
#[expect(clippy::module_inception, reason = "the file of the main type")]
mod client;
mod config;
mod connection;
mod dialect;
mod dialects;
mod document;
mod error;
mod extensions;
mod stream;
mod walk;

pub use call::attempts::Remarks;
pub use call::blocking::Blocking;
#[doc(hidden)]
pub use call::decompress::unpacked;
pub use call::secrets::without_secrets;
pub use client::Client;
pub use config::Config;
pub use dialect::{Dialect, DialectQuery, Request};
pub use dialects::{ContractDialect, DIALECTS, VendorDialect, named};
pub use document::{Document, DocumentRequest};
pub use error::{Cause, Error};
pub use extensions::parameters::ExtraParameters;
pub use stream::{Arrival, CascadeStream, OrderStream, RowStream, Streamed};
pub use walk::{End, Walk, WalkBounds};
