//! Connection discipline.
