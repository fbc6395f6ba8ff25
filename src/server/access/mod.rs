//! Who may send requests: tokens, TLS, origins and the addresses behind proxies.

pub(super) mod guard;
pub(super) mod peers;
pub(super) mod reload;
pub(super) mod tls;
pub(super) mod tokens;
