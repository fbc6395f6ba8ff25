"""Queries: one file per subject, used by the clients and by markets in this process.

A function checks its parameters and returns a :class:`~liqdata.source.request.Request`, which a blocking client sends,
an async client awaits, and a market answers itself. Iterators and streams have one function for each kind of source.
``contract`` reads the table of all endpoints.
"""
