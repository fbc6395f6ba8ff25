"""The two estimates as grids: :class:`Heatmap` over price and time, :class:`LiquidationMap` over price and leverage.

Both are frozen dataclasses with numpy arrays that the caller may change. They compare by value, pickle with out-of-band
buffers (protocol 5), and convert to frames and pictures. Conversions include all cells.
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, overload

from .calls.arguments import is_missing, number
from .calls.traceback import public_methods
from .errors import BadQuery
from .text.printable import printable
from .text.units import as_served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import plotly.graph_objects as go
    import xarray as xr
    from _typeshed import DataclassInstance
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

    from .frames.price import Price
    from .rows import Rows
    from .types import BarRow, Units, View

__all__ = ["Heatmap", "LiquidationMap"]

EXPOSED = "USD of open interest exposed"
EXPECTED = "USD expected to be reported liquidated"
MEASURED = "USD of observed positions"
ESTIMATED = "USD"
# The number of the model that estimates USD expected to be reported.
EXPECTING = 3

RELATIVE = "relative units: open interest is unknown, a multiple of the volume replaces it"

VENDOR = "relative units of the service"

_FRESH = 15 * 60 * 1000  # how long an open-interest reading stays valid, in milliseconds

OLD = 24 * 60 * 60 * 1000
"""Age of the open interest in milliseconds above which ``units`` mentions the age."""


def open_interest_age(meta: Mapping[str, Any]) -> str | None:
    """The age of the open interest of an estimate, if it is more than a day.

    Parameters
    ----------
    meta : mapping
        The ``meta`` of an estimate.

    Returns
    -------
    str or None
        Such as ``"open interest 26 h old"``.
    """
    explain = meta.get("explain") or {}
    age = explain.get("openInterestAgeMs")
    if age is None or age <= OLD or explain.get("openInterestScale") == "relative":
        return None
    return f"open interest {age // (60 * 60 * 1000)} h old"


_VIEWS: dict[Any, str] = {"exposed": EXPOSED, "expected": EXPECTED, "measured": MEASURED}


def _equal(left: object, right: object) -> bool:
    """Whether two field values are equal; NaN equals NaN and NaT equals NaT."""
    import numpy as np

    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        a, b = np.asarray(left), np.asarray(right)
        if a.shape != b.shape:
            return False
        same = a == b
        return bool(np.all(same | (is_missing(a) & is_missing(b))))
    return bool(left == right or (is_missing(left) and is_missing(right)))


# The inputs of an estimate, and the keys of their exchanges in `explain`.
_SOURCES = {"price": "priceExchanges", "volume": "volumeExchanges", "open interest": "openInterestExchanges"}


def _exchanges(exchanges: dict[str, int], whole: int) -> str:
    """List exchanges, most bars first, with the number of bars if it is not all ``whole`` bars."""
    most_first = sorted(exchanges.items(), key=lambda exchange: -exchange[1])
    return " + ".join(name if bars == whole else f"{name} ({bars} of {whole} bars)" for name, bars in most_first)


class _Grid:
    """Equality and display of both grids."""

    _arrays: ClassVar[tuple[str, ...]]

    if TYPE_CHECKING:
        symbol: str
        range: str
        updated_at: datetime
        current_price: float
        meta: dict[str, Any]

        @property
        def _unit(self) -> str: ...

    @property
    def simulated(self) -> bool:
        """Whether the market is simulated."""
        return bool(self.meta.get("simulated", False))

    @property
    def units(self) -> Units:
        """``"usd"``, or ``"relative"``: without open interest, amounts are comparable only inside one map."""
        explain = self.meta.get("explain") or {}
        relative = explain.get("openInterestScale") == "relative"
        return cast("Units", self.meta.get("units") or ("relative" if relative else "usd"))

    @property
    def view(self) -> View | None:
        """What the amounts count.

        ``"exposed"``: open interest that a price move would liquidate (model 2). ``"expected"``: liquidations that
        exchanges are expected to report (model 3). ``"measured"``: observed positions. ``None`` if the service does not
        say it.
        """
        return cast("View | None", self.meta.get("view"))

    @property
    def _relative(self) -> bool:
        """Whether open interest is unknown and a multiple of the volume replaces it."""
        return self.units == "relative"

    def _dated(self, unit: str) -> str:
        """The unit, followed by the age of the open interest if it is more than a day."""
        age = open_interest_age(self.meta)
        return unit if age is None else f"{unit}, {age}"

    @property
    def _caveats(self) -> str:
        """Remarks on the data: old or partial open interest, outliers, a simulated market."""
        explain = self.meta.get("explain", {})
        age = explain.get("openInterestAgeMs")
        words = [served] if (served := as_served(self.meta)) else []
        if age is not None and _FRESH < age <= OLD and not self._relative:
            words.append(f"open interest {timedelta(milliseconds=age)} old")
        if partial := explain.get("openInterestPartialBars"):
            words.append(f"open interest lacks an exchange in {partial} of {explain['bars']} bars")
        if outliers := explain.get("openInterestOutliers", 0) + explain.get("barOutliers", 0):
            words.append(f"without {outliers} outlier{'' if outliers == 1 else 's'}")
        if explain.get("openInterestUnjudged") or explain.get("barsUnjudged"):
            words.append("newest rows in doubt")
        if damaged := explain.get("damaged"):
            files = "file" if len(damaged) == 1 else "files"
            words.append(f"without {len(damaged)} damaged {files} of its time")
        words += [label for label in ("simulated", "replayed") if self.meta.get(label)]
        return "".join(f", {word}" for word in words)

    @property
    def _sources(self) -> list[tuple[str, str]]:
        """The exchanges that provide price, volume and open interest, if known."""
        explain = self.meta.get("explain", {})
        return [
            (what, _exchanges(explain[name], explain["bars"])) for what, name in _SOURCES.items() if explain.get(name)
        ]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine = (entry.name for entry in fields(cast("DataclassInstance", self)) if entry.compare)
        return all(_equal(getattr(self, name), getattr(other, name)) for name in mine)

    __hash__ = None  # type: ignore[assignment]  # compared by value, so not hashable

    def _head(self) -> list[tuple[str, str]]:
        """Names and values of the most important properties."""
        return [
            ("symbol", self.symbol),
            ("range", self.range),
            ("updated_at", _instant(self.updated_at)),
            ("current_price", f"{self.current_price:,.8g}"),
            *((name, _shape(getattr(self, name))) for name in self._arrays),
            ("units", self._unit),
        ]

    def __repr__(self) -> str:
        head = ", ".join(f"{name}={value}" for name, value in self._head() if name != "units")
        sources = "".join(f", {what} of {exchanges}" for what, exchanges in self._sources)
        return printable(f"{type(self).__name__}({head}; {self._unit}{self._caveats}{sources})")

    def _repr_html_(self) -> str:
        title = f"{type(self).__name__}{' (simulated market)' if self.simulated else ''}"
        caveats = [("note", self._caveats.removeprefix(", "))] if self._caveats else []
        known = [(name, str(self.meta[name])) for name in ("source", "as_of", "age") if self.meta.get(name) is not None]
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(printable(value))}</td></tr>"
            for name, value in self._head() + caveats + self._sources + known
        )
        return f"<table><caption>{html.escape(title)}</caption><tbody>{cells}</tbody></table>"

    def _attributes(self) -> dict[str, Any]:
        """The attributes of an xarray object."""
        return {
            "symbol": self.symbol,
            "range": self.range,
            "units": self._unit,
            "updated_at": _instant(self.updated_at),
            "current_price": self.current_price,
            "tz": "UTC",
            "simulated": int(self.simulated),
        }


def _interval_of(meta: dict[str, Any]) -> dict[str, Any] | None:
    """The 80 % interval in the ``explain`` of an estimate; ``None`` if there is none."""
    fit = meta.get("explain", {}).get("fit")
    return None if fit is None else fit.get("interval")


def _interval_ends(
    interval: dict[str, Any], cells: npt.NDArray[np.float64], distances: npt.NDArray[np.float64], side: str
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The low and the high end of the interval of each cell, for one side.

    Distances from the price are shares of the price. A negative distance means the other side of the price, where this
    side has no cells.
    """
    import numpy as np

    # The interval is 0 to infinity beyond the last distance, and at distances with too little data to validate it.
    unbounded = (0.0, np.inf)
    factors = np.array([unbounded if one is None else one for one in interval[side]] + [unbounded])
    found = factors[np.searchsorted(interval["ends"], distances, side="right")]
    low, high = found[..., 0], found[..., 1]
    of_empty = np.where((distances < 0.0) | np.isfinite(high), 0.0, np.inf)
    with np.errstate(invalid="ignore"):  # 0 times infinity
        return cells * low, np.where(cells == 0.0, of_empty, cells * high)


