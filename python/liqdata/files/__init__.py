"""Files: written atomically, and opened safely in a folder from elsewhere."""
