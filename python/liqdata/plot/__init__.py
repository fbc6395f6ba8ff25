"""Pictures of every answer that has one, with matplotlib (``pip install "liqdata[plot]"``).

One function per question takes what the question gave and draws it on ``ax``, or on a new figure in the colours of the
user's style, and gives the axes back. Rows, heatmaps and liquidation maps have it as a method too: ``rows.plot()``.
Axes beside each other keep their words apart in any layout. Longs are blue and shorts are orange everywhere; times are
UTC; what is estimated or simulated says so. Matplotlib is imported when something is drawn.

>>> import liqdata
>>> from matplotlib.figure import Figure
>>> market = liqdata.demo()
>>> ax = liqdata.plot.overview(market.overview(), Figure().add_subplot())
>>> ax.get_title(loc="left")
'Liquidated, last hours · simulated market'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

    from liqdata.frames.price import Price
    from liqdata.grids import Heatmap, LiquidationMap
    from liqdata.rows import Rows
    from liqdata.types import ChartRow, CoinRow, ExchangeRow, HistoryRow, Levels, MaxPain, Overview

__all__ = [
    "cascades",
    "chart",
    "coins",
    "draw",
    "exchanges",
    "heatmap",
    "history",
    "levels",
    "liqmap",
    "maxpain",
    "overview",
    "picture",
]


def _needed() -> None:
    try:
        import matplotlib as mpl  # noqa: F401 - whether it is there is what is asked
    except ModuleNotFoundError as error:
        message = 'pictures need matplotlib: pip install "liqdata[plot]"'
        raise ModuleNotFoundError(message, name=error.name) from error


def overview(totals: Overview | Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Draw what was liquidated in the last hours, longs and shorts end to end.

    Parameters
    ----------
    totals : dict
        The answer of ``overview()``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    BadQuery
        For the answer of another question.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.overview(market.overview(), Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'Liquidated, last hours · simulated market'
    """
    _needed()
    from . import ranking
    from .pictures import of_kind

    of_kind("overview", totals, "totals")
    return ranking.overview(totals, ax)


def coins(rows: Rows[CoinRow], ax: Axes | None = None) -> Axes:
    """Draw the coins of a ranking, as many as have room; what the others add up to is told.

    Parameters
    ----------
    rows : Rows
        The answer of ``coins()``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    BadQuery
        For rows of another question.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.coins(market.coins("1h"), Figure().add_subplot())
    >>> ax.get_xlabel()
    'USD liquidated'
    """
    _needed()
    from . import ranking

    return ranking.coins(rows, ax)


def exchanges(rows: Rows[ExchangeRow], ax: Axes | None = None) -> Axes:
    """Draw the totals of each exchange.

    Parameters
    ----------
    rows : Rows
        The answer of ``exchanges()``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    BadQuery
        For rows of another question.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.exchanges(market.exchanges(), Figure().add_subplot())
    >>> ax.get_xlabel()
    'USD liquidated'
    """
    _needed()
    from . import ranking

    return ranking.exchanges(rows, ax)


def chart(rows: Rows[ChartRow], ax: Axes | None = None) -> Axes:
    """Draw the hours of the last day: shorts upward and longs downward, as the price goes that liquidates them.

    Parameters
    ----------
    rows : Rows
        The answer of ``chart()``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    BadQuery
        For rows of another question.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.chart(market.chart("BTC"), Figure().add_subplot())
    >>> ax.get_xlabel()
    'time, UTC'
    """
    _needed()
    from . import periods

    return periods.chart(rows, ax)


