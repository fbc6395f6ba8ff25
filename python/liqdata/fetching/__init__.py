"""Download of public historical data into an archive."""
