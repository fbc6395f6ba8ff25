//! The dialects that are known, one file each.

mod contract;

pub use contract::Contract;

use super::dialect::Dialect;

/// Every dialect; a further one is a file of this folder and its line here.
pub const DIALECTS: [&dyn Dialect; 1] = [&Contract];

/// The dialect of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn Dialect> {
    DIALECTS.into_iter().find(|dialect| dialect.name() == name)
}
