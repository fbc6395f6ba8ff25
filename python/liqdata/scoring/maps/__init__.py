"""What is scored: estimates, published maps, null models, baselines."""
