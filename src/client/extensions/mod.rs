//! Questions and parameters beyond the contract, sent only where the service announces them.

pub(super) mod announced;
pub(super) mod list;
pub(super) mod parameters;
