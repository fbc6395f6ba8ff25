"""Tasks on a cluster or in this process, and the archive that a worker opens."""

from __future__ import annotations

import os
import threading
import uuid
from typing import TYPE_CHECKING, Any, TypeVar

from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    from liqdata.market import Market

__all__ = ["archive_path", "checked_client", "new_run", "run_all", "worker_market"]

T = TypeVar("T")

_lock = threading.Lock()
_opened: dict[str, Any] = {}  # the run and the market of the last task in this process


def archive_path(path: str | os.PathLike[str]) -> str:
    """The address or absolute path of an archive, for workers in another working folder."""
    from liqdata.calls.arguments import archive_folder
    from liqdata.cloud.objects import checked, is_address

    return checked(path, "path") if is_address(path) else os.path.realpath(archive_folder(path))


def checked_client(client: Any) -> Any:
    """Check that a client runs tasks; ``None`` stands for this process."""
    if client is None or all(hasattr(client, name) for name in ("map", "gather", "cancel")):
        return client
    msg = f"client: a {type(client).__name__} runs no tasks; allowed: a distributed.Client, or None"
    raise BadQuery(msg, parameter="client")


def new_run() -> str:
    """Identify a call; its tasks in one process share an open archive."""
    return uuid.uuid4().hex


def worker_market(path: str, run: str) -> Market:
    """The market of the archive, opened once by each process for each run.

    A worker keeps it until its next run.
    """
    from liqdata.market import open

    with _lock:
        if _opened.get("run") != (os.getpid(), run):
            _opened.update(run=(os.getpid(), run), market=open(path))
        market: Market = _opened["market"]
        return market


def run_all(client: Any, function: Callable[..., T], tasks: list[tuple[Any, ...]]) -> list[T]:
    """Run all tasks; on a failure or Ctrl-C cancel those that have not begun."""
    if client is None:
        try:
            return [function(*task) for task in tasks]
        finally:
            _opened.clear()
    # With `pure=True`, Dask would return results of an earlier call.
    futures = client.map(function, *map(list, zip(*tasks, strict=True)), pure=False)
    try:
        return list(client.gather(futures))
    except BaseException:
        client.cancel(futures)
        raise
