//! Calls from Python: checked queries, pending replies, streams and walks.

pub(super) mod asyncio_waker;
pub(super) mod call;
pub(super) mod question;
pub(super) mod reading;
pub(super) mod reply;
pub(super) mod specification;
pub(super) mod stream;
pub(super) mod time_unit;
pub(super) mod vendors;
pub(super) mod walk;
