"""Output for readers: printable strings, and rows as tables."""
