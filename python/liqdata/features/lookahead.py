"""Check that a table of features looks at nothing that was not known at its instants."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from liqdata.calls.arguments import datetime_of, instant
from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from liqdata.market import Market

__all__ = ["Lookahead", "assert_no_lookahead", "check_lookahead"]

_TOLERANCE = 1e-9
"""Relative difference of two numbers that counts as rounding."""
_KEYS = ("at", "timestamp")
"""Columns with the instant of a row; the first that is there is used."""
_TABLES = ("orders", "bars", "open_interest", "liquidations")
_SHOWN = 3


class Difference(NamedTuple):
    """A value that depends on rows which were not known at its instant."""

    column: str
    at: datetime
    """The instant, UTC."""
    whole: Any
    """The value from all rows."""
    known: Any
    """The value from the rows that were known at the instant."""


@dataclass(frozen=True)
class Lookahead:
    """What :func:`check_lookahead` found.

    Attributes
    ----------
    columns : tuple of str
        Columns that look ahead.
    instants : tuple of datetime
        The instants that were compared, UTC.
    not_tested : tuple of str
        Columns that were missing or constant at all these instants, so that nothing is known about them.
    differences : tuple of Difference
        For each column that looks ahead, the values that differ: ``column``, ``at``, ``whole``, ``known``.

    Examples
    --------
    >>> import liqdata
    >>> found = liqdata.features.Lookahead(("next_return",), (), ("volume",), ())
    >>> found.columns, found.not_tested
    (('next_return',), ('volume',))
    """

    columns: tuple[str, ...]
    instants: tuple[datetime, ...]
    not_tested: tuple[str, ...]
    differences: tuple[Difference, ...] = ()

    def __str__(self) -> str:
        lines = [f"{len(self.instants)} instants compared"]
        for column in self.columns:
            values = [each for each in self.differences if each.column == column]
            shown = "; ".join(
                f"at {each.at:%Y-%m-%dT%H:%M:%SZ} {each.whole!r}, and {each.known!r} from what was known then"
                for each in values[:_SHOWN]
            )
            lines.append(f"{column} looks ahead at {len(values)} of them: {shown}")
        if self.not_tested:
            lines.append(f"not tested (missing or constant at all of them): {', '.join(self.not_tested)}")
        return "\n".join(lines)


def check_lookahead(
    build: Callable[[Market, Any], Any],
    tables: Mapping[str, Any] | Market,
    at: Sequence[Any],
    *,
    sample: int = 20,
    seed: int = 0,
) -> Lookahead:
    """Compare a table of features with what the same function gives from only the rows known by then.

    For a sample of the instants the market is made again from only the rows that were known by the instant: orders by
    their ``received_at``, bars and totals by their close, open interest by its time. The rows of the last instant that
    ``build`` returns for it are compared with its rows in the whole table.

    Parameters
    ----------
    build : callable
        Called with a market and with instants; returns a table (a frame, :class:`Rows`, a mapping of columns or a list
        of dicts) with one row per instant, or as many for each, such as one per coin. A column ``at`` or ``timestamp``,
        or an index of datetimes, names the instant of a row; without it, rows are taken in the order of the instants.
    tables : mapping or Market
        The tables of the market, as :class:`Market` takes them by name, or a market made of tables.
    at : sequence of int, datetime or str
        Decision instants, ascending. ``build`` gets the same sequence, and parts of it.
    sample : int
        Number of instants to compare, at least 2. The first of ``at`` is never one of them.
    seed : int
        Chooses the instants.

    Returns
    -------
    Lookahead
        The columns that look ahead, the instants, and the columns about which nothing is known.

    Raises
    ------
    BadQuery
        For a wrong parameter, and if ``build`` does not return the same number of rows for each instant.

    Notes
    -----
    Numbers that differ by less than one part in 10⁹ are equal: a sum may be rounded differently. A column that is
    missing or constant at all instants of the sample is listed in ``not_tested``, never passed.

    Examples
    --------
    >>> import liqdata
    >>> market = liqdata.demo()
    >>> hours = [f"2026-05-31T{hour:02}:00Z" for hour in range(24)]
    >>> def build(market, at):
    ...     return market.features("BTC", at, columns=["long_usd_1h", "price"])
    >>> liqdata.check_lookahead(build, market, hours, sample=3).columns
    ()
    """
    instants = _instants(at)
    if isinstance(sample, bool) or not isinstance(sample, int) or sample < 2:  # noqa: PLR2004 - one shows no change
        _refuse("sample", sample, "a whole number from 2 on")
    market = _market(tables)
    whole = _Built(build(market, at), instants)
    places = random.Random(seed).sample(range(1, len(instants)), min(sample, len(instants) - 1))  # noqa: S311 - no secret
    values: dict[str, list[tuple[int, Any, Any]]] = {name: [] for name in whole.names}
    for place in sorted(places):
        moment = instants[place]
        known = _Built(_built(build, market, at, place, moment), instants[: place + 1])
        for name in known.names:
            values.setdefault(name, [])
        for name, found in values.items():
            found += [(moment, *pair) for pair in whole.pairs(known, name, place)]
    differences = [
        Difference(name, datetime_of(moment), one, other)
        for name, found in values.items()
        for moment, one, other in found
        if not _equal(one, other)
    ]
    columns = tuple(dict.fromkeys(each.column for each in differences))
    not_tested = tuple(name for name, found in values.items() if name not in columns and not _varies(found))
    moments = tuple(datetime_of(instants[place]) for place in sorted(places))
    return Lookahead(columns, moments, not_tested, tuple(differences))


def assert_no_lookahead(
    build: Callable[[Market, Any], Any],
    tables: Mapping[str, Any] | Market,
    at: Sequence[Any],
    *,
    sample: int = 20,
    seed: int = 0,
    ignore: Iterable[str] = (),
) -> None:
    """Fail a test if a table of features looks ahead, or if that is not known of one of its columns.

    Parameters
    ----------
    build, tables, at, sample, seed
        As for :func:`check_lookahead`.
    ignore : iterable of str
        Columns that may be missing or constant, such as the name of the only coin.

    Raises
    ------
    AssertionError
        If a column looks ahead, or was missing or constant at all instants; the message has the values.
    BadQuery
        As for :func:`check_lookahead`.

    Examples
    --------
    >>> import liqdata
    >>> market = liqdata.demo()
    >>> hours = [f"2026-05-31T{hour:02}:00Z" for hour in range(24)]
    >>> def build(market, at):
    ...     return market.features("BTC", at, columns=["long_usd_1h"])
    >>> liqdata.assert_no_lookahead(build, market, hours, sample=3, ignore=["coin"])
    """
    found = check_lookahead(build, tables, at, sample=sample, seed=seed)
    untested = set(found.not_tested) - set(ignore)
    if found.columns or untested:
        raise AssertionError(str(found))


def _refuse(parameter: str, value: object, allowed: str) -> NoReturn:
    msg = f"{parameter}: {value!r} is not allowed; allowed: {allowed}"
    raise BadQuery(msg, parameter=parameter)


def _instants(at: Any) -> list[int]:
    if isinstance(at, str) or not hasattr(at, "__len__") or not hasattr(at, "__getitem__"):
        _refuse("at", at, "a sequence of instants")
    found = [instant(one, "at") for one in at]
    known = [one for one in found if one is not None]
    if len(known) < 2 or len(known) < len(found) or known != sorted(set(known)):  # noqa: PLR2004 - one shows no change
        _refuse("at", at, "at least two instants, ascending and each once")
    return known


def _market(tables: Any) -> Market:
    """A market of tables."""
    from liqdata.calls.arguments import millis_of
    from liqdata.market import Market, known_by

    if isinstance(tables, Market):
        # Made again from its rows, as the others are: a simulation also knows its gaps.
        return known_by(tables, millis_of(tables.now))
    if not hasattr(tables, "keys"):
        _refuse("tables", type(tables).__name__, f"a mapping of {', '.join(_TABLES)} to tables, or a market of tables")
    return Market(**tables)


def _built(build: Callable[[Market, Any], Any], market: Market, at: Any, place: int, moment: int) -> Any:
    """What a function returns from only the rows that were known by an instant, for the instants up to it."""
    from liqdata.market import known_by

    known = known_by(market, moment)
    try:
        return build(known, at[: place + 1])
    except Exception as error:
        error.add_note(f"build failed on the rows that were known by {datetime_of(moment):%Y-%m-%dT%H:%M:%SZ}")
        raise


class _Built:
    """A table that a function returned, with the rows of each instant."""

    def __init__(self, value: Any, instants: list[int]) -> None:
        import numpy as np

        from liqdata.scoring.columns import Table

        data = Table(value, "build")
        self.names = data.names
        self._cells = {name: _plain(data.cells(name)) for name in data.names}
        lengths = {len(cells) for cells in self._cells.values()}
        if len(lengths) != 1:
            _refuse("build", f"columns of {sorted(lengths)} rows", "a table with columns of one length")
        (count,) = lengths
        key = next((name for name in _KEYS if name in data), None)
        if key is not None:
            times = data.instants(key)
            self._rows = {moment: np.flatnonzero(times == moment).tolist() for moment in instants}
            return
        each, rest = divmod(count, len(instants))
        if rest or not each:
            what = f"{count} rows for {len(instants)} instants"
            _refuse("build", what, "a column at or timestamp, or the same number of rows for each instant")
        self._rows = {moment: list(range(place * each, place * each + each)) for place, moment in enumerate(instants)}

    def values(self, name: str, moment: int) -> list[Any]:
        """The cells of a column in the rows of an instant; none if there is no such column."""
        cells = self._cells.get(name)
        return [] if cells is None else [cells[row] for row in self._rows[moment]]

    def pairs(self, known: _Built, name: str, place: int) -> Iterator[tuple[Any, Any]]:
        """The values at the instant with number ``place`` here and in another table; ``None`` where one has no row."""
        moment = list(self._rows)[place]
        mine, theirs = self.values(name, moment), known.values(name, moment)
        for row in range(max(len(mine), len(theirs))):
            yield (mine[row] if row < len(mine) else None, theirs[row] if row < len(theirs) else None)


def _plain(cells: Any) -> list[Any]:
    return [_cell(cell) for cell in (cells.tolist() if hasattr(cells, "tolist") else list(cells))]


def _cell(cell: Any) -> Any:
    """A cell as a number or text; ``None`` if it is missing."""
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return None
    try:
        number = float(cell)
    except (TypeError, ValueError):
        return str(cell)
    return None if math.isnan(number) else number


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=_TOLERANCE)
    return bool(one == other)


def _varies(found: list[tuple[int, Any, Any]]) -> bool:
    """Whether a column has different values at the instants of the sample."""
    return len({one for _, one, _ in found}) > 1
