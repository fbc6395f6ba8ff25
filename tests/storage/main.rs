//! The archive, and markets with observations in an archive.

mod archive;
mod archived;
