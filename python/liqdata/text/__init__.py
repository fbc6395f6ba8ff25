"""Text for people: printable strings, and rows as tables."""
