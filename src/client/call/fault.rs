//! Why an attempt failed, in the user's words, and whether another may succeed.

use std::error::Error as StdError;
use std::io;

use crate::client::call::retries::Kind;
use crate::client::config::Config;
use crate::client::error::{Cause, Error};

/// A failed attempt.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    pub(crate) error: Error,
    pub(crate) retry_after: Option<f64>,
}

impl Fault {
    /// No connection, or one that ended before the head of an answer was complete.
    ///
    /// `reused` tells that the connection may have been idle in the pool.
    pub(crate) fn before_the_answer(error: reqwest::Error, config: &Config, reused: bool) -> Self {
        let place = config.place();
        let (kind, message) = if let Some(tls) = find::<rustls::Error>(&error) {
            (Kind::Final, format!("TLS with {place} failed: {tls}"))
        } else if error.is_dns() {
            let message = format!("cannot resolve the name of {place}: {}", root(&error));
            (Kind::Transient, message)
        } else if error.is_connect() {
            let message = match find::<io::Error>(&error).map(io::Error::kind) {
                Some(io::ErrorKind::ConnectionRefused) => {
                    format!("{place} refused the connection")
                }
                _ if error.is_timeout() => format!(
                    "no connection to {place} within {} s",
                    config.connect_patience().as_secs_f64()
                ),
                _ => format!("cannot connect to {place}: {}", root(&error)),
            };
            (Kind::Transient, message)
        } else if find::<hyper::Error>(&error).is_some_and(hyper::Error::is_parse) {
            let message = format!("{place} does not answer in HTTP: {}", root(&error));
            (Kind::Final, message)
        } else if error.is_builder() {
            (Kind::Final, format!("cannot ask {place}: {}", root(&error)))
        } else {
            let kind = if reused { Kind::Stale } else { Kind::Transient };
            let message = format!("{place} closed the connection: {}", root(&error));
            (kind, message)
        };
        Self::no_answer(kind, message, error)
    }

    /// A body that broke off.
    pub(crate) fn within_the_body(error: reqwest::Error, config: &Config, got: usize) -> Self {
        let message = format!(
            "the answer of {} broke off after {got} bytes: {}",
            config.place(),
            root(&error)
        );
        Self::no_answer(Kind::Transient, message, error)
    }

    /// A failure that another attempt will not mend.
    pub(crate) fn final_(error: Error) -> Self {
        Self {
            kind: Kind::Final,
            error,
            retry_after: None,
        }
    }

    /// A failure that another attempt may mend.
    pub(crate) fn transient(error: Error) -> Self {
        Self {
            kind: Kind::Transient,
            ..Self::final_(error)
        }
    }

    fn no_answer(kind: Kind, message: String, error: reqwest::Error) -> Self {
        Self {
            kind,
            error: Error::NoAnswer {
                message,
                // The address is in the message, without its query.
                source: Some(Cause::from(error.without_url())),
            },
            retry_after: None,
        }
    }
}

/// The first `T` among the causes of `error`, the insides of I/O errors included.
fn find<'a, T: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // An I/O error's source is the source of what it wraps, which would be skipped.
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

/// The deepest cause of `error`.
pub(crate) fn root(error: &(dyn StdError + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}
