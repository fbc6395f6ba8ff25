"""The statistics of scores: price paths, fits, information gains, trials and checks."""
