"""A loopback server of ready bytes in a process of its own: a thread per connection, kept alive.

Below ``/plain`` every reply goes out as it is, below ``/gzip`` compressed for whoever accepts that. Each reply is made
at its first request, before any clock runs.
"""

import contextlib
import gzip
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import payloads

END = b"\r\n\r\n"
PIECE = 65_536


class Replies:
    """Whole replies, head and body in one piece, by request target and coding."""

    def __init__(self) -> None:
        self.ready: dict[tuple[bytes, bool], bytes] = {}
        self.lock = threading.Lock()

    def get(self, target: bytes, *, takes_gzip: bool) -> bytes:
        found = self.ready.get((target, takes_gzip))
        if found is None:
            with self.lock:
                # Numbered symbols share one reply.
                found = whole(re.sub(rb"(symbol=[A-Z]+)[0-9]+", rb"\1", target).decode(), takes_gzip=takes_gzip)
                self.ready[target, takes_gzip] = found
        return found


@cache
def whole(target: str, *, takes_gzip: bool) -> bytes:
    parts = urlsplit(target)
    coding, _, rest = parts.path.removeprefix("/").partition("/")
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    body = payloads.body("/" + rest, query.get("symbol", ""), query.get("range", ""))
    if body is None:
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    if coding == "gzip" and takes_gzip:
        body = gzip.compress(body, 6, mtime=0)
        head += "Content-Encoding: gzip\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def converse(connection: socket.socket, replies: Replies) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    waiting = b""
    with connection, contextlib.suppress(ConnectionError):
        while piece := connection.recv(PIECE):
            waiting += piece
            while END in waiting:
                head, _, waiting = waiting.partition(END)
                target = head.split(b" ", 2)[1]
                _, _, codings = head.lower().partition(b"\r\naccept-encoding:")
                connection.sendall(replies.get(target, takes_gzip=b"gzip" in codings.partition(b"\r\n")[0]))


def main() -> None:
    replies = Replies()
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=converse, args=(connection, replies), daemon=True).start()


@contextlib.contextmanager
def running() -> Iterator[str]:
    """The address of a server that ends with the block."""
    with subprocess.Popen([sys.executable, Path(__file__)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


if __name__ == "__main__":
    main()
