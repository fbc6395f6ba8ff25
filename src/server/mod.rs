//! The HTTP server: a router without network I/O, and a loop that serves it on a listener.
//!
//! An *answer* is the response to a query. A *peer* is the IP address at the other end of a connection. A *client*
//! behind a trusted proxy is identified by `X-Forwarded-For` instead.
//!
//! [`Rejection`] maps an error to a status and a body. [`Limits`] restricts the connections, memory and time that one
//! client can use.

mod access;
mod admission;
mod answers;
mod connection;
mod listen;
mod metrics;
mod reject;
mod router;
mod shared;
#[cfg(test)]
mod tests;

pub use access::guard::Access;
pub use access::peers::network;
pub use access::tls::Tls;
pub use access::tokens::Tokens;
pub use admission::limits::Limits;
pub use answers::agent_calls::{AgentAnswers, AgentCall, AgentReply, Agents, is_of_agents};
pub use answers::page_files::page_files;
pub use listen::{ServerSettings, run, run_with};
pub use metrics::alerts::{AlertCounts, count_alerts};
pub use reject::{Rejection, status};
pub use router::{router, router_with};
