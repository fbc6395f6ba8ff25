//! Subscriptions: the topics of one connection, their acknowledgements, and the selection of coins.

pub(super) mod coin_selection;
pub(super) mod pacer;
pub(super) mod subscriptions;
pub(super) mod unlisted_coins;
