"""Output of commands: tables, rows as they come, files, and the screen of the collector."""
