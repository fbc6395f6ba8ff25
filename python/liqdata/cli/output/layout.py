"""Prints tables that fit the width of the terminal, with rich or as plain text."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .table import Sheet

__all__ = ["drawn", "filled", "show", "width"]

WIDTH = 120
"""Width in characters if the output is not a terminal."""

GAP = 2
"""Spaces between two columns."""

DATE = len("2026-06-11 ")
_WHEN = "UTC"
_NARROWEST = 12


def width() -> int:
    """Width of the terminal in characters, or ``$COLUMNS`` if it is set."""
    return shutil.get_terminal_size((WIDTH, 24)).columns


def show(sheet: Sheet) -> None:
    """Print a table."""
    try:
        import rich  # noqa: F401 - import tests whether it is installed
    except ModuleNotFoundError:
        sys.stdout.write(_plain(sheet, width()) + "\n\n")
        return
    from rich.console import Console

    console = Console(width=width(), highlight=False)
    console.print(drawn(sheet, console.width))
    console.print()


def drawn(sheet: Sheet, room: int) -> Any:
    """Render a table with rich, at most ``room`` characters wide."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    lines = _heading(sheet, room)
    head = Text(lines[0][: len(sheet.title)], style="bold cyan").append(lines[0][len(sheet.title) :], style="dim")
    parts: list[Any] = [head, *(Text(line, style="dim") for line in lines[1:])]
    if not sheet.cells:
        return Group(*parts, Text("  nothing", style="dim"))
    sheet = _shortened(sheet, room)
    for places in panels(sheet, room):
        table = Table(box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
        for place in places:
            name, unit = sheet.header[place]
            header = Text(name).append(f"\n{unit}", style="dim not bold")
            table.add_column(
                header,
                justify="right" if sheet.numeric[place] else "left",
                no_wrap=sheet.numeric[place],
                overflow="fold",
            )
        for cells in sheet.cells:
            table.add_row(*(Text(cells[place]) for place in places))
        parts += [Text(), table]
    return Group(*parts)


def _plain(sheet: Sheet, room: int) -> str:
    lines = _heading(sheet, room)
    if not sheet.cells:
        return "\n".join([*lines, "  nothing"])
    sheet = _shortened(sheet, room)
    for places in panels(sheet, room):
        widths = _widths(sheet, places, room)
        names, units = zip(*(sheet.header[place] for place in places), strict=True)
        body = [[cells[place] for place in places] for cells in sheet.cells]
        rules = ["-" * width for width in widths]
        lines.append("")
        for line in [names, *([units] if any(units) else []), rules, *body]:
            pieces = [_wrapped(text, width) for text, width in zip(line, widths, strict=True)]
            for parts in zip_longest(*pieces, fillvalue=""):
                padded = (
                    filled(text, width, right=sheet.numeric[place])
                    for text, width, place in zip(parts, widths, places, strict=True)
                )
                lines.append((" " * GAP).join(padded).rstrip())
    return "\n".join(lines)


def _widths(sheet: Sheet, places: list[int], room: int) -> list[int]:
    """The widths of columns; the widest text is narrowed if they do not fit."""
    widths = [_widest(sheet, place) for place in places]
    over = sum(widths) + GAP * (len(widths) - 1) - room
    texts = [column for column, place in enumerate(places) if not sheet.numeric[place]]
    if over > 0 and texts:
        widest = max(texts, key=widths.__getitem__)
        widths[widest] = max(widths[widest] - over, _NARROWEST)
    return widths


def _wrapped(text: str, width: int) -> list[str]:
    """A cell as lines of at most ``width`` characters."""
    return [text] if places_of(text) <= width else wrap(text, width) or [""]


def _heading(sheet: Sheet, room: int) -> list[str]:
    """The title and its notes; lines are broken between notes."""
    lines = [sheet.title]
    for place, note in enumerate(sheet.notes):
        between = "  " if place == 0 else " · "
        if place and places_of(lines[-1] + between + note) > room:
            lines.append(f"  {note}")
        else:
            lines[-1] += between + note
    return lines


def _shortened(sheet: Sheet, room: int) -> Sheet:
    """Move the date of a time column into its heading, if it is the same in all rows and space is short."""
    if _total(sheet, range(len(sheet.header))) <= room:
        return sheet
    header, cells = list(sheet.header), [list(line) for line in sheet.cells]
    for place, (name, unit) in enumerate(header):
        days = {line[place][: DATE - 1] for line in cells if len(line[place]) > DATE}
        if unit == _WHEN and len(days) == 1:
            header[place] = (name, f"{days.pop()} {_WHEN}")
            for line in cells:
                line[place] = line[place][DATE:] or line[place]
    return sheet._replace(header=header, cells=cells)


def panels(sheet: Sheet, room: int) -> list[list[int]]:
    """Split the columns into panels that fit the width; each panel repeats the first (key) columns."""
    every = list(range(len(sheet.header)))
    if _total(sheet, every) <= room:
        return [every]
    # The key columns are the first one and the text and time columns that follow it.
    keys = [0]
    while keys[-1] + 1 < len(every) and (not sheet.numeric[keys[-1] + 1] or _WHEN in sheet.header[keys[-1] + 1][1]):
        keys.append(keys[-1] + 1)
    keys = keys if _total(sheet, keys) <= 3 * room // 4 else keys[:1]
    found: list[list[int]] = [[*keys]]
    for place in every:
        if place in keys:
            continue
        if len(found[-1]) > len(keys) and _total(sheet, [*found[-1], place]) > room:
            found.append([*keys])
        found[-1].append(place)
    return [sorted(some) for some in found]


def _total(sheet: Sheet, places: Iterable[int]) -> int:
    return sum(_widest(sheet, place) + GAP for place in places) - GAP


def _widest(sheet: Sheet, place: int) -> int:
    return max(map(places_of, (*sheet.header[place], *(cells[place] for cells in sheet.cells))))


def places_of(text: str) -> int:
    """Width of a text on a terminal, in character cells."""
    return sum(0 if unicodedata.combining(one) else 1 + (unicodedata.east_asian_width(one) in "WF") for one in text)


def filled(text: str, width: int, *, right: bool) -> str:
    """Pad a text with spaces to a width, on the left or on the right."""
    blanks = " " * (width - places_of(text))
    return blanks + text if right else text + blanks
