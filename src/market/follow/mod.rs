//! Followers: readers of new orders as they arrive and of cascades as they close.
//!
//! A follower stores only its position in the order of arrival. `order_follower` reads orders. `cascade_follower`
//! reads cascades, which `cascade_tracker` assembles from the orders.

pub(super) mod cascade_follower;
pub(super) mod cascade_tracker;
pub(super) mod order_follower;
