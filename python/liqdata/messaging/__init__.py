"""Rows of several collectors to one archive, through NATS JetStream.

A collector's own archive is the source of its messages, so a lost connection resumes at a position in it. The writer
acknowledges a message once the archive has committed its row.
"""
