//! One call: its attempts, retries and redirects, the decompression of its response, and its error messages.

pub(super) mod attempts;
pub(super) mod blocking;
pub(super) mod decompress;
pub(super) mod fault;
pub(super) mod retries;
pub(super) mod secrets;
