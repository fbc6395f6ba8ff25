//! The market lists of an exchange: their refresh, and selected coins that no exchange lists.

pub(super) mod refresh;
pub(super) mod unlisted_coins;
