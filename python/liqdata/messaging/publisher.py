"""The process that publishes what a collector stores: ``python -m liqdata.messaging.publisher FOLDER``.

The address of the server is the first line of standard input. The process ends when its standard input does, once the
rows that are stored until then are published.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .source import RowSource
from .stream import connect, message_id, payload, subject

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Publisher"]

_EVERY = 0.5  # seconds between two reads of the archive
_PAUSE = 1.0  # seconds before another attempt to connect, and before another process
_DRAIN = 20.0  # seconds to publish the last rows
_log = logging.getLogger("liqdata.messaging")


class Publisher:
    """Publishes the rows of an archive from another process, which is started again if it dies.

    The process is another one because two SQLite libraries in one process would drop each other's locks.
    """

    def __init__(self, folder: Path, url: str) -> None:
        self._folder, self._url = folder, url
        self._ended = threading.Event()
        self._process = self._started()
        self._thread = threading.Thread(target=self._watch, name="liqdata-publisher", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def _started(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "liqdata.messaging.publisher", str(self._folder)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603 - our own
        if process.stdin is not None:
            process.stdin.write(f"{self._url}\n".encode())
            process.stdin.flush()
        return process

    def _watch(self) -> None:
        while True:
            code = self._process.wait()
            if self._ended.wait(_PAUSE):
                return
            _log.warning("the publisher ended with code %s and is started again", code)
            self._process = self._started()

    def close(self) -> None:
        """Publish the last rows and end the process; the next run begins with the rows that are left."""
        self._ended.set()
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(_DRAIN + 5)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._thread.join()


async def _publish(folder: Path, url: str, is_over: Callable[[], bool]) -> None:
    """Publish until it is over and all rows are published, or for :data:`_DRAIN` seconds after that."""
    source = RowSource(folder, hashlib.sha256(url.rpartition("@")[2].encode()).hexdigest()[:16])
    reason, until = "", None
    while True:
        if is_over() and until is None:
            until = time.monotonic() + _DRAIN
        try:
            connection, jetstream = await connect(url)
            try:
                reason = ""
                await _forward(source, jetstream, is_over)
            finally:
                with suppress(Exception):
                    await connection.close()
        except Exception as error:  # noqa: BLE001 - whatever fails, the rows are in the archive
            if str(error) != reason:
                reason = str(error)
                _log.warning("rows wait in the archive: %s", reason or type(error).__name__)
        else:
            return
        if until is not None and time.monotonic() > until:
            return
        await asyncio.sleep(_PAUSE)


async def _forward(source: RowSource, jetstream: Any, is_over: Callable[[], bool]) -> None:
    while True:
        over = is_over()  # before the read, so that the last read has all rows
        for table, rows in source.read():
            await _send(jetstream, table, rows)
        if over:
            return
        await asyncio.sleep(_EVERY)


async def _send(jetstream: Any, table: str, rows: Sequence[dict[str, Any]]) -> None:
    """Publish rows and wait until the server has stored all of them."""
    sent = [
        jetstream.publish(subject(table), payload(row), headers={"Nats-Msg-Id": message_id(table, row)}, timeout=10)
        for row in rows
    ]
    await asyncio.gather(*sent)


def main() -> None:
    """Run the process."""
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    folder, url = Path(sys.argv[1]), sys.stdin.readline().strip()
    over = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=wait, daemon=True).start()
    asyncio.run(_publish(folder, url, over.is_set))


if __name__ == "__main__":
    main()
