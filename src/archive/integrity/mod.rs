//! Verification of the journal and of files by their checksums.
//!
//! `verify` checks an archive, and `relist` replaces a missing journal.

pub(super) mod journal_check;
pub(super) mod relist;
pub(super) mod row_check;
pub(super) mod segment_check;
pub(super) mod verify;
