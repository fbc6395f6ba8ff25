//! Refusals: the closed set of reasons why a market does not answer.

use std::borrow::Cow;
use std::fmt;

use crate::archive::ArchiveError;
use crate::contract::{BadQuery, Endpoint};
use crate::engine::{EngineError, RingFault, TableFault};
use crate::model::{EXCHANGES, Millis, exchange_meant};

/// The `allowed` text of refusals of an instant that is too late.
const NOT_LATER: &str = "an instant that is not later";

/// The kind of a refusal. Each interface maps it to its own errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalCode {
    /// A parameter has a value that the API contract does not allow.
    BadQuery,
    /// No bar of the coin has closed yet.
    UnknownCoin,
    /// No bar of the coin closed in the window.
    NoBars,
    /// The market has no account position in the coin.
    NoPositions,
    /// No such map of the source was recorded.
    NotRecorded,
    /// The market has liquidated totals by period but no orders.
    NoOrders,
    /// The bars of the coin are too long for the requested range.
    TooCoarse,
    /// The bars of the coin do not reach back to the start of the requested range.
    TooShort,
    /// The bars cannot be resampled to the requested length.
    NoSuchLength,
    /// The instant is after the newest observation, or after the instant that the archive was opened as of.
    Later,
    /// The time range is empty.
    EmptyRange,
    /// The orders after the requested stream position are no longer stored.
    Gone,
    /// The archive cannot be read.
    Unreadable,
    /// The content of the archive cannot be summed exactly.
    Inexact,
    /// The market is an archive, which cannot return all observations as tables.
    NotTables,
    /// An internal error, caused by a bug.
    Defect,
}

/// The reason why a market does not answer.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The kind of the refusal.
    pub code: RefusalCode,
    /// The parameter at fault, if any.
    pub parameter: Option<Cow<'static, str>>,
    /// What is wrong, including the invalid value.
    pub message: String,
    /// The allowed values, if a parameter has a value that the contract does not allow.
    pub allowed: Option<String>,
    /// The cause, if the archive cannot be read.
    pub source: Option<Box<ArchiveError>>,
}

impl Refusal {
    fn new(code: RefusalCode, parameter: Option<&'static str>, message: impl Into<String>) -> Self {
        Self {
            code,
            parameter: parameter.map(Cow::Borrowed),
            message: message.into(),
            allowed: None,
            source: None,
        }
    }

    fn allowing(self, allowed: &str) -> Self {
        Self {
            allowed: Some(allowed.to_owned()),
            ..self
        }
    }

    /// Refuses an instant after the one that the archive was opened as of.
    pub(crate) fn later(asked: Millis, opened: Millis) -> Self {
        let message =
            format!("{asked} is after {opened}, the as_of with which the archive was opened");
        Self::new(RefusalCode::Later, Some("as_of"), message).allowing(NOT_LATER)
    }

    /// Refuses an instant after the newest observation.
    pub(crate) fn unknown_yet(asked: Millis, newest: Millis) -> Self {
        let message = format!("{asked} is after the newest observation, {newest}");
        Self::new(RefusalCode::Later, Some("as_of"), message).allowing(NOT_LATER)
    }

    /// Refuses a query for orders in a market that has only totals by period.
    pub(crate) fn no_orders() -> Self {
        let message = "the market has liquidated totals by period and no orders, so it cannot answer queries about \
                       orders; create the market with orders, or read the totals from your own table";
        Self::new(RefusalCode::NoOrders, None, message)
    }

    /// Refuses a source of which nothing was recorded; `known` are the names of the recorded ones.
    pub(crate) fn no_such_recording(source: &str, known: &[String]) -> Self {
        let own = r#""estimate" or "positions" (the latter only for a liquidation map)"#;
        let allowed = if known.is_empty() {
            format!("{own}; nothing is recorded in this market")
        } else {
            format!("{own}, or a recorded source: {}", known.join(", "))
        };
        BadQuery::new("source", format!("{source:?} is not recorded"), allowed).into()
    }

    /// Refuses a map that was not recorded.
    pub(crate) fn not_recorded(message: String) -> Self {
        Self::new(RefusalCode::NotRecorded, Some("source"), message)
    }