def _instant(when: datetime) -> str:
    return when.isoformat(timespec="auto").replace("+00:00", "Z")


def _shape(array: npt.NDArray[Any]) -> str:
    return "×".join(map(str, array.shape))


@public_methods
@dataclass(frozen=True, eq=False, repr=False)
class Heatmap(_Grid):
    """Estimated liquidations over price and time.

    Parameters
    ----------
    symbol : str
        Coin, such as ``BTC``.
    range : str
        Time in which the included positions were opened: ``12h``, ``24h``, ``3d``, ``7d`` or ``1M``.
    model : int
        2: USD of open interest that a price move would liquidate; 3: USD of it that exchanges are expected to report.
    updated_at : datetime.datetime
        Time of the last input, UTC.
    current_price : float
        Last price.
    prices : numpy.ndarray
        Price levels, shape (P,), float64.
    times : numpy.ndarray
        End of each column in UTC, shape (T,), datetime64[ms].
    matrix : numpy.ndarray
        Amount per cell in :attr:`units`, shape (P, T), float64, C order. NaN marks a cell that the service left empty.
    meta : dict
        Source, as_of, simulated, age, view and more. Ignored by ``==``.
    parted : tuple of numpy.ndarray, optional
        Four arrays of shape (T,), one value per column: the row that separates longs from shorts, the long and the
        short amount in this row, and the price at the end of the column. :attr:`long`, :attr:`short`, :attr:`low` and
        :attr:`high` need them. Ignored by ``==``.
    bars : Rows or callable, optional
        The value of :attr:`price`, or a function that reads it on first use. Ignored by ``==``.
    outside : dict, optional
        Amounts at prices that the map does not show: ``long_usd`` and ``short_usd``, arrays of shape (T,), float64.
        ``None`` if the service does not send them. Ignored by ``==``.

    Examples
    --------
    >>> import liqdata
    >>> map = liqdata.demo().heatmap("BTC", "12h")
    >>> map.matrix.shape == (map.prices.size, map.times.size), map.units
    (True, 'usd')
    """

    symbol: str
    range: str
    model: int
    updated_at: datetime
    current_price: float
    prices: npt.NDArray[np.float64]
    times: npt.NDArray[np.datetime64]
    matrix: npt.NDArray[np.float64]
    meta: dict[str, Any] = field(default_factory=dict, compare=False, kw_only=True)
    parted: tuple[npt.NDArray[Any], ...] | None = field(default=None, compare=False, kw_only=True)
    bars: Rows[BarRow] | Callable[[], Rows[BarRow] | None] | None = field(default=None, compare=False, kw_only=True)
    outside: dict[str, npt.NDArray[np.float64]] | None = field(default=None, compare=False, kw_only=True)

    _arrays: ClassVar[tuple[str, ...]] = ("matrix",)
    _picture: ClassVar[str] = "heatmap"

    @property
    def span(self) -> tuple[int, int]:
        """Start and end of the columns, epoch milliseconds."""
        ends = self.times[:2].astype("datetime64[ms]").astype("int64").tolist()
        width = ends[1] - ends[0] if len(ends) > 1 else 60 * 60 * 1000
        return ends[0] - width, int(self.times[-1].astype("datetime64[ms]").astype("int64"))

    @property
    def price(self) -> Rows[BarRow] | None:
        """The bars of the coin over the time of the map, which :meth:`plot` draws; ``None`` without bars.

        They are read on first use, from the market in this process or from the service. A service must announce bars in
        its ``/api``, and the client must still be open. The request blocks; in an event loop use ``await
        asyncio.to_thread(map.plot)``.

        Examples
        --------
        >>> import liqdata
        >>> map = liqdata.demo().heatmap("BTC", "12h")
        >>> len(map.price), bool(map.price["close"][-1] == map.current_price)
        (720, True)
        """
        if callable(self.bars):
            object.__setattr__(self, "bars", self.bars())  # read once; the field is not compared
        return cast("Rows[BarRow] | None", self.bars)

    def __getstate__(self) -> dict[str, Any]:
        """Include bars of a market in this process, which is not pickled itself.

        Drop bars of a service.
        """
        return {**self.__dict__, "bars": None if getattr(self.bars, "far", False) else self.price}

    @property
    def long(self) -> npt.NDArray[np.float64] | None:
        """The part of :attr:`matrix` that belongs to longs, a new array of shape (P, T).

        Longs are liquidated when the price falls. ``None`` if the sides are unknown; a service sends them with
        ``explain=True``.
        """
        return self._side(0)

    @property
    def short(self) -> npt.NDArray[np.float64] | None:
        """The part of :attr:`matrix` that belongs to shorts, liquidated when the price rises; like :attr:`long`."""
        return self._side(1)

    def _side(self, side: int) -> npt.NDArray[np.float64] | None:
        if self.parted is None:
            return None
        import numpy as np

        row, *shares = self.parted[:3]
        rows = np.arange(self.prices.size)[:, None]
        beyond = rows < row if side == 0 else rows > row
        found: npt.NDArray[np.float64] = np.where(rows == row, shares[side], np.where(beyond, self.matrix, 0.0))
        return found

    @property
    def low(self) -> npt.NDArray[np.float64] | None:
        """The low end of each cell's 80 % interval: a new array of shape (P, T), in :attr:`units`.

        The interval comes from past price moves of the same distance, in which reported USD were compared with the
        prediction. In a tenth of these moves the reported USD were below the low end, in a tenth above the high end;
        the uncertainty of the fit widens the interval. Whole moves are compared, because reported USD per cell are
        unknown. Cells more than 5 % from the column's price are not validated: their interval is 0 to infinity.
        ``None`` if the map is not fitted (model 2) or has no interval.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.demo() as market:
        ...     fitted = market.heatmap("BTC", "12h", model=3)
        >>> fitted.low.shape == fitted.matrix.shape
        True
        """
        return self._bound(0)

    @property
    def high(self) -> npt.NDArray[np.float64] | None:
        """The high end of each cell's interval; like :attr:`low`."""
        return self._bound(1)

    def _bound(self, which: int) -> npt.NDArray[np.float64] | None:
        interval = _interval_of(self.meta)
        long, short = self.long, self.short
        if interval is None or self.parted is None or long is None or short is None:
            return None
        distances = self.prices[:, None] / self.parted[3] - 1.0
        of_longs = _interval_ends(interval, long, -distances, "long")[which]
        of_shorts = _interval_ends(interval, short, distances, "short")[which]
        return of_longs + of_shorts

    @property
    def _unit(self) -> str:
        """The unit of a cell, in words."""
        if self._relative:
            return VENDOR if "vendor" in self.meta or "recording" in self.meta else RELATIVE
        view = self.meta.get("view")
        return self._dated(_VIEWS.get(view, EXPECTED if self.model == EXPECTING else EXPOSED))

    def _head(self) -> list[tuple[str, str]]:
        head = super()._head()
        head.insert(2, ("model", str(self.model)))
        return head

    def to_frame(self) -> pd.DataFrame:
        """Convert to a wide pandas frame.

        Returns
        -------
        pandas.DataFrame
            The values of :attr:`matrix` as a copy, with the index ``price`` (float64, as in :attr:`prices`) and the
            columns ``time`` (datetime64[ms, UTC]).

        Examples
        --------
        >>> import liqdata
        >>> frame = liqdata.demo().heatmap("BTC", "12h").to_frame()
        >>> frame.index.name, frame.columns.name, frame.shape[1]
        ('price', 'time', 144)
        """
        import pandas as pd

        return pd.DataFrame(
            self.matrix,
            index=pd.Index(self.prices, name="price"),
            columns=pd.DatetimeIndex(self.times, name="time").tz_localize("UTC"),
            copy=True,
        )

    def to_xarray(self) -> xr.DataArray:
        """Convert to an xarray array with named axes.

        Returns
        -------
        xarray.DataArray
            A copy with the dimensions ``price`` and ``time`` and the attributes ``symbol, range, model, units,
            updated_at, current_price, tz, simulated``. Times are UTC without a time zone, which plots need; the zone is
            in ``attrs["tz"]``.

        Examples
        --------
        >>> import liqdata
        >>> array = liqdata.demo().heatmap("BTC", "12h").to_xarray()
        >>> array.dims, array.attrs["symbol"]
        (('price', 'time'), 'BTC')
        """
        import xarray as xr

        return xr.DataArray(
            self.matrix.copy(),
            dims=("price", "time"),
            coords={"price": self.prices.copy(), "time": self.times.copy()},
            name="liquidations",
            attrs={**self._attributes(), "model": self.model},
        )

    @overload
    def plot(
        self,
        ax: Axes | None = None,
        *,
        price: Price | Literal[False] | None = None,
        candles: bool = True,
        bound: Literal["low", "high"] | None = None,
        cmap: str | Colormap | None = None,
        vmin: float | None = None,
        vmax: float | None = None,
        threshold: float | None = None,
        levels: Mapping[str, Any] | None = None,
        maxpain: Mapping[str, Any] | None = None,
        backend: Literal["matplotlib"] = "matplotlib",
    ) -> Axes: ...

    @overload
    def plot(
        self,
        *,
        price: Price | Literal[False] | None = None,
        candles: bool = True,
        bound: Literal["low", "high"] | None = None,
        cmap: str | Colormap | None = None,
        vmin: float | None = None,
        vmax: float | None = None,
        threshold: float | None = None,
        levels: Mapping[str, Any] | None = None,
        maxpain: Mapping[str, Any] | None = None,
        backend: Literal["plotly"],
    ) -> go.Figure: ...

    def plot(
        self,
        ax: Axes | None = None,
        *,
        price: Price | Literal[False] | None = None,
        candles: bool = True,
        bound: Literal["low", "high"] | None = None,
        cmap: str | Colormap | None = None,
        vmin: float | None = None,
        vmax: float | None = None,
        threshold: float | None = None,
        levels: Mapping[str, Any] | None = None,
        maxpain: Mapping[str, Any] | None = None,
        backend: Literal["matplotlib", "plotly"] = "matplotlib",
    ) -> Axes | go.Figure:
        """Draw the map with :func:`liqdata.plot.heatmap`. Needs ``liqdata[plot]``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        price : optional
            The price to draw over the map; :attr:`price` by default, ``False`` for none.
        candles : bool
            Draw bars as candles instead of a line through the closes.
        bound : {"low", "high"}, optional
            Draw :attr:`low` or :attr:`high` instead of :attr:`matrix`. Cells without a validated interval are not
            drawn.
        cmap : str or matplotlib.colors.Colormap, optional
            Colours; viridis on a dark background by default.
        vmin, vmax : float, optional
            Ends of the colour scale, in :attr:`units`, above 0; taken from the visible cells by default.
        threshold : float, optional
            Do not draw cells below this value, in :attr:`units`.
        levels, maxpain : dict, optional
            Results of ``levels()`` and ``maxpain()`` for the same coin; their prices are marked in the picture.
        backend : {"matplotlib", "plotly"}
            The library that draws; plotly needs ``liqdata[plotly]`` and always makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes or plotly.graph_objects.Figure

        Raises
        ------
        BadQuery
            For a wrong option, and for ``levels`` or ``maxpain`` of another coin.

        Examples
        --------
        >>> import liqdata
        >>> from matplotlib.figure import Figure
        >>> ax = liqdata.demo().heatmap("BTC", "12h").plot(Figure().add_subplot(), threshold=1e5)
        >>> ax.get_title(loc="left")
        'BTC liquidation heatmap · estimate, simulated market'
        """
        from . import plot

        drawn: Any = plot.heatmap(
            self,
            ax,
            price=price,
            candles=candles,
            bound=bound,
            cmap=cmap,
            vmin=vmin,
            vmax=vmax,
            threshold=threshold,
            levels=levels,
            maxpain=maxpain,
            backend=cast("Any", backend),
        )
        return cast("Axes | go.Figure", drawn)


