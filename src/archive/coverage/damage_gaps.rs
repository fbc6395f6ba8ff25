//! What damaged files leave unknown: said when the archive is opened, and a gap from the moment it is met.
//!
//! A reader cannot write a gap down, and need not wait for a writer that does: what a file was to hold stands in the
//! journal's list.

use crate::archive::ArchiveError;
use crate::archive::archive::Archive;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Part, State};
use crate::archive::coverage::sessions::{Gap, OTHER_TABLES, damaged_row_gaps};
use crate::archive::integrity::damaged_part::DamagedPart;
use crate::archive::integrity::verify::DAMAGED;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::Row;
use crate::model::{Millis, sort_small};

impl Archive {
    /// The gaps that damaged files of orders leave in the time from `start` until before `end`, by their start: those
    /// that are out of use, and those that nobody has set aside yet.
    ///
    /// The rows are missing from every answer, so no `as_of` hides them.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the journal or a file cannot be read.
    pub fn damage_gaps(&self, start: Millis, end: Millis) -> Result<Vec<Gap>, ArchiveError> {
        let parts = self.ask(|journal| {
            // What others took the place of is missing from no answer but those as of before.
            let mut parts = manifest::told(journal, State::Quarantined)?;
            parts.extend(manifest::told(journal, State::Kept)?);
            parts.retain(|part| {
                part.holds == OrderRow::TABLE && part.last >= start && part.first < end
            });
            Ok(parts)
        })?;
        let mut gaps = Vec::new();
        for part in parts {
            let reason = match &part.reason {
                Some(reason) => Some(reason.clone()),
                None => self.fault_of(&part)?,
            };
            if let Some(reason) = reason {
                self.warn(&part, &reason);
                let exchanges = self.ask(|journal| manifest::exchanges(journal, &part.path))?;
                gaps.extend(
                    exchanges
                        .into_iter()
                        .map(|exchange| damage_gap(&part, exchange)),
                );
            }
        }
        sort_small(&mut gaps, Ord::cmp);
        gaps.dedup();
        Ok(gaps)
    }

    /// Of the files of these kinds that are known to be damaged, those that had rows from `start` until before `end`; and the
    /// journal where it is damaged, which may have held any.
    ///
    /// Nothing is looked at anew: what a read did without it has met.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the journal cannot be read.
    pub fn damage_within(
        &self,
        kinds: &[&str],
        start: Millis,
        end: Millis,
    ) -> Result<Vec<DamagedPart>, ArchiveError> {
        if self.damaged_files()? == 0 {
            return Ok(Vec::new());
        }
        let (in_use, quarantined) = self.parts()?;
        let mut found: Vec<_> = self.damaged_journal().into_iter().collect();
        for part in quarantined.iter().chain(&in_use) {
            if part.end() <= start || part.first >= end || !kinds.contains(&part.holds.as_str()) {
                continue;
            }
            let reason = part.reason.clone().or_else(|| self.warned_of(part));
            if let Some(reason) = reason {
                found.push(self.damaged(part, reason));
            }
        }
        sort_small(&mut found, |one, other| {
            (one.first, &one.holds, &one.path).cmp(&(other.first, &other.holds, &other.path))
        });
        Ok(found)
    }

    /// What damaged files of other rows than orders, and damaged rows of the journal, leave unknown in the time from `start`
    /// until before `end`, with what they held; the exchange is empty where such rows are of none.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the journal or a file cannot be looked at.
    pub(crate) fn gaps_of_other_rows(
        &self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<Vec<(&'static str, Gap)>, ArchiveError> {
        let mut missing = self.ask(|journal| damaged_row_gaps(journal, start, end, as_of))?;
        let (in_use, quarantined) = self.parts()?;
        for part in quarantined.iter().chain(&in_use) {
            let Some(holds) = OTHER_TABLES.iter().find(|kind| **kind == part.holds) else {
                continue;
            };
            if part.end() <= start || part.first >= end {
                continue;
            }
            let mut reason = part.reason.clone().or_else(|| self.warned_of(part));
            if reason.is_none() {
                reason = manifest::fault_at(&self.folder, part).map_err(|source| {
                    ArchiveError::of_file(&self.folder.join(&part.path), source)
                })?;
            }
            if let Some(reason) = reason {
                self.warn(part, &reason);
                let mut exchanges = self.ask(|journal| manifest::exchanges(journal, &part.path))?;
                if exchanges.is_empty() {
                    exchanges.push(String::new());
                }
                let gaps = exchanges
                    .into_iter()
                    .map(|name| (*holds, damage_gap(part, name)));
                missing.extend(gaps);
            }
        }
        missing.sort();
        missing.dedup();
        Ok(missing)
    }

    /// The files that are out of use, and those that are known to be damaged: missing or of another length now, or met by
    /// a read or a check.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Replaced`] where the journal is no longer the one that was opened, else [`ArchiveError`] where it or
    /// a file cannot be looked at.
    pub fn damage(&self) -> Result<Vec<DamagedPart>, ArchiveError> {
        self.check_journal()?;
        let (in_use, quarantined) = self.parts()?;
        let mut found: Vec<_> = self.damaged_journal().into_iter().collect();
        for part in &quarantined {
            let reason = part.reason.clone().unwrap_or_default();
            self.warn(part, &reason);
            found.push(self.damaged(part, reason));
        }
        for part in &in_use {
            let seen = manifest::fault_at(&self.folder, part)
                .map_err(|source| ArchiveError::of_file(&self.folder.join(&part.path), source))?;
            if let Some(reason) = &seen {
                self.warn(part, reason);
            }
            if let Some(reason) = seen.or_else(|| self.warned_of(part)) {
                found.push(self.damaged(part, reason));
            }
        }
        Ok(found)
    }

    /// The files that are in use, and those that are out of it.
    pub(crate) fn parts(&self) -> Result<(Vec<Part>, Vec<Part>), ArchiveError> {
        self.ask(|journal| {
            Ok((
                manifest::all(journal, State::Kept)?,
                manifest::all(journal, State::Quarantined)?,
            ))
        })
    }

    /// Warns of every file that is out of use, missing or of another length than it was written with; one whose length
    /// is right is held against its checksum when it is read.
    pub(crate) fn warn_of_damage(&self) -> Result<(), ArchiveError> {
        let (in_use, quarantined) = self.parts()?;
        for part in &quarantined {
            self.warn(part, part.reason.as_deref().unwrap_or_default());
        }
        for part in &in_use {
            // One that this process may not look at is not thereby damaged: reading it says what is wrong.
            if let Ok(Some(reason)) = manifest::fault_at(&self.folder, part) {
                self.warn(part, &reason);
            }
        }
        Ok(())
    }
}

/// The gap that a damaged file leaves in what an exchange sent; it became known when it was over, as far as any answer
/// is concerned.
fn damage_gap(part: &Part, exchange: String) -> Gap {
    Gap {
        exchange,
        start: part.first,
        end: part.end(),
        reason: DAMAGED.to_owned(),
        recorded_at: part.end(),
    }
}
