"""Files of Parquet on their way into an archive: read batch by batch, so that memory does not grow with them.

A day is kept whole, wherever its rows stand, so that no day is looked at twice; what a file holds of one is gathered
until the last row of it has come. Days that do not fit together into what is held are left for another pass over the
file. Before any row is kept all of them have been looked over; as many as fit are held until then as they were read,
and are not read again.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.errors import BadQuery
from liqdata.frames.import_order import pandas_first

from .arrow_file import opened_arrow
from .tables import table

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    Whose = tuple[str | None, bool]
    """Whose rows are that do not say so, and whether an exchange that is not known is taken."""

    Held = tuple[_core.TablePart, Any, Any]
    """Rows, where each stands in its file, and the day of each."""

COLUMNS = {
    "venue": "exchange",
    "coin": "symbol",
    "time": "timestamp",
    "ts": "timestamp",
    "t": "timestamp",
    "date": "timestamp",
    "datetime": "timestamp",
    "open_time": "timestamp",
    "o": "open",
    "h": "high",
    "l": "low",
    "c": "close",
    "v": "volume",
    "quantity": "qty",
    "notional_usd": "value_usd",
    "oi": "open_interest",
    "oi_usd": "open_interest_usd",
}
"""Names of columns in files of Parquet that are understood, and what they are called here."""

KINDS = {
    "orders": {"timestamp", "exchange", "symbol", "side", "price", "qty", "value_usd"},
    "bars": {"timestamp", "symbol", "open", "high", "low", "close", "volume"},
    "open_interest": {"timestamp", "symbol"},
    "positions": {"timestamp", "symbol", "side", "liquidation_price", "value_usd"},
}
"""What a table of each kind cannot do without."""

BESIDE = {
    "orders": {"coin", "received_at", "group_id"},
    "bars": {"exchange", "interval", "closes_at"},
    "open_interest": {"exchange", "open_interest", "open_interest_usd"},
}
"""What else is read of a table of each kind that is read batch by batch."""

AMOUNTS = {
    "orders": ("price", "qty", "value_usd"),
    "bars": ("open", "high", "low", "close", "volume"),
    "open_interest": ("open_interest", "open_interest_usd"),
}
"""The columns of numbers, of which a row that has none is refused alone."""

FILLS = "hyperliquid_fills"
"""The format of a node's fills."""

RESERVOIR = {
    "address": "text",
    "coin": "text",
    "dex": "text",
    "quote_symbol": "text",
    "side": "text",
    "price": "text",
    "size": "text",
    "start_position": "text",
    "direction": "text",
    "trade_id": "number",
    "timestamp": "instant",
}
"""Columns of a reservoir's Parquet of fills that are read, beside ``is_liquidation``."""

BATCH = 1 << 16
"""Rows that are read at once."""
TOGETHER = 1 << 17
"""Rows that are kept together."""
MOST = 1 << 18
"""Rows that are held at once, where no single day has more."""
HELD = 24 << 20
"""Bytes of rows that are held from when they are looked over until they are kept: of a file's first groups of rows."""
BUFFER = 1 << 20
"""Bytes of a column that are read at once; without it a column of a group of rows is, however long."""


class Refusals:
    """How many rows were refused by each reason, and where the first of each stood in its file."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._first: dict[str, tuple[int, str]] = {}

    def copy(self) -> Refusals:
        """Give the same, to count others with them."""
        made = Refusals()
        made.counts, made._first = self.counts.copy(), self._first.copy()
        return made

    def add(self, reason: str, row: int, shown: str, count: int = 1) -> None:
        """Count rows of which the first is this one."""
        self.counts[reason] += count
        if reason not in self._first or row < self._first[reason][0]:
            self._first[reason] = (row, shown)

    def first(self, file: str) -> dict[str, str]:
        """Where the first row of each reason stood, and what stood there."""
        first = self._first.items()
        return {reason: f"{file}:{row} ({shown})" if shown else f"{file}:{row}" for reason, (row, shown) in first}


@dataclass
class Part:
    """Rows of a file that are kept together, where each stands in the file, and what is known of the whole file."""

    rows: Any
    """A table; of a file that is read day by day parts of it, as they were read (``is_read``)."""
    numbers: Any
    length: int | None = None
    is_read: bool = False
    is_in_order: bool = True
    """Whether no row is yet to come of a day before the last of this part and of those before it."""


class Place:
    """Where rows go: the folder of an archive, and the prices that it has."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.prices = _core.ArchivePrices(folder)


