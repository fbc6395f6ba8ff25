"""HTTP/2 between a client and a service: streams and connections that end are asked for again, unseen."""

import socket
import ssl
import threading
from contextlib import suppress

import h2.config
import h2.connection
import h2.errors
import h2.events
import pytest
import trustme

from liqdata import NoAnswer

OK = {"24h": {"long_usd": 1.0, "short_usd": 2.0, "total_usd": 3.0, "cnt": 4}}
_BODY = b'{"success": true, "data": {"24h": {"long_usd": 1.0, "short_usd": 2.0, "total_usd": 3.0, "cnt": 4}}}'
_STUCK = 30  # seconds after which a thread of ours that has not ended is a bug


def answer(link, stream):
    link.send_headers(stream, [(":status", "200"), ("content-type", "application/json")])
    link.send_data(stream, _BODY, end_stream=True)


def refuse_the_stream(link, stream):
    link.reset_stream(stream, h2.errors.ErrorCodes.REFUSED_STREAM)


def reset_the_stream(link, stream):
    link.send_headers(stream, [(":status", "200"), ("content-type", "application/json")])
    link.send_data(stream, _BODY[:10])
    link.reset_stream(stream, h2.errors.ErrorCodes.INTERNAL_ERROR)


def answer_and_go_away(link, stream):
    answer(link, stream)
    link.close_connection()


def go_away_unasked(link, _stream):
    # The request is above the last stream that will be looked at.
    link.close_connection(last_stream_id=0)


class Service:
    """Plays one behaviour per request over HTTP/2, the last one for ever."""

    def __init__(self, context, *behaviours):
        context.set_alpn_protocols(["h2"])
        self.requests = []  # the connection each came by
        self.protocols = set()
        self._context = context
        self._behaviours = list(behaviours)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        self._peers = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self):
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            self._peers.append(peer)
            thread = threading.Thread(target=self._serve, args=(peer, len(self._threads)), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, plain, number):
        with suppress(OSError), self._context.wrap_socket(plain, server_side=True) as peer:
            self._peers.append(peer)
            self.protocols.add(peer.selected_alpn_protocol())
            link = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
            link.initiate_connection()
            peer.sendall(link.data_to_send())
            while received := peer.recv(65536):
                for event in link.receive_data(received):
                    if isinstance(event, h2.events.RequestReceived):
                        behaviour = self._behaviours[min(len(self.requests), len(self._behaviours) - 1)]
                        self.requests.append(number)
                        behaviour(link, event.stream_id)
                peer.sendall(link.data_to_send())
                if link.state_machine.state is h2.connection.ConnectionState.CLOSED:
                    # Closing with something unread would reset the connection, and what was said last be lost.
                    while peer.recv(65536):
                        pass
                    return

    def close(self):
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for peer in list(self._peers):
            with suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
        for thread in list(self._threads):
            thread.join(_STUCK)
            assert not thread.is_alive(), "a connection did not end"


@pytest.fixture
def serving(tmp_path, monkeypatch):
    """Start services with a trusted certificate."""
    authority = trustme.CA()
    file = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(file)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    started = []

    def start(*behaviours):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(context)
        started.append(Service(context, *behaviours))
        return started[-1]

    yield start
    for service in started:
        service.close()


def test_calls_share_one_connection(connect, serving):
    service = serving(answer)
    client = connect(service.url)
    for _ in range(3):
        assert client.overview() == OK
    assert service.requests == [1, 1, 1]
    assert service.protocols == {"h2"}


@pytest.mark.parametrize("fault", [refuse_the_stream, reset_the_stream, go_away_unasked])
def test_a_truncated_stream_is_retried(connect, serving, fault):
    service = serving(fault, answer)
    assert connect(service.url).overview() == OK
    assert len(service.requests) == 2

    service = serving(fault)
    client = connect(service.url, retries=1)
    with pytest.raises(NoAnswer, match="2 attempts"):
        client.overview()
    assert len(service.requests) == 2


def test_a_connection_closed_after_an_answer_is_replaced(connect, serving):
    service = serving(answer_and_go_away)
    client = connect(service.url)
    for _ in range(3):
        assert client.overview() == OK
    assert service.requests == [1, 2, 3]
