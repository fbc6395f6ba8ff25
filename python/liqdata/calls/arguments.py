"""Checks and conversions of arguments: instants, numbers, paths and symbols."""

from __future__ import annotations

import contextlib
import operator
import os
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from numbers import Real
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.errors import ArchiveError, BadQuery

if TYPE_CHECKING:
    from liqdata.types import Bound, Instant

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FURTHEST = 62_000_000_000_000  # maximum distance of an instant from the epoch in milliseconds: years 5 to 3934
_DIGITS = 30
_MOST = 2**63  # the first number that does not fit a 64-bit integer
_NUMBER = re.compile(r"\s*(\d+)(?:\.\d*)?\s*", re.ASCII)
_MILLISECOND = timedelta(milliseconds=1)
_INSTANTS = "epoch milliseconds, a datetime (naive ones are UTC) or ISO 8601 text"
_MINUTE = 60_000
MONTH = "1M"
"""The length of a period that is a calendar month, UTC."""
_LONGEST = 366 * 24 * 60 * _MINUTE
_LENGTHS = 'whole minutes, such as "5m", "4h", "1d", "1w", a timedelta, or milliseconds'


def datetime_of(millis: int) -> datetime:
    """The UTC datetime of epoch milliseconds."""
    return _EPOCH + timedelta(milliseconds=millis)


def millis_of(when: date) -> int:
    """Epoch milliseconds of a date or datetime, rounded down."""
    if not isinstance(when, datetime):
        when = datetime(when.year, when.month, when.day, tzinfo=UTC)
    elif when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return (when - _EPOCH) // _MILLISECOND


def instant(value: Instant | None, parameter: str) -> int | None:
    """Convert ``value`` to epoch milliseconds; raise :class:`~liqdata.BadQuery` for ``parameter``."""
    if value is None:
        return None
    kind, cell = _kind(value)
    _in_milliseconds(value, _whole(kind, cell), parameter)
    found = int(cell) if kind in {"instant", "int"} else _core.instant(cell) if kind == "text" else None
    if found is not None and abs(found) <= _FURTHEST:
        return found
    msg = f"{parameter}: {value!r} is not an instant; allowed: {_INSTANTS}"
    raise BadQuery(msg, parameter=parameter)


def named_instant(value: Any) -> int:
    """Convert one of several instants to epoch milliseconds; ``None`` is not allowed."""
    found = instant(value, "as_of")
    if found is None:
        msg = "as_of: None is given among the instants; allowed: only instants"
        raise BadQuery(msg, parameter="as_of")
    return found


def _whole(kind: str, cell: Any) -> int:
    """The integer part of a number, or of a text with a number.

    0 for anything else.
    """
    if kind == "text":
        number = _NUMBER.fullmatch(cell)
        return int(number[1]) if number is not None and len(number[1]) < _DIGITS else 0
    if kind not in {"int", "single", "float", "decimal"}:
        return 0
    whole = Decimal(cell)
    return int(whole) if whole.is_finite() and abs(whole) < _MOST else 0


def _in_milliseconds(value: object, whole: int, parameter: str) -> None:
    """Refuse a number that looks like an instant in another unit than milliseconds."""
    unit = _core.time_unit(whole) if whole < _MOST else None
    if unit not in {None, "milliseconds"}:
        msg = f"{parameter}: {value!r} looks like epoch {unit}; give epoch milliseconds; allowed: {_INSTANTS}"
        raise BadQuery(msg, parameter=parameter)


def relative(value: object) -> int | None:
    """Milliseconds before now of a bound such as ``"-7d"`` or a timedelta; ``None`` for other values."""
    if isinstance(value, str):
        return _core.span(value[1:]) if value.startswith("-") else None
    kind, cell = _kind(value)
    return abs(int(cell)) if kind == "span" else None


def time_bounds(start: Any, end: Any) -> tuple[int | None, int | None]:
    """Convert the start and the end of a time range to epoch milliseconds.

    The end must be after the start.
    """
    first, last = instant(start, "start"), instant(end, "end")
    if first is not None and last is not None and last <= first:
        msg = f"end: {end!r} is not after the start, {start!r}; allowed: a later instant"
        raise BadQuery(msg, parameter="end")
    return first, last


def time_range(start: Bound | None, end: Bound | None) -> dict[str, str | None]:
    """Start and end of a time range, checked, as query parameters.

    Each may be a time before the *now* of whoever answers.
    """
    first, last = relative(start), relative(end)
    if first is not None and last is not None and first <= last:
        msg = f"end: {end!r} is not after the start, {start!r}; allowed: a later instant"
        raise BadQuery(msg, parameter="end")
    fixed_start, fixed_end = time_bounds(start if first is None else None, end if last is None else None)
    return {"start": _bound(first, fixed_start), "end": _bound(last, fixed_end)}


