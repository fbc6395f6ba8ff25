"""Ingest of files and tables into an archive."""
