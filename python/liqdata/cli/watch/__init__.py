"""The live watch of cascades: polling, alerts, and output that nothing waits for."""
