//! Endpoints of published liquidations: totals, orders, history, cascades and the live stream.

pub(super) mod cascades;
pub(super) mod chart;
pub(super) mod coins;
pub(super) mod exchanges;
pub(super) mod history;
pub(super) mod largest;
pub(super) mod orders;
pub(super) mod overview;
pub(super) mod stream;
pub(super) mod undercount;
