"""The live watch of cascades: polling, alerts, and output that does not wait for a slow reader."""
