"""The arguments of ``features``: instants, windows, moves and columns."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from liqdata import _core
from liqdata.calls.arguments import instant, many, resolved, time_range
from liqdata.errors import BadQuery
from liqdata.model import native
from liqdata.results.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from liqdata.source.convert import Origin

_MINUTE = 60_000
_MOST = 5_000_000  # instants
_LONGEST = 700_000 * 1440 * _MINUTE
_MILLISECOND = timedelta(milliseconds=1)
_SPANS = 'whole minutes up to 700000 days, such as "1h", a timedelta, or milliseconds'
_DELAYS = 'whole milliseconds from 0 to 700000 days, such as "5m", a timedelta, or milliseconds'
_MOVES = "percentages above 0 and below 100"


class Grid(NamedTuple):
    """The multiples of a step as instants, from a start on and before an end."""

    step: int
    start: Any
    end: Any

    def instants(self, now: int | None) -> list[int]:
        """The instants, by default up to and including *now*."""
        first, last = resolved(self.start, self.end, now)
        if last is None:
            last = first if now is None else now + 1
        found = range(-(-(first or 0) // self.step) * self.step, last or 0, self.step)
        if not found:
            _refuse("start", self.start, "a start with a multiple of the step from it on and before end")
        return _counted(list(found))


class FeatureQuestion(NamedTuple):
    """Checked arguments, as the Rust core takes them."""

    symbols: list[str]
    instants: list[int]
    grid: Grid | None
    """What the instants follow from, as long as they are not known."""
    opens: list[int] | None
    windows: list[tuple[str, int]]
    moves: list[float]
    range: str
    model: Any
    exchange: str | None
    latency: int
    columns: list[str] | None

    def at(self, now: int | None) -> FeatureQuestion:
        """The same question with its instants."""
        return self if self.grid is None else self._replace(instants=self.grid.instants(now), grid=None)

    def ask(
        self, core: _core.Market, instants: Sequence[int] | None = None
    ) -> tuple[_core.Table, list[str], list[str]]:
        """The table of features, the units of its maps and the views of its models; of some instants if given."""
        return core.features(
            self.symbols,
            list(self.instants if instants is None else instants),
            self.opens,
            self.windows,
            self.moves,
            self.range,
            self.model,
            self.exchange,
            self.latency,
            self.columns,
        )

    def rows(self, table: _core.Table, units: Iterable[str], views: Iterable[str], origin: Origin) -> Rows[Any]:
        """The rows of an answer."""
        meta = origin.meta(None)
        meta |= {"units": _common(units), "view": _common(views), "latency": timedelta(milliseconds=self.latency)}
        return Rows(table, decimals="float", meta=meta)


def question(given: Mapping[str, Any]) -> FeatureQuestion:
    """Check the arguments of ``features``."""
    names = many(given["symbols"])
    names = [given["symbols"]] if names is None else names
    if not names or not all(isinstance(name, str) and name.strip() and "," not in name for name in names):
        _refuse("symbols", given["symbols"], 'a coin such as "BTC", or several')
    instants, grid, opens = _instants(given["at"], given["start"], given["end"])
    _core.question("liqmap", symbol=names[0], range=given["range"], exchange=given["exchange"])
    windows = [_named(window, "windows") for window in _several(given["windows"])]
    moves = [_move(move) for move in _several(given["within"])]
    if len({_core.coin(name) for name in names}) < len(names):
        _refuse("symbols", given["symbols"], "each coin once")
    for parameter, values in (("windows", [name for name, _ in windows]), ("within", moves)):
        if len(set(values)) < len(values):
            _refuse(parameter, given[parameter], "different values")
    return FeatureQuestion(
        names,
        _counted(instants),
        grid,
        opens,
        windows,
        moves,
        given["range"],
        None if given["model"] is None else native(given["model"]),
        given["exchange"],
        latency_of(given["latency"]),
        _columns(given["columns"], _core.feature_columns([name for name, _ in windows], moves, opens is not None)),
    )


def _common(names: Iterable[str]) -> str | None:
    """The name that all maps have, or ``"mixed"``; ``None`` without a map."""
    found = set(names)
    return "mixed" if len(found) > 1 else found.pop() if found else None


def _counted(instants: list[int]) -> list[int]:
    if len(instants) > _MOST:
        _refuse("at", f"{len(instants)} instants", f"at most {_MOST}")
    return instants


def _refuse(parameter: str, value: object, allowed: str) -> NoReturn:
    msg = f"{parameter}: {value!r} is not allowed; allowed: {allowed}"
    raise BadQuery(msg, parameter=parameter)


def _several(value: Any) -> list[Any]:
    found = many(value)
    return [value] if found is None else found


def _milliseconds(value: Any) -> int | None:
    """The whole milliseconds of a duration; ``None`` for anything else."""
    found: int | None = None
    if isinstance(value, str):
        found = _core.span(value)
    elif isinstance(value, timedelta):
        found = None if value % _MILLISECOND else value // _MILLISECOND
    elif not isinstance(value, bool) and hasattr(value, "__index__"):
        found = int(value)
    return None if found is None or abs(found) > _LONGEST else found


def _named(window: Any, parameter: str) -> tuple[str, int]:
    """A window as its name and its milliseconds."""
    found = _milliseconds(window)
    if found is None or found <= 0 or found % _MINUTE:
        _refuse(parameter, window, _SPANS)
    return (window if isinstance(window, str) else _text(found)), found


def _text(span: int) -> str:
    """A duration in the largest unit that gives a whole number."""
    unit, length = next(
        (unit, length) for unit, length in (("d", 1440), ("h", 60), ("m", 1)) if span % (length * _MINUTE) == 0
    )
    return f"{span // (length * _MINUTE)}{unit}"


def _move(percent: Any) -> float:
    """A move of the price in percent."""
    try:
        found = float(percent)
    except (TypeError, ValueError, OverflowError):
        found = 0.0
    if isinstance(percent, bool | str) or not 0 < found < 100:  # noqa: PLR2004 - percent
        _refuse("within", percent, _MOVES)
    return found


def latency_of(latency: Any) -> int:
    """The milliseconds of a duration that is not negative."""
    found = _milliseconds(latency)
    if found is None or found < 0:
        _refuse("latency", latency, _DELAYS)
    return found


def _columns(columns: Any, names: list[str]) -> list[str] | None:
    """The wanted columns; ``None`` for all."""
    if isinstance(columns, str) and columns == "all":
        return None
    wanted = _several(columns)
    for name in wanted:
        if name not in names:
            _refuse("columns", name, f'"all", or some of {", ".join(names)}')
    return wanted


def _instants(at: Any, start: Any, end: Any) -> tuple[list[int], Grid | None, list[int] | None]:
    """The decision instants or the grid that they follow from, and of bars their opens."""
    every = _core.span(at) if isinstance(at, str) else _milliseconds(at) if isinstance(at, timedelta) else None
    if every is not None:
        if every <= 0 or every % _MINUTE:
            _refuse("at", at, _SPANS)
        if start is None:
            _refuse("start", None, f"an instant, since at is the step {at!r}")
        time_range(start, end)  # checks them
        return [], Grid(every, start, end), None
    if start is not None or end is not None:
        allowed = 'None, unless at is the length of a step, such as "1h"'
        _refuse("start" if start is not None else "end", start if start is not None else end, allowed)
    if isinstance(at, Rows | Mapping) or hasattr(at, "columns") or hasattr(at, "column_names"):
        closes, opens = _of_bars(at)
        return closes, None, opens
    found = many(at)
    asked: list[Any] = [at] if found is None else found
    instants = [instant(one, "at") for one in asked]
    if not instants or None in instants:
        _refuse("at", at, 'instants, bars, or the length of a step such as "1h"')
    return [one for one in instants if one is not None], None, None


def _of_bars(bars: Any) -> tuple[list[int], list[int]]:
    """The closes of bars and their opens, in order of time and each once."""
    import numpy as np

    from liqdata.scoring.columns import Table

    data = Table(bars, "at")
    data.need("timestamp")
    opens = data.instants("timestamp")
    if "closes_at" in data:
        closes = data.instants("closes_at")
    elif "interval" in data:
        closes = opens + data.spans("interval")
    else:
        steps = np.diff(np.unique(opens))
        if not len(steps):
            _refuse("at", "one bar without its length", "bars with a column interval or closes_at, or several bars")
        lengths, counts = np.unique(steps, return_counts=True)
        closes = opens + lengths[np.argmax(counts)]
    closes, places = np.unique(closes, return_index=True)
    return closes.tolist(), opens[places].tolist()