@contextmanager
def named(path: str) -> Iterator[None]:
    """Name this file in what is said of its rows."""
    try:
        yield
    except BadQuery as error:
        if error.parameter not in KINDS:
            raise
        msg = f"{error.parameter}: {path}: {str(error).removeprefix(f'{error.parameter}: ')}"
        raise BadQuery(msg, parameter=error.parameter) from None


class ParquetFile:
    """A Parquet, Feather or Arrow file that is a table of a kind.

    Orders without an exchange are of ``exchange``, rows without a symbol of the one in the name of the file.
    ``source`` is the file that is read, with its content, where it is not ``path``.
    """

    def __init__(
        self, path: str, name: str | None, exchange: str | None = None, source: tuple[str, str] | None = None
    ) -> None:
        self.path = path
        self._file, self._content = source or (path, "parquet")
        self._as_it_was = _stamp(self._file)
        opened = self._opened()
        given = opened.schema_arrow.names
        self.rows: int = opened.metadata.num_rows
        if name in (None, FILLS) and {"is_liquidation", *RESERVOIR} <= set(given):
            self.kind, self._added = FILLS, dict[str, str]()
            self._named = {column: column for column in ("is_liquidation", *RESERVOIR)}
            return
        lower = [str(column).lower() for column in given]
        # Another name is understood where the column itself is not there: frames of orders have a pair and its coin.
        meant = COLUMNS if "coin" in lower else COLUMNS | {"pair": "symbol"}
        names = [column if meant.get(column, column) in lower else meant.get(column, column) for column in lower]
        symbol, untraded = _core.file_name(path)
        added = {"symbol": symbol} if symbol is not None and "symbol" not in names else {}
        self.kind = _kind(path, name, [*names, *added], is_somebodys=exchange is not None)
        if self.kind == "bars" and untraded is not None:
            msg = f"files: {path}: it is a series of {untraded}, by its name, and bars are those of trades"
            raise BadQuery(msg, parameter="files")
        if exchange is not None and "exchange" in KINDS[self.kind] - set(names):
            added["exchange"] = exchange
        # Columns of one value that the file does not have.
        self._added = added
        wanted = KINDS[self.kind] | BESIDE.get(self.kind, set(names))
        self._named = {column: known for column, known in zip(given, names, strict=True) if known in wanted}
        for known in wanted:
            if names.count(known) > 1:
                msg = f'files: {path}: column "{known}" stands twice; allowed: once'
                raise BadQuery(msg, parameter="files")

    def fills(self) -> Iterator[str]:
        """The fills of a reservoir's by which an account was liquidated, each as a node writes it."""
        import pyarrow as pa
        from pyarrow import compute

        pandas_first()
        for _, batch in self._batches():
            held = batch.filter(compute.fill_null(batch.column("is_liquidation"), fill_value=False))
            columns = {}
            for name, what in RESERVOIR.items():
                column = held.column(name)
                if what == "instant" and pa.types.is_timestamp(column.type):
                    column = column.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
                columns[name] = column.cast(pa.string()) if what == "text" else column
            for row in pa.table(columns).to_pylist():
                yield _as_a_node_writes(row)

    def parts(self, place: Place, whose: Whose, refused: Refusals) -> Iterator[Part]:
        """Its rows, many at a time, but for those that are refused alone; all are looked over before the first come."""
        if self.kind == "positions":
            rows = self._whole()
            yield Part(rows, range(rows.num_rows))
        elif self.rows <= TOGETHER:
            sound = _Sound(self.path, place.prices, self.kind)
            part = sound.of(self._whole(), 0, refused)
            sound.check()
            if 0 < part.rows.num_rows < self.rows:
                # A row that cannot be read is named by its place in the file, not among those that are left.
                _core.TableCheck(place.folder, self.kind, *whose).add(table(part.rows, self.kind), part.numbers)
            if part.rows.num_rows or not refused.counts:
                yield part
        else:
            yield from self._day_by_day(place, whose, refused)

    def _day_by_day(self, place: Place, whose: Whose, refused: Refusals) -> Iterator[Part]:
        check = _core.TableCheck(place.folder, self.kind, *whose)
        sound = _Sound(self.path, place.prices, self.kind)
        counts: Counter[int] = Counter()
        of_groups: dict[int, set[int]] = {}
        held = _HeldGroups()
        for group, part in self._sound(sound, refused):
            given = table(part.rows, self.kind)
            if held.has_room:
                rows = check.read(given, part.numbers)
                days = rows.days()
                held.add(group, Part(rows, part.numbers))
            else:
                days = check.add(given, part.numbers)
            met = _counted(days)
            counts.update(met)
            of_groups.setdefault(group, set()).update(met)
        sound.check()
        length = check.length() if self.kind == "bars" else None
        latest = min(counts, default=0)
        while counts:
            before = len(counts)
            self._refuse_changed()
            groups = {group for group, days in of_groups.items() if not days.isdisjoint(counts)}
            # What is refused has been counted.
            parts = (part for _, part in self._sound(sound, Refusals(), groups - held.groups.keys()))
            read = (Part(check.read(table(part.rows, self.kind), part.numbers), part.numbers) for part in parts)
            # Those that are held are the first, and are let go as they are used.
            latest = yield from _by_days(chain(held.taken(), read), counts, latest, length)
            if len(counts) == before:
                raise self._changed()

    def _sound(self, sound: _Sound, refused: Refusals, groups: set[int] | None = None) -> Iterator[tuple[int, Part]]:
        """The sound rows of the batches of these groups of rows, or of all."""
        import pyarrow as pa

        opened = self._opened().metadata
        starts = [0]
        for group in range(opened.num_row_groups):
            starts.append(starts[-1] + opened.row_group(group).num_rows)
        latest, row = -1, 0
        for group, batch in self._batches(groups):
            row = row if group == latest else starts[group]
            latest = group
            part = sound.of(pa.Table.from_batches([batch]), row, refused)
            row += batch.num_rows
            if part.rows.num_rows:
                yield group, part

    def _whole(self) -> Any:
        import pyarrow as pa

        schema = self._opened().schema_arrow
        names = [name for name in schema.names if name in self._named]
        known = pa.schema([schema.field(name).with_name(self._named[name]) for name in names])
        for name in self._added:
            known = known.append(pa.field(name, pa.string()))
        batches = [batch for _, batch in self._batches()]
        if batches:
            return pa.Table.from_batches(batches)
        pandas_first()
        return known.empty_table()

    def _batches(self, groups: set[int] | None = None) -> Iterator[tuple[int, Any]]:
        """The rows in batches, each with the number of the group of rows that it is of."""
        import pyarrow as pa

        self._refuse_changed()
        if self._added:
            pandas_first()
        try:
            opened = self._opened()
            for group in range(opened.metadata.num_row_groups):
                if groups is not None and group not in groups:
                    continue
                asked = {"batch_size": BATCH, "row_groups": [group], "columns": list(self._named)}
                for batch in opened.iter_batches(**asked):
                    columns = {self._named[name]: batch.column(name) for name in batch.schema.names}
                    columns |= {name: pa.repeat(value, batch.num_rows) for name, value in self._added.items()}
                    yield group, pa.RecordBatch.from_pydict(columns)
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(self.path, error) from None

    def _opened(self) -> Any:
        if self._content == "parquet":
            return _opened(self._file, self.path)
        return opened_arrow(self._file, self._content, self.path)

    def _refuse_changed(self) -> None:
        if _stamp(self._file) != self._as_it_was:
            raise self._changed()

    def _changed(self) -> BadQuery:
        return BadQuery(f"files: {self.path}: it changed while it was read", parameter="files")


