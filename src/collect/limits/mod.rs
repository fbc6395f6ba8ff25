//! Limits that an exchange sets: cooldowns after refusals, and the pace of subscriptions.

pub(super) mod cooldown;
pub(super) mod pacer;
