"""How maps are scored: price paths, fits, gains, trials and checks."""
