"""Answers as tables on a terminal: with rich where it is installed, as plain text where not."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypeAlias

from ._printable import printable
from .grids import Heatmap, LiquidationMap

__all__ = ["Records", "label", "records", "show"]

Records: TypeAlias = Sequence[Mapping[str, Any]]
"""What a table shows: one mapping per line, every line with the same keys."""

STRONGEST = 10
"""Lines that a grid is boiled down to."""

WIDTH = 120
"""Columns of text where the output is not a terminal."""

_CENTS_DO = 100  # from this amount on, cents tell enough
_TIMES = frozenset({"timestamp", "hour", "last_event", "received_at"})


def records(name: str, answer: Any) -> Records:
    """Boil an answer down to lines.

    Parameters
    ----------
    name : str
        The endpoint that gave it.
    answer
        What its method returned.

    Returns
    -------
    sequence of mapping
        Rows as they are; the strongest levels of a grid; one line per window, tier or range of a dict.
    """
    if isinstance(answer, Heatmap):
        return _levels(answer)
    if isinstance(answer, LiquidationMap):
        return _bins(answer)
    if name == "overview":
        return [{"window": window, **totals} for window, totals in answer.items()]
    if name == "levels":
        return [{"leverage": f"{tier}×", **level} for tier, level in answer["tiers"].items()]
    if name == "maxpain":
        return [
            {"range": span, "side": side, **answer[key][side], "total_usd": answer[key][total]}
            for key, span in (("d1", "1d"), ("d7", "7d"))
            if key in answer
            for side, total in (("long", "totalLong"), ("short", "totalShort"))
        ]
    rows: Records = answer
    return rows


def label(name: str, answer: Any) -> str:
    """Say in half a line what the lines of :func:`records` are.

    Parameters
    ----------
    name : str
        The endpoint that gave the answer.
    answer
        What its method returned.

    Returns
    -------
    str
    """
    if isinstance(answer, Heatmap):
        size = "×".join(map(str, answer.matrix.shape))
        return f"{size} cells · strongest levels of the last column · estimate in {answer.units}"
    if isinstance(answer, LiquidationMap):
        return f"{len(answer.prices)} bins · the strongest · estimate in {answer.units}"
    if name in {"levels", "maxpain"}:
        return f"at {cell('price', answer['price'])} · estimate"
    kind = "window" if name == "overview" else "row"
    return f"{len(answer)} {kind}{'' if len(answer) == 1 else 's'}"


def show(title: str, lines: Records, *, note: str = "") -> None:
    """Print a table.

    Parameters
    ----------
    title : str
        Above the table.
    lines : sequence of mapping
        The lines; the keys of the first are the header.
    note : str
        Beside the title.
    """
    title, note = printable(title), printable(note)
    header = list(lines[0]) if lines else []
    cells = [[cell(name, line[name]) for name in header] for line in lines]
    numeric = [all(not isinstance(line[name], str) for line in lines) for name in header]
    try:
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ModuleNotFoundError:
        _plain(title, note, header, cells, numeric)
        return
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    heading = Text(title, style="bold cyan")
    if note:
        heading.append(f"  {note}", style="dim")
    console.print(heading)
    if not lines:
        console.print(Text("  nothing", style="dim"))
        return
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for name, right in zip(header, numeric, strict=True):
        table.add_column(name, justify="right" if right else "left")
    for line in cells:
        table.add_row(*map(Text, line))
    console.print(table)


def _plain(title: str, note: str, header: list[str], cells: list[list[str]], numeric: list[bool]) -> None:
    sys.stdout.write(f"{title}  {note}".rstrip() + "\n")
    if not cells:
        sys.stdout.write("  nothing\n")
        return
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    for line in [header, ["-" * width for width in widths], *cells]:
        padded = (
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        )
        sys.stdout.write("  ".join(padded).rstrip() + "\n")
    sys.stdout.write("\n")


def cell(name: str, value: Any) -> str:
    """Write one value for a reader.

    Parameters
    ----------
    name : str
        Its column.
    value
        The value.

    Returns
    -------
    str

    Examples
    --------
    >>> cell("value_usd", Decimal("15703.861")), cell("qty", Decimal("0.190")), cell("hour", 1781136000000)
    ('15,703.86', '0.190', '2026-06-11 00:00:00Z')
    """
    if value is None or isinstance(value, str | bool):
        return "–" if value is None else printable(str(value))
    if name in _TIMES:
        return datetime.fromtimestamp(value / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    if name == "usd" or name.endswith("_usd"):
        return f"{value:,.2f}"
    if isinstance(value, Decimal):
        return f"{value:,f}"
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) >= _CENTS_DO else f"{value:,.5g}"
    return f"{value:,}"


def _levels(grid: Heatmap) -> Records:
    """Give the strongest price levels of the last column, strongest first."""
    import numpy as np

    if not grid.matrix.size:
        return []
    column = np.nan_to_num(grid.matrix[:, -1])
    strongest = [i for i in np.argsort(-column, kind="stable")[:STRONGEST].tolist() if column[i] > 0]
    return [
        {
            "price": float(grid.prices[i]),
            "distPct": 100.0 * (float(grid.prices[i]) / grid.current_price - 1.0),
            "usd": float(column[i]),
        }
        for i in strongest
    ]


def _bins(grid: LiquidationMap) -> Records:
    """Give the strongest bins, strongest first."""
    import numpy as np

    return [
        {
            "price": float(grid.prices[i]),
            "side": str(grid.sides[i]),
            **{
                f"{leverage}×_usd": float(usd)
                for leverage, usd in zip(grid.leverages.tolist(), grid.tiers[i], strict=True)
            },
            "total_usd": float(grid.total[i]),
        }
        for i in np.argsort(-grid.total, kind="stable")[:STRONGEST].tolist()
    ]
