//! What a read is about, and how much it may take.

use super::ArchiveError;
use crate::archive::rows::row::Row;
use crate::model::{Millis, OrderBrief};

/// Which rows a read is about; every field left out leaves nothing out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Rows from this instant on.
    pub start: Option<Millis>,
    /// Rows before this instant.
    pub end: Option<Millis>,
    /// Only what had been received by this instant; a bar must have closed by then, too.
    pub as_of: Option<Millis>,
    /// Rows of this exchange; maps are of none.
    pub exchange: Option<String>,
    /// Orders of this pair; bars, open interest and maps of this coin.
    pub symbol: Option<String>,
    /// Rows of this coin.
    pub coin: Option<String>,
    /// Maps of this kind; nothing else is of one.
    pub kind: Option<String>,
    /// Maps made by this version of a model; [`Filter::UNKNOWN`] are those of which it is not known.
    pub version: Option<String>,
}

/// How much a read may take in memory; see [`Row::weight`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room(Option<usize>);

impl Room {
    /// So many bytes.
    pub(crate) fn of(bytes: usize) -> Self {
        Self(Some(bytes))
    }

    /// As much as there is of what is small.
    pub(crate) fn plenty() -> Self {
        Self::of(usize::MAX)
    }

    /// Takes in a row; whether there was room for it, and for all before it.
    pub(crate) fn take<R: Row>(&mut self, row: &R) -> bool {
        self.0 = self.0.and_then(|left| left.checked_sub(row.weight()));
        !self.is_over()
    }

    /// Whether there was too little, so that the read was broken off.
    pub(crate) fn is_over(self) -> bool {
        self.0.is_none()
    }
}

impl Filter {
    /// Stands for the version of what tells none.
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

    /// Whether a row of this instant, that was known by another, is asked for.
    fn admits_at(&self, at: Millis, known_by: Millis) -> bool {
        self.start.is_none_or(|start| at >= start)
            && self.end.is_none_or(|end| at < end)
            && self.as_of.is_none_or(|as_of| known_by <= as_of)
    }

    /// Whether rows of these names are asked for.
    fn names(&self, exchange: Option<&str>, symbol: &str, coin: &str) -> bool {
        let named = |wanted: &Option<String>, name: Option<&str>| {
            wanted.is_none() || wanted.as_deref() == name
        };
        named(&self.exchange, exchange)
            && named(&self.symbol, Some(symbol))
            && named(&self.coin, Some(coin))
    }

    /// The columns of orders that names are asked for in, with the names.
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
