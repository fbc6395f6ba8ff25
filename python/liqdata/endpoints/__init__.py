"""Endpoints: the table of them, and the requests that the methods of clients and markets make of it.

``contract`` reads the table. ``requests`` converts the arguments of a method to a
:class:`~liqdata.source.request.Request`, which a blocking client sends, an async client awaits, and a market answers
itself. ``cascades`` and ``span`` convert one argument each.
"""
