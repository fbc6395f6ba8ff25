"""Records as tables for notebooks and terminals."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from liqdata.calls.arguments import datetime_of
from liqdata.text.printable import printable

if TYPE_CHECKING:
    from .record import Record


_LARGE = 100_000  # from this value on, no fraction is shown


class _Block(NamedTuple):
    """Lines with the same columns: a label and cells each."""

    columns: list[str]
    lines: list[tuple[str, list[str]]]


def as_text(record: Record) -> str:
    """A text table for a terminal."""
    drawn = [_drawn(block) for block in _blocks(record)]
    return "\n".join([_caption(record), *(line for lines in drawn for line in lines)])


def as_html(record: Record) -> str:
    """An HTML table for a notebook."""
    tables = []
    for block in _blocks(record):
        head = "".join(f"<th style='text-align:right'>{html.escape(name)}</th>" for name in ("", *block.columns))
        lines = (
            f"<tr><th style='text-align:left'>{html.escape(label)}</th>"
            + "".join(f"<td style='text-align:right'>{html.escape(cell)}</td>" for cell in cells)
            + "</tr>"
            for label, cells in block.lines
        )
        tables.append(f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>")
    return f"<div>{html.escape(_caption(record))}{''.join(tables)}</div>"


def _drawn(block: _Block) -> list[str]:
    table = [["", *block.columns], *([label, *cells] for label, cells in block.lines)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for label, *cells in table:
        filled = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        lines.append("  ".join([label.ljust(widths[0]), *filled]))
    return lines


def _blocks(record: Record) -> list[_Block]:
    """The values below the top level, those with the same keys in one block."""
    blocks: dict[tuple[str, ...], _Block] = {}

    def collect(values: Mapping[str, Any], above: tuple[str, ...]) -> None:
        for name, value in values.items():
            if isinstance(value, Mapping):
                collect(value, (*above, str(name)))
        plain = {name: value for name, value in values.items() if not isinstance(value, Mapping)}
        if above and plain:
            block = blocks.setdefault(tuple(plain), _Block([printable(name) for name in plain], []))
            label = printable(" ".join(above))
            block.lines.append((label, [_cell(value) for value in plain.values()]))

    collect(record, ())
    return list(blocks.values())


def _caption(record: Record) -> str:
    question = record.meta.get("question") or {}
    name = question.get("endpoint", "Record")
    parts = [str(name)]
    for key, value in record.items():
        if key == "updatedAt" and isinstance(value, int):
            parts.append(f"updated {datetime_of(value):%Y-%m-%d %H:%M:%S} UTC")
        elif not isinstance(value, Mapping):
            parts.append(str(value) if key == "symbol" else f"{key} {_cell(value)}")
    if record.units != "usd":
        parts.append(f"{record.units} units")
    if record.simulated:
        parts.append("SIMULATED")
    covered = record.meta.get("covered")
    if covered is not None and covered < 1:
        parts.append("not covered" if not covered else f"{min(covered, 0.999):.1%} covered")
    return printable(" · ".join(parts))


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else printable(str(value))
