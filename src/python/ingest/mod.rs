//! Tables and files on their way into an archive or a market.

pub(super) mod by_column;
pub(super) mod cells;
pub(super) mod checked;
pub(super) mod content;
pub(super) mod in_coins;
pub(super) mod ingest;
pub(super) mod parts;
pub(super) mod tables;
