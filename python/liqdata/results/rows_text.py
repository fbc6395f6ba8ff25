"""Rows as tables for notebooks and terminals.

A long table shows only its first and last rows.
"""

from __future__ import annotations

import html
import shutil
import unicodedata
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from liqdata.calls.arguments import datetime_of
from liqdata.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .rows import Rows

_SHOWN = 10  # a table with more rows omits those in the middle
_GAP = "  "  # between two columns


def as_html(rows: Rows[Any], kinds: list[str]) -> str:
    """An HTML table for a notebook."""
    head, lines, left = _parts(rows, kinds)
    align = ["left" if one else "right" for one in left]
    titles = "".join(
        f"<th style='text-align:{side}'>{html.escape(name)}</th>" for name, side in zip(head, align, strict=True)
    )
    body = []
    for line in lines:
        if line is None:
            body.append(f"<tr><td colspan='{len(head)}' style='text-align:center'>…</td></tr>")
            continue
        cells = zip(line, align, strict=True)
        drawn = "".join(f"<td style='text-align:{side}'>{html.escape(cell)}</td>" for cell, side in cells)
        body.append(f"<tr>{drawn}</tr>")
    return (
        f"<table><caption>{html.escape(_caption(rows))}</caption>"
        f"<thead><tr>{titles}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )


def as_text(rows: Rows[Any], kinds: list[str]) -> str:
    """A text table for a terminal.

    Columns that do not fit are printed below the others, and cells are never cut.
    """
    head, lines, left = _parts(rows, kinds)
    columns = [[name, *("…" if line is None else line[place] for line in lines)] for place, name in enumerate(head)]
    drawn = [_column(cells, to_left=to_left) for cells, to_left in zip(columns, left, strict=True)]
    blocks: list[list[list[str]]] = []
    room = 0
    for column in drawn:
        width = _width(column[0]) + len(_GAP)
        if not blocks or width > room:
            blocks.append([])
            room = shutil.get_terminal_size().columns + len(_GAP)
        blocks[-1].append(column)
        room -= width
    text = ["\n".join(_GAP.join(cells).rstrip() for cells in zip(*block, strict=True)) for block in blocks]
    return "\n\n".join(text) + "\n" + _caption(rows)


def _parts(rows: Rows[Any], kinds: list[str]) -> tuple[list[str], list[list[str] | None], list[bool]]:
    """Column titles, lines (``None`` for the omitted lines), and whether each column is left-aligned."""
    elided = len(rows) > _SHOWN
    shown: Sequence[Any] = [*rows[: _SHOWN // 2], *rows[-_SHOWN // 2 :]] if elided else list(rows)
    lines: list[list[str] | None] = [
        [_cell(cell, kind) for cell, kind in zip(row.values(), kinds, strict=True)] for row in shown
    ]
    if elided:
        lines.insert(_SHOWN // 2, None)
    head = [f"{name} (UTC)" if kind == "time" else name for name, kind in zip(rows.columns, kinds, strict=True)]
    return head, lines, [kind == "text" for kind in kinds]


def _column(cells: list[str], *, to_left: bool) -> list[str]:
    width = max(map(_width, cells))
    filled = [" " * (width - _width(cell)) for cell in cells]
    return [cell + fill if to_left else fill + cell for cell, fill in zip(cells, filled, strict=True)]


def _width(text: str) -> int:
    """Number of terminal cells of a text."""
    return sum(0 if unicodedata.combining(one) else 1 + (unicodedata.east_asian_width(one) in "WF") for one in text)


def _caption(rows: Rows[Any]) -> str:
    parts = [f"{len(rows):,} rows" if len(rows) != 1 else "1 row"]
    parts += [text for text in (taken(rows.meta), more(rows.meta)) if text]
    parts += [label.upper() for label in ("simulated", "replayed") if rows.meta.get(label)]
    parts += [
        f"{name.replace('_', ' ')} {_plain(rows.meta[name])}"
        for name in ("source", "as_of", "age")
        if rows.meta.get(name) is not None
    ]
    return " · ".join(parts)


def more(meta: dict[str, Any]) -> str:
    """A remark on a page of orders that is not all of them; empty otherwise."""
    if "more" not in meta or meta["more"] is False:
        return ""
    return "more with iter_orders" if meta["more"] else "possibly more with iter_orders"


def taken(meta: dict[str, Any]) -> str:
    """The time that a history without a start is about; empty otherwise."""
    if "range" not in meta:
        return ""
    start, end = (f"{bound:%Y-%m-%d %H:%M}" for bound in meta["range"])
    return f"last 24 hours, {start} to {end} UTC"


def _cell(cell: object, kind: str) -> str:
    if cell is None:
        return "–"
    if kind == "time":
        return datetime_of(cast("int", cell)).isoformat(sep=" ", timespec="milliseconds").replace("+00:00", "")
    if kind == "int":
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:,.10g}"
    if kind == "decimal":
        from decimal import Decimal

        return f"{Decimal(str(cell)):,f}"
    return printable(str(cell))


def _plain(value: object) -> str:
    if isinstance(value, timedelta):
        return str(timedelta(seconds=round(value.total_seconds())))
    return printable(str(value))
