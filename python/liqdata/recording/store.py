"""The archive of one recorded source, in the folder ``recorded`` of another archive."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.errors import ArchiveError
from liqdata.files.atomic_write import atomic_write
from liqdata.ingestion.tables import table

from .contract_form import contract_form
from .folders import JOURNAL, recorded_folder
from .sources import Question

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .sources import Refusals, Served

_STATE = "recorder.json"
_DAY = 24 * 60 * 60 * 1000
_WEEK = 7 * _DAY  # the depth of a first recording
_NEAR = 60 * 1000
_MOST_MET = 10_000
_PLAIN = ("exchange", "symbol", "side", "price", "qty", "value_usd", "timestamp")


class EqualOrders:
    """Counts the orders of one reading that are equal, so that each has a key of its own."""

    def __init__(self) -> None:
        self._met: dict[tuple[int, str], int] = {}
        self._most = _MOST_MET

    def count(self, at: int, key: str) -> int:
        """How many orders with this key were met before."""
        if len(self._met) > self._most:
            # A reading goes back in time, so later orders are not met again.
            self._met = {known: number for known, number in self._met.items() if known[0] < at + _NEAR}
            self._most = max(_MOST_MET, 2 * len(self._met))
        met = self._met.get((at, key), 0)
        self._met[at, key] = met + 1
        return met


class Store:
    """Writes the recordings of one source.

    The archive has the rows; a file of state has what the archive cannot say: how far each question was answered, and
    which maps a server can send. The file is written after the rows. If it is lost or old, rows are read again and
    recognised.
    """

    def __init__(self, path: str, source: str) -> None:
        if not (Path(path) / JOURNAL).exists():
            _core.ArchiveWriter(path).close()
        folder = recorded_folder(path, source)
        try:
            folder.parent.mkdir(exist_ok=True)
        except OSError as error:
            msg = f"{folder.parent} cannot be created: {error.strerror or error}"
            raise ArchiveError(msg, path=str(folder.parent)) from None
        self.folder = folder
        self._writer = _core.ArchiveWriter(str(folder))
        try:
            state = self._read_state()
            self.newest: dict[str, int] = state.get("newest", {})
            """Time of the newest order of each question."""
            self.covered: dict[str, int] = state.get("covered", {})
            """The instant until which the orders of each exchange are complete."""
            self._maps: dict[str, list[Any]] = state.get("maps", {})
            self._served: dict[str, dict[str, Any]] = state.get("served", {})
            self._read_late_maps()
        except BaseException:
            self._writer.close()
            raise

    def _read_state(self) -> dict[str, Any]:
        file = self.folder / _STATE
        try:
            found = json.loads(file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            msg = f"{file} cannot be read: {error}; remove it to read the orders of the service again"
            raise ArchiveError(msg, path=str(file)) from None
        if not isinstance(found, dict):
            msg = f"{file} is not a JSON object; remove it to read the orders of the service again"
            raise ArchiveError(msg, path=str(file))
        return found

    def _read_late_maps(self) -> None:
        """Find maps that were stored just before the process ended, after the file of state."""
        from liqdata.calls.arguments import datetime_of
        from liqdata.market import open as open_archive

        last = max((at for at, _ in self._maps.values()), default=None)
        with open_archive(self.folder) as market:
            rows = market.maps(start=None if last is None else datetime_of(last), version="unknown")
            for row in sorted(rows, key=lambda row: row["timestamp"]):
                question = Question.stored(row)
                self._maps[question.key] = [row["timestamp"], _digest(row["reply"])]
                self._note(question, json.loads(row["explain"] or "{}").get("form"), row["timestamp"])

    def _note(self, question: Question, form: dict[str, Any] | None, at: int) -> None:
        """Note a map that a server can send."""
        if form is not None:
            since = self._served.get(question.key, {}).get("since", at)
            names = {"endpoint": question.kind, "symbol": question.symbol, "params": question.params}
            self._served[question.key] = {**names, **form, "since": since, "last": at}

    def slot(self, question: Question) -> int | None:
        """The instant at which a question was last answered."""
        found = self._maps.get(question.key)
        return None if found is None else int(found[0])

    def add_map(self, question: Question, served: Served, at: int) -> int:
        """Store a map that differs from the one before it; return the number of new maps.

        It is stored as served and, in the same transaction, in the form of the contract.
        """
        digest = _digest(served.body)
        known = self._maps.get(question.key)
        new = 0
        if known is None or known[1] != digest:
            form = contract_form(question, served, at)
            about = json.dumps(served.about if form is None else {**served.about, "form": form.facts})
            rows = [(question.kind, question.symbol, question.params, served.body, about, None)]
            if form is not None and form.body is not None:
                version = form.facts["version"]
                rows.append((question.kind, question.symbol, question.params, form.body, about, version))
            _, stored, _ = self._writer.record(None, [], at, rows, [])
            new = min(stored, 1)
            self._note(question, form and form.facts, at)
        self._maps[question.key] = [at, digest]
        self.save()
        return new

    def add_orders(
        self, orders: Sequence[Mapping[str, Any]], sides: Sequence[str], at: int, seen: EqualOrders, faults: Refusals
    ) -> int:
        """Store the orders that are new, and return their number; those that are not stored are faults."""
        keys = []
        for order, side in zip(orders, sides, strict=True):
            parts = (side, *(_number(order[name]) for name in ("price", "value_usd")), str(order["timestamp"]))
            key = "|".join((str(order["symbol"]), *parts))
            keys.append(f"{key}|{seen.count(order['timestamp'], order['exchange'] + key)}")
        if not orders:
            return 0
        rows = [{name: order[name] for name in _PLAIN} for order in orders]
        new, _, refused = self._writer.record(table(rows, "orders"), keys, at, [], [])
        for why in refused:
            faults.append(why)
        return new

    def advance(self, question: Question, newest: int | None) -> None:
        """Note the newest order of a question; ``None`` reads all of them again."""
        if newest is None:
            self.newest.pop(question.key, None)
        else:
            self.newest[question.key] = newest
        self.save()

    def add_coverage(self, exchanges: Mapping[str, tuple[int, int]], at: int) -> None:
        """Store the time in which the orders of exchanges are complete."""
        self._writer.record(None, [], at, [], [(name, *span) for name, span in exchanges.items()])
        self.covered |= {name: end for name, (_, end) in exchanges.items()}
        self.save()

    def compact(self, at: int, ended: Callable[[], bool] = lambda: False) -> None:
        """Move the rows of days that are no longer read again into files, day by day, until the recording has ended."""
        last = min([*self.newest.values(), at]) // _DAY * _DAY - _DAY
        for until in range(last - _WEEK, last + 1, _DAY):
            if ended():
                return
            self._writer.roll(until)

    def save(self) -> None:
        """Write the file of state."""
        state = {"newest": self.newest, "covered": self.covered, "maps": self._maps, "served": self._served}
        file = self.folder / _STATE
        try:
            with atomic_write(file) as unfinished:
                unfinished.write_text(json.dumps(state, indent=1))
        except OSError as error:
            msg = f"{file} cannot be written: {error.strerror or error}"
            raise ArchiveError(msg, path=str(file)) from None

    def close(self) -> None:
        """Release the archive."""
        self._writer.close()


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def _number(value: Any) -> str:
    """A number as a text that does not depend on trailing zeros."""
    from decimal import Decimal

    return format(Decimal(str(value)).normalize(), "f")
