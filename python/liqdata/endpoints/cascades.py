"""The maximum time between two orders of a cascade."""

from __future__ import annotations

from datetime import timedelta

from liqdata import _core
from liqdata.errors import BadQuery

_SECOND = 1000
_DAY = 24 * 60 * 60 * _SECOND
_MILLISECOND = timedelta(milliseconds=1)


def gap_text(gap: object) -> str:
    """The maximum time between two orders of a cascade, in the spelling of a query string."""
    found = milliseconds(gap)
    return str(found) if found >= _SECOND else f"{found}ms"


def milliseconds(gap: object) -> int:
    """Check the maximum time between two orders of a cascade, and convert it to milliseconds."""
    found: int | None = None
    if isinstance(gap, timedelta):
        found = None if gap % _MILLISECOND else gap // _MILLISECOND
    elif isinstance(gap, str):
        found = _core.span(gap)
        if found is None and gap.isdecimal() and gap.isascii():
            found = int(gap)
    elif isinstance(gap, int) and not isinstance(gap, bool):
        found = gap
    if found is not None and 0 < found < _SECOND and not (isinstance(gap, timedelta) or _core.span(str(gap))):
        msg = f'gap: {gap} has no unit: it would be {gap} milliseconds; allowed: "{gap}s" for seconds, or "{gap}ms"'
        raise BadQuery(msg, parameter="gap")
    if found is None or not 0 < found <= _DAY:
        msg = f'gap: {gap!r} is not allowed; allowed: from "1ms" to "1d", such as "60s", a timedelta, or milliseconds'
        raise BadQuery(msg, parameter="gap")
    return found
