//! Verification and known damage of an archive.

use crate::archive::coverage::damage_gaps;
use crate::archive::integrity::verify;
use crate::archive::store::store::Store;
use crate::archive::{ArchiveError, DamagedPart, Gap, Verification};
use crate::model::Millis;

/// Verification and known damage of an archive.
#[derive(Clone, Copy, Debug)]
pub struct IntegrityView<'a>(pub(crate) &'a Store);

impl IntegrityView<'_> {
    /// Reads the journal and every file, and compares their contents with the stored checksums.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if a file or the journal cannot be read at all.
    pub fn verify(self) -> Result<Verification, ArchiveError> {
        verify::verify(self.0)
    }

    /// As [`IntegrityView::verify`], with progress reports.
    ///
    /// Calls `goes_on` after each file with the number of files read so far and the total number of files. If it
    /// returns false, the remaining files are not checked.
    ///
    /// # Errors
    ///
    /// As [`IntegrityView::verify`].
    pub fn verify_observed(
        self,
        goes_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Verification, ArchiveError> {
        verify::verify_observed(self.0, goes_on)
    }

    /// All quarantined segments, and all other parts that are known to be damaged.
    ///
    /// A segment counts as damaged if it is missing or its length has changed. It also counts as damaged if a read or a
    /// check found it damaged.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Replaced`] if the journal file was replaced since it was opened, else [`ArchiveError`] if the
    /// journal or a segment cannot be read.
    pub fn damage(self) -> Result<Vec<DamagedPart>, ArchiveError> {
        damage_gaps::damage(self.0)
    }

    /// Gaps left by damaged order segments from `start` to `end`, sorted by start.
    ///
    /// Includes quarantined segments and damaged ones that no writer has quarantined yet. The rows are missing from
    /// every result, so these gaps do not depend on `as_of`.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal or a segment cannot be read.
    pub fn damage_gaps(self, start: Millis, end: Millis) -> Result<Vec<Gap>, ArchiveError> {
        damage_gaps::damage_gaps(self.0, start, end)
    }

    /// Known damaged segments of the tables `kinds` that had rows between `start` and `end`.
    ///
    /// Includes a damaged journal, because it may contain such rows. Reads no segment: reports only damage that earlier
    /// reads and checks found.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn damage_within(
        self,
        kinds: &[&str],
        start: Millis,
        end: Millis,
    ) -> Result<Vec<DamagedPart>, ArchiveError> {
        damage_gaps::damage_within(self.0, kinds, start, end)
    }

    /// Number of files that are known to be damaged.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Forked`] in a process forked from the one that opened the archive.
    pub fn damaged_files(self) -> Result<usize, ArchiveError> {
        self.0.damaged_files()
    }

    /// Number of changes to the known damage, and the time of the last change.
    ///
    /// Counts the changes since the archive was opened.
    #[must_use]
    pub fn changes_of_damage(self) -> (u64, Millis) {
        self.0.changes_of_damage()
    }

    /// Clears the record of known damage, then logs missing, truncated and quarantined files again.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn recheck_damage(self) -> Result<(), ArchiveError> {
        self.0.forget_damage();
        damage_gaps::warn_of_damage(self.0)
    }

    /// Records that the journal is damaged, if `fault` is the error of a damaged journal.
    pub(crate) fn note(self, fault: &ArchiveError) {
        self.0.note(fault);
    }
}