class _HeldGroups:
    """The rows of a file's first groups of rows as they were read, as many of these as can be held whole."""

    def __init__(self) -> None:
        self.groups: dict[int, list[Part]] = {}
        self._room = HELD

    @property
    def has_room(self) -> bool:
        """Whether all rows so far are held."""
        return self._room > 0

    def add(self, group: int, part: Part) -> None:
        """Hold rows, if there is room for them and for all before them."""
        self._room -= part.rows.nbytes + part.numbers.nbytes
        if self._room < 0:
            self.groups.pop(group, None)
        else:
            self.groups.setdefault(group, []).append(part)

    def taken(self) -> Iterator[Part]:
        """Take out what is held, one group after the other."""
        for group in list(self.groups):
            yield from self.groups.pop(group)


class _Sound:
    """What picks the sound rows of a file: whose numbers are numbers, and that have a price where they are in USD."""

    def __init__(self, path: str, prices: _core.ArchivePrices, kind: str) -> None:
        self._path, self._prices, self._kind = path, prices, kind
        self._implausible = self._plausible = 0
        self._why = ""

    def of(self, held: Any, start: int, refused: Refusals) -> Part:
        """Those of the rows that are sound; the first stands at ``start``, and ``refused`` is told of the others."""
        import numpy as np
        from pyarrow import types

        bad: dict[int, tuple[str, str]] = {}
        for name in AMOUNTS.get(self._kind, ()):
            if name not in held.column_names or not types.is_floating(held.column(name).type):
                continue
            pandas_first()
            cells = held.column(name)
            for row in np.flatnonzero(~np.isfinite(cells.to_numpy())).tolist():
                cell = cells[row].as_py()
                reason = f"{name}: blank" if cell is None else f"{name}: not an exact decimal"
                bad.setdefault(row, (reason, "" if cell is None else str(cell)))
        for row, (reason, shown) in bad.items():
            refused.add(reason, start + row, shown)
        numbers = np.arange(start, start + held.num_rows)
        if bad:
            kept = np.setdiff1d(np.arange(held.num_rows), list(bad))
            held, numbers = held.take(kept), numbers[kept]
        if self._kind == "open_interest" and "open_interest" not in held.column_names and held.num_rows:
            return self._in_coins(held, numbers, refused)
        return Part(held, numbers)

    def _in_coins(self, held: Any, numbers: Any, refused: Refusals) -> Part:
        import numpy as np

        coins, left = self._prices.in_coins(table(held, self._kind))
        pandas_first()
        for row, reason, why, is_implausible in left:
            refused.add(reason, int(numbers[row]), why)
            self._implausible += is_implausible
            self._why = self._why or why * is_implausible
        self._plausible += held.num_rows - len(left)
        held = held.drop_columns(["open_interest_usd"]).append_column("open_interest", [coins])
        kept = np.flatnonzero(np.isfinite(coins))
        return Part(held.take(kept), numbers[kept])

    def check(self) -> None:
        """Refuse the file where most of its readings are no USD."""
        if self._implausible > self._plausible:
            msg = f"files: {self._path}: {self._why}"
            raise BadQuery(msg, parameter="files")


