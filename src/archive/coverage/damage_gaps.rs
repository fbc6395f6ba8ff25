//! Gaps that damaged segments and damaged journal rows leave.
//!
//! A reader cannot record gaps, because it cannot write to the journal. It computes the gaps from the manifest instead,
//! which lists the exchanges and the time range of each segment.

use crate::archive::ArchiveError;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{SegmentEntry, SegmentState};
use crate::archive::coverage_log::sessions::{Gap, GapCause, OTHER_TABLES, damaged_row_gaps};
use crate::archive::integrity::segment_check;
use crate::archive::integrity::segment_check::DAMAGED;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::Row;
use crate::archive::store::damaged_part::DamagedPart;
use crate::archive::store::store::Store;
use crate::model::{Millis, sort_small};

/// Implements `IntegrityView::damage_gaps`.
pub(crate) fn damage_gaps(
    store: &Store,
    start: Millis,
    end: Millis,
) -> Result<Vec<Gap>, ArchiveError> {
    let parts = store.ask(|journal| {
        // A damaged superseded segment is no gap: only reads as of an earlier time use it.
        let mut parts = manifest::current(journal, SegmentState::Quarantined)?;
        parts.extend(manifest::current(journal, SegmentState::Active)?);
        parts
            .retain(|part| part.holds == OrderRow::TABLE && part.last >= start && part.first < end);
        Ok(parts)
    })?;
    let mut gaps = Vec::new();
    for part in parts {
        let reason = match &part.reason {
            Some(reason) => Some(reason.clone()),
            None => segment_check::fault_of(store, &part)?,
        };
        if let Some(reason) = reason {
            store.warn(&part, &reason);
            let exchanges = store.ask(|journal| manifest::exchanges(journal, &part.path))?;
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

/// Implements `IntegrityView::damage_within`.
pub(crate) fn damage_within(
    store: &Store,
    kinds: &[&str],
    start: Millis,
    end: Millis,
) -> Result<Vec<DamagedPart>, ArchiveError> {
    if store.damaged_files()? == 0 {
        return Ok(Vec::new());
    }
    let (in_use, quarantined) = store.segments()?;
    let mut found: Vec<_> = store.damaged_journal().into_iter().collect();
    for part in quarantined.iter().chain(&in_use) {
        if part.end() <= start || part.first >= end || !kinds.contains(&part.holds.as_str()) {
            continue;
        }
        let reason = part.reason.clone().or_else(|| store.warned_of(part));
        if let Some(reason) = reason {
            found.push(DamagedPart::of(&store.folder, part, reason));
        }
    }
    sort_small(&mut found, |one, other| {
        (one.first, &one.holds, &one.path).cmp(&(other.first, &other.holds, &other.path))
    });
    Ok(found)
}

/// Gaps of tables other than `orders` that overlap `start` to `end`, each with its table.
///
/// The gaps come from damaged segments and damaged journal rows. The exchange of a gap is empty if the table has no
/// exchanges.
///
/// # Errors
///
/// [`ArchiveError`] if the journal or a segment cannot be read.
pub(crate) fn gaps_of_other_rows(
    store: &Store,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> Result<Vec<(&'static str, Gap)>, ArchiveError> {
    let mut missing = store.ask(|journal| damaged_row_gaps(journal, start, end, as_of))?;
    let (in_use, quarantined) = store.segments()?;
    for part in quarantined.iter().chain(&in_use) {
        let Some(holds) = OTHER_TABLES.iter().find(|kind| **kind == part.holds) else {
            continue;
        };
        if part.end() <= start || part.first >= end {
            continue;
        }
        let mut reason = part.reason.clone().or_else(|| store.warned_of(part));
        if reason.is_none() {
            reason = manifest::fault_at(&store.folder, part)
                .map_err(|source| ArchiveError::of_file(&store.folder.join(&part.path), source))?;
        }
        if let Some(reason) = reason {
            store.warn(part, &reason);
            let mut exchanges = store.ask(|journal| manifest::exchanges(journal, &part.path))?;
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

/// Implements `IntegrityView::damage`.
pub(crate) fn damage(store: &Store) -> Result<Vec<DamagedPart>, ArchiveError> {
    store.check_journal()?;
    let (in_use, quarantined) = store.segments()?;
    let mut found: Vec<_> = store.damaged_journal().into_iter().collect();
    for part in &quarantined {
        let reason = part.reason.clone().unwrap_or_default();
        store.warn(part, &reason);
        found.push(DamagedPart::of(&store.folder, part, reason));
    }
    for part in &in_use {
        let seen = manifest::fault_at(&store.folder, part)
            .map_err(|source| ArchiveError::of_file(&store.folder.join(&part.path), source))?;
        if let Some(reason) = &seen {
            store.warn(part, reason);
        }
        if let Some(reason) = seen.or_else(|| store.warned_of(part)) {
            found.push(DamagedPart::of(&store.folder, part, reason));
        }
    }
    Ok(found)
}

/// Logs a warning for every quarantined, missing or truncated segment.
///
/// A segment of the expected length is not checked here: a read verifies its checksum.
pub(crate) fn warn_of_damage(store: &Store) -> Result<(), ArchiveError> {
    let (in_use, quarantined) = store.segments()?;
    for part in &quarantined {
        store.warn(part, part.reason.as_deref().unwrap_or_default());
    }
    for part in &in_use {
        // A file that this process may not access does not count as damaged; a read of the file returns the error.
        if let Ok(Some(reason)) = manifest::fault_at(&store.folder, part) {
            store.warn(part, &reason);
        }
    }
    Ok(())
}

/// The gap that a damaged segment leaves for one exchange.
///
/// Its `recorded_at` is the end of the gap, so that every read as of a later instant includes the gap.
fn damage_gap(part: &SegmentEntry, exchange: String) -> Gap {
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