def history(rows: Rows[HistoryRow], ax: Axes | None = None, *, interval: Any = None) -> Axes:
    """Draw liquidations over time: shorts upward, longs downward; several coins or exchanges stacked.

    Periods are added up to longer ones where there are more than can be seen; the head says how long those drawn are.
    Periods that were not covered as a whole are shaded.

    Parameters
    ----------
    rows : Rows
        The answer of ``history()``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    interval : str, timedelta or int, optional
        Length of a period, as it was asked for; rows that came straight from ``history()`` know it.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    BadQuery
        For rows of another question.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.history(market.history("BTC", by="exchange"), Figure().add_subplot())
    >>> ax.get_xlabel()
    'time, UTC'
    """
    _needed()
    from . import periods

    return periods.history(rows, ax, interval=interval)


def cascades(rows: Rows[Any], ax: Axes | None = None, *, price: Price | None = None) -> Axes:
    """Draw cascades over time, each from its start to its end at the USD it liquidated, on a log scale.

    Parameters
    ----------
    rows : Rows
        The answer of ``cascades()``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    price : optional
        The price of the coin to draw behind them, as :func:`heatmap` takes it.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    BadQuery
        For rows of another question.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.cascades(market.cascades("BTC"), Figure().add_subplot(), price=market.bars("BTC"))
    >>> ax.get_title(loc="left")
    'BTC liquidation cascades · simulated market'
    """
    _needed()
    from . import events

    return events.cascades(rows, ax, price=price)


def heatmap(
    grid: Heatmap,
    ax: Axes | None = None,
    *,
    price: Price | Literal[False] | None = None,
    candles: bool = True,
    bound: Literal["low", "high"] | None = None,
    cmap: str | Colormap | None = None,
    vmin: float | None = None,
    vmax: float | None = None,
    threshold: float | None = None,
    levels: Levels | None = None,
    maxpain: MaxPain | None = None,
) -> Axes:
    """Draw a heatmap: log colour scale, zeros left dark, candles over it, current price dashed.

    Only the view is cropped to where the mass and the price are; zoom out to see the rest.

    Parameters
    ----------
    grid : Heatmap
        What to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    price : optional
        The price to draw over the map: a pandas Series over time, or bars (``market.bars("BTC")``, a frame, an
        Arrow table, a mapping of columns or a sequence of dicts with ``timestamp``, the time of the open, and
        ``close``). A missing close is a gap. By default the bars that came with the map
        (:attr:`liqdata.Heatmap.price`); ``False`` for none. What is closer than can be seen is joined to longer bars;
        the head says how long.
    candles : bool
        Draw bars that have ``open``, ``high`` and ``low`` as candles; else a line through the closes.
    bound : {"low", "high"}, optional
        Draw this end of each cell's interval instead of the cell.
    cmap : str or matplotlib.colors.Colormap, optional
        Colours; viridis on a dark ground by default.
    vmin, vmax : float, optional
        Ends of the colour scale, in the map's own unit (USD), above 0; by what is in view by default.
    threshold : float, optional
        Leave cells of less than this dark, in the map's own unit (USD).
    levels : dict, optional
        The answer of ``levels()`` for the same coin, to be marked.
    maxpain : dict, optional
        The answer of ``maxpain()`` for the same coin, to be marked.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    BadQuery
        If ``price`` has no time or no close to read, or none within the map, for a ``bound`` of a map without one, for
        colours that cannot be, and for marks of another coin.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.heatmap(market.heatmap("BTC"), Figure().add_subplot(), threshold=1e5)
    >>> ax.get_title(loc="left")
    'BTC liquidation heatmap · estimate, simulated market'
    """
    _needed()
    from . import heat
    from .pictures import of_kind

    of_kind("heatmap", grid, "grid")
    scale = heat.Scale(cmap, vmin, vmax, threshold)
    return heat.heatmap(
        grid, ax, price=price, candles=candles, bound=bound, scale=scale, levels=levels, maxpain=maxpain
    )


