"""Columns of order rows, written by hand with numpy: what a careful user makes of parsed JSON."""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

TEXTS = ("exchange", "symbol", "side")
MONEY = ("price", "qty", "value_usd")
pick = itemgetter(*TEXTS, *MONEY, "timestamp")

# Codes into the distinct names for texts, else numbers or instants.
Columns: TypeAlias = dict[str, Any]
# The names of each text column and their codes.
Names: TypeAlias = Mapping[str, dict[str, int]]


def no_names() -> Names:
    return {name: {} for name in TEXTS}


def code_of(known: dict[str, int]) -> Callable[[str], int]:
    class Known(dict[str, int]):
        def __missing__(self, name: str) -> int:
            code = known[name] = self[name] = len(known)
            return code

    return Known(known).__getitem__


def by_hand(rows: Sequence[dict[str, Any]], names: Names) -> Columns:
    """Columns of rows; new names get the next codes."""
    count = len(rows)
    columns = dict(zip((*TEXTS, *MONEY, "timestamp"), zip(*map(pick, rows), strict=True), strict=True))
    made: Columns = {name: np.fromiter(map(code_of(names[name]), columns[name]), np.int32, count) for name in TEXTS}
    made |= {name: np.fromiter(map(float, columns[name]), np.float64, count) for name in MONEY}
    made["timestamp"] = np.array(columns["timestamp"], dtype=np.int64).view("datetime64[ms]")
    return made


def joined(parts: Sequence[Columns], names: Names) -> Columns:
    """The columns of all parts; texts with their names."""
    made = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return {name: (column, list(names[name])) if name in TEXTS else column for name, column in made.items()}


def of_table(table: Any) -> Columns:
    """Our columns of a table of the native half."""
    kinds = zip(table.names(), table.kinds(), strict=True)
    return {name: table.codes(name) if kind == "text" else table.array(name) for name, kind in kinds}


def same(ours: Columns, theirs: Columns) -> bool:
    """Equal by value: names may have other codes."""

    def cells(column: Any) -> Any:
        return np.array(column[1])[column[0]] if isinstance(column, tuple) else column

    return list(ours) == list(theirs) and all(np.array_equal(cells(ours[name]), cells(theirs[name])) for name in ours)
