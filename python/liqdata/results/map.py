"""The estimate over price, side and leverage.

:class:`LiquidationMap` is a frozen dataclass with numpy arrays that the caller may change. It compares by value,
pickles with out-of-band buffers (protocol 5), and converts to frames and pictures. Conversions include all bins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, overload

from liqdata import _core
from liqdata.calls.arguments import millis_of, number
from liqdata.calls.traceback import public_methods
from liqdata.errors import BadQuery

from .frames import amounts, as_pandas, attributes, labels, positive, prices, stated, twice
from .grid import Grid, documented, instants
from .json_form import exact_members, finite, numbers
from .members import LiquidationMapMembers
from .rows import Rows
from .units import ESTIMATED, RELATIVE, VENDOR, VIEWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import plotly.graph_objects as go
    import xarray as xr
    from matplotlib.axes import Axes

    from liqdata.types import ClusterRow, Instant, Units, View

__all__ = ["LiquidationMap"]


_RANGES = ("1d", "7d", "12h", "3d", "1M", "3M", "6M", "1y", "all")


def _width(prices: npt.NDArray[np.float64]) -> float:
    """The width of a bin by the ascending prices of bins, some of which may be left out."""
    import numpy as np

    steps = np.diff(prices)
    if steps.size == 0:
        msg = "bin_width: is not among the attributes of the frame, and one price does not tell; allowed: bin_width="
        raise BadQuery(msg, parameter="bin_width")
    shares = steps / steps.min()
    is_even = np.allclose(shares, np.round(shares), rtol=1e-6, atol=0.0)
    return float(f"{steps.min():.9g}") if is_even else math.nan  # differences have rounding errors


@public_methods
@documented
@dataclass(frozen=True, eq=False, repr=False)
class LiquidationMap(Grid, LiquidationMapMembers):
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
        Source, as_of, simulated, age, view, price_at (the instant of ``current_price``) and more. Ignored by ``==``,
        but for :attr:`units`.
    fine : tuple, optional
        The grid with narrower bins that :meth:`swept` uses: price of bin 0, width of a bin in log price, index of the
        first bin, index of the first bin above all longs, and USD by leverage and bin, shape (L, M). From a server
        without ``explain=True`` it has the prices of the bins only. Ignored by ``==``.
    bounds : tuple of numpy.ndarray, optional
        The values of :attr:`low` and :attr:`high`. Ignored by ``==``.
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

    meta: dict[str, Any] = field(default_factory=dict, compare=False, kw_only=True)
    fine: tuple[Any, ...] | None = field(default=None, compare=False, kw_only=True)
    bounds: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = field(
        default=None, compare=False, kw_only=True
    )

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
            ``long`` and ``short``: dicts from leverage (int) to USD; ``long_usd`` and ``short_usd``: their sums. Every
            cell of the fine grid that the move touches counts in full. A map without it, of positions or from another
            service, counts its bins in proportion to their crossed part.

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
        sides, beyond = _core.swept(self, self._shorts, low, high)
        if sides is None:
            side, missing = beyond or ("", 0.0)
            name, end = ("low", low) if side == "long" else ("high", high)
            msg = (
                f"{name}: {end!r} is beyond the bins of this map, which leave out {missing:,.0f} of the {side}s; "
                'allowed: a price within the bins, or a map with span="all"'
            )
            raise BadQuery(msg, parameter=name)
        found: dict[str, Any] = {}
        for side, usd in zip(("long", "short"), sides, strict=True):
            found[side] = {int(leverage): cell for leverage, cell in zip(self.leverages, usd, strict=True)}
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

    @property
    def _shorts(self) -> npt.NDArray[np.bool_]:
        """Which bins are of shorts."""
        return cast("npt.NDArray[np.bool_]", self.sides == "short")

    def clusters(self) -> Rows[ClusterRow]:
        """The clusters of the map, largest first.

        A cluster is a run of neighbouring bins of one side, each with at least the mean amount of the bins of its side.

        Returns
        -------
        Rows
            ``side``; ``low_price``, ``high_price`` and ``peak_price``: its edges, and the centre of its largest bin;
            ``distance_pct``: signed distance of the edge nearest to the price, in percent of the price; ``amount``: sum
            of its bins in :attr:`units`; ``side_share``: its share of all bins of its side, 0 to 1; ``low_amount`` and
            ``high_amount``: sums of :attr:`low` and of :attr:`high`, absent without a validated interval.

        Examples
        --------
        >>> import liqdata
        >>> found = liqdata.demo().liqmap("BTC", "7d").clusters()
        >>> found[0]["low_price"] < found[0]["peak_price"] < found[0]["high_price"]
        True
        """
        return Rows(_core.map_clusters(self, self._shorts), meta=self.meta)

    @property
    def low(self) -> npt.NDArray[np.float64] | None:
        """The low end of the 80 % interval of :attr:`total`, shape (N,); see :attr:`Heatmap.low`."""
        return None if self.bounds is None else self.bounds[0].copy()

    @property
    def high(self) -> npt.NDArray[np.float64] | None:
        """The high end of the 80 % interval of :attr:`total`, shape (N,); see :attr:`Heatmap.low`."""
        return None if self.bounds is None else self.bounds[1].copy()

    @property
    def _unit(self) -> str:
        """The unit of a bin, in words."""
        if self._relative:
            return VENDOR if "vendor" in self.meta or "recording" in self.meta else RELATIVE
        return self._dated(VIEWS.get(self.meta.get("view"), ESTIMATED))

    def to_frame(self) -> pd.DataFrame:
        """Convert to a pandas frame with one row per bin.

        Returns
        -------
        pandas.DataFrame
            A copy with a RangeIndex, what :meth:`from_frame` needs in ``attrs``, and the columns ``price`` (float64),
            ``side`` (LONG or SHORT), one column per tier with the leverage as name (such as ``"10"``, float64),
            ``total`` (float64), and for a blended map ``exact_share`` (float64).

        Examples
        --------
        >>> import liqdata
        >>> list(liqdata.demo().liqmap("BTC").to_frame().columns)
        ['price', 'side', '2', '3', '5', '10', '25', '50', '100', 'total']
        """
        import pandas as pd

        tiers = {str(leverage): self.tiers[:, i].copy() for i, leverage in enumerate(self.leverages.tolist())}
        frame = pd.DataFrame(
            {
                "price": self.prices.copy(),
                "side": pd.Series(self._capitals().tolist(), dtype="str"),
                **tiers,
                "total": self.total.copy(),
                **({} if self.exact_share is None else {"exact_share": self.exact_share.copy()}),
            }
        )
        frame.attrs.update(attributes(self, bin_width=self.bin_width))
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """Convert to a pandas frame with one row per bin; the same as :meth:`to_frame`.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> import liqdata
        >>> list(liqdata.demo().liqmap("BTC").to_pandas().columns)[:3]
        ['price', 'side', '2']
        """
        return self.to_frame()

    @staticmethod
    def from_frame(
        frame: object,
        *,
        symbol: str | None = None,
        range: str | None = None,
        updated_at: Instant | None = None,
        current_price: float | None = None,
        bin_width: float | None = None,
        units: Units | None = None,
        view: View | None = None,
        simulated: bool | None = None,
    ) -> LiquidationMap:
        """Make a map of a frame, the inverse of :meth:`to_frame`.

        Parameters
        ----------
        frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
            One row per bin with the columns of :meth:`to_frame`, in any order. Columns named by whole numbers are
            tiers; ``exact_share`` may be missing.
        symbol, range : str, optional
            Those of the map; by default what ``frame.attrs`` says. Frames of polars and of CSV have no attributes.
        updated_at : int, datetime or str, optional
            Time of the last input, by default as above.
        current_price : float, optional
            The price, by default as above; NaN if it is unknown.
        bin_width : float, optional
            The width of a bin, by default as above, else the smallest step of the prices if all steps are multiples of
            it; NaN for bins of several widths.
        units : {"usd", "relative"}, optional
            The :attr:`units`, by default as above.
        view : {"exposed", "expected", "measured"}, optional
            The :attr:`view`, by default as above, or unknown.
        simulated : bool, optional
            Whether the market is simulated, by default as above.

        Returns
        -------
        LiquidationMap
            It equals the map that the frame was made of. What ``==`` ignores, such as ``fine`` and ``bounds``, is lost.

        Raises
        ------
        BadQuery
            For what is not such a frame, for an attribute that is neither in the frame nor given, and for a value that
            is not allowed.

        Examples
        --------
        >>> import liqdata
        >>> map = liqdata.demo().liqmap("BTC")
        >>> liqdata.LiquidationMap.from_frame(map.to_frame()) == map
        True
        """
        import numpy as np

        bins = as_pandas(frame)
        for name in ("price", "side", "total"):
            if name not in bins.columns:
                msg = f"frame: has no column {name!r}; allowed: the columns price, side, one per leverage, and total"
                raise BadQuery(msg, parameter="frame")
        given = {
            "symbol": symbol, "range": range, "updated_at": updated_at, "current_price": current_price,
            "bin_width": bin_width, "units": units, "view": view, "simulated": simulated,
        }  # fmt: skip
        found = stated(bins, given, _RANGES, ("bin_width",))
        sides = np.array([str(side).lower() for side in bins["side"]], dtype=np.str_)
        if wrong := set(sides.tolist()) - {"long", "short", "unknown"}:
            msg = f"frame: the column 'side' has {min(wrong)!r}; allowed: LONG, SHORT or UNKNOWN"
            raise BadQuery(msg, parameter="frame")
        tiers = {int(name): name for name in bins.columns if str(name).isascii() and str(name).isdigit()}
        levels = prices(bins["price"])
        order = np.lexsort((sides, levels))
        for side in np.unique(sides):
            twice(levels[order][sides[order] == side], f"a bin of {str(side).upper()} at the price")
        width = positive(found["bin_width"], "bin_width") if "bin_width" in found else _width(np.unique(levels))
        columns = [amounts(bins[name], str(name))[order] for name in tiers.values()]
        is_blended = "exact_share" in bins.columns
        return LiquidationMap(
            symbol=found["symbol"],
            range=found["range"],
            updated_at=found["updated_at"],
            current_price=found["current_price"],
            bin_width=width,
            leverages=np.array(list(tiers), dtype=np.int64),
            prices=levels[order],
            sides=sides[order],
            tiers=np.array(columns).T.reshape(len(bins), len(tiers)).copy(),
            total=amounts(bins["total"], "total")[order],
            exact_share=amounts(bins["exact_share"], "exact_share", is_sparse=True)[order] if is_blended else None,
            meta=labels(found),
        )

    def to_xarray(self) -> xr.Dataset:
        """Convert to an xarray data set with named axes.

        Returns
        -------
        xarray.Dataset
            A copy with the dimensions ``bin`` and ``leverage``, the variables ``tiers`` (bin, leverage), ``total``
            (bin) and for a blended map ``exact_share`` (bin), the coordinates ``price`` and ``side`` (LONG or SHORT)
            along ``bin`` and ``time`` (one value, the time of the last input, stored as in :meth:`Heatmap.to_xarray`),
            the attributes of :meth:`Heatmap.to_xarray` except ``model``, and ``bin_width``.

        Examples
        --------
        >>> import liqdata
        >>> data = liqdata.demo().liqmap("BTC").to_xarray()
        >>> data["tiers"].dims, data.coords["leverage"].values.tolist()
        (('bin', 'leverage'), [2, 3, 5, 10, 25, 50, 100])
        """
        import numpy as np
        import xarray as xr

        known = {} if self.exact_share is None else {"exact_share": ("bin", self.exact_share.copy())}
        return xr.Dataset(
            {"tiers": (("bin", "leverage"), self.tiers.copy()), "total": ("bin", self.total.copy()), **known},
            coords={
                "leverage": self.leverages.copy(),
                "price": ("bin", self.prices.copy()),
                "side": ("bin", self._capitals()),
                "time": instants(np.array(millis_of(self.updated_at), dtype="datetime64[ms]")),
            },
            attrs={**self._attributes(), "bin_width": self.bin_width},
        )

    def to_dict(self) -> dict[str, Any]:
        """Convert to a dict of JSON values, with the members that the service sends.

        ``json.dumps(map.to_dict())`` is a reply of the HTTP contract. A function of FastAPI returns it, or has the
        return type ``liqdata.LiquidationMap`` and returns the map; so do the fields of pydantic models.

        Returns
        -------
        dict
            ``bins`` is a list of dicts with ``price``, ``side``, ``tiers`` (amounts by leverage, as text) and
            ``total``; ``updatedAt`` is epoch milliseconds.

        Examples
        --------
        >>> import json
        >>> import liqdata
        >>> map = liqdata.demo().liqmap("BTC")
        >>> sent = json.loads(json.dumps(map.to_dict()))
        >>> [one["total"] for one in sent["bins"]] == map.total.tolist()
        True
        """
        names = [str(leverage) for leverage in self.leverages.tolist()]
        columns = (numbers(self.prices), self.sides.tolist(), numbers(self.tiers), numbers(self.total))
        parts = {"outside": self.outside, "within": self.within}
        return {
            **self._members(),
            "binWidth": finite(self.bin_width),
            "leverages": self.leverages.tolist(),
            "bins": [
                {"price": price, "side": side, "tiers": dict(zip(names, tiers, strict=True)), "total": total}
                for price, side, tiers, total in zip(*columns, strict=True)
            ],
            **{name: part for name, part in parts.items() if part is not None},
            **exact_members(self.exact_share, self.meta),
        }

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
        from liqdata import plot

        drawn: Any = plot.liqmap(
            self, ax, interval=interval, levels=levels, maxpain=maxpain, backend=cast("Any", backend)
        )
        return cast("Axes | go.Figure", drawn)