def liqmap(
    grid: LiquidationMap,
    ax: Axes | None = None,
    *,
    interval: bool = False,
    levels: Levels | None = None,
    maxpain: MaxPain | None = None,
) -> Axes:
    """Draw a liquidation map: bars stacked by leverage, cumulative curves, current price dashed.

    Parameters
    ----------
    grid : LiquidationMap
        What to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    interval : bool
        Draw the interval of each bin, and where nothing is validated.
    levels : dict, optional
        The answer of ``levels()`` for the same coin, to be marked.
    maxpain : dict, optional
        The answer of ``maxpain()`` for the same coin, to be marked.

    Returns
    -------
    matplotlib.axes.Axes
        The axes of the bars; the cumulative curves have a twin.

    Raises
    ------
    BadQuery
        For the ``interval`` of a map without one, and for marks of another coin.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.liqmap(market.liqmap("BTC"), Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'BTC liquidation map · estimate, simulated market'
    """
    _needed()
    from . import bins
    from .pictures import of_kind

    of_kind("liqmap", grid, "grid")
    return bins.liqmap(grid, ax, interval=interval, levels=levels, maxpain=maxpain)


def levels(answer: Levels, ax: Axes | None = None) -> Axes:
    """Draw the strongest long and short cluster of each leverage: how far off it lies, and its intensity.

    Parameters
    ----------
    answer : dict
        The answer of ``levels()``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    BadQuery
        For the answer of another question.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.levels(market.levels("BTC"), Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'BTC key levels · estimate, simulated market'
    """
    _needed()
    from . import ladder
    from .pictures import of_kind

    of_kind("levels", answer, "answer")
    return ladder.levels(answer, ax)


def maxpain(answer: MaxPain, ax: Axes | None = None) -> Axes:
    """Draw the strongest long and short cluster of a day and of a week: how far off it lies, and its USD.

    Parameters
    ----------
    answer : dict
        The answer of ``maxpain()``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    BadQuery
        For the answer of another question.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.maxpain(market.maxpain("BTC"), Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'BTC max pain · estimate, simulated market'
    """
    _needed()
    from . import ladder
    from .pictures import of_kind

    of_kind("maxpain", answer, "answer")
    return ladder.maxpain(answer, ax)


def draw(given: Any, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw any answer that has a picture: what it is of is told by its columns or keys.

    Parameters
    ----------
    given : Rows, Heatmap, LiquidationMap or dict
        The answer of ``overview``, ``coins``, ``exchanges``, ``chart``, ``history``, ``heatmap``, ``liqmap``,
        ``levels``, ``maxpain`` or ``cascades``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    **options
        What the function of that picture takes.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    BadQuery
        For what has no picture, such as orders.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.draw(market.coins("1h"), Figure().add_subplot())
    >>> ax.get_xlabel()
    'USD liquidated'
    """
    _needed()
    from .pictures import kind_of

    drawn: Axes = globals()[kind_of(given)](given, ax, **options)
    return drawn


def picture(
    given: Any,
    *,
    dark: bool = True,
    size: tuple[float, float] = (12.0, 6.75),
    dpi: float = 150.0,
    **options: Any,
) -> Figure:
    """Draw any answer that has a picture on a figure of its own, without a window system and whatever style is set.

    Parameters
    ----------
    given : Rows, Heatmap, LiquidationMap or dict
        As :func:`draw` takes it.
    dark : bool
        On dark paper, or on white.
    size : tuple of float
        Width and height in inches.
    dpi : float
        Pixels an inch.
    **options
        What the function of that picture takes, such as ``price=`` of a heatmap; ``None`` counts as left out.

    Returns
    -------
    matplotlib.figure.Figure
        Ready for ``savefig``.

    Raises
    ------
    BadQuery
        For what has no picture, such as orders.

    Examples
    --------
    >>> import io
    >>> import liqdata
    >>> file = io.BytesIO()
    >>> liqdata.plot.picture(liqdata.demo().maxpain("BTC")).savefig(file)
    >>> file.getvalue()[1:4]
    b'PNG'
    """
    _needed()
    from .pictures import on_figure

    told = {name: value for name, value in options.items() if value is not None}
    return on_figure(given, draw, told, dark=dark, size=size, dpi=dpi)
