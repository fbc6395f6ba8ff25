"""A table for streams: a heading, then one line per row as it arrives."""

from __future__ import annotations

import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from liqdata.text.printable import printable

from .layout import GAP, filled, places_of
from .table import amount, cell, heading

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from liqdata.cli.source import Origin
    from liqdata.endpoints.contract import Endpoint

__all__ = ["Lines"]

# Column widths. They are fixed, because later cells are unknown; a wider cell is shortened.
WIDTHS = {"text": 8, "decimal": 10, "float": 10, "int": 7, "time": 19}
NAMES = {"exchange": 11, "symbol": 10, "side": 5, "qty": 9, "value_usd": 7, "group_id": 20}
# Columns of symbols and coins, which may have any length. They come last, where a long name shifts no other.
NAMED = frozenset({"symbol", "coin"})
LARGE = 1_000_000


class Lines:
    """Prints rows under one heading.

    Parameters
    ----------
    endpoint : Endpoint
        The endpoint of the rows.
    asked : dict, optional
        The arguments of the query; some columns depend on them.
    """

    def __init__(self, endpoint: Endpoint, asked: Mapping[str, object] | None = None) -> None:
        columns = endpoint.reply_columns(asked or {})
        self.names = [column["name"] for column in columns]  # in the order of the contract
        self._columns = [_column(column) for column in sorted(columns, key=lambda each: each["name"] in NAMED)]
        self._begun = False

    def head(self, title: str, origin: Origin, note: str) -> None:
        """Print the title line, which precedes the column headings."""
        simulated = "" if not origin.simulated or origin.source.startswith("simulated") else " · simulated"
        said = f"{title}  {note} · {origin.source} · {origin.when}{simulated}"
        sys.stdout.write(f"{printable(said)}\n\n")

    def write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Print a line for each row; the first call prints the column headings before it."""
        if not self._begun:
            self._begun = True
            self._line([column.heading[0] for column in self._columns])
            self._line([column.heading[1] for column in self._columns])
            self._line(["-" * column.width for column in self._columns])
        for row in rows:
            self._line([_fitted(column.name, row[column.name], column.width) for column in self._columns])

    def _line(self, cells: Sequence[str]) -> None:
        padded = [
            filled(text, column.width, right=column.right) for text, column in zip(cells, self._columns, strict=True)
        ]
        sys.stdout.write((" " * GAP).join(padded).rstrip() + "\n")


class _Column(NamedTuple):
    """A column: its name, heading and unit, width and alignment."""

    name: str
    heading: tuple[str, str]
    width: int
    right: bool


def _column(column: Mapping[str, Any]) -> _Column:
    """Convert a column of an endpoint in the contract."""
    name, kind = column["name"], column["type"]
    above = heading(name, column["unit"])
    return _Column(name, above, max(NAMES.get(name, WIDTHS.get(kind, 8)), *map(len, above)), kind != "text")


def _fitted(name: str, value: Any, width: int) -> str:
    """Format a cell, shortened to the width of its column, except for names in the last columns."""
    text = cell(name, value)
    if name in NAMED or places_of(text) <= width:
        return text
    if isinstance(value, Decimal | float | int):
        short = [amount(value)] if abs(float(value)) >= LARGE else []
        short += [f"{float(value):.{digits}g}" for digits in range(width, 0, -1)]
        return next((each for each in short if len(each) <= width), text)
    while places_of(text) >= width:
        text = text[:-1]
    return f"{text}…"
