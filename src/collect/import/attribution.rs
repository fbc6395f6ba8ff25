//! Attributes imported rows to known exchanges, so that a misspelt name creates no new exchange.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::archive::{Archive, ArchiveError};
use crate::model::nearest;
use crate::model::shortened;
use crate::model::{EXCHANGES, Labels, did_you_mean, exchange_name};

/// Names less alike than this are not offered.
const ALIKE: f64 = 0.75;

/// Why lines of a file that name an exchange nobody knows are not taken.
pub(crate) const UNKNOWN: &str =
    "exchange: not one that is known (new_exchange=True, --new-exchange takes it)";

/// An exchange that is none of those that are known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} is unknown, and the archive has nothing of it{}; allowed: {}, and any name with new_exchange=True (--new-exchange)",
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
            "a name that is known, the nearest: {}",
            nearest.collect::<Vec<_>>().join(", ")
        )
    }

    /// What stands in a line that names it, and the name that is nearest.
    pub(crate) fn in_a_line(&self) -> String {
        format!("{}{}", self.shown(), self.hint())
    }
}

/// The exchanges that rows may be of: those that this package listens to and those that the archive has, or any.
#[derive(Debug)]
pub struct ExchangeAttribution {
    path: PathBuf,
    takes_any: bool,
    /// Those of the archive, once they were asked for.
    own: Option<BTreeSet<String>>,
    /// The last name that was one of them.
    latest: String,
}

impl ExchangeAttribution {
    /// Those of an archive in the folder `path`, or any.
    #[must_use]
    pub fn of(path: &Path, takes_any: bool) -> Self {
        Self {
            path: path.to_owned(),
            takes_any,
            own: None,
            latest: String::new(),
        }
    }

    /// What is said of a name, in whichever spelling, that is none of them.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the archive cannot be read.
    pub fn unknown(&mut self, name: &str) -> Result<Option<UnknownExchange>, ArchiveError> {
        if self.takes_any || name == self.latest || EXCHANGES.contains(&name) {
            return Ok(None);
        }
        let own = exchange_name(name);
        if EXCHANGES.contains(&own.as_str()) || self.own()?.contains(&own) {
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

    /// The first row of a column that names none of them; blanks are passed over.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the archive cannot be read.
    pub fn first_unknown(
        &mut self,
        names: &Labels,
    ) -> Result<Option<(usize, UnknownExchange)>, ArchiveError> {
        let mut told = Vec::with_capacity(names.names().len());
        for name in names.names() {
            told.push(match name.trim() {
                "" => None,
                _ => self.unknown(name)?,
            });
        }
        let mut rows = names.codes().iter().enumerate();
        Ok(rows.find_map(|(row, code)| Some((row, told.get(*code as usize)?.clone()?))))
    }

    fn own(&mut self) -> Result<&BTreeSet<String>, ArchiveError> {
        if self.own.is_none() {
            let archive = Archive::read_if_begun(&self.path)?;
            self.own = archive.map(|archive| archive.exchanges()).transpose()?;
        }
        Ok(self.own.get_or_insert_default())
    }
}
