//! Why a market does not answer: one closed set of reasons, which every face puts into its own words.

use std::borrow::Cow;
use std::fmt;

use crate::api::{BadQuery, Endpoint};
use crate::archive::ArchiveError;
use crate::engine::{EngineError, RingFault, TableFault};
use crate::model::{EXCHANGES, Millis, exchange_meant};

/// What is allowed of an instant that lies after what is known.
const NOT_LATER: &str = "an instant that is not later";

/// What a refusal is for; each face has a table of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalCode {
    /// A value outside the contract.
    BadQuery,
    /// No bar of the coin has closed yet.
    UnknownCoin,
    /// No bar of the coin closed in the window.
    NoBars,
    /// No position of the coin is at hand.
    NoPositions,
    /// The bars of the coin are too long for the range.
    TooCoarse,
    /// The bars of the coin do not reach back to the start of the range.
    TooShort,
    /// Bars of the length asked for cannot be made of those there are.
    NoSuchLength,
    /// An instant is asked about that lies after the newest that is known, or that the archive was opened as of.
    Later,
    /// A stretch of time in which nothing can lie.
    EmptyRange,
    /// The place to go on from in the order of arrival is no longer known.
    Gone,
    /// The archive cannot be read.
    Unreadable,
    /// What the archive holds cannot be counted, or reckoned with, exactly.
    Inexact,
    /// All observations at once are asked for, which an archive does not hand over.
    NotTables,
    /// A bug.
    Defect,
}

/// Why a market does not answer.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The reason.
    pub code: RefusalCode,
    /// The parameter to blame, where one is.
    pub parameter: Option<Cow<'static, str>>,
    /// What is wrong, with the value.
    pub message: String,
    /// What is allowed, of a value outside the contract.
    pub allowed: Option<String>,
    /// What lies beneath, of an archive that cannot be read.
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

    /// An instant is asked about that lies after the one the archive was opened as of.
    pub(crate) fn later(asked: Millis, opened: Millis) -> Self {
        let message =
            format!("{asked} is after {opened}, the instant the archive was opened as of");
        Self::new(RefusalCode::Later, Some("as_of"), message).allowing(NOT_LATER)
    }

    /// An instant is asked about that lies after all that can be known.
    pub(crate) fn unknown_yet(asked: Millis, newest: Millis) -> Self {
        let message =
            format!("nothing is known of {asked}: the newest that is known is of {newest}");
        Self::new(RefusalCode::Later, Some("as_of"), message).allowing(NOT_LATER)
    }

    /// All observations of an archive are asked for.
    pub(crate) fn not_tables() -> Self {
        let message = "an archive is not handed over as tables; open it again by its path";
        Self::new(RefusalCode::NotTables, None, message)
    }

    /// An order of arrival cannot go on from the place `asked`, and does from `newest`.
    #[must_use]
    pub fn gone(asked: Option<String>, newest: impl fmt::Display) -> Self {
        let message = format!(
            "the market cannot go on from {:?}: what arrived since is missing from the stream; orders() and \
             iter_orders() have it, and the stream goes on from {:?}",
            asked.unwrap_or_default(),
            newest.to_string(),
        );
        Self::new(RefusalCode::Gone, None, message)
    }

    /// Whether the archive's journal is damaged, which is said where that is met.
    pub(crate) fn is_of_damage(&self) -> bool {
        matches!(self.source.as_deref(), Some(ArchiveError::Damaged { .. }))
    }

    /// A bug, and what is known of it.
    pub(crate) fn defect(known: impl fmt::Display) -> Self {
        Self::new(RefusalCode::Defect, None, known.to_string())
    }

    /// The same in answer to an endpoint: what may be blamed is one of its parameters.
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
                    "none, as no reading of it names an exchange".to_owned()
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
                    .allowing("a stretch of time that is not empty")
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
