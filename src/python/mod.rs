//! The binding room: the only one that knows Python.