def _bound(ago: int | None, at: int | None) -> str | None:
    """A bound as a query parameter: so many milliseconds before now, or an instant."""
    if ago is not None:
        return f"-{ago}ms"
    return None if at is None else datetime_of(at).isoformat()


def resolved(start: Bound | None, end: Bound | None, now: int | None) -> tuple[int | None, int | None]:
    """Start and end of a time range in epoch milliseconds, if *now* is known."""
    bounds: list[Any] = []
    for name, value in (("start", start), ("end", end)):
        ago = relative(value)
        if ago is not None and now is None:
            msg = f"{name}: {value!r} is a time before now, which is not known here; allowed: {_INSTANTS}"
            raise BadQuery(msg, parameter=name)
        bounds.append(value if ago is None else datetime_of((now or 0) - ago))
    return time_bounds(*bounds)


def length(interval: object) -> int:
    """Convert the length of a period to milliseconds; raise :class:`~liqdata.BadQuery` if it is wrong."""
    found: int | None = None
    if isinstance(interval, timedelta):
        found = interval // timedelta(milliseconds=1) if not interval % timedelta(milliseconds=1) else None
    elif isinstance(interval, str):
        found = _core.span(interval)
    elif not isinstance(interval, bool):
        kind, cell = _kind(interval)
        found = cell if kind in {"int", "span"} else None
    if found is None or found <= 0 or found % _MINUTE or found > _LONGEST:
        msg = f"interval: {interval!r} is not allowed; allowed: {_LENGTHS}"
        raise BadQuery(msg, parameter="interval")
    return found


def period_text(interval: object) -> str:
    """The length of a period as a query parameter: milliseconds, or a calendar month.

    Raises
    ------
    BadQuery
        If it is wrong.
    """
    if interval == MONTH:
        return MONTH
    try:
        return str(length(interval))
    except BadQuery as error:
        msg = str(error).replace('"1w", ', f'"1w", "{MONTH}" (a calendar month), ')
        raise BadQuery(msg, parameter=error.parameter) from None


def number(value: Any, parameter: str, allowed: str) -> float:
    """Convert a value to a float; raise :class:`~liqdata.BadQuery` for ``parameter``."""
    if not isinstance(value, bool | str | bytes):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    msg = f"{parameter}: {value!r} is not a number; allowed: {allowed}"
    raise BadQuery(msg, parameter=parameter)


# Matches an address also after conversion to a Path, which removes one of the slashes.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def anchored(path: str, parameter: str) -> str:
    """Check that a relative path has a folder to start from; raise :class:`~liqdata.BadQuery` otherwise."""
    if not os.path.isabs(path):  # noqa: PTH117 - the path stays text
        try:
            os.getcwd()  # noqa: PTH109 - only whether there is one counts
        except FileNotFoundError:
            msg = f"{parameter}: {path!r} is relative, but the working folder was deleted; allowed: an absolute path"
            raise BadQuery(msg, parameter=parameter) from None
    return path


def folder(value: object) -> str:
    """Check the path of a folder; raise :class:`~liqdata.BadQuery` for ``path``."""
    if isinstance(value, str | os.PathLike) and (text := os.fspath(value)) and isinstance(text, str):
        if _ADDRESS.match(text) and not os.path.exists(text):  # noqa: PTH110 - a Path raises if a name is too long
            msg = (
                f"path: {text!r} is an address, but this operation needs an archive on this machine; allowed: a "
                "folder, such as that of the archive which was exported there (liqdata.open reads an address, "
                "Market.export updates it)"
            )
            raise BadQuery(msg, parameter="path")
        return anchored(text, "path")
    msg = f"path: {value!r} is not allowed; allowed: the folder of an archive"
    raise BadQuery(msg, parameter="path")


def archive_folder(value: object) -> str:
    """Check the path of an archive that exists; raise :class:`~liqdata.ArchiveError` if there is no such folder."""
    path = folder(value)
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        shown = os.path.abspath(path)  # noqa: PTH100 - as above
        msg = f"{shown} is not an archive: no such folder"
        raise ArchiveError(msg, path=shown) from None
    except OSError:
        pass  # Who opens the archive says why it cannot be read.
    return path


def to_be_made(path: str) -> str:
    """Check that a folder exists or can be created; raise :class:`~liqdata.ArchiveError` otherwise."""
    above = os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120 - a Path does not resolve ".."
    if not os.path.lexists(path) and not os.path.exists(above):  # noqa: PTH110 - as above
        msg = f"{path} cannot be created: there is no folder {above}"
        raise ArchiveError(msg, path=path)
    return path


