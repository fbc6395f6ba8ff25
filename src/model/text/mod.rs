//! Text columns, interned strings and short names.

pub(super) mod hashing;
pub(super) mod interner;
pub(super) mod label_column;
pub(super) mod short_name;
pub(super) mod truncation;
