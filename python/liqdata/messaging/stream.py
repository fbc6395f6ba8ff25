"""The JetStream stream: its name, the messages, and the connection."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CONSUMER", "STREAM", "TABLES", "checked_url", "connect", "message_id", "parsed", "payload", "subject"]

STREAM = "LIQDATA"
CONSUMER = "liqdata-ingest"

TABLES: Mapping[str, tuple[str, ...]] = {
    "orders": (
        "exchange", "symbol", "coin", "side", "price", "price_kind", "qty", "value_usd", "timestamp", "received_at",
        "native_id", "dedupe_key", "group_id",
    ),
    "bars": (
        "exchange", "symbol", "interval", "timestamp", "open", "high", "low", "close", "volume", "received_at",
    ),
    "open_interest": ("exchange", "symbol", "timestamp", "open_interest", "received_at"),
}  # fmt: skip
"""The columns of a message, by table."""

_KEYS = {
    "orders": ("dedupe_key",),
    "bars": ("symbol", "interval", "timestamp"),
    "open_interest": ("symbol", "timestamp"),
}
_DUPLICATES = 600.0  # seconds for which the server recognises the id of a message


def checked_url(url: object, parameter: str) -> str:
    """Check the address of a server, and that nats-py is installed."""
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in {"nats", "tls"} or not parts.hostname:
        msg = f"{parameter}: {url!r} is not allowed; allowed: nats://host:4222, or tls://host:4222"
        raise BadQuery(msg, parameter=parameter)
    try:
        import_module("nats")
    except ImportError as error:
        msg = f'{parameter}: NATS needs nats-py: pip install "liqdata[nats]"'
        raise ImportError(msg) from error
    return str(url)


async def connect(url: str) -> tuple[Any, Any]:
    """Connect to a server, and make the stream if there is none."""
    nats, errors = import_module("nats"), import_module("nats.js.errors")
    api = import_module("nats.js.api")
    connection = await nats.connect(url, allow_reconnect=False, connect_timeout=5, error_cb=_ignore)
    try:
        jetstream = connection.jetstream()
        try:
            await jetstream.stream_info(STREAM)
        except errors.NotFoundError:
            await jetstream.add_stream(
                name=STREAM,
                subjects=[f"{STREAM.lower()}.>"],
                retention=api.RetentionPolicy.WORK_QUEUE,
                duplicate_window=_DUPLICATES,
            )
    except BaseException:
        await connection.close()
        raise
    return connection, jetstream


async def _ignore(_: Exception) -> None:
    """Errors of a connection are raised by the next call."""


def subject(table: str) -> str:
    """The subject of a table's rows."""
    return f"{STREAM.lower()}.{table}"


def message_id(table: str, row: Mapping[str, Any]) -> str:
    """The id by which the server recognises a repeated message; that of an order is exchange and dedupe key."""
    kind = () if table == "orders" else (table,)
    return ":".join([str(row["exchange"]), *kind, *(str(row[key]) for key in _KEYS[table])])


def payload(row: Mapping[str, Any]) -> bytes:
    """A row as a message."""
    return json.dumps(row, separators=(",", ":")).encode()


def parsed(subject: str, data: bytes) -> tuple[str, dict[str, Any]] | None:
    """Table and row of a message; ``None`` if it is not one of a collector."""
    table = subject.rpartition(".")[2]
    try:
        row = json.loads(data)
    except ValueError:
        return None
    columns = TABLES.get(table, ())
    if not columns or not isinstance(row, dict) or set(row) != set(columns):
        return None
    texts_and_numbers = all(isinstance(cell, str | int | None) for cell in row.values())
    return (table, row) if texts_and_numbers else None
