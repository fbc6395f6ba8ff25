"""Output for readers: strings that are safe to print."""
