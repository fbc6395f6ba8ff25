"""The estimate over price and time.

:class:`Heatmap` is a frozen dataclass with numpy arrays that the caller may change. It compares by value, pickles with
out-of-band buffers (protocol 5), and converts to frames and pictures. Conversions include all cells.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, overload

from liqdata import _core
from liqdata.calls.arguments import instant
from liqdata.calls.traceback import public_methods
from liqdata.errors import BadQuery

from .frames import amounts, as_pandas, attributes, labels, prices, stated, twice
from .grid import Grid, documented, instants
from .json_form import exact_members, numbers
from .members import HeatmapGridMembers
from .units import EXPECTED, EXPECTING, EXPOSED, RELATIVE, VENDOR, VIEWS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import plotly.graph_objects as go
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

    from liqdata.frames.price import Price
    from liqdata.types import BarRow, Instant, Units, View

    from .rows import Rows

__all__ = ["Heatmap"]


_RANGES = ("12h", "24h", "3d", "7d", "2w", "1M", "3M", "6M", "1y", "2y", "all")
_MODELS = (0, 1, 2, 3)


def _time(column: Any) -> int:
    """The instant of a column, epoch milliseconds."""
    try:
        found = instant(column, "frame")
    except BadQuery as error:
        msg = str(error).removeprefix("frame: ")
        raise BadQuery(f"frame: the column {msg}", parameter="frame") from None
    if found is None or found < 0 or _core.time_unit(found) != "milliseconds":
        msg = f"frame: the column {column!r} is not the time of a heatmap; allowed: instants of the last decades"
        raise BadQuery(msg, parameter="frame")
    return found


@public_methods
@documented
@dataclass(frozen=True, eq=False, repr=False)
class Heatmap(Grid, HeatmapGridMembers):
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
        Source, as_of, simulated, age, view, price_at (the instant of ``current_price``) and more. Ignored by ``==``,
        but for :attr:`units`.
    parted : tuple of numpy.ndarray, optional
        Four arrays of shape (T,), one value per column: the row that separates longs from shorts, the long and the
        short amount in this row, and the price at the end of the column. :attr:`long`, :attr:`short`, :attr:`low` and
        :attr:`high` need them. Ignored by ``==``.
    bars : Rows or callable, optional
        The value of :attr:`price`, or a function that reads it on first use. Ignored by ``==``.
    outside : dict, optional
        Amounts at prices that the map does not show: ``long_usd`` and ``short_usd``, arrays of shape (T,), float64.
        ``None`` if the service does not send them. Ignored by ``==``.
    step : int, optional
        Length of a column in milliseconds; the last column may be shorter. ``None`` if it is unknown: the service does
        not send it, and there are fewer than three columns. Ignored by ``==``.

    Examples
    --------
    >>> import liqdata
    >>> map = liqdata.demo().heatmap("BTC", "12h")
    >>> map.matrix.shape == (map.prices.size, map.times.size), map.units
    (True, 'usd')
    """

    meta: dict[str, Any] = field(default_factory=dict, compare=False, kw_only=True)
    parted: tuple[npt.NDArray[Any], ...] | None = field(default=None, compare=False, kw_only=True)
    bars: Rows[BarRow] | Callable[[], Rows[BarRow] | None] | None = field(default=None, compare=False, kw_only=True)
    step: int | None = field(default=None, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        """Derive the length of a column from the times if the service does not send it."""
        if self.step is None:
            times = self.times.astype("datetime64[ms]").astype("int64")
            object.__setattr__(self, "step", _core.column_step(times))

    _arrays: ClassVar[tuple[str, ...]] = ("matrix",)
    _picture: ClassVar[str] = "heatmap"

    @property
    def span(self) -> tuple[int, int]:
        """Start and end of the columns, epoch milliseconds."""
        first, last = self.times[[0, -1]].astype("datetime64[ms]").astype("int64").tolist()
        return first - (self.step or last - first or 60 * 60 * 1000), last

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
        interval = (self.meta.get("explain", {}).get("fit") or {}).get("interval")
        long, short = self.long, self.short
        # The interval is of modelled amounts, not of known ones.
        if interval is None or self.exact_share is not None:
            return None
        if self.parted is None or long is None or short is None:
            return None
        distances = self.prices[:, None] / self.parted[3] - 1.0
        of_longs = _core.interval_ends(interval, "long", -distances, long)[which]
        of_shorts = _core.interval_ends(interval, "short", distances, short)[which]
        return of_longs + of_shorts

    @property
    def _unit(self) -> str:
        """The unit of a cell, in words."""
        if self._relative:
            return VENDOR if "vendor" in self.meta or "recording" in self.meta else RELATIVE
        view = self.meta.get("view")
        return self._dated(VIEWS.get(view, EXPECTED if self.model == EXPECTING else EXPOSED))

    def _head(self) -> list[tuple[str, str]]:
        head = super()._head()
        head.insert(2, ("model", str(self.model)))
        return head

    def to_frame(self) -> pd.DataFrame:
        """Convert to a wide pandas frame.

        Returns
        -------
        pandas.DataFrame
            The values of :attr:`matrix` as a copy, what :meth:`from_frame` needs in ``attrs``, the index ``price``
            (float64, as in :attr:`prices`) and the columns ``time`` (datetime64[ms, UTC]).

        Examples
        --------
        >>> import liqdata
        >>> frame = liqdata.demo().heatmap("BTC", "12h").to_frame()
        >>> frame.index.name, frame.columns.name, frame.shape[1]
        ('price', 'time', 144)
        """
        import pandas as pd

        frame = pd.DataFrame(
            self.matrix,
            index=pd.Index(self.prices, name="price"),
            columns=pd.DatetimeIndex(self.times, name="time").tz_localize("UTC"),
            copy=True,
        )
        frame.attrs.update(attributes(self, model=self.model, step=self.step))
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """Convert to a wide pandas frame; the same as :meth:`to_frame`.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> import liqdata
        >>> liqdata.demo().heatmap("BTC", "12h").to_pandas().shape[1]
        144
        """
        return self.to_frame()

    @staticmethod
    def from_frame(
        frame: object,
        *,
        symbol: str | None = None,
        range: str | None = None,
        model: int | None = None,
        updated_at: Instant | None = None,
        current_price: float | None = None,
        units: Units | None = None,
        view: View | None = None,
        simulated: bool | None = None,
    ) -> Heatmap:
        """Make a heatmap of a frame, the inverse of :meth:`to_frame`.

        Parameters
        ----------
        frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
            As of :meth:`to_frame`, in any order: a column for each time (a datetime, epoch milliseconds or ISO 8601
            text), and the prices as the index or as a column ``price``. NaN is an empty cell.
        symbol, range : str, optional
            Those of the heatmap; by default what ``frame.attrs`` says. Frames of polars and of CSV have no attributes.
        model : int, optional
            The model, by default as above; 0 if the service does not say it.
        updated_at : int, datetime or str, optional
            Time of the last input, by default as above.
        current_price : float, optional
            The price, by default as above; NaN if it is unknown.
        units : {"usd", "relative"}, optional
            The :attr:`units`, by default as above.
        view : {"exposed", "expected", "measured"}, optional
            The :attr:`view`, by default as above, or unknown.
        simulated : bool, optional
            Whether the market is simulated, by default as above.

        Returns
        -------
        Heatmap
            It equals the heatmap that the frame was made of. What ``==`` ignores, such as ``parted`` and ``bars``, is
            lost.

        Raises
        ------
        BadQuery
            For what is not such a frame, for an attribute that is neither in the frame nor given, and for a value that
            is not allowed.

        Examples
        --------
        >>> import liqdata
        >>> map = liqdata.demo().heatmap("BTC", "12h")
        >>> liqdata.Heatmap.from_frame(map.to_frame()) == map
        True
        """
        import numpy as np
        import pandas as pd

        wide = as_pandas(frame)
        attrs = wide.attrs
        if "price" in wide.columns:
            wide = wide.set_index("price")
        elif isinstance(wide.index, pd.RangeIndex):
            msg = (
                "frame: has no prices, its rows are only numbered; allowed: the prices as the index or a column 'price'"
            )
            raise BadQuery(msg, parameter="frame")
        given = {
            "symbol": symbol, "range": range, "model": model, "updated_at": updated_at,
            "current_price": current_price, "units": units, "view": view, "simulated": simulated,
        }  # fmt: skip
        wide.attrs = attrs
        found = stated(wide, given, _RANGES)
        if isinstance(found["model"], bool) or found["model"] not in _MODELS:
            msg = f"model: {found['model']!r} is not allowed; allowed: {', '.join(map(repr, _MODELS))}"
            raise BadQuery(msg, parameter="model")
        levels, times = prices(wide.index), np.array([_time(one) for one in wide.columns], dtype="datetime64[ms]")
        matrix = amounts(wide.to_numpy(), "time", is_sparse=True)
        rows, columns = np.argsort(levels, kind="stable"), np.argsort(times, kind="stable")
        twice(levels[rows], "the price")
        twice(times[columns], "the time")
        return Heatmap(
            symbol=found["symbol"],
            range=found["range"],
            model=int(found["model"]),
            updated_at=found["updated_at"],
            current_price=found["current_price"],
            prices=levels[rows],
            times=times[columns],
            matrix=np.ascontiguousarray(matrix[rows][:, columns]),
            meta=labels(found),
            step=found.get("step"),
        )

    def to_xarray(self) -> xr.DataArray:
        """Convert to an xarray array with named axes.

        Returns
        -------
        xarray.DataArray
            A copy with the dimensions ``price`` and ``time`` and the attributes ``symbol, range, model, units,
            updated_at, current_price, tz, simulated``. Times are UTC without a time zone, which plots need; the zone is
            in ``attrs["tz"]``. Files and Zarr stores have them as milliseconds since 1970, so that later columns can be
            appended. A blended heatmap has the coordinate ``exact_share`` along ``price``.

        Examples
        --------
        >>> import liqdata
        >>> array = liqdata.demo().heatmap("BTC", "12h").to_xarray()
        >>> array.dims, array.attrs["symbol"]
        (('price', 'time'), 'BTC')
        """
        import xarray as xr

        known = {} if self.exact_share is None else {"exact_share": ("price", self.exact_share.copy())}
        return xr.DataArray(
            self.matrix.copy(),
            dims=("price", "time"),
            coords={"price": self.prices.copy(), "time": instants(self.times, "time"), **known},
            name="liquidations",
            attrs={**self._attributes(), "model": self.model},
        )

    def to_dict(self) -> dict[str, Any]:
        """Convert to a dict of JSON values, with the members that the service sends.

        ``json.dumps(heatmap.to_dict())`` is a reply of the HTTP contract. A function of FastAPI returns it, or has the
        return type ``liqdata.Heatmap`` and returns the heatmap; so do the fields of pydantic models.

        Returns
        -------
        dict
            Times are epoch milliseconds, ``matrix`` is a list of rows (one per price), and ``None`` marks an empty
            cell.

        Examples
        --------
        >>> import json
        >>> import liqdata
        >>> map = liqdata.demo().heatmap("BTC", "12h")
        >>> sent = json.loads(json.dumps(map.to_dict()))
        >>> sent["matrix"] == map.matrix.tolist(), sent["simulated"]
        (True, True)
        """
        outside = None if self.outside is None else {side: numbers(usd) for side, usd in self.outside.items()}
        return {
            **self._members(),
            "model": self.model,
            "prices": numbers(self.prices),
            "times": self.times.astype("datetime64[ms]").astype("int64").tolist(),
            "matrix": numbers(self.matrix),
            **({} if self.step is None else {"stepMs": self.step}),
            **({} if outside is None else {"outside": outside}),
            **exact_members(self.exact_share, self.meta),
        }

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
            Colours; by default purple to yellow, so that few cells are bright, and the brightest are those of the
            ten largest visible rows.
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
        from liqdata import plot

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
