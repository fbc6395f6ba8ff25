//! Settings: addresses, limits and times, the selection of coins, and the plan of a collection.

pub(super) mod coin_selection;
pub(super) mod plan;
pub(super) mod settings;
pub(super) mod settings_error;
