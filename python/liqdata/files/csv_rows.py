"""Rows as CSV: amounts with every digit, texts that no spreadsheet runs as a formula."""

from __future__ import annotations

import csv
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["write_csv"]

# A cell that begins like this is a formula to a spreadsheet. The apostrophes belong to it, so that the mark that is
# added to such a text can be removed again.
_FORMULA = re.compile(r"'*[=+@\t\r\n-]")


def write_csv(
    out: Any,
    names: Sequence[str],
    rows: Iterable[Mapping[str, Any]],
    *,
    header: bool = True,
    seen: Callable[[str], str] = str,
) -> None:
    """Write rows to a text file.

    A text that a spreadsheet would run as a formula gets a leading apostrophe, which ``ingest`` removes again.

    Parameters
    ----------
    out : file
        The text file.
    names : sequence of str
        The columns.
    rows : iterable of mapping
        The rows.
    header : bool
        Whether to write the names of the columns first.
    seen : callable
        Converts each text that is written.
    """
    writer = csv.writer(out, lineterminator="\n")
    if header:
        writer.writerow([_field(name, seen) for name in names])
    for row in rows:
        writer.writerow([_field(row[name], seen) for name in names])


def _field(value: object, seen: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return seen(f"'{value}" if _FORMULA.match(value) else value)
    return f"{value:f}" if isinstance(value, Decimal) else value
