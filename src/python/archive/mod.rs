//! Archives from Python: writing, verifying, copying, rebuilding and collecting.

pub(super) mod cloud;
pub(super) mod collector;
pub(super) mod rebuild;
pub(super) mod verify;
pub(super) mod writer;
