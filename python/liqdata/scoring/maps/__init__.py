"""Predictions that are scored: estimates, published maps, null models, baselines."""
