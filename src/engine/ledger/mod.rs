//! The ledger of open positions by liquidation price, and its replay over bars.
//!
//! A ledger has one book per side and leverage tier: the positions of that side with that leverage. A replay advances a
//! ledger bar by bar through a window.

pub(super) mod forming_bar;
pub(super) mod ledger;
pub(super) mod mass_cells;
pub(super) mod parameters;
pub(super) mod replay;
pub(super) mod tier_book;
