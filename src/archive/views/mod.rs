//! Views of an archive, each with the methods of one part.

pub(crate) mod catalog;
pub(crate) mod coverage;
pub(crate) mod integrity;
pub(crate) mod raw;
