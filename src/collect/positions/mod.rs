//! Trading positions of single accounts: discovery from public trades, the watch list, and polling.

pub(super) mod account_socket;
pub(super) mod discovery;
pub(super) mod polling;
pub(super) mod watch_list;
