"""Output of commands: tables, rows as they arrive, files, and the screen of the collector."""
