"""Where data sets are written: a folder or an address of object storage."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from liqdata.calls.arguments import anchored
from liqdata.cloud.objects import Objects, checked, each, is_address, run
from liqdata.errors import BadQuery
from liqdata.files.atomic_write import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Store", "checked_place"]


def checked_place(out: object) -> str:
    """The address or absolute path of a data set."""
    if is_address(out):
        return checked(out, "out")
    if isinstance(out, str | os.PathLike) and os.fspath(out):
        return os.path.realpath(anchored(os.fspath(out), "out"))
    msg = f"out: {out!r} is not allowed; allowed: a folder, or an address such as s3://bucket/prefix"
    raise BadQuery(msg, parameter="out")


class Store:
    """Files below a folder or an address, each written as a whole."""

    def __init__(self, place: str) -> None:
        self._folder = None if is_address(place) else Path(place)
        self._place = place

    def read(self, name: str) -> bytes | None:
        """The bytes of a file, or ``None``."""
        if self._folder is None:
            return run(lambda _: Objects(self._place, make=True).get(name))
        try:
            return (self._folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Write files."""
        if self._folder is None:

            async def send() -> None:
                objects = Objects(self._place, make=True)
                await each(files, lambda file: objects.put(*file))

            run(lambda _: send())
            return
        for name, data in files:
            file = self._folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(file) as unfinished:
                unfinished.write_bytes(data)

    def delete(self, name: str) -> None:
        """Delete a file, if it exists."""
        if self._folder is None:
            run(lambda _: Objects(self._place, make=True).delete(name))
        else:
            (self._folder / name).unlink(missing_ok=True)
