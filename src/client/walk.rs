//! Walking a feed that grows while it is read.

/// A walk through the order feed.
#[derive(Debug)]
pub struct Walk;