class _Gathered:
    """Rows of whole days on their way, of as many days as can be held."""

    def __init__(self, counts: Counter[int], latest: int) -> None:
        self._counts = counts
        self.latest = latest
        self._held: list[Held] = []
        self._coming: dict[int, int] = {}
        self._passed: set[int] = set()
        self._room = self.ready = 0

    def go_on(self, held: Held, met: dict[int, int]) -> None:
        """Take the rows of days that have begun; ``met`` says how many there are of each day."""
        self._hold(held, {day: rows for day, rows in met.items() if day in self._coming})

    def begin(self, held: Held, new: dict[int, int]) -> None:
        """Take the rows of other days, as many as there is room for: of a day that is passed over none is taken."""
        for day in new:
            if self._room and self._room + self._counts[day] > MOST:
                self._passed.add(day)
            else:
                self._room += self._counts[day]
                self._coming[day] = self._counts[day]
        self._hold(held, {day: rows for day, rows in new.items() if day in self._coming})

    def new(self, met: dict[int, int]) -> dict[int, int]:
        """Those of the days that have not begun."""
        known = self._coming.keys() | self._passed
        return {day: rows for day, rows in met.items() if day in self._counts and day not in known}

    def has_room(self, new: dict[int, int]) -> bool:
        """Whether these days can be held, too."""
        return self._room + sum(self._counts[day] for day in new) <= MOST

    def complete(self, length: int | None) -> Part:
        """Take out the days of which every row has come."""
        import numpy as np

        done = [day for day, rows in self._coming.items() if not rows]
        taken, self._held = _parted(self._held, done)
        for day in done:
            self._room -= self._counts.pop(day)
            del self._coming[day]
        self.ready = 0
        self.latest = max(self.latest, *done)
        is_in_order = not self._counts or self.latest < min(self._counts)
        rows, numbers = [rows for rows, _, _ in taken], np.concatenate([numbers for _, numbers, _ in taken])
        return Part(rows, numbers, length, is_read=True, is_in_order=is_in_order)

    def _hold(self, held: Held, met: dict[int, int]) -> None:
        taken, _ = _parted([held], list(met))
        self._held += taken
        for day, rows in met.items():
            self._coming[day] -= rows
            self.ready += 0 if self._coming[day] else self._counts[day]


def _by_days(
    batches: Iterator[Part], counts: Counter[int], latest: int, length: int | None
) -> Generator[Part, None, int]:
    """Rows of whole days, many at a time, of as many days as can be held; they are taken out of ``counts``.

    The last day taken out is told in the end; ``latest`` is the last of those before, and ``length`` that of bars.
    """
    gathered = _Gathered(counts, latest)
    for part in batches:
        days = part.rows.days()
        held = (part.rows, part.numbers, days)
        met = _counted(days)
        gathered.go_on(held, met)
        new = gathered.new(met)
        if gathered.ready and not gathered.has_room(new):
            yield gathered.complete(length)
        gathered.begin(held, new)
        if gathered.ready >= TOGETHER:
            yield gathered.complete(length)
    if gathered.ready:
        yield gathered.complete(length)
    return gathered.latest


