//! An open archive: its folder, its connections to the journal, and the known damage.
//!
//! `store` reads, and `write_store` also writes under the lock of the archive.

pub(super) mod damage_state;
pub(super) mod damaged_part;
#[allow(
    clippy::module_inception,
    reason = "the file is named after its main type"
)]
pub(super) mod store;
pub(super) mod write_store;
