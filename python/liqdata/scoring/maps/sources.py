"""Sources of predictions: everything that can be scored, with a common interface."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from liqdata import _core
from liqdata.calls.arguments import datetime_of, instant, millis_of
from liqdata.errors import BadQuery
from liqdata.results.heatmap import Heatmap
from liqdata.results.map import LiquidationMap
from liqdata.scoring.columns import DAY, Floats, Millis, Table, refuse
from liqdata.source import convert

from . import baselines, curves
from .models import Estimated, on_tables

if TYPE_CHECKING:
    from datetime import datetime

    from liqdata.scoring.statistics.path import Path
    from liqdata.scoring.truth import Truth

    from .curves import MapCurves

    Run = Callable[[Callable[..., Any], list[tuple[Any, ...]]], list[Any]]

_WORDS = re.compile("[0-9A-Za-z]+")

ALLOWED = (
    "a Market, a Model, a function of an instant that gives a LiquidationMap or Heatmap, maps or pairs of an instant "
    "and a map, rows or recordings of market.maps(), the name of a baseline (template, prints, interest, turnover), or "
    "a mapping of several of these by name"
)
_BLOCK = 32 * DAY  # time range of the opens for which one task calls a function of the caller


class Asking(NamedTuple):
    """The inputs of a score other than the maps."""

    path: Path
    truth: Truth
    symbol: str
    bars: Any
    open_interest: Any
    run: Run


class Source(Protocol):
    """A source of predictions."""

    @property
    def name(self) -> str:
        """Name of the source on the score card."""
        ...

    @property
    def version(self) -> str | None:
        """Version of the model, if known."""
        ...

    def crossed(self, instants: Millis, lows: Floats, highs: Floats) -> Floats | None:
        """USD that a move to each low and high would cross at each instant, shape (n, 2); NaN without a map.

        ``None`` if the source has predictions only for the real price moves, not for any others.
        """

    def refreshed(self, path: Path) -> Floats | None:
        """USD crossed in each period by a map that also changes inside the period; ``None`` if unknown."""


class Recorded(NamedTuple):
    """Maps at instants, sorted by time."""

    name: str
    maps: list[MapCurves]
    version: str | None = None
    lasts: int | None = None
    """For how long a map counts, in milliseconds; ``None`` until the next map."""

    def crossed(self, instants: Millis, lows: Floats, highs: Floats) -> Floats:
        """Crossed USD of the newest map at each instant."""
        found = np.full((len(instants), 2), np.nan)
        for row, place in enumerate(curves.newest(self.maps, instants).tolist()):
            if place >= 0 and (self.lasts is None or instants[row] < self.maps[place].at + self.lasts):
                found[row] = self.maps[place].crossed(lows[row], highs[row])
        return found

    def refreshed(self, path: Path) -> None:  # noqa: ARG002 - the protocol has it
        """``None``: changes of the map inside a period are unknown."""
        return


class Swept(NamedTuple):
    """Given predictions: crossed USD in the periods that opened at ``opens``, arrays of shape (n, 2)."""

    name: str
    opens: Millis
    frozen: Floats
    inside: Floats | None = None
    version: str | None = None

    def crossed(self, instants: Millis, lows: Floats, highs: Floats) -> None:  # noqa: ARG002 - see the protocol
        """``None``: the crossed USD of other price moves are unknown."""
        return

    def of(self, path: Path, cells: Floats) -> Floats:
        """The predictions for the periods of ``path``; NaN for a period without a prediction."""
        found = np.full((len(path.opens), 2), np.nan)
        _, mine, theirs = np.intersect1d(path.opens, self.opens, return_indices=True)
        found[mine] = cells[theirs]
        return found

    def refreshed(self, path: Path) -> Floats | None:
        """The given predictions that include changes inside the periods, if any."""
        return None if self.inside is None else self.of(path, self.inside)


def frozen(source: Source, path: Path) -> Floats:
    """USD that the price move of each period crosses, in the map as of the open of the period."""
    if isinstance(source, Swept):
        return source.of(path, source.frozen)
    found = source.crossed(path.opens, path.low, path.high)
    if found is None:
        refuse("maps", f"{source.name!r} has no predictions for moves", ALLOWED)
    return found


def sources(value: Any, parameter: str, asking: Asking) -> list[Source]:
    """Convert an argument to sources with unique names."""
    if isinstance(value, Mapping):
        found = [source for name, one in value.items() for source in _source(one, str(name), asking)]
    else:
        found = _source(value, None, asking)
    names = [source.name for source in found]
    if not names and parameter == "maps":
        refuse(parameter, "nothing was given", ALLOWED)
    for name in names:
        if names.count(name) > 1:
            refuse(parameter, f"{name!r} is given twice", "a different name for each")
    return found


def _source(value: Any, name: str | None, asking: Asking) -> list[Source]:
    from liqdata.market import Market
    from liqdata.model import Model
    from liqdata.recording.recorded import Recordings

    found: list[Source]
    if isinstance(value, str) and value in baselines.NAMES:
        frozen, inside = baselines.made(value, asking.path, asking.open_interest, asking.symbol)
        found = [Swept(name or value, asking.path.opens, frozen, inside)]
    elif isinstance(value, Recorded | Swept):
        found = [value._replace(name=name or value.name)]
    elif isinstance(value, Market):
        found = [Estimated(name or "market", value, Model(), asking.symbol)]
    elif isinstance(value, Model):
        tables = {"bars": asking.bars, "open_interest": asking.open_interest}
        found = [on_tables(value, tables, asking.truth, asking.symbol, name)]
    elif isinstance(value, (Heatmap, LiquidationMap, Recordings)):
        maps = value.pairs(asking.symbol) if isinstance(value, Recordings) else [value]
        found = [_from_maps(name or type(value).__name__.lower(), maps, asking)]
    elif isinstance(value, type):
        refuse("maps", f"the class {value.__name__} cannot be scored", f"an instance of the class, or {ALLOWED}")
    elif callable(value):
        found = [_from_function(name or str(getattr(value, "__name__", "function")), value, asking)]
    elif hasattr(value, "__arrow_c_stream__") or hasattr(value, "columns"):
        found = list(_from_record(name, Table(value, "maps"), asking))
    elif isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        found = [_from_maps(name or "maps", value, asking)]
    else:
        what = repr(value) if isinstance(value, str) else f"a {type(value).__name__}"
        refuse("maps", f"{what} cannot be scored", ALLOWED)
    return found


def _from_function(name: str, function: Callable[[datetime], Any], asking: Asking) -> Source:
    """A source that calls a function for the map as of every open."""
    opens = asking.path.opens
    blocks = opens // _BLOCK
    tasks = [(function, opens[blocks == one], asking.path.bars, asking.symbol) for one in np.unique(blocks)]
    parts = asking.run(_ask_function, tasks)
    if not any(part for part, _ in parts):
        refuse("maps", f"{name!r} has no map of {asking.symbol!r} at any of {len(opens)} opens", "maps of that time")
    return Recorded(name, [one for part, _ in parts for one in part], _one_version(name, [seen for _, seen in parts]))


def _ask_function(
    function: Callable[[datetime], Any], opens: Millis, bars: Any, symbol: str
) -> tuple[list[MapCurves], set[Any]]:
    """The maps that a function returns for some opens, and their versions; a pure task."""
    found: list[MapCurves] = []
    versions: set[Any] = set()
    for at in opens.tolist():
        grid = function(datetime_of(at))
        if grid is None:
            continue
        made = _checked(grid, symbol)
        if made > at:
            what = (
                f"the map requested as of {datetime_of(at):%Y-%m-%dT%H:%MZ} is from "
                f"{datetime_of(made):%Y-%m-%dT%H:%M:%SZ}"
            )
            refuse("maps", what, "maps that use no later data")
        found += [one._replace(at=at) for one in _curves(grid, at, bars, last=True)]
        versions.add(_version(grid.meta.get("explain")))
    return found, versions


def _from_maps(name: str, values: Iterable[Any], asking: Asking) -> Source:
    """A source of maps, or of pairs of an instant and a map."""
    found: list[MapCurves] = []
    versions = set()
    only: Any = values if isinstance(values, list) and len(values) == 1 else None
    for place, value in enumerate(values):
        at: int | None = None
        grid = value
        if isinstance(value, tuple) and len(value) == 2:  # noqa: PLR2004 - a pair
            at, grid = instant(value[0], "maps"), value[1]
        if not isinstance(grid, (Heatmap, LiquidationMap)):
            refuse("maps", f"item {place} is a {type(grid).__name__}", ALLOWED)
        made = _checked(grid, asking.symbol)
        if only is not None and at is None and isinstance(grid, Heatmap) and _fitted(grid):
            what = f"every column of a fitted heatmap uses data up to {datetime_of(made).isoformat()}"
            refuse("maps", what, "a liqdata.Model, or maps as of each instant")
        if at is not None and made > at:
            what = f"item {place}, given for {datetime_of(at).isoformat()}, is from {datetime_of(made).isoformat()}"
            refuse("maps", what, "instants at which the maps were known")
        # A single heatmap gives one map per column. Each of several heatmaps gives only the map of its last column.
        found += [
            one if at is None else one._replace(at=at)
            for one in _curves(grid, made if at is None else at, asking.path.bars, last=only is None)
        ]
        versions.add(_version(grid.meta.get("explain")))
    if not found:
        refuse("maps", f"{name!r} has no maps", "at least one map")
    found.sort(key=lambda one: one.at)
    return Recorded(name, found, _one_version(name, [versions]))


def _from_record(name: str | None, data: Table, asking: Asking) -> Iterable[Source]:
    """Sources of stored maps, one for each combination of method, parameters and model version."""
    import json

    data.need("kind", "symbol", "params", "computed_at", "reply")
    conversions: dict[str, Any] = {"heatmap": convert.heatmap, "liqmap": convert.liqmap}
    kinds = [data.texts(column) for column in ("kind", "symbol", "params", "reply")]
    times = data.instants("computed_at").tolist()
    nothing = [None] * len(times)
    versions = data.cells("version") if "version" in data else nothing
    explained = data.cells("explain") if "explain" in data else nothing
    found: dict[tuple[str, str, str | None], list[MapCurves]] = {}
    for kind, coin, params, reply, at, own, explain in zip(*kinds, times, versions, explained, strict=True):
        if kind not in conversions or coin.upper() != asking.symbol:
            continue
        answer = _core.read_reply(kind, reply.encode())
        grid = conversions[kind](answer, convert.Origin("archive", datetime_of(at), None))
        version = own if isinstance(own, str) and own else _version(json.loads(explain) if explain else None)
        found.setdefault((kind, params, version), []).extend(_curves(grid, at, asking.path.bars, last=True))
    if not found:
        refuse("maps", f"the record has no heatmap or liqmap of {asking.symbol!r}", ALLOWED)
    many = len(found) > 1
    asked = [question[:2] for question in found]
    for (kind, params, version), maps in found.items():
        shown = version or ("unknown" if asked.count((kind, params)) > 1 else None)
        own = " ".join(filter(None, (kind, params, shown if many else None)))
        called = own if name is None else f"{name} {own}" if many else name
        yield Recorded(called, sorted(maps, key=lambda one: one.at), version)


def _checked(grid: Any, symbol: str) -> int:
    """Check the coin of a map, and return the time of its last input."""
    if not isinstance(grid, (Heatmap, LiquidationMap)):
        refuse(
            "maps",
            f"a {type(grid).__name__} was returned",
            "LiquidationMap or Heatmap, or None where there is no map",
        )
    # Symbols in maps of other programs may also contain an exchange or a contract.
    if all(_core.coin(part) != symbol for part in (grid.symbol, *_WORDS.findall(grid.symbol)) if part.strip()):
        refuse("maps", f"a map is of {grid.symbol!r}", f"maps of {symbol!r}")
    return millis_of(grid.updated_at)


def _curves(grid: Heatmap | LiquidationMap, at: int, bars: Any, *, last: bool) -> list[MapCurves]:
    if isinstance(grid, LiquidationMap):
        return [curves.of_map(grid, at)]
    times = np.asarray(grid.times).astype("datetime64[ms]").astype(np.int64)
    if not len(times):
        return []
    prices = bars.closed(times)
    prices[-1] = grid.current_price
    found = curves.of_columns(grid, prices, last=last)
    return [one._replace(at=at) for one in found] if last else found


def _fitted(grid: Heatmap) -> bool:
    """Whether the cells were fitted to reported liquidations."""
    fit = (grid.meta.get("explain") or {}).get("fit") or {}
    return bool(fit.get("state") == "fitted")


def _version(explain: Any) -> str | None:
    """The version of a map: that of its model, and whether it has relative units.

    Maps with different versions must not be mixed.
    """
    version = (explain or {}).get("modelVersion")
    if version is None:
        return None
    return f"{version} in relative units" if explain.get("openInterestScale") == "relative" else str(version)


def _one_version(name: str, parts: list[set[Any]]) -> str | None:
    versions = set().union(*parts)
    if len(versions) > 1:
        what = f"{name!r} mixes maps of the versions {sorted(map(str, versions))}"
        raise BadQuery(f"maps: {what}; allowed: maps of one version, or several by name", parameter="maps")
    return next(iter(versions), None)
