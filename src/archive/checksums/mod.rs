//! Checksums: CRC-32 of the lines of the journal, and SHA-256 of files and of bulk texts.

pub(super) mod crc;
pub(super) mod file_checksum;
