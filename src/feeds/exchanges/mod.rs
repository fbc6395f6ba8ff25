//! One decoder per exchange.
//!
//! The header of each file states:
//!
//! - Channel: the WebSocket channels and REST paths with liquidations.
//! - Side: whether the exchange sends the side of the liquidated position or that of the closing order, which is the
//!   opposite. An order that sells closes a long position.
//! - Units: the units of price and quantity.
//! - Backfill: how missed liquidations are requested.
//! - Source: the documentation of the exchange.
//!
//! The control topic of a connection is a topic with frequent messages. If these messages stop, the connection is
//! considered broken.
//!
//! After the header, each file defines limits, the `VENUE` value, contract names, the decoder, control messages,
//! listings and backfill, in this order.

pub(super) mod centralized;
pub(super) mod decentralized;
