//! Why an attempt failed, and whether a retry may succeed.

use std::error::Error as StdError;
use std::io;

use crate::client::call::retries::FailureKind;
use crate::client::config::Config;
use crate::client::error::{Cause, Error};
use crate::net;

/// A failed attempt.
#[derive(Debug)]
pub(crate) struct AttemptFault {
    pub(crate) kind: FailureKind,
    pub(crate) error: Error,
    pub(crate) retry_after: Option<f64>,
}

impl AttemptFault {
    /// The fault for a failed connection, or for one that ended before the head of the answer was complete.
    ///
    /// `reused` says whether the request may have used an idle connection of the pool.
    pub(crate) fn before_the_answer(error: reqwest::Error, config: &Config, reused: bool) -> Self {
        let service = config.service_name();
        let (kind, message) = if let Some(tls) = find::<rustls::Error>(&error) {
            (
                FailureKind::Final,
                net::explained(format!("TLS with {service} failed: {tls}")),
            )
        } else if error.is_dns() {
            let message = format!("cannot resolve the name of {service}: {}", root(&error));
            (FailureKind::Transient, message)
        } else if error.is_connect() {
            let message = match find::<io::Error>(&error).map(io::Error::kind) {
                Some(io::ErrorKind::ConnectionRefused) => {
                    format!("{service} refused the connection")
                }
                _ if error.is_timeout() => format!(
                    "no connection to {service} within {} s",
                    config.connect_patience().as_secs_f64()
                ),
                _ => format!("cannot connect to {service}: {}", root(&error)),
            };
            (FailureKind::Transient, message)
        } else if find::<hyper::Error>(&error).is_some_and(hyper::Error::is_parse) {
            let message = format!("{service} does not reply with HTTP: {}", root(&error));
            (FailureKind::Final, message)
        } else if error.is_builder() {
            (
                FailureKind::Final,
                format!("cannot ask {service}: {}", root(&error)),
            )
        } else {
            let kind = if reused {
                FailureKind::Stale
            } else {
                FailureKind::Transient
            };
            let message = format!("{service} closed the connection: {}", root(&error));
            (kind, message)
        };
        Self::no_answer(kind, message, error)
    }

    /// The fault for an answer that broke off after `got` bytes of its body.
    pub(crate) fn within_the_body(error: reqwest::Error, config: &Config, got: usize) -> Self {
        let message = format!(
            "the answer of {} broke off after {got} bytes: {}",
            config.service_name(),
            root(&error)
        );
        Self::no_answer(FailureKind::Transient, message, error)
    }

    /// A failure that a retry cannot clear.
    pub(crate) fn final_(error: Error) -> Self {
        Self {
            kind: FailureKind::Final,
            error,
            retry_after: None,
        }
    }

    /// A failure that a retry may clear.
    pub(crate) fn transient(error: Error) -> Self {
        Self {
            kind: FailureKind::Transient,
            ..Self::final_(error)
        }
    }

    fn no_answer(kind: FailureKind, message: String, error: reqwest::Error) -> Self {
        Self {
            kind,
            error: Error::NoAnswer {
                message,
                // The URL is removed from the source, because the message already names the service.
                source: Some(Cause::from(error.without_url())),
            },
            retry_after: None,
        }
    }
}

/// Finds the first error of type `T` among `error` and its sources, including those wrapped in I/O errors.
fn find<'a, T: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // [`StdError::source`] of an I/O error skips the wrapped error, so that is read directly.
        if let Some(inner) = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            return find(inner);
        }
        next = error.source();
    }
    None
}

/// The text of the innermost source of `error`.
pub(crate) fn root(error: &(dyn StdError + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}
