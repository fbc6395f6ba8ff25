//! All dialects, one file each.

mod contract;
mod vendors;

pub use contract::ContractDialect;
pub use vendors::VendorDialect;

use super::dialect::Dialect;

/// Every dialect. A new one is a file in this folder and an entry here.
pub const DIALECTS: [&dyn Dialect; 1] = [&ContractDialect];

/// Finds a dialect by name.
#[must_use]
pub fn named(name: &str) -> Option<&'static dyn Dialect> {
    DIALECTS.into_iter().find(|dialect| dialect.name() == name)
}
