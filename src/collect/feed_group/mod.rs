//! The coverage of a feed group: which events its one or two connections have received.
//!
//! `feed_group` merges the coverage of the connections that carry the same topics. `outages` are the times in which a
//! connection received nothing, `sequence` follows the sequence numbers of the exchange, and `liveness` decides what an
//! answer to a ping proves.

pub(super) mod feed_group;
#[cfg(test)]
mod feed_group_tests;
pub(super) mod liveness;
pub(super) mod outages;
pub(super) mod sequence;
