"""Compares liquidation maps of several sources on one grid."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.calls.arguments import datetime_of, instant
from liqdata.calls.traceback import public_call, public_methods
from liqdata.errors import BadQuery
from liqdata.results.heatmap import Heatmap
from liqdata.results.map import LiquidationMap

from .vocabulary import coin_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from liqdata.results.rows import Rows
    from liqdata.scoring.card import Scorecard
    from liqdata.types import Instant

    Floats = npt.NDArray[np.float64]

__all__ = ["Comparison", "compare"]

REACH = 10.0
"""Distance from the price in percent at which the grid ends."""

STEP = 0.25
"""Width of a bin of the grid, in percent of the price."""

_ALLOWED = (
    "two or more of: a LiquidationMap, a Heatmap, recordings (market.maps(source=)), anything with a method liqmap or "
    "heatmap (a Market, a Client, a client of a vendor), and a function of an instant that returns a map; as a "
    "sequence, or as a mapping by name"
)
_PAIRS = (
    ("a", "text"), ("b", "text"), ("overlap", "float"), ("rank_correlation", "float"), ("centre_a_pct", "float"),
    ("centre_b_pct", "float"), ("outside_a", "float"), ("outside_b", "float"), ("bins", "int"),
)  # fmt: skip
_MOST_NAMES = 12
_LEAST = 2
_EVERYTHING = "all"
_SAME = {"24h": "1d", "1w": "7d", "30d": "1M"}
"""Other names of ranges."""


@public_methods
@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Liquidation maps of several sources on one grid, each as shares of its own sum.

    Units of sources differ, so only shapes are compared. The grid reaches 10 % to both sides of the price in bins of
    0.25 %.

    Parameters
    ----------
    symbol : str
        Coin, such as ``BTC``.
    range : str
        Range that the sources were asked for, or that of the given maps; several are separated by commas.
    price : float
        The price that distances are measured from: the median of the prices of the maps.
    names : list of str
        Names of the sources.
    edges : numpy.ndarray
        Edges of the bins in percent from the price, shape (N + 1,), float64.
    shares : numpy.ndarray
        Share of each bin in the sum of its source on the grid, shape (sources, N), float64.
    outside : numpy.ndarray
        Share of each source's whole map that lies outside the grid, shape (sources,), float64.
    units : list of str
        The unit of each source's map.
    maps : list
        The maps.
    sources : list
        What was compared.

    Examples
    --------
    >>> import liqdata
    >>> market = liqdata.demo()
    >>> maps = {f"model {number}": market.liqmap("BTC", model=number) for number in (2, 3)}
    >>> compared = liqdata.compare(maps)
    >>> compared.shares.shape == (2, compared.edges.size - 1)
    True
    """

    symbol: str
    range: str
    price: float
    names: list[str]
    edges: Floats
    shares: Floats
    outside: Floats
    units: list[str]
    maps: list[Any]
    sources: list[Any]

    _picture = "compare"

    @property
    def centres(self) -> Floats:
        """Centre of mass of each source, in percent from the price, shape (sources,), float64."""
        middles = (self.edges[:-1] + self.edges[1:]) / 2
        found: Floats = self.shares @ middles
        return found

    def rows(self) -> Rows[Any]:
        """The measures of each pair of sources.

        Returns
        -------
        Rows
            ``a``, ``b`` (names); ``overlap``: the sum of the smaller share of each bin, 0 to 1; ``rank_correlation``:
            that of Spearman over bins, -1 to 1, NaN if all shares of a source are equal; ``centre_a_pct``,
            ``centre_b_pct``: centres of mass in percent from the price; ``outside_a``, ``outside_b``: shares of the
            whole maps outside the grid; ``bins``: number of bins.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> liqdata.compare([market, market.liqmap("BTC")]).rows()[0]["overlap"]
        1.0
        """
        made = []
        for i, a in enumerate(self.names):
            for j in range(i + 1, len(self.names)):
                row = (a, self.names[j], *self._measures(i, j), len(self.edges) - 1)
                made.append(dict(zip((name for name, _ in _PAIRS), row, strict=True)))
        return _rows(_PAIRS, made)

    def _measures(self, i: int, j: int) -> tuple[float, ...]:
        import numpy as np

        p, q = self.shares[i], self.shares[j]
        overlap = min(float(np.minimum(p, q).sum()), 1.0)
        if math.isclose(overlap, 1.0, rel_tol=1e-12):
            overlap = 1.0
        centres, outside = self.centres, self.outside
        return (
            overlap, _rank_correlation(p, q), float(centres[i]), float(centres[j]), float(outside[i]), float(outside[j])
        )  # fmt: skip

    def distances(self) -> Rows[Any]:
        """The share of each source by distance from the price.

        Returns
        -------
        Rows
            ``low_pct`` and ``high_pct`` (edges of the bin in percent from the price), and a column for each source.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> liqdata.compare({"x": market, "y": market}).distances().columns
        ['low_pct', 'high_pct', 'x', 'y']
        """
        columns = (("low_pct", "float"), ("high_pct", "float"), *((name, "float") for name in self.names))
        made = [
            {"low_pct": low, "high_pct": high, **dict(zip(self.names, shares, strict=True))}
            for low, high, shares in zip(self.edges[:-1], self.edges[1:], self.shares.T.tolist(), strict=True)
        ]
        return _rows(columns, made)

    def score(self, realised: object = None, **options: Any) -> Scorecard:
        """Score the sources that have maps of the past: markets, recordings and functions of an instant.

        Parameters
        ----------
        realised : optional
            Reported USD as for :func:`liqdata.score`; by default the first market among the sources.
        **options
            Other arguments of :func:`liqdata.score`, such as ``period``.

        Returns
        -------
        Scorecard
            One line for each source that can be scored, by its name.

        Raises
        ------
        BadQuery
            If no source can be scored, or no realised data are at hand.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> compared = liqdata.compare({"market": market, "last map": market.liqmap("BTC")})
        >>> {row["map"] for row in compared.score(start="2026-05-31").rows()}
        {'market'}
        """
        from liqdata.market import Market
        from liqdata.recording.recorded import Recordings
        from liqdata.scoring.score import score

        named = dict(zip(self.names, self.sources, strict=True))
        past = {name: one for name, one in named.items() if isinstance(one, Market | Recordings) or _is_function(one)}
        if realised is None:
            realised = next((one for one in self.sources if isinstance(one, Market)), None)
        if not past or realised is None:
            what = "no source has maps of the past" if not past else "there are no realised data"
            allowed = "a market, recordings or a function of an instant among the sources, and a market or realised="
            raise BadQuery(f"realised: {what}; allowed: {allowed}", parameter="realised")
        found: Scorecard = score(past, realised, symbol=self.symbol, **options)
        return found

    def to_markdown(self) -> str:
        """The measures of each pair as a table in Markdown.

        Returns
        -------
        str
            One line for each pair, after two lines of head.

        Examples
        --------
        >>> import liqdata
        >>> market = liqdata.demo()
        >>> print(liqdata.compare({"x": market, "y": market}).to_markdown().splitlines()[2])
        | x | y | 100.0 % | 1.00 | ... | ... |
        """
        lines = ["| a | b | overlap | rank correlation | centre of a | centre of b |", "|---|---|---|---|---|---|"]
        for row in self.rows():
            words = [name.replace("|", "\\|") for name in (row["a"], row["b"])]
            words += [f"{100 * row['overlap']:.1f} %", f"{row['rank_correlation']:.2f}"]
            words += [f"{row[name]:+.2f} %" for name in ("centre_a_pct", "centre_b_pct")]
            lines.append(f"| {' | '.join(words)} |")
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the maps with :func:`liqdata.plot.compare`. Needs ``liqdata[plot]``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ModuleNotFoundError
            Without matplotlib.

        Examples
        --------
        >>> import liqdata
        >>> from matplotlib.figure import Figure
        >>> market = liqdata.demo()
        >>> ax = liqdata.compare({"x": market, "y": market}).plot(Figure().add_subplot())
        >>> ax.get_title(loc="left")
        'BTC liquidation maps compared'
        """
        from liqdata import plot

        return plot.compare(self, ax)

    def __repr__(self) -> str:
        return f"Comparison({self.symbol}, {self.range}, price={self.price:,.8g}, {', '.join(self.names)})"

    def _repr_markdown_(self) -> str:
        return self.to_markdown()


def _rows(columns: Iterable[tuple[str, str]], made: list[dict[str, Any]]) -> Rows[Any]:
    from .answers import typed_rows

    return typed_rows(columns, made, {})


@public_call
def compare(
    sources: object, symbol: str = "BTC", *, range: str | None = None, as_of: Instant | None = None
) -> Comparison:
    """Compare liquidation maps of several sources: services, recordings, models, observed positions.

    Each map is put on one grid of distances from the price and divided by its sum there, because units of sources
    differ. A map with bins of unequal steps is spread between the middles of neighbouring prices.

    Parameters
    ----------
    sources : sequence or mapping
        Two or more sources, or a mapping from names to them: a :class:`~liqdata.LiquidationMap`; a
        :class:`~liqdata.Heatmap`, of which the newest column counts; a :class:`~liqdata.Market`,
        :class:`~liqdata.Client` or client of :mod:`liqdata.vendors`, which is asked for its map (of ``range``), or for
        its heatmap if it has no maps; recordings, ``market.maps(source=)``, of which the newest map counts;
        a function of an instant (UTC datetime) that returns a map. A market answers with its default model: 3 once it
        is fitted, else 2. To compare models, give maps of ``liqmap(model=)``; their ``view`` says what they count.
    symbol : str
        Coin, such as ``BTC``.
    range : str, optional
        Range that sources are asked for; by default that of the given maps, if it is one and the same, else ``"1d"``.
        Given maps must have it. A service with one map of all positions answers with it.
    as_of : int, datetime or str, optional
        Ask markets, clients and functions for the map of this instant; *now* by default.

    Returns
    -------
    Comparison

    Raises
    ------
    BadQuery
        For fewer than two sources, a source that has no map, and a service that cannot answer ``as_of``.
    LiqdataError
        If a source refuses.

    Examples
    --------
    >>> import liqdata
    >>> market = liqdata.demo()
    >>> two, three = market.liqmap("BTC", "7d", model=2), market.liqmap("BTC", "7d", model=3)
    >>> two.view, three.view
    ('exposed', 'expected')
    >>> compared = liqdata.compare({"model 2": two, "model 3": three})
    >>> row = compared.rows()[0]
    >>> row["a"], row["b"], round(row["overlap"], 2)
    ('model 2', 'model 3', 0.93)
    """
    import numpy as np

    coin = coin_of(symbol)
    at = instant(as_of, "as_of")
    named = _named(sources)
    given = {name: source.range for name, source in named.items() if isinstance(source, LiquidationMap | Heatmap)}
    asked = _asked_range(range, given)
    # Maps that are given have the range that they have, whatever is asked of the others.
    label = asked
    if range is None:
        others = [asked] * (len(named) - len(given))
        every: dict[str, str] = {}
        for one in (*given.values(), *others):
            every.setdefault(_canonical(one), one)
        label = ", ".join(every.values())
    maps = {name: _map(source, name, coin, asked, at) for name, source in named.items()}
    prices = [map.current_price for map in maps.values() if math.isfinite(map.current_price)]
    if not prices:
        msg = (
            "sources: none of the maps has a price; allowed: at least one map with a price, such as liqmap(..., price=)"
        )
        raise BadQuery(msg, parameter="sources")
    price = float(np.median(prices))
    bins = round(2 * REACH / STEP)
    edges = np.linspace(-REACH, REACH, bins + 1)
    shares, outside = [], []
    for name, map in maps.items():
        spread, whole = _spread(map, price * (1.0 + edges / 100.0))
        inside = float(spread.sum())
        if not inside > 0.0:
            msg = f"sources: the map of {name!r} is empty within {REACH:g} % of the price; allowed: maps with amounts"
            raise BadQuery(msg, parameter="sources")
        shares.append(spread / inside)
        outside.append(max(1.0 - inside / whole, 0.0))
    units = [str(map.units) for map in maps.values()]
    return Comparison(
        coin, label, price, list(maps), edges, np.array(shares), np.array(outside), units, list(maps.values()),
        list(named.values()),
    )  # fmt: skip


def _asked_range(range: str | None, given: Mapping[str, str]) -> str:
    """The range that sources are asked for."""
    if range is None:
        return next(iter(given.values())) if len(set(map(_canonical, given.values()))) == 1 else "1d"
    for name, its in given.items():
        if _canonical(its) not in {_canonical(range), _EVERYTHING}:
            msg = f"range: {range!r} is not that of the given map {name!r}; allowed: {its!r}, or a map of {range!r}"
            raise BadQuery(msg, parameter="range")
    return range


def _canonical(range: str) -> str:
    return _SAME.get(range, range)


def _named(sources: object) -> dict[str, Any]:
    """The sources by name."""
    if isinstance(sources, Mapping):
        named = {str(name): source for name, source in sources.items()}
    elif isinstance(sources, Iterable) and not isinstance(sources, str | bytes):
        named = {}
        for source in sources:
            name = _name(source)
            count = sum(one.partition(" ")[0] == name for one in named)
            named[name if not count else f"{name} {count + 1}"] = source
    else:
        named = {}
    if not _LEAST <= len(named) <= _MOST_NAMES:
        msg = f"sources: {len(named)} are given; allowed: {_ALLOWED}, at most {_MOST_NAMES}"
        raise BadQuery(msg, parameter="sources")
    return named


def _name(source: Any) -> str:
    from liqdata.recording.recorded import Recordings

    if isinstance(source, Recordings):
        return source.source
    if isinstance(source, LiquidationMap | Heatmap):
        return str(source.meta.get("vendor") or source.meta.get("source") or type(source).__name__).partition(" ")[0]
    return str(getattr(source, "__name__", type(source).__name__))


def _map(source: Any, name: str, coin: str, range: str, at: int | None) -> LiquidationMap | Heatmap:
    """The map of a source."""
    if not isinstance(source, LiquidationMap | Heatmap):
        source = _asked(source, name, coin, range, at)
    if not isinstance(source, LiquidationMap | Heatmap):
        msg = f"sources: {name!r} gives a {type(source).__name__}; allowed: {_ALLOWED}"
        raise BadQuery(msg, parameter="sources")
    if _core.coin(source.symbol) != coin:
        msg = f"sources: {name!r} has a map of {source.symbol!r}; allowed: maps of {coin!r}"
        raise BadQuery(msg, parameter="sources")
    return source


def _asked(source: Any, name: str, coin: str, range: str, at: int | None) -> Any:
    import inspect

    from liqdata.recording.recorded import Recordings

    if isinstance(source, Recordings):
        found = source.newest(coin, None if at is None else datetime_of(at))
        if found is None:
            msg = f"sources: {name!r} has no map of {coin!r} at that time; allowed: recordings with such a map"
            raise BadQuery(msg, parameter="sources")
        return found
    when = {} if at is None else {"as_of": datetime_of(at)}
    for method in ("liqmap", "heatmap"):
        ask = getattr(source, method, None)
        if ask is None:
            continue
        taken = inspect.signature(ask).parameters
        if when and "as_of" not in taken:
            msg = f"as_of: {name!r} answers only for now; allowed: None with this source"
            raise BadQuery(msg, parameter="as_of")
        if inspect.iscoroutinefunction(ask):
            break
        # A service that has maps of all positions only is asked for these.
        ranged = "range" in taken and taken["range"].default != _EVERYTHING
        return ask(coin, **({"range": range} if ranged else {}), **when)
    if _is_function(source):
        from datetime import UTC

        return source(datetime.now(UTC) if at is None else datetime_of(at))
    msg = f"sources: {name!r} is a {type(source).__name__}; allowed: {_ALLOWED}"
    raise BadQuery(msg, parameter="sources")


def _is_function(source: Any) -> bool:
    return callable(source) and not any(hasattr(source, name) for name in ("liqmap", "heatmap"))


def _spread(map: LiquidationMap | Heatmap, edges: Floats) -> tuple[Floats, float]:
    """The amounts of a map on the bins between ``edges`` (prices), and the sum of the whole map."""
    import numpy as np

    amounts: Floats
    if isinstance(map, Heatmap):
        prices, amounts, width = map.prices, np.nan_to_num(map.matrix[:, -1]), math.nan
    else:
        prices, inverse = np.unique(map.prices, return_inverse=True)
        amounts = np.bincount(inverse, weights=map.total, minlength=len(prices)).astype(np.float64)
        width = map.bin_width
    if not len(prices):
        return np.zeros(len(edges) - 1), 0.0
    if len(prices) == 1 and math.isnan(width):
        width = 0.0
    if math.isnan(width):
        middles = (prices[:-1] + prices[1:]) / 2
        low = np.concatenate(([prices[0] - (middles[0] - prices[0])], middles))
        high = np.concatenate((middles, [prices[-1] + (prices[-1] - middles[-1])]))
    else:
        low, high = prices - width / 2, prices + width / 2
    # The running sum is linear within each bin, so its differences at the edges are the amounts between them.
    whole = float(amounts.sum())
    if not (high > low).all():
        at_points: Floats = np.histogram(prices, bins=edges, weights=amounts)[0].astype(np.float64)
        return at_points, whole
    below = np.array([(np.clip((edge - low) / (high - low), 0.0, 1.0) * amounts).sum() for edge in edges])
    between: Floats = np.diff(below)
    return between, whole


def _rank_correlation(p: Floats, q: Floats) -> float:
    """Spearman's rank correlation, with the mean rank for ties; NaN if all values of one are equal."""
    import numpy as np

    ranks = []
    for values in (p, q):
        # Sums of parts differ in the last digits; equal shares must be ties.
        _, inverse, counts = np.unique(np.round(values, 12), return_inverse=True, return_counts=True)
        ends = np.cumsum(counts)
        ranks.append((ends - (counts - 1) / 2)[inverse])
    a, b = (one - one.mean() for one in ranks)
    scale = math.sqrt(float((a * a).sum() * (b * b).sum()))
    return float((a * b).sum() / scale) if scale > 0 else math.nan
