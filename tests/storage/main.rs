//! The archive, and markets whose observations are in an archive.

mod archive;
mod archived;
