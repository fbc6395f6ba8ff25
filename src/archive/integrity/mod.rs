//! Checksums of rows and files, their verification, and the record of known damage.
//!
//! Every row of the journal has a CRC-32, and every segment has a SHA-256. `verify` checks an archive, and `relist`
//! replaces a missing journal.

pub(super) mod crc;
pub(super) mod damage_state;
pub(super) mod damaged_part;
pub(super) mod file_checksum;
pub(super) mod journal_check;
pub(super) mod relist;
pub(super) mod row_check;
pub(super) mod row_checksums;
pub(super) mod segment_check;
pub(super) mod verify;
