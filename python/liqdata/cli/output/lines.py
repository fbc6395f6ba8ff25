"""A table for streams: a heading, then one line per row as it arrives."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from liqdata.text.printable import printable

from .layout import GAP, filled
from .table import cell, heading

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from liqdata.cli.source import Origin
    from liqdata.endpoints.contract import Endpoint

__all__ = ["Lines"]

# Column widths, fixed because later cells are unknown. A wider cell shifts the rest of its line.
WIDTHS = {"text": 8, "decimal": 10, "float": 10, "int": 7, "time": 19}
NAMES = {"symbol": 10, "side": 5, "qty": 9, "value_usd": 7}


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
        self._columns = [(column["name"], column["type"], column["unit"]) for column in columns]
        self._begun = False

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [name for name, _, _ in self._columns]

    def head(self, title: str, origin: Origin, note: str) -> None:
        """Print the title line above the heading."""
        simulated = "" if not origin.simulated or origin.source.startswith("simulated") else " · simulated"
        said = f"{title}  {note} · {origin.source} · {origin.when}{simulated}"
        sys.stdout.write(f"{printable(said)}\n\n")

    def write(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Print a line for each row; the heading comes before the first."""
        if not self._begun:
            self._begun = True
            headings = [heading(name, unit) for name, _, unit in self._columns]
            self._line([name for name, _ in headings])
            self._line([unit for _, unit in headings])
            self._line(["-" * self._width(name, kind) for name, kind, _ in self._columns])
        for row in rows:
            self._line([cell(name, row[name]) for name, _, _ in self._columns])

    def _line(self, cells: Sequence[str]) -> None:
        padded = [
            filled(text, self._width(name, kind), right=kind != "text")
            for text, (name, kind, _) in zip(cells, self._columns, strict=True)
        ]
        sys.stdout.write((" " * GAP).join(padded).rstrip() + "\n")

    @staticmethod
    def _width(name: str, kind: str) -> int:
        return NAMES.get(name, WIDTHS.get(kind, 8))
