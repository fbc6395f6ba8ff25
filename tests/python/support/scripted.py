"""A small HTTP/1.1 listener that plays behaviours, one per request: the double for services that misbehave.

A behaviour is a function of an :class:`Exchange`; when it returns true, the connection stays open for the next request.
"""

import itertools
import json
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

# The head of an event stream; what is formatted in are further header lines.
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n%s\r\n"

_STUCK = 30  # seconds after which a thread of ours that has not ended is a bug


@dataclass(frozen=True)
class Request:
    """A request as it came in."""

    target: str
    headers: dict[str, str]
    at: float = field(default_factory=time.monotonic)

    @property
    def path(self):
        return urlsplit(self.target).path

    @property
    def query(self):
        return {name: values[-1] for name, values in parse_qs(urlsplit(self.target).query).items()}


@dataclass
class Exchange:
    """One request and the means to answer it."""

    service: "Service"
    request: Request
    peer: socket.socket

    def send(self, data):
        self.peer.sendall(data)

    def wait(self, seconds=None):
        """Wait for the end of the service. Return whether it has come."""
        return self.service.ending.wait(seconds)

    def until_hung_up(self):
        """Read until the peer goes away."""
        while self.peer.recv(65536):
            pass


class Service:
    """Plays ``behaviours`` in the order requests come in, the last one for ever; close it, or use ``with``."""

    def __init__(self, *behaviours, tls=None):
        self.requests = []
        self.connections = 0
        self.hung_up = 0
        self.ending = threading.Event()
        self._behaviours = list(behaviours)
        self._tls = tls
        self._changed = threading.Condition()
        self._peers = set()
        self._threads = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self._listener.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def play(self, *behaviours):
        """Play these from now on."""
        with self._changed:
            self._behaviours = list(behaviours)

    def until(self, condition):
        """Wait until ``condition()`` holds, looking whenever something has happened here."""
        with self._changed:
            assert self._changed.wait_for(condition, _STUCK), "what was waited for did not happen"

    def until_asked(self, times=1):
        """Wait until that many requests have come in."""
        self.until(lambda: len(self.requests) >= times)

    @property
    def gaps(self):
        """Seconds between one request and the next."""
        return [later.at - earlier.at for earlier, later in itertools.pairwise(self.requests)]

    def close(self):
        self.ending.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join(_STUCK)
        with self._changed:
            peers, threads = list(self._peers), list(self._threads)
        for peer in peers:
            with suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join(_STUCK)
            assert not thread.is_alive(), "a behaviour did not end"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _accept(self):
        while not self.ending.is_set():
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            with self._changed:
                self.connections += 1
                self._peers.add(peer)
                thread = threading.Thread(target=self._serve, args=(peer,), daemon=True)
                self._threads.append(thread)
                self._changed.notify_all()
            thread.start()

    def _serve(self, peer):
        secured = peer
        try:
            # A peer that goes away is what many of the tests are about.
            with suppress(OSError):
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._tls is not None:
                    secured = self._tls.wrap_socket(peer, server_side=True)
                    with self._changed:
                        self._peers.add(secured)
                while self._answer_one(secured):
                    pass
        finally:
            with self._changed:
                self._peers -= {peer, secured}
                self.hung_up += 1
                self._changed.notify_all()
            # A socket that TLS has wrapped is closed already, and closing it again is harmless.
            secured.close()
            peer.close()

    def _answer_one(self, peer):
        head = b""
        while b"\r\n\r\n" not in head:
            more = peer.recv(65536)
            if not more:
                return False
            head += more
        first, *lines = head.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        request = Request(first.split(" ")[1], headers)
        with self._changed:
            self.requests.append(request)
            behaviour = self._behaviours.pop(0) if len(self._behaviours) > 1 else self._behaviours[0]
            self._changed.notify_all()
        return behaviour(Exchange(self, request, peer))


def _head(status, headers):
    lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _bytes(body):
    if isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


def answer(body=b"", status=200, *, content_type="application/json", **headers):
    """Answer in full; the connection stays open."""
    data = _bytes(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    head = {"content-length": len(data), "content-type": content_type, **named}

    def play(exchange):
        exchange.send(_head(status, head) + data)
        return True

    return play


def data(value):
    """Answer with ``value`` in the contract's envelope."""
    return answer({"success": True, "data": value})


def hang_up(_):
    """Hang up without a word."""
    return False


def silence(exchange):
    """Never answer; wait for the peer to go away."""
    exchange.until_hung_up()
    return False
