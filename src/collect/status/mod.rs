//! The status shown to users: `status` is what they read, `status_board` collects it, and `log_limit` limits warnings.

pub(super) mod log_limit;
pub(super) mod status;
pub(super) mod status_board;
