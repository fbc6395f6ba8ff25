"""Exact columns of frames: one decimal type for a column, whatever its rows are."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from decimal import Context, Decimal, Inexact, InvalidOperation
from operator import index
from typing import TYPE_CHECKING, Any, NoReturn

from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    import pyarrow as pa

    from liqdata import _core

__all__ = ["arrow_table", "let_dask_add_up", "objects", "polars_frame", "refused", "scale_of"]

_DIGITS = 38
_SCALE = 18  # the scale of the archive, too


def scale_of(scale: int | None, *, wanted: bool) -> int:
    """Check the scale of exact values.

    Parameters
    ----------
    scale : int or None
        What the caller gave.
    wanted : bool
        Whether values are exact.

    Returns
    -------
    int
        The scale; 18 for ``None``.

    Raises
    ------
    BadQuery
        For a scale that is no whole number from 0 to 38, or has no effect.
    """
    if scale is None:
        return _SCALE
    if not wanted:
        msg = f'scale: {scale!r} has no effect on floats; allowed: with decimals="decimal"'
        raise BadQuery(msg, parameter="scale")
    try:
        found = -1 if isinstance(scale, bool) else index(scale)
    except TypeError:
        found = -1
    if not 0 <= found <= _DIGITS:
        msg = f"scale: {scale!r} is not allowed; allowed: a whole number from 0 to {_DIGITS}"
        raise BadQuery(msg, parameter="scale")
    return found


def arrow_table(table: pa.Table, rows: _core.Table, scale: int) -> pa.Table:
    """Give the exact columns of an Arrow table one scale; ``rows`` names a value that does not fit."""
    import pyarrow as pa

    wanted = pa.decimal128(_DIGITS, scale)
    for place, field in enumerate(table.schema):
        if not pa.types.is_decimal(field.type) or field.type == wanted:
            continue
        if field.type.scale > scale:
            _refuse(rows, scale)
        with refused(rows, scale):
            column = table.column(place).cast(wanted)
        table = table.set_column(place, field.with_type(wanted), column)
    return table


def polars_frame(frame: pl.DataFrame, rows: _core.Table, scale: int) -> pl.DataFrame:
    """Give the exact columns of a polars frame one scale; ``rows`` names a value that does not fit."""
    import polars as pl

    scales = [(name, kind.scale) for name, kind in frame.schema.items() if isinstance(kind, pl.Decimal)]
    if any(own > scale for _, own in scales):
        _refuse(rows, scale)
    wanted = pl.Decimal(_DIGITS, scale)
    try:
        return frame.with_columns(pl.col(name).cast(wanted) for name, own in scales if own != scale)
    except pl.exceptions.PolarsError:
        _refuse(rows, scale)


def objects(rows: _core.Table, name: str, scale: int) -> list[Decimal | None]:
    """The decimals of a column with ``scale`` digits after the point each."""
    unit = Decimal(1).scaleb(-scale)
    context = Context(prec=_DIGITS, traps=[Inexact, InvalidOperation])
    with refused(rows, scale):
        cells: list[Decimal | None] = rows.decimals(name)
    try:
        return [None if cell is None else context.quantize(cell, unit) for cell in cells]
    except (Inexact, InvalidOperation):
        _refuse(rows, scale)


@contextmanager
def refused(rows: _core.Table, scale: int) -> Iterator[None]:
    """Name the first value that does not fit, if a conversion in the block fails."""
    try:
        yield
    except ValueError as error:
        if isinstance(error, BadQuery):
            raise
        _refuse(rows, scale)


def _refuse(rows: _core.Table, scale: int) -> NoReturn:
    """Raise for the first value with too many digits."""
    most = Decimal(10) ** (_DIGITS - scale)
    context = Context(prec=2 * _DIGITS)
    for name, kind in zip(rows.names(), rows.kinds(), strict=True):
        for row, cell in enumerate(rows.objects(name, "decimal") if kind == "decimal" else ()):
            if cell is None:
                continue
            exponent = cell.normalize(context).as_tuple().exponent
            if abs(cell) >= most or (isinstance(exponent, int) and -exponent > scale):
                msg = (
                    f"scale: {scale} does not hold {name} = {cell} of row {row} within {_DIGITS} digits; allowed: at "
                    f"most {scale} digits after the point and {_DIGITS - scale} before it, another scale=, or "
                    'decimals="float"'
                )
                raise BadQuery(msg, parameter="scale")
    msg = f"scale: {scale} does not hold every value within {_DIGITS} digits"
    raise BadQuery(msg, parameter="scale")


def let_dask_add_up() -> None:
    """Give Dask, if it is loaded, a value of the type of an exact sum: with pandas 3 it has none for decimals."""
    if "dask.dataframe" in sys.modules:
        from dask.dataframe import extensions

        known: Any = extensions.make_scalar
        known.register(Decimal)(lambda _: Decimal(1))
