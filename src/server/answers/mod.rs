//! From a request to its response: queries, pages, caches, validators and the event stream.

pub(super) mod accept;
pub(super) mod agent_calls;
pub(super) mod answer_cache;
pub(super) mod event;
pub(super) mod event_stream;
pub(super) mod feature_lines;
pub(super) mod index;
pub(super) mod order_feed;
pub(super) mod page_files;
pub(super) mod pages;
pub(super) mod query;
pub(super) mod response;
pub(super) mod response_cache;
pub(super) mod validator;
