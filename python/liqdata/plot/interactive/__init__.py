"""Plots with plotly: they zoom, and show the values under the pointer."""
