"""Archives in object storage: addresses, upload, and the local mirror (a downloaded copy)."""
