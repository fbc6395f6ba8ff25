"""Predictions to score: estimates, published maps, nulls (changed copies of a map) and baselines (simple maps)."""
