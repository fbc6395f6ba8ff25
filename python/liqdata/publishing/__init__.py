"""Publishes the page and its answers as files, for any number of readers of a static file server."""
