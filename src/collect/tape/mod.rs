//! Liquidations of an exchange that names them only in the fills of single accounts: found by watching active makers.

mod liquidation_tape;
mod recall;
pub(super) mod tape_feed;
