//! Caches of answers and of what they need.

pub(crate) mod known_positions;
pub(crate) mod recent;
