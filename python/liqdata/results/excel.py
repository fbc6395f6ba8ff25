"""Rows as an Excel file."""

from __future__ import annotations

import math
from contextlib import closing
from typing import TYPE_CHECKING, Any

from liqdata.calls.arguments import datetime_of
from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from pathlib import Path

    from liqdata import _core

__all__ = ["write_excel"]

_MOST_ROWS = 2**20 - 1  # of a sheet, below the titles
_MOST_CHARACTERS = 2**15 - 1  # of a cell
_WIDTH = 14
_TIME = "yyyy-mm-dd hh:mm:ss.000"


def write_excel(path: Path, table: _core.Table, meta: dict[str, Any]) -> None:
    """Write a table to the first sheet of a new file.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    table : _core.Table
        The rows.
    meta : dict
        The ``meta`` of the rows; what it says of their origin goes into the properties of the file.

    Raises
    ------
    BadQuery
        For more rows than a sheet has.
    ModuleNotFoundError
        Without xlsxwriter.
    """
    try:
        import xlsxwriter
    except ModuleNotFoundError as error:
        message = 'to_excel needs xlsxwriter: pip install "liqdata[excel]"'
        raise ModuleNotFoundError(message, name=error.name) from error
    if len(table) > _MOST_ROWS:
        msg = f"rows: {len(table):,} do not fit a sheet; allowed: at most {_MOST_ROWS:,}, such as a slice of the rows"
        raise BadQuery(msg, parameter="rows")
    options = {"constant_memory": True, "strings_to_urls": False, "strings_to_formulas": False}
    with closing(xlsxwriter.Workbook(str(path), options)) as book:
        said = [f"{name}: {meta[name]}" for name in ("source", "as_of", "simulated") if meta.get(name) is not None]
        book.set_properties({"comments": "\n".join(said)})
        title, time = book.add_format({"bold": True}), book.add_format({"num_format": _TIME})
        sheet = book.add_worksheet(str((meta.get("question") or {}).get("endpoint", "rows"))[:31])
        sheet.freeze_panes(1, 0)
        known = dict(zip(table.names(), table.kinds(), strict=True))
        names = table.framed()
        kinds = [known.get(name, "text") for name in names]
        for place, (name, kind) in enumerate(zip(names, kinds, strict=True)):
            sheet.set_column(place, place, len(_TIME) if kind == "time" else _WIDTH)
            sheet.write_string(0, place, f"{name} (UTC)" if kind == "time" else name, title)
        columns = [_cells(table, name, kind) for name, kind in zip(names, kinds, strict=True)]
        for row, cells in enumerate(zip(*columns, strict=True), 1):
            for place, (kind, cell) in enumerate(zip(kinds, cells, strict=True)):
                if cell is not None:
                    _write(sheet, (row, place), kind, cell, time)


def _write(sheet: Any, place: tuple[int, int], kind: str, cell: Any, time: Any) -> None:
    """Write a value; ``time`` is the format of times."""
    if kind == "text":
        sheet.write_string(*place, cell[:_MOST_CHARACTERS])
    elif kind == "time":
        sheet.write_datetime(*place, datetime_of(cell).replace(tzinfo=None), time)
    elif isinstance(cell, bool):
        sheet.write_boolean(*place, cell)
    elif math.isfinite(cell):
        sheet.write_number(*place, cell)


def _cells(table: _core.Table, name: str, kind: str) -> list[Any]:
    """The values of a column, floats for decimals."""
    if kind != "text":
        return table.objects(name, "float")
    codes, names = table.codes(name)
    return [None if code < 0 else names[code] for code in codes.tolist()]
