//! The checks, one family of decoders each.

pub mod archive;
pub mod arriving;
pub mod codings;
pub mod events;
pub mod frames;
pub mod instants;
pub mod numbers;
pub mod questions;
pub mod replies;
pub mod rest_bodies;
pub mod verdict;

mod exact;
