"""The writer: stores the rows of a stream in an archive, and acknowledges them after the commit."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from liqdata.errors import LiqdataError
from liqdata.ingestion.ingest import Session

from .stream import CONSUMER, STREAM, TABLES, connect, parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from liqdata.archive import Ingested

__all__ = ["subscribe"]

_BATCH = 5000
_WAIT = 1.0  # seconds to wait for messages
_PAUSE = 1.0  # seconds before another attempt to connect
_ACK_WAIT = 60.0  # seconds after which the server sends a message again
_log = logging.getLogger("liqdata.messaging")


def subscribe(path: str, url: str, *, source: str | None, is_over: Callable[[], bool]) -> Ingested:
    """Store rows until ``is_over``, and return their counts."""
    return asyncio.run(_subscribe(Session(path, source), url, is_over))


async def _subscribe(session: Session, url: str, is_over: Callable[[], bool]) -> Ingested:
    reason = ""
    try:
        while not is_over():
            try:
                connection, jetstream = await connect(url)
                try:
                    reason = ""
                    await _take(session, jetstream, is_over)
                finally:
                    with suppress(Exception):
                        await connection.close()
            except LiqdataError:  # the archive cannot be written: the rows stay in the stream
                raise
            except Exception as error:  # noqa: BLE001 - of the connection, which is made again
                reason = _report(error, reason)
                await asyncio.sleep(_PAUSE)
    finally:
        session.close()
    return session.so_far()


def _report(error: Exception, before: str) -> str:
    reason = str(error) or type(error).__name__
    if reason != before:
        _log.warning("the stream is not reachable: %s", reason)
    return reason


async def _take(session: Session, jetstream: Any, is_over: Callable[[], bool]) -> None:
    api, errors = import_module("nats.js.api"), import_module("nats.errors")
    config = api.ConsumerConfig(
        durable_name=CONSUMER, ack_policy=api.AckPolicy.EXPLICIT, ack_wait=_ACK_WAIT, max_ack_pending=2 * _BATCH
    )
    stream = await jetstream.pull_subscribe("", durable=CONSUMER, stream=STREAM, config=config)
    while not is_over():
        try:
            messages = await stream.fetch(_BATCH, timeout=_WAIT)
        except errors.TimeoutError:
            continue
        rows = [(message, parsed(message.subject, message.data)) for message in messages]
        for message, found in rows:
            if found is None:
                _log.warning("a message of %s is not a row of a collector and is dropped", message.subject)
                await message.term()
        known = [(message, *found) for message, found in rows if found is not None]
        tables = {table: [row for _, name, row in known if name == table] for table in TABLES}
        if known:
            given = {name: _table(name, some) for name, some in tables.items() if some}
            done = await asyncio.to_thread(session.store, given)
            for reason, count in done.refused.items():
                _log.warning("%s rows are refused: %s; first at %s", count, reason, done.first[reason])
        for message, *_ in known:
            await message.ack()


def _table(name: str, rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """Rows as columns; a column without a cell is left out."""
    columns = {column: [row[column] for row in rows] for column in TABLES[name]}
    return {column: cells for column, cells in columns.items() if any(cell is not None for cell in cells)}