@public_methods
@dataclass(frozen=True, eq=False, repr=False)
class LiquidationMap(_Grid):
    """Estimated liquidations by price bin, side and leverage tier.

    Parameters
    ----------
    symbol : str
        Coin, such as ``BTC``.
    range : str
        Time in which the included positions were opened: ``1d`` or ``7d``.
    updated_at : datetime.datetime
        Time of the last input, UTC.
    current_price : float
        Last price; long bins lie below it, short bins above.
    bin_width : float
        Width of a bin on the price axis.
    leverages : numpy.ndarray
        Leverage tiers, shape (L,), int64.
    prices : numpy.ndarray
        Bin centres, shape (N,), float64.
    sides : numpy.ndarray
        ``"long"`` or ``"short"`` of each bin, shape (N,).
    tiers : numpy.ndarray
        USD by bin and tier, shape (N, L), float64; 0.0 for a tier that a bin does not have.
    total : numpy.ndarray
        USD of each bin, shape (N,), float64.
    meta : dict
        Source, as_of, simulated, age, view and more. Ignored by ``==``.
    fine : tuple, optional
        The grid with narrower bins that :meth:`swept` uses: price of bin 0, width of a bin in log price, index of the
        first bin, index of the first bin above all longs, and USD by leverage and bin, shape (L, M). Ignored by ``==``.
    outside : dict, optional
        Amounts of the bins that the map does not show: ``long_usd`` and ``short_usd``. ``None`` if the service does not
        send them. Ignored by ``==``.
    within : dict, optional
        Amounts up to a distance from the price, over all bins: ``"1"``, ``"2"``, ``"5"`` and ``"10"`` (percent), each
        with ``long_usd`` and ``short_usd``. Compare the sides by it, not by the totals, which lean to shorts.
        ``None`` if the service does not send it. Ignored by ``==``.

    Examples
    --------
    >>> import liqdata
    >>> map = liqdata.demo().liqmap("BTC", "7d")
    >>> map.tiers.shape == (map.prices.size, map.leverages.size), map.units
    (True, 'usd')
    """

    symbol: str
    range: str
    updated_at: datetime
    current_price: float
    bin_width: float
    leverages: npt.NDArray[np.int64]
    prices: npt.NDArray[np.float64]
    sides: npt.NDArray[np.str_]
    tiers: npt.NDArray[np.float64]
    total: npt.NDArray[np.float64]
    meta: dict[str, Any] = field(default_factory=dict, compare=False, kw_only=True)
    fine: tuple[Any, ...] | None = field(default=None, compare=False, kw_only=True)
    outside: dict[str, float] | None = field(default=None, compare=False, kw_only=True)
    within: dict[str, dict[str, float]] | None = field(default=None, compare=False, kw_only=True)

    _arrays: ClassVar[tuple[str, ...]] = ("tiers",)
    _picture: ClassVar[str] = "liqmap"

    def swept(self, low: float | None = None, high: float | None = None) -> dict[str, Any]:
        """Add up the USD that a price move to ``low`` and ``high`` would cross.

        Parameters
        ----------
        low, high : float, optional
            Lowest and highest price of the move. The default is the current price: no USD are crossed on that side.

        Returns
        -------
        dict
            ``long`` and ``short``: dicts from leverage (int) to USD; ``long_usd`` and ``short_usd``: their sums. If the
            map has the fine grid (from a market in this process, or with ``explain=True``), every bin that the move
            touches counts in full. Otherwise a bin of the map counts in proportion to its crossed part.

        Raises
        ------
        BadQuery
            For a ``low`` above the current price, a ``high`` below it, and values that are not prices.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.demo() as market:
        ...     map = market.liqmap("BTC", "7d")
        >>> swept = map.swept(low=0.97 * map.current_price)
        >>> swept["long_usd"] == sum(swept["long"].values()), swept["short_usd"]
        (True, 0.0)
        """
        low = self._end("low", low)
        high = self._end("high", high)
        if low > self.current_price or high < self.current_price:
            name, value, side = ("low", low, "at most") if low > self.current_price else ("high", high, "at least")
            msg = f"{name}: {value!r} is on the other side of the price; allowed: {side} {self.current_price!r}"
            raise BadQuery(msg, parameter=name)
        found: dict[str, Any] = {}
        for side, usd in zip(("long", "short"), self._crossed(low, high), strict=True):
            found[side] = {int(leverage): float(cell) for leverage, cell in zip(self.leverages, usd, strict=True)}
            found[f"{side}_usd"] = sum(found[side].values())
        return found

    def _end(self, name: str, value: float | None) -> float:
        if value is None:
            return self.current_price
        found = number(value, name, "a price above 0")
        if not 0 < found < math.inf:
            msg = f"{name}: {value!r} is not a price; allowed: a finite price above 0"
            raise BadQuery(msg, parameter=name)
        return found

    def _check_shown(self, low: float, high: float) -> None:
        """Refuse a move beyond the shown bins if there are others."""
        for side, name, end, beyond in (
            ("long", "low", low, low < self.prices.min(initial=math.inf)),
            ("short", "high", high, high > self.prices.max(initial=-math.inf)),
        ):
            missing = (self.outside or {}).get(f"{side}_usd", 0.0)
            if beyond and missing > 0 and end != self.current_price:
                msg = (
                    f"{name}: {end!r} is beyond the bins of this map, which leave out {missing:,.0f} of the {side}s; "
                    'allowed: a price within the bins, or a map with span="all"'
                )
                raise BadQuery(msg, parameter=name)

    def _crossed(self, low: float, high: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """USD of longs and USD of shorts that the move crosses, by leverage."""
        import numpy as np

        if self.fine is None:
            self._check_shown(low, high)
            below = np.clip((self.prices + self.bin_width / 2 - low) / self.bin_width, 0.0, 1.0)
            above = np.clip((high - self.prices + self.bin_width / 2) / self.bin_width, 0.0, 1.0)
            long = self.tiers * (below * (self.sides == "long"))[:, None]
            short = self.tiers * (above * (self.sides == "short"))[:, None]
            return long.sum(0), short.sum(0)
        p0, h, first, longs_end, usd = self.fine

        def place(price: float) -> int:
            return int(math.floor(math.log(price / p0) / h) - first)

        end = max(longs_end - first, 0)
        long = usd[:, min(max(place(low), 0), end) : end] if low < self.current_price else usd[:, :0]
        short = usd[:, end : max(place(high) + 1, end)] if high > self.current_price else usd[:, :0]
        return long.sum(1), short.sum(1)

    @property
    def low(self) -> npt.NDArray[np.float64] | None:
        """The low end of the 80 % interval of :attr:`total`, shape (N,); see :attr:`Heatmap.low`."""
        return self._bound(0)

    @property
    def high(self) -> npt.NDArray[np.float64] | None:
        """The high end of the 80 % interval of :attr:`total`, shape (N,); see :attr:`Heatmap.low`."""
        return self._bound(1)

    def _bound(self, which: int) -> npt.NDArray[np.float64] | None:
        import numpy as np

        interval = _interval_of(self.meta)
        if interval is None:
            return None
        distances = self.prices / self.current_price - 1.0
        of_longs = _interval_ends(interval, self.total, -distances, "long")[which]
        of_shorts = _interval_ends(interval, self.total, distances, "short")[which]
        return np.where(self.sides == "long", of_longs, of_shorts)

    @property
    def _unit(self) -> str:
        """The unit of a bin, in words."""
        if self._relative:
            return VENDOR if "vendor" in self.meta or "recording" in self.meta else RELATIVE
        return self._dated(_VIEWS.get(self.meta.get("view"), ESTIMATED))

    def to_frame(self) -> pd.DataFrame:
        """Convert to a pandas frame with one row per bin.

        Returns
        -------
        pandas.DataFrame
            A copy with a RangeIndex and the columns ``price`` (float64), ``side`` (LONG or SHORT), one column per
            tier with the leverage as name (such as ``"10"``, float64), and ``total`` (float64).

        Examples
        --------
        >>> import liqdata
        >>> list(liqdata.demo().liqmap("BTC").to_frame().columns)
        ['price', 'side', '2', '3', '5', '10', '25', '50', '100', 'total']
        """
        import pandas as pd

        tiers = {str(leverage): self.tiers[:, i].copy() for i, leverage in enumerate(self.leverages.tolist())}
        return pd.DataFrame(
            {
                "price": self.prices.copy(),
                "side": pd.Series(self._capitals().tolist(), dtype="str"),
                **tiers,
                "total": self.total.copy(),
            }
        )

    def to_xarray(self) -> xr.Dataset:
        """Convert to an xarray data set with named axes.

        Returns
        -------
        xarray.Dataset
            A copy with the dimensions ``bin`` and ``leverage``, the variables ``tiers`` (bin, leverage) and ``total``
            (bin), the coordinates ``price`` and ``side`` (LONG or SHORT) along ``bin``, the attributes of
            :meth:`Heatmap.to_xarray` except ``model``, and ``bin_width``.

        Examples
        --------
        >>> import liqdata
        >>> data = liqdata.demo().liqmap("BTC").to_xarray()
        >>> data["tiers"].dims, data.coords["leverage"].values.tolist()
        (('bin', 'leverage'), [2, 3, 5, 10, 25, 50, 100])
        """
        import xarray as xr

        return xr.Dataset(
            {"tiers": (("bin", "leverage"), self.tiers.copy()), "total": ("bin", self.total.copy())},
            coords={
                "leverage": self.leverages.copy(),
                "price": ("bin", self.prices.copy()),
                "side": ("bin", self._capitals()),
            },
            attrs={**self._attributes(), "bin_width": self.bin_width},
        )

    def cumulative(self) -> pd.DataFrame:
        """Add up the bins from the current price outward, for each side.

        Each row says how many USD of its side a price move to ``price`` would cross.

        Returns
        -------
        pandas.DataFrame
            Longs first, from the bin nearest to the current price downward, then shorts upward, with a RangeIndex.
            Columns: ``side`` (LONG or SHORT), ``price`` (bin centre), ``dist_pct`` (signed distance from the current
            price in percent), ``usd`` (of the bin), ``cumulative_usd`` (of this bin and all bins nearer to the current
            price), ``share`` (``cumulative_usd`` as a share of the side's total, 0 to 1; NaN if the total is 0).

        Examples
        --------
        >>> import liqdata
        >>> passed = liqdata.demo().liqmap("BTC").cumulative()
        >>> bool(passed.groupby("side")["cumulative_usd"].is_monotonic_increasing.all())
        True
        """
        import numpy as np
        import pandas as pd

        parts = []
        for side, order, running in self._outward():
            whole = running[-1] if len(running) else 0.0
            parts.append(
                pd.DataFrame(
                    {
                        "side": pd.Series([side.upper()] * len(order), dtype="str"),
                        "price": self.prices[order],
                        "dist_pct": 100.0 * (self.prices[order] / self.current_price - 1.0),
                        "usd": self.total[order],
                        "cumulative_usd": running,
                        "share": running / whole if whole > 0 else np.full(len(order), np.nan),
                    }
                )
            )
        return pd.concat(parts, ignore_index=True)

    def _capitals(self) -> npt.NDArray[np.str_]:
        """The sides as orders and positions have them, so that frames can be joined."""
        import numpy as np

        return np.char.upper(self.sides)

    def _outward(self) -> Iterator[tuple[str, npt.NDArray[np.intp], npt.NDArray[np.float64]]]:
        """The bins of each side from the current price outward, and their running sum."""
        import numpy as np

        for side, outward in (("long", -1.0), ("short", 1.0)):
            chosen = np.flatnonzero(self.sides == side)
            order = chosen[np.argsort(outward * self.prices[chosen], kind="stable")]
            yield side, order, np.cumsum(self.total[order])

    @overload
    def plot(
        self,
        ax: Axes | None = None,
        *,
        interval: bool = False,
        levels: Mapping[str, Any] | None = None,
        maxpain: Mapping[str, Any] | None = None,
        backend: Literal["matplotlib"] = "matplotlib",
    ) -> Axes: ...

    @overload
    def plot(
        self,
        *,
        interval: bool = False,
        levels: Mapping[str, Any] | None = None,
        maxpain: Mapping[str, Any] | None = None,
        backend: Literal["plotly"],
    ) -> go.Figure: ...

    def plot(
        self,
        ax: Axes | None = None,
        *,
        interval: bool = False,
        levels: Mapping[str, Any] | None = None,
        maxpain: Mapping[str, Any] | None = None,
        backend: Literal["matplotlib", "plotly"] = "matplotlib",
    ) -> Axes | go.Figure:
        """Draw the map with :func:`liqdata.plot.liqmap`. Needs ``liqdata[plot]``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        interval : bool
            Draw the interval of each bin from :attr:`low` to :attr:`high`; bins without a validated interval are
            hatched.
        levels, maxpain : dict, optional
            Results of ``levels()`` and ``maxpain()`` for the same coin; their prices are marked in the picture.
        backend : {"matplotlib", "plotly"}
            The library that draws; plotly needs ``liqdata[plotly]`` and always makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes or plotly.graph_objects.Figure
            The axes of the bars. The cumulative curves are on twin axes.

        Raises
        ------
        BadQuery
            For ``interval`` with a map that has no interval, and for ``levels`` or ``maxpain`` of another coin.

        Examples
        --------
        >>> import liqdata
        >>> from matplotlib.figure import Figure
        >>> ax = liqdata.demo().liqmap("BTC").plot(Figure().add_subplot())
        >>> ax.get_title(loc="left")
        'BTC liquidation map · estimate, simulated market'
        """
        from . import plot

        drawn: Any = plot.liqmap(
            self, ax, interval=interval, levels=levels, maxpain=maxpain, backend=cast("Any", backend)
        )
        return cast("Axes | go.Figure", drawn)
