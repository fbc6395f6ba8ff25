//! Gaps that damaged segments and damaged journal rows leave.
//!
//! A reader cannot write to the journal, and need not wait for a writer that can: the manifest lists what each
//! segment held, so the reader computes the gap itself.

use crate::archive::ArchiveError;
use crate::archive::archive::Archive;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Part, State};
use crate::archive::coverage::sessions::{OTHER_TABLES, Gap, GapCause, damaged_row_gaps};
use crate::archive::integrity::damaged_part::DamagedPart;
use crate::archive::integrity::verify::DAMAGED;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::Row;
use crate::model::{Millis, sort_small};

impl Archive {
    /// Gaps that damaged order segments leave between `start` and `end`, by start.
    ///
    /// Includes quarantined segments and damaged ones that no writer has quarantined yet. The rows are missing
    /// from every answer, so no `as_of` hides these gaps.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal or a segment cannot be read.
    pub fn damage_gaps(&self, start: Millis, end: Millis) -> Result<Vec<Gap>, ArchiveError> {
        let parts = self.ask(|journal| {
            // Superseded segments are missing only from answers as of an earlier time.
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

    /// Known damaged segments of these tables that had rows between `start` and `end`.
    ///
    /// Includes the journal if it is damaged, because it may have held such rows. No file is read: only damage
    /// that earlier reads and checks found is reported.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
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

    /// Gaps of tables other than `orders` between `start` and `end`, each with its table.
    ///
    /// They come from damaged segments and from damaged journal rows. The exchange is empty if the table has
    /// none.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal or a segment cannot be read.
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

    /// All quarantined and all known damaged segments.
    ///
    /// A segment is known to be damaged if it is missing, if its length has changed, or if a read or a check
    /// found it damaged.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Replaced`] if the journal is no longer the one that was opened, else [`ArchiveError`] if
    /// it or a segment cannot be read.
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

    /// Segments in use, and quarantined segments.
    pub(crate) fn parts(&self) -> Result<(Vec<Part>, Vec<Part>), ArchiveError> {
        self.ask(|journal| {
            Ok((
                manifest::all(journal, State::Kept)?,
                manifest::all(journal, State::Quarantined)?,
            ))
        })
    }

    /// Logs a warning for every segment that is quarantined, missing or of a changed length.
    ///
    /// The checksum of a segment of the right length is verified when it is read.
    pub(crate) fn warn_of_damage(&self) -> Result<(), ArchiveError> {
        let (in_use, quarantined) = self.parts()?;
        for part in &quarantined {
            self.warn(part, part.reason.as_deref().unwrap_or_default());
        }
        for part in &in_use {
            // A file that this process may not access is not damaged; reading it returns the error.
            if let Ok(Some(reason)) = manifest::fault_at(&self.folder, part) {
                self.warn(part, &reason);
            }
        }
        Ok(())
    }
}

/// The gap that a damaged segment leaves for one exchange.
///
/// It counts as recorded at its end, so that every `as_of` after the gap includes it.
fn damage_gap(part: &Part, exchange: String) -> Gap {
    Gap {
        exchange,
        start: part.first,
        end: part.end(),
        cause: GapCause::Damage,
        holds: (part.holds != OrderRow::TABLE).then(|| part.holds.clone()),
        reason: DAMAGED.to_owned(),
        recorded_at: part.end(),
    }
}
