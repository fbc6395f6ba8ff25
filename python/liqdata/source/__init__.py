"""Sources of answers: a service over HTTP, or a market in this process.

A :class:`~liqdata.source.request.Request` describes a query. There are three classes of sources: ``BlockingService``
sends it to a service and waits, ``AsyncService`` sends it and awaits the reply, and ``LocalSource`` passes it to the
Rust core in this process. ``convert`` converts the replies to the objects that callers get.
"""
