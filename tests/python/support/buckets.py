"""A bucket of an S3 server in this process, and archives to bring there."""

import threading
import urllib.request
from contextlib import contextmanager
from urllib.parse import unquote

import samples
from samples import DAY, HOUR, MINUTE, NOW

from liqdata import _core

KEYS = {"AWS_ACCESS_KEY_ID": "a-key", "AWS_SECRET_ACCESS_KEY": "a-secret", "AWS_DEFAULT_REGION": "us-east-1"}


def nothing(_method, _path):
    """Let a request be answered."""


def as_asked(_method, _path):
    """Answer nothing else than what is there."""


class Server:
    """An S3 server: its address, the requests it has had, and what is done at each before it is answered.

    ``instead`` gives what is answered in place of what is there, if anything is: status, headers and parts of a body.
    """

    def __init__(self, address):
        self.address = address
        self.requests = []
        self.before = nothing
        self.instead = as_asked

    def empty(self):
        """As it was at the start: the bucket ``kept`` with nothing in it."""
        self.before, self.instead = nothing, as_asked
        ask(f"{self.address}/moto-api/reset", "POST")
        ask(f"{self.address}/kept", "PUT")
        self.requests.clear()

    def of(self, method):
        """The objects that were asked for this way."""
        return sorted(path for asked, path in self.requests if asked == method)

    def _objects(self):
        import obstore

        keys = {"access_key_id": KEYS["AWS_ACCESS_KEY_ID"], "secret_access_key": KEYS["AWS_SECRET_ACCESS_KEY"]}
        plain = {"allow_http": True}
        return obstore, obstore.store.S3Store("kept", config={"endpoint": self.address, **keys}, client_options=plain)

    def get(self, path):
        """An object as it lies there."""
        obstore, objects = self._objects()
        return bytes(obstore.get(objects, path).bytes())

    def put(self, path, data):
        """Put an object there."""
        obstore, objects = self._objects()
        obstore.put(objects, path, data)

    def delete(self, path):
        """Take an object away."""
        obstore, objects = self._objects()
        obstore.delete(objects, path)

    def paths(self):
        """All that lie there."""
        obstore, objects = self._objects()
        return sorted(one["path"] for some in obstore.list(objects) for one in some)


@contextmanager
def s3():
    """An S3 server in this process."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        def log(self, *_):
            """Requests are not the test's output."""

    answers = DomainDispatcherApplication(create_backend_app)

    def answer(environ, start):
        asked = environ["REQUEST_METHOD"], unquote(environ["PATH_INFO"])
        server.requests.append(asked)
        server.before(*asked)
        instead = server.instead(*asked)
        if instead is not None:
            status, headers, parts = instead
            start(status, headers)
            return parts
        return answers(environ, start)

    listening = make_server("127.0.0.1", 0, answer, threaded=True, request_handler=Quiet)
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    server = Server(f"http://127.0.0.1:{listening.server_port}")
    thread.start()
    try:
        yield server
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


def ask(url, method="GET", data=None):
    request = urllib.request.Request(url, data=data, method=method, headers={"content-type": "text/plain"})
    with urllib.request.urlopen(request) as reply:
        return reply.read()


def archive(path, *, count=80, hours=(12, 0), gap=None, rolled=NOW):
    """An archive of the sample tables: the first ``count`` of the orders, one run from so many hours before NOW on."""
    orders = {name: cells[:count] for name, cells in samples.orders().items()}
    bars = samples.bars()
    bars["interval"] = [5 * MINUTE] * len(bars["symbol"])
    writer = _core.ArchiveWriter(path)
    writer.append(orders, bars, samples.open_interest())
    writer.run("okx", "complete", NOW - hours[0] * HOUR, NOW - hours[1] * HOUR)
    if gap is not None:
        writer.gap("okx", NOW - gap[0] * HOUR, NOW - gap[1] * HOUR, "a test")
    writer.roll(rolled)
    writer.close()
    return path


def more(path):
    """One more day, rolled."""
    writer = _core.ArchiveWriter(path)
    orders = {name: cells[:3] for name, cells in samples.orders(seed=9).items()}
    orders["timestamp"] = [at + DAY for at in orders["timestamp"]]
    bars = samples.bars(hours=3)
    bars["timestamp"] = [at + 3 * HOUR for at in bars["timestamp"]]
    bars["interval"] = [5 * MINUTE] * len(bars["symbol"])
    writer.append(orders, bars, None)
    writer.roll(NOW + DAY)
    writer.close()


def next_hour(path):
    """A late order of a closed bar, one received two days ago and committed now, and a bar."""
    writer = _core.ArchiveWriter(path)
    late = {name: cells[:2] for name, cells in samples.orders(seed=9).items()}
    late["timestamp"] = [NOW - 7 * MINUTE, NOW - 20 * HOUR]
    late["received_at"] = [NOW, NOW - 20 * HOUR]
    bars = {name: cells[-1:] for name, cells in samples.bars(("BTC",), hours=1).items()}
    bars["timestamp"] = [at + HOUR for at in bars["timestamp"]]
    bars["interval"] = [5 * MINUTE]
    writer.append(late, bars, None)
    writer.close()
