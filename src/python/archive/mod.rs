//! Archives from Python: writing, verifying, copying, rebuilding and collecting, and undoing an ingest.

pub(super) mod cloud;
pub(super) mod collector;
pub(super) mod rebuild;
pub(super) mod undo;
pub(super) mod verify;
pub(super) mod writer;
