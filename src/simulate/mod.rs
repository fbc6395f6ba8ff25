//! A simulated market with known positions.
