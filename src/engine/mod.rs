//! Pure functions from observations and an instant to the ten replies.
