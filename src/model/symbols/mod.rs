//! Symbols, coins and exchange names, and how their spellings are parsed.

pub(super) mod coin;
pub(super) mod names;
pub(super) mod suggestion;
pub(super) mod symbol;
