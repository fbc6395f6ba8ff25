//! Decoding of frames: unparsed JSON, paths for errors, contract names and events.

pub(super) mod event;
pub(super) mod frame;
pub(super) mod json_path;
pub(super) mod market_name;
pub(super) mod raw_json;
