//! Row filters of reads, and the memory budget of a read.

use super::ArchiveError;
use crate::archive::rows::row::Row;
use crate::model::{Millis, OrderBrief};

/// Which rows to read; an absent field does not restrict them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Rows at or after this instant.
    pub start: Option<Millis>,
    /// Rows before this instant.
    pub end: Option<Millis>,
    /// Rows received by this instant. Bars must also have closed by this instant.
    pub as_of: Option<Millis>,
    /// Rows of this exchange. Maps have no exchange.
    pub exchange: Option<String>,
    /// Orders of this traded pair. For bars, open interest and maps: rows of this coin.
    pub symbol: Option<String>,
    /// Rows of this coin.
    pub coin: Option<String>,
    /// Maps of this kind. Other tables have no kind.
    pub kind: Option<String>,
    /// Maps of this model version; [`Filter::UNKNOWN`] selects maps without a known version.
    pub version: Option<String>,
}

/// Remaining memory of a read in bytes; [`Row::weight`] gives the size of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryBudget(Option<usize>);

impl MemoryBudget {
    /// A limit in bytes.
    pub(crate) fn of(bytes: usize) -> Self {
        Self(Some(bytes))
    }

    /// No limit.
    pub(crate) fn unlimited() -> Self {
        Self::of(usize::MAX)
    }

    /// Subtracts the size of a row from the budget. Returns false if the budget is exceeded.
    pub(crate) fn take<R: Row>(&mut self, row: &R) -> bool {
        self.0 = self.0.and_then(|left| left.checked_sub(row.weight()));
        !self.is_exceeded()
    }

    /// Whether the budget is exceeded; the read then ends early.
    pub(crate) fn is_exceeded(self) -> bool {
        self.0.is_none()
    }
}

impl Filter {
    /// Selects maps without a known version.
    pub const UNKNOWN: &str = "unknown";

    pub(crate) fn admits<R: Row>(&self, row: &R) -> bool {
        self.admits_at(row.timestamp(), row.received_at().max(row.known_at()))
            && self.names(row.exchange(), row.symbol(), row.coin())
            && (self.kind.is_none() || self.kind.as_deref() == row.kind())
            && self
                .version
                .as_deref()
                .is_none_or(|version| version == row.version().unwrap_or(Self::UNKNOWN))
    }

    pub(crate) fn admits_brief(&self, brief: &OrderBrief<'_>) -> bool {
        self.admits_at(brief.timestamp, brief.received_at.max(brief.timestamp))
            && self.names(Some(brief.exchange), brief.symbol, brief.coin)
            && self.kind.is_none()
            && self.version.is_none()
    }

    /// Whether a row with this time, known from `known_by` on, matches the time fields.
    fn admits_at(&self, at: Millis, known_by: Millis) -> bool {
        self.start.is_none_or(|start| at >= start)
            && self.end.is_none_or(|end| at < end)
            && self.as_of.is_none_or(|as_of| known_by <= as_of)
    }

    /// Whether a row with these names matches the name fields.
    fn names(&self, exchange: Option<&str>, symbol: &str, coin: &str) -> bool {
        let named = |wanted: &Option<String>, name: Option<&str>| {
            wanted.is_none() || wanted.as_deref() == name
        };
        named(&self.exchange, exchange)
            && named(&self.symbol, Some(symbol))
            && named(&self.coin, Some(coin))
    }

    /// The columns with names of an order, each with the name that this filter requires.
    pub(crate) fn all_names(&self) -> [(&'static str, Option<&str>); 3] {
        [
            ("exchange", self.exchange.as_deref()),
            ("symbol", self.symbol.as_deref()),
            ("coin", self.coin.as_deref()),
        ]
    }

    pub(crate) fn check(&self) -> Result<(), ArchiveError> {
        match (self.start, self.end) {
            (Some(start), Some(end)) if start > end => Err(ArchiveError::BadRange {
                parameter: "end",
                message: format!("{end} is before the start, {start}"),
            }),
            _ => Ok(()),
        }
    }
}