    /// Refuses to return the observations of an archive as tables.
    pub(crate) fn not_tables() -> Self {
        let message = "an archive cannot be returned as tables; open it by its path";
        Self::new(RefusalCode::NotTables, None, message)
    }

    /// Refuses to resume a stream from `asked`; the stream continues from `newest`.
    #[must_use]
    pub fn gone(asked: Option<String>, newest: impl fmt::Display) -> Self {
        let message = format!(
            "the stream cannot resume from {:?}: it skips the orders that arrived after that position and continues \
             from {:?}; read the skipped orders with orders() or iter_orders()",
            asked.unwrap_or_default(),
            newest.to_string(),
        );
        Self::new(RefusalCode::Gone, None, message)
    }

    /// Whether the cause is a damaged journal. Such damage is logged when it is found.
    pub(crate) fn is_of_damage(&self) -> bool {
        matches!(self.source.as_deref(), Some(ArchiveError::Damaged { .. }))
    }

    /// A refusal for an internal error, with its description.
    pub(crate) fn defect(known: impl fmt::Display) -> Self {
        Self::new(RefusalCode::Defect, None, known.to_string())
    }

    /// Sets the parameter to `range` if the bars do not support the requested range of the endpoint.
    pub(crate) fn blaming<E: Endpoint>(mut self) -> Self {
        if matches!(self.code, RefusalCode::TooCoarse | RefusalCode::TooShort)
            && E::PARAMETERS.contains(&"range")
        {
            self.parameter = Some(Cow::Borrowed("range"));
        }
        self
    }
}

impl From<BadQuery> for Refusal {
    fn from(query: BadQuery) -> Self {
        Self {
            parameter: Some(query.parameter),
            allowed: Some(query.allowed),
            ..Self::new(RefusalCode::BadQuery, None, query.message)
        }
    }
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        let (code, parameter) = match &error {
            EngineError::UnknownCoin { .. } => (RefusalCode::UnknownCoin, "symbol"),
            EngineError::NoBars { .. } => (RefusalCode::NoBars, "symbol"),
            EngineError::NoPositions { .. } => (RefusalCode::NoPositions, "symbol"),
            EngineError::TooCoarse { .. } => (RefusalCode::TooCoarse, "symbol"),
            EngineError::UnknownVenue { .. } => (RefusalCode::BadQuery, "exchange"),
            EngineError::BadBin { .. } => (RefusalCode::BadQuery, "bin"),
            EngineError::TooShort { .. } => (RefusalCode::TooShort, "symbol"),
            EngineError::NoSuchLength { .. } => (RefusalCode::NoSuchLength, "interval"),
        };
        let mut refusal = Self::new(code, Some(parameter), error.to_string());
        match &error {
            EngineError::UnknownVenue {
                exchange, known, ..
            } => {
                if !EXCHANGES.contains(&exchange.as_str()) {
                    let all = known.iter().map(String::as_str).chain(EXCHANGES);
                    refusal.message += &exchange_meant(exchange, all);
                }
                refusal.allowed = Some(if known.is_empty() {
                    "none, because no reading of the coin names an exchange".to_owned()
                } else {
                    known.join(", ")
                });
            }
            EngineError::BadBin { least, price, .. } => {
                refusal.allowed = Some(format!("from {least} to {price}"));
            }
            _ => (),
        }
        refusal
    }
}

impl From<ArchiveError> for Refusal {
    fn from(error: ArchiveError) -> Self {
        match error {
            ArchiveError::BadRange { parameter, message } => {
                Self::new(RefusalCode::EmptyRange, Some(parameter), message)
                    .allowing("a time range that is not empty")
            }
            error => Self {
                message: error.to_string(),
                source: Some(Box::new(error)),
                ..Self::new(RefusalCode::Unreadable, None, "")
            },
        }
    }
}

impl From<RingFault> for Refusal {
    fn from(fault: RingFault) -> Self {
        Self::new(RefusalCode::Inexact, None, fault.to_string())
    }
}

impl From<TableFault> for Refusal {
    fn from(fault: TableFault) -> Self {
        Self::new(RefusalCode::Inexact, None, fault.to_string())
    }
}
