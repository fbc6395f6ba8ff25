//! Bytes to values at the machine's speed: tolerant in what it accepts, never silently wrong.
