//! Symbols, coins and exchange names, and how their spellings are parsed.
//!
//! [`Symbol`](symbol::Symbol) parses every spelling with three tables: quotes, scales and well-known coins.

pub(super) mod coin;
pub(super) mod contract_kind;
pub(super) mod names;
mod programs;
pub(super) mod quotes;
pub(super) mod scales;
pub(super) mod spelling;
pub(super) mod suggestion;
pub(super) mod symbol;
