//! Rebuild: replays recorded frames through the current decoders and supersedes rows that differ.

pub(super) mod rebuild;
pub(super) mod reference_history;
pub(super) mod replay;
pub(super) mod report;