def _counted(days: Any) -> dict[int, int]:
    """How many rows there are of each day; most of one stand together."""
    import numpy as np

    starts = np.flatnonzero(np.diff(days, prepend=days[:1] - 1))
    known, place = np.unique(days[starts], return_inverse=True)
    rows = np.zeros(len(known), np.int64)
    np.add.at(rows, place, np.diff(starts, append=len(days)))
    return dict(zip(known.tolist(), rows.tolist(), strict=True))


def _parted(held: list[Held], days: list[int]) -> tuple[list[Held], list[Held]]:
    """The rows of these days, and those of others."""
    import numpy as np

    wanted = np.array(days, np.int64)
    taken, left = [], []
    for rows, numbers, days_of in held:
        is_wanted = np.isin(days_of, wanted)
        if is_wanted.all():
            taken.append((rows, numbers, days_of))
        elif not is_wanted.any():
            left.append((rows, numbers, days_of))
        else:
            for place, some in ((taken, is_wanted), (left, ~is_wanted)):
                place.append(_picked((rows, numbers, days_of), some))
    return taken, left


def _picked(held: Held, some: Any) -> Held:
    """Some of the rows; where they are most of them and stand together they are no copy."""
    import numpy as np

    rows, numbers, days_of = held
    places = np.flatnonzero(some)
    first, count = int(places[0]), len(places)
    if places[-1] - first + 1 == count and 2 * count >= len(some):
        return rows.slice(first, count), numbers[first : first + count], days_of[first : first + count]
    return rows.filter(some), numbers[some], days_of[some]


def _stamp(path: str) -> tuple[int, int, int] | None:
    """What is another where a file is written anew."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _opened(path: str, name: str) -> Any:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        what = "Parquet files are read with pyarrow (pip install pyarrow)"
        msg = f"files: {name}: {what}; allowed: the same as a table, such as bars=polars.read_parquet(…)"
        raise BadQuery(msg, parameter="files") from None
    try:
        return parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False)
    except (OSError, ArrowException) as error:
        raise _unreadable(name, error) from None


def _unreadable(path: str, error: Exception) -> BadQuery:
    return BadQuery(f"files: {path}: it cannot be read as Parquet: {error}", parameter="files")


def _kind(path: str, name: str | None, names: list[str], *, is_somebodys: bool) -> str:
    """What the rows of a file with these columns are, whose exchange the caller names or does not."""
    columns = set(names)
    for known in (columns, columns | {"exchange"} if is_somebodys else columns):
        fits = [kind for kind in KINDS if _needed(kind, known) <= known]
        if name in fits:
            return name
        if name is None and len(fits) == 1:
            return fits[0]
    what = f"as {name}: " if name is not None else ""
    if {"long_usd", "short_usd"} <= columns:
        msg = f"files: {path}: {what}{_core.TOTALS}; allowed: the same as a table, {_core.TAKES_TOTALS}"
        raise BadQuery(msg, parameter="files")
    if name not in (None, FILLS, *KINDS):
        msg = f"files: {path}: {what}it is no format of Parquet; allowed: {', '.join(KINDS)}"
        raise BadQuery(msg, parameter="files")
    what += f"its columns ({', '.join(names)}) are those of no one kind"
    if not fits or name in KINDS:
        nearest = name if name in KINDS else max(KINDS, key=lambda kind: len(_needed(kind, known) & known))
        lacking = [f'"{column}"' for column in sorted(_needed(nearest, known) - known)]
        what += f"; as {nearest} they lack {', '.join(lacking)}"
    msg = f"files: {path}: {what}; allowed: {', '.join(KINDS)}"
    raise BadQuery(msg, parameter="files")


def _needed(kind: str, columns: set[str]) -> set[str]:
    """What a table of a kind cannot do without that may have these columns."""
    if kind != "open_interest":
        return KINDS[kind]
    return KINDS[kind] | {"open_interest_usd" if "open_interest_usd" in columns else "open_interest"}


def _as_a_node_writes(row: dict[str, Any]) -> str:
    coin, quote = row["coin"], row["quote_symbol"]
    if quote not in (None, "USDC") and coin is not None and ":" not in coin:
        coin = f"{row['dex']}:{coin}"
    fill = {
        "coin": coin,
        "px": row["price"],
        "sz": row["size"],
        "side": {"buy": "B", "sell": "A"}.get(row["side"], row["side"]),
        "time": row["timestamp"],
        "startPosition": row["start_position"],
        "dir": row["direction"] or "",
        "tid": row["trade_id"],
        "liquidation": {"liquidatedUser": row["address"]},
    }
    return json.dumps([row["address"], fill])
