//! The ledger of open positions by liquidation price, and its replay over bars.
//!
//! A ledger has one book per side and leverage tier. A replay runs a ledger through the bars of a coin, from the first
//! bar or from a checkpoint.

pub(super) mod bar_liquidations;
pub(super) mod bar_tally;
pub(super) mod checkpoints;
pub(super) mod drift_kernel;
pub(super) mod forming_bar;
pub(super) mod ledger;
pub(super) mod ledger_state;
pub(super) mod located_shares;
pub(super) mod mass_cells;
pub(super) mod parameters;
pub(super) mod replay;
pub(super) mod tier_book;