def choice(value: object, parameter: str, allowed: tuple[str, ...]) -> str:
    """One of the allowed words, or :class:`~liqdata.BadQuery` for ``parameter``."""
    if isinstance(value, str) and value in allowed:
        return value
    msg = f"{parameter}: {value!r} is not allowed; allowed: {' or '.join(map(repr, allowed))}"
    raise BadQuery(msg, parameter=parameter)


def switch(value: object, parameter: str) -> bool:
    """Check that a value is a bool; raise :class:`~liqdata.BadQuery` for ``parameter``."""
    if isinstance(value, bool):
        return value
    msg = f"{parameter}: {value!r} is not allowed; allowed: True or False"
    raise BadQuery(msg, parameter=parameter)


def many(symbol: object) -> list[Any] | None:
    """The items of a sequence as a list.

    ``None`` for a single symbol or instant, and for ``None``.
    """
    if symbol is None or isinstance(symbol, (str, bytes)) or not isinstance(symbol, Iterable):
        return None
    return list(symbol)


def symbols(symbol: object) -> list[str]:
    """Convert coins and pairs to a list, also from text with commas; empty for ``None``."""
    names = symbol.split(",") if isinstance(symbol, str) else many(symbol)
    if symbol is not None and not names:
        msg = f"symbol: {symbol!r} names no symbol; allowed: a coin, a pair or several, or None for everything"
        raise BadQuery(msg, parameter="symbol")
    for one in names or []:
        if not isinstance(one, str) or "," in one:
            msg = f"symbol: {one!r} is not allowed; allowed: a coin, such as BTC, or a pair, such as BTCUSDT"
            raise BadQuery(msg, parameter="symbol")
    return names or []


def usd(amount: object) -> str:
    """Convert an amount of USD to exact text; raise :class:`~liqdata.BadQuery` for ``min_usd``."""
    exact = None
    if isinstance(amount, (str, Decimal)):
        with contextlib.suppress(InvalidOperation):
            exact = Decimal(amount)
    elif isinstance(amount, Real) and not isinstance(amount, bool):
        exact = Decimal(repr(float(amount)))
    if exact is not None and exact.is_finite() and exact >= 0:
        return format(exact, "f")
    msg = f"min_usd: {amount!r} is not allowed; allowed: USD from 0 on"
    raise BadQuery(msg, parameter="min_usd")


def _kind(value: Any) -> tuple[str, Any]:
    """Kind and plain value of a scalar of Python, numpy or pandas."""
    kind = _KINDS.get(type(value))
    if kind is not None:
        return kind, value
    if isinstance(value, Decimal):
        return ("decimal", str(value)) if value.is_finite() else ("float", float(value))
    if isinstance(value, (date, timedelta)):
        return _time(value)
    return _foreign(value)


_KINDS: dict[type, str] = {type(None): "missing", str: "text", int: "int", float: "float"}


def is_missing(value: Any) -> Any:
    """Whether a value, or each value of an array, is NaN or NaT.

    Only these are not equal to themselves.
    """
    return operator.ne(value, value)


def _time(value: date | timedelta) -> tuple[str, Any]:
    # pandas' NaT is an instance of datetime.
    if is_missing(value):
        return "missing", None
    if isinstance(value, timedelta):
        return "span", value // _MILLISECOND
    return "instant", millis_of(value)


def _foreign(value: Any) -> tuple[str, Any]:
    """Kind and plain value of a scalar of numpy or pandas, or of a subclass of a plain type."""
    if type(value).__name__ == "MaskedConstant":  # numpy.ma.masked, which has the dtype of a float
        return "missing", None
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind is not None and not getattr(value, "ndim", 0):
        return _numpy(value, kind)
    if type(value).__name__ == "NAType":  # pandas.NA, which has no dtype and no truth value
        return "missing", None
    if not isinstance(value, bool):
        for name, plain in (("text", str), ("int", int), ("float", float)):
            if isinstance(value, plain):
                return name, plain(value)
    return "other", repr(value)[:80]


def _numpy(value: Any, kind: str) -> tuple[str, Any]:
    if kind in "Mm":
        if is_missing(value):
            return "missing", None
        name, unit = ("instant", "datetime64[ms]") if kind == "M" else ("span", "timedelta64[ms]")
        return name, int(value.astype(unit).astype("int64"))
    if kind == "f":
        return ("single" if value.dtype.itemsize <= SINGLE else "float"), float(value)
    plain = {"i": ("int", int), "u": ("int", int), "U": ("text", str)}.get(kind)
    return ("other", repr(value)[:80]) if plain is None else (plain[0], plain[1](value))


SINGLE = 4  # bytes of a single-precision float


def scalar(value: Any) -> tuple[str, Any]:
    """Convert a scalar for the Rust core, which calls this function for types that it does not know."""
    return _kind(value)
