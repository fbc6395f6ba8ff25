"""The arguments of ``features``: instants, windows, moves and columns."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from liqdata import _core
from liqdata.calls.arguments import instant, many, resolved
from liqdata.errors import BadQuery
from liqdata.model import native
from liqdata.results.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from liqdata.source.local import LocalSource

_MINUTE = 60_000
_MOST = 5_000_000  # instants
_SPANS = 'whole minutes, such as "1h", a timedelta, or milliseconds'
_MOVES = "percentages above 0 and below 100"


class FeatureQuestion(NamedTuple):
    """Checked arguments, as the Rust core takes them."""

    symbols: list[str]
    instants: list[int]
    opens: list[int] | None
    windows: list[tuple[str, int]]
    moves: list[tuple[str, float]]
    range: str
    model: Any
    exchange: str | None
    latency: int
    columns: list[str] | None

    @property
    def names(self) -> list[str]:
        """The names of all columns, in order."""
        found = ["at", "coin", *(["bar_open"] if self.opens is not None else []), "known_at", "price"]
        for name, _ in self.windows:
            found += [f"long_usd_{name}", f"short_usd_{name}", f"cnt_{name}", f"covered_{name}"]
        for name, _ in self.moves:
            found += [f"long_usd_{name}pct", f"short_usd_{name}pct"]
        for side in ("below", "above"):
            found += [f"{side}_dist_pct", f"{side}_usd", f"{side}_leverage"]
        for side in ("long", "short"):
            found += [f"pain_{side}_dist_pct", f"pain_{side}_usd"]
        return [*found, "map_age_s", "oi_age_s", "model_version"]

    def ask(self, core: _core.Market, instants: Sequence[int] | None = None) -> tuple[_core.Table, str | None]:
        """The table of features and the units of its map; of some of the instants if they are given."""
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


def question(source: LocalSource, given: Mapping[str, Any]) -> FeatureQuestion:
    """Check the arguments of ``features``."""
    names = many(given["symbols"])
    names = [given["symbols"]] if names is None else names
    if not names or not all(isinstance(name, str) for name in names):
        _refuse("symbols", given["symbols"], 'a coin such as "BTC", or several')
    instants, opens = _instants(given["at"], given["start"], given["end"], source)
    if len(instants) > _MOST:
        _refuse("at", f"{len(instants)} instants", f"at most {_MOST}")
    _core.question("liqmap", symbol=names[0], range=given["range"], exchange=given["exchange"])
    found = FeatureQuestion(
        names,
        instants,
        opens,
        [_named(window, "windows") for window in _several(given["windows"])],
        [_move(move) for move in _several(given["within"])],
        given["range"],
        None if given["model"] is None else native(given["model"]),
        given["exchange"],
        latency_of(given["latency"]),
        None,
    )
    return found._replace(columns=_columns(given["columns"], found.names))


def _refuse(parameter: str, value: object, allowed: str) -> NoReturn:
    msg = f"{parameter}: {value!r} is not allowed; allowed: {allowed}"
    raise BadQuery(msg, parameter=parameter)


def _several(value: Any) -> list[Any]:
    found = many(value)
    return [value] if found is None else found


def _milliseconds(value: Any) -> int | None:
    """The milliseconds of a duration; ``None`` for anything else."""
    if isinstance(value, str):
        return _core.span(value)
    if isinstance(value, timedelta) or hasattr(value, "total_seconds"):
        return round(float(value.total_seconds()) * 1000)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return None
    return int(value)


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


def _move(percent: Any) -> tuple[str, float]:
    """A move of the price as its name and its percentage."""
    try:
        found = float(percent)
    except (TypeError, ValueError):
        found = 0.0
    if isinstance(percent, bool | str) or not 0 < found < 100:  # noqa: PLR2004 - percent
        _refuse("within", percent, _MOVES)
    return f"{found:g}", found


def latency_of(latency: Any) -> int:
    """The milliseconds of a duration that is not negative."""
    found = _milliseconds(latency)
    if found is None or found < 0:
        _refuse("latency", latency, 'a duration from 0 on, such as "5m", a timedelta, or milliseconds')
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


def _instants(at: Any, start: Any, end: Any, source: LocalSource) -> tuple[list[int], list[int] | None]:
    """The decision instants, and of bars their opens."""
    every = _core.span(at) if isinstance(at, str) else _milliseconds(at) if isinstance(at, timedelta) else None
    if every is not None:
        return _grid(at, every, (start, end), source), None
    if start is not None or end is not None:
        allowed = 'None, unless at is the length of a step, such as "1h"'
        _refuse("start" if start is not None else "end", start if start is not None else end, allowed)
    if isinstance(at, Rows | Mapping) or hasattr(at, "columns") or hasattr(at, "column_names"):
        return _of_bars(at)
    found = many(at)
    asked: list[Any] = [at] if found is None else found
    instants = [instant(one, "at") for one in asked]
    if not instants or None in instants:
        _refuse("at", at, 'instants, bars, or the length of a step such as "1h"')
    return [one for one in instants if one is not None], None


def _grid(at: Any, every: int, bounds: tuple[Any, Any], source: LocalSource) -> list[int]:
    """The multiples of a step from a start on and before an end; by default up to and including *now*."""
    if every <= 0 or every % _MINUTE:
        _refuse("at", at, _SPANS)
    now = source.open_core().now
    first, last = resolved(*bounds, now)
    if first is None:
        _refuse("start", None, f"an instant, since at is the step {at!r}")
    if last is None:
        last = first if now is None else now + 1
    found = list(range(-(-first // every) * every, last, every))
    if not found:
        _refuse("at", at, "a step with an instant from start on and before end")
    return found


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
