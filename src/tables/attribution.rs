//! Checks of exchange names, so that a misspelt name creates no new exchange.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::archive::{Archive, ArchiveError};
use crate::model::nearest;
use crate::model::shortened;
use crate::model::{EXCHANGES, did_you_mean, exchange_name, named_exchange};

/// Minimum similarity of a known name for an error message to suggest it.
const ALIKE: f64 = 0.75;

/// The fault reason of rows that name an unknown exchange.
pub(crate) const UNKNOWN_EXCHANGE: &str =
    "not a known exchange (new_exchange=True of ingest and Market or --new-exchange accepts it)";

/// An exchange name that is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} is unknown{}; allowed: {}, and any name with new_exchange=True of ingest and Market (--new-exchange)",
    self.shown(), self.hint(), self.allowed()
)]
pub struct UnknownExchange {
    name: String,
    nearest: Vec<String>,
    known: BTreeSet<String>,
}

impl UnknownExchange {
    fn shown(&self) -> String {
        format!("{:?}", shortened(&self.name))
    }

    fn hint(&self) -> String {
        let first = self.nearest.first();
        first.map_or_else(String::new, |name| format!("; {}", did_you_mean(name)))
    }

    fn allowed(&self) -> String {
        if self.nearest.is_empty() {
            let known: Vec<&str> = self.known.iter().map(String::as_str).collect();
            return known.join(", ");
        }
        let nearest = self.nearest.iter().map(|name| format!("{name:?}"));
        format!(
            "a known name; the most similar: {}",
            nearest.collect::<Vec<_>>().join(", ")
        )
    }

    /// The name and the most similar known name, for a one-line message.
    pub(crate) fn in_a_line(&self) -> String {
        let hint = self.nearest.first();
        let hint = hint.map_or_else(String::new, |name| format!(" ({})", did_you_mean(name)));
        format!("{}{hint}", self.shown())
    }
}

/// Checks exchange names against the known exchanges.
///
/// The supported exchanges, and those with rows in an archive, are known. If new exchanges are allowed, any name is
/// accepted.
#[derive(Debug, Default)]
pub struct ExchangeAttribution {
    path: Option<PathBuf>,
    takes_any: bool,
    /// The exchanges of the archive, read when first needed.
    own: Option<BTreeSet<String>>,
    /// The last name that was found to be known.
    latest: String,
}

impl ExchangeAttribution {
    /// Accepts the supported exchanges and those of the archive in the folder `path`.
    ///
    /// If `takes_any`, accepts any name.
    #[must_use]
    pub fn of(path: &Path, takes_any: bool) -> Self {
        Self {
            path: Some(path.to_owned()),
            takes_any,
            ..Self::default()
        }
    }

    /// Accepts the supported exchanges; if `takes_any`, any name.
    #[must_use]
    pub fn supported(takes_any: bool) -> Self {
        Self {
            takes_any,
            ..Self::default()
        }
    }

    /// Returns an error value if `name` is not known in any spelling, else `None`.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the archive cannot be read.
    pub fn unknown(&mut self, name: &str) -> Result<Option<UnknownExchange>, ArchiveError> {
        if self.takes_any || name == self.latest || EXCHANGES.contains(&name) {
            return Ok(None);
        }
        let own = exchange_name(name);
        if named_exchange(&own).is_some() || self.own()?.contains(&own) {
            name.clone_into(&mut self.latest);
            return Ok(None);
        }
        let mut known = self.own()?.clone();
        known.extend(EXCHANGES.map(str::to_owned));
        let nearest = nearest(&own, known.iter().map(String::as_str), ALIKE);
        Ok(Some(UnknownExchange {
            name: name.to_owned(),
            nearest: nearest.into_iter().map(str::to_owned).collect(),
            known,
        }))
    }

    fn own(&mut self) -> Result<&BTreeSet<String>, ArchiveError> {
        if self.own.is_none() {
            let path = self.path.as_deref();
            let archive = path.map(Archive::read_if_begun).transpose()?.flatten();
            self.own = archive
                .map(|archive| archive.catalog().exchanges())
                .transpose()?;
        }
        Ok(self.own.get_or_insert_default())
    }
}
