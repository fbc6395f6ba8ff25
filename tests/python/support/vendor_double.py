"""A double of a vendor: answers paths with scripted replies, and remembers what was asked."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit


class Double:
    """The replies by path, and the requests that came.

    A reply is a value (sent as JSON), bytes, ``(status, value)`` or ``(status, value, headers)``; a list of replies is
    given out one by one, its last one again and again; a function gets the query and returns a reply.
    """

    def __init__(self, paths):
        self.paths = paths
        self.asked = []

    def reply(self, path, query):
        found = self.paths.get(path, (404, {"code": "404", "msg": "Endpoint not found"}))
        if isinstance(found, Script):
            found = found.take()
        return found(query) if callable(found) else found


class Script:
    """Replies that are given out one by one."""

    def __init__(self, *replies):
        self.replies = list(replies)

    def take(self):
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@contextmanager
def serving(paths):
    """Serve the paths on this machine; gives the double, with its address as ``url``."""
    double = Double(paths)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.answer({})

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            self.answer(dict(parse_qsl(body)))

        def answer(self, form):
            parts = urlsplit(self.path)
            query = {**dict(parse_qsl(parts.query, keep_blank_values=True)), **form}
            double.asked.append((parts.path, query, {name.lower(): value for name, value in self.headers.items()}))
            found = double.reply(parts.path, query)
            status, value, headers = (*found, {})[:3] if isinstance(found, tuple) else (200, found, {})
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            for name, content in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, content)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    double.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield double
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
