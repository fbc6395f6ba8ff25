"""Sources of answers: a service over HTTP, or a market in this process.

A :class:`~liqdata.source.request.Request` describes a query. Three sources answer it: ``BlockingService`` waits for a
service, ``AsyncService`` awaits one, ``LocalSource`` asks the engine of this process. ``convert`` turns their replies
into the objects that callers get.
"""
