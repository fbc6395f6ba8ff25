"""Plots of answers with matplotlib (``pip install "liqdata[plot]"``).

There is one function per query, with the name of the method. It draws the answer on ``ax``, or on a new figure in
matplotlib's current style, and returns the axes. Rows, heatmaps and liquidation maps also have a method ``plot()``.
Labels of adjacent axes do not overlap. Longs are blue, shorts are orange, and times are UTC. Titles say whether data
are estimated or simulated. Matplotlib is imported on first use.

>>> import liqdata
>>> from matplotlib.figure import Figure
>>> market = liqdata.demo()
>>> ax = liqdata.plot.overview(market.overview(), Figure().add_subplot())
>>> ax.get_title(loc="left")
'Liquidated, last hours · simulated market'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast, overload

if TYPE_CHECKING:
    from collections.abc import Mapping

    import plotly.graph_objects as go
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

    from liqdata.frames.price import Price
    from liqdata.results.heatmap import Heatmap
    from liqdata.results.map import LiquidationMap
    from liqdata.results.rows import Rows
    from liqdata.types import ChartRow, CoinRow, ExchangeRow, HistoryRow
    from liqdata.vendors.comparison import Comparison

__all__ = [
    "cascades",
    "chart",
    "coins",
    "compare",
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


def _require_matplotlib() -> None:
    try:
        import matplotlib as mpl  # noqa: F401 - import tests whether it is installed
    except ModuleNotFoundError as error:
        message = 'pictures need matplotlib: pip install "liqdata[plot]"'
        raise ModuleNotFoundError(message, name=error.name) from error


def _is_plotly(backend: str, ax: Axes | None) -> bool:
    """Check the backend and that its library is installed."""
    from liqdata.errors import BadQuery

    _require_matplotlib()
    if backend not in {"matplotlib", "plotly"}:
        msg = f"backend: {backend!r} is not allowed; allowed: 'matplotlib', 'plotly'"
        raise BadQuery(msg, parameter="backend")
    if backend == "matplotlib":
        return False
    if ax is not None:
        msg = "ax: plotly draws no matplotlib axes; allowed: no ax with backend='plotly'"
        raise BadQuery(msg, parameter="ax")
    try:
        import plotly  # noqa: F401 - import tests whether it is installed
    except ModuleNotFoundError as error:
        message = 'backend="plotly" needs plotly: pip install "liqdata[plotly]"'
        raise ModuleNotFoundError(message, name=error.name) from error
    return True


def overview(totals: Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Draw the totals of each window of the last hours, longs and shorts as stacked bars.

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
        For the answer of another query.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.overview(market.overview(), Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'Liquidated, last hours · simulated market'
    """
    _require_matplotlib()
    from . import ranking
    from .pictures import of_kind

    of_kind("overview", totals, "totals")
    return ranking.overview(totals, ax)


def coins(rows: Rows[CoinRow], ax: Axes | None = None) -> Axes:
    """Draw a ranking of coins.

    The heading has the sum of the coins that do not fit.

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
        For rows of another query.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.coins(market.coins("1h"), Figure().add_subplot())
    >>> ax.get_xlabel()
    'USD liquidated'
    """
    _require_matplotlib()
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
        For rows of another query.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.exchanges(market.exchanges(), Figure().add_subplot())
    >>> ax.get_xlabel()
    'USD liquidated'
    """
    _require_matplotlib()
    from . import ranking

    return ranking.exchanges(rows, ax)


def chart(rows: Rows[ChartRow], ax: Axes | None = None) -> Axes:
    """Draw liquidated USD per hour of the last day: shorts upward and longs downward.

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
        For rows of another query.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.chart(market.chart("BTC"), Figure().add_subplot())
    >>> ax.get_xlabel()
    'time, UTC'
    """
    _require_matplotlib()
    from . import periods

    return periods.chart(rows, ax)


@overload
def history(
    rows: Rows[HistoryRow],
    ax: Axes | None = None,
    *,
    interval: Any = None,
    backend: Literal["matplotlib"] = "matplotlib",
) -> Axes: ...


@overload
def history(rows: Rows[HistoryRow], *, interval: Any = None, backend: Literal["plotly"]) -> go.Figure: ...


def history(
    rows: Rows[HistoryRow],
    ax: Axes | None = None,
    *,
    interval: Any = None,
    backend: Literal["matplotlib", "plotly"] = "matplotlib",
) -> Axes | go.Figure:
    """Draw liquidations over time: shorts upward, longs downward.

    Several coins or exchanges are drawn as stacked bars of their totals instead. Periods are merged if there are too
    many to draw; the heading shows the length of the merged periods. Periods in which orders may be missing are shaded.

    Parameters
    ----------
    rows : Rows
        The answer of ``history()``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    interval : str, timedelta or int, optional
        Length of a period; by default the ``interval`` of the query, which the rows store.
    backend : {"matplotlib", "plotly"}
        The library that draws. Plotly needs ``liqdata[plotly]`` and always makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes or plotly.graph_objects.Figure

    Raises
    ------
    BadQuery
        For rows of another query.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.history(market.history("BTC", by="exchange"), Figure().add_subplot())
    >>> ax.get_xlabel()
    'time, UTC'
    """
    if _is_plotly(backend, ax):
        from .interactive import periods as interactive

        return interactive.history(rows, interval=interval)
    from . import periods

    return periods.history(rows, ax, interval=interval)


def cascades(rows: Rows[Any], ax: Axes | None = None, *, price: Price | None = None) -> Axes:
    """Draw each cascade at its time and at its liquidated USD, on a log scale.

    Parameters
    ----------
    rows : Rows
        The answer of ``cascades()``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    price : optional
        Price of the coin to draw behind the cascades, as in :func:`heatmap`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    BadQuery
        For rows of another query.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.cascades(market.cascades("BTC"), Figure().add_subplot(), price=market.bars("BTC"))
    >>> ax.get_title(loc="left")
    'BTC liquidation cascades · simulated market'
    """
    _require_matplotlib()
    from . import events

    return events.cascades(rows, ax, price=price)


@overload
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
    levels: Mapping[str, Any] | None = None,
    maxpain: Mapping[str, Any] | None = None,
    backend: Literal["matplotlib"] = "matplotlib",
) -> Axes: ...


@overload
def heatmap(
    grid: Heatmap,
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
    levels: Mapping[str, Any] | None = None,
    maxpain: Mapping[str, Any] | None = None,
    backend: Literal["matplotlib", "plotly"] = "matplotlib",
) -> Axes | go.Figure:
    """Draw a heatmap with a log colour scale, candles and the current price.

    The visible prices include most of the estimate, the price and the current price; zoom out to see all cells.

    Parameters
    ----------
    grid : Heatmap
        What to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    price : optional
        The price to draw over the map: a pandas Series over time, or bars (``market.bars("BTC")``, a frame, an
        Arrow table, a mapping of columns or a sequence of dicts with ``timestamp``, the time of the open, and
        ``close``). Where a close is missing, the line has a gap. By default :attr:`liqdata.Heatmap.price`; ``False``
        for none. Bars are merged if there are too many to draw; the heading shows the length of the merged bars.
    candles : bool
        Draw candles if the bars have ``open``, ``high`` and ``low``; otherwise draw a line through the closes.
    bound : {"low", "high"}, optional
        Draw the low or the high end of the interval of each cell instead of its estimate.
    cmap : str or matplotlib.colors.Colormap, optional
        Colour map; by default purple to yellow, so that few cells are bright, and the brightest are those of the
        ten largest visible rows.
    vmin, vmax : float, optional
        Ends of the colour scale in the unit of the map (USD), above 0; from the visible cells by default.
    threshold : float, optional
        Hide cells below this value, in the unit of the map (USD).
    levels : dict, optional
        The answer of ``levels()`` for the same coin; its prices are drawn as labelled lines.
    maxpain : dict, optional
        The answer of ``maxpain()`` for the same coin; its prices are drawn as labelled lines.
    backend : {"matplotlib", "plotly"}
        The library that draws. Plotly needs ``liqdata[plotly]`` and always makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes or plotly.graph_objects.Figure

    Raises
    ------
    BadQuery
        If ``price`` has no times or closes, or none within the time of the map; if the map has no interval for
        ``bound``; for invalid colours; and for ``levels`` or ``maxpain`` of another coin.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.heatmap(market.heatmap("BTC"), Figure().add_subplot(), threshold=1e5)
    >>> ax.get_title(loc="left")
    'BTC liquidation heatmap · estimate, simulated market'
    """
    on_page = _is_plotly(backend, ax)
    from . import heat
    from .pictures import of_kind

    of_kind("heatmap", grid, "grid")
    scale = heat.Scale(cmap, vmin, vmax, threshold)
    if on_page:
        from .interactive import heat as interactive

        return interactive.heatmap(
            grid, price=price, candles=candles, bound=bound, scale=scale, levels=levels, maxpain=maxpain
        )
    return heat.heatmap(
        grid, ax, price=price, candles=candles, bound=bound, scale=scale, levels=levels, maxpain=maxpain
    )


@overload
def liqmap(
    grid: LiquidationMap,
    ax: Axes | None = None,
    *,
    interval: bool = False,
    levels: Mapping[str, Any] | None = None,
    maxpain: Mapping[str, Any] | None = None,
    backend: Literal["matplotlib"] = "matplotlib",
) -> Axes: ...


@overload
def liqmap(
    grid: LiquidationMap,
    *,
    interval: bool = False,
    levels: Mapping[str, Any] | None = None,
    maxpain: Mapping[str, Any] | None = None,
    backend: Literal["plotly"],
) -> go.Figure: ...


def liqmap(
    grid: LiquidationMap,
    ax: Axes | None = None,
    *,
    interval: bool = False,
    levels: Mapping[str, Any] | None = None,
    maxpain: Mapping[str, Any] | None = None,
    backend: Literal["matplotlib", "plotly"] = "matplotlib",
) -> Axes | go.Figure:
    """Draw a liquidation map: bars stacked by leverage, and cumulative curves.

    Parameters
    ----------
    grid : LiquidationMap
        What to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    interval : bool
        Draw the interval of each bin, and hatch the prices at which intervals are not validated.
    levels : dict, optional
        The answer of ``levels()`` for the same coin; its prices are drawn as labelled lines.
    maxpain : dict, optional
        The answer of ``maxpain()`` for the same coin; its prices are drawn as labelled lines.
    backend : {"matplotlib", "plotly"}
        The library that draws. Plotly needs ``liqdata[plotly]`` and always makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes or plotly.graph_objects.Figure
        The axes of the bars; the cumulative curves are on twin axes.

    Raises
    ------
    BadQuery
        For ``interval`` with a map that has no interval, and for ``levels`` or ``maxpain`` of another coin.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.liqmap(market.liqmap("BTC"), Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'BTC liquidation map · estimate, simulated market'
    """
    on_page = _is_plotly(backend, ax)
    from .pictures import of_kind

    of_kind("liqmap", grid, "grid")
    if on_page:
        from .interactive import bins as interactive

        return interactive.liqmap(grid, interval=interval, levels=levels, maxpain=maxpain)
    from . import bins

    return bins.liqmap(grid, ax, interval=interval, levels=levels, maxpain=maxpain)


def levels(answer: Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Draw the strongest liquidation level on each side, for each leverage.

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
        For the answer of another query.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.levels(market.levels("BTC"), Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'BTC key levels · estimate, simulated market'
    """
    _require_matplotlib()
    from . import ladder
    from .pictures import of_kind

    of_kind("levels", answer, "answer")
    return ladder.levels(answer, ax)


def maxpain(answer: Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Draw the strongest liquidation level on each side, for a day and a week.

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
        For the answer of another query.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.maxpain(market.maxpain("BTC"), Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'BTC max pain · estimate, simulated market'
    """
    _require_matplotlib()
    from . import ladder
    from .pictures import of_kind

    of_kind("maxpain", answer, "answer")
    return ladder.maxpain(answer, ax)


def compare(comparison: Comparison | Mapping[str, LiquidationMap], ax: Axes | None = None) -> Axes:
    """Draw maps on the same axes: of several sources over the distance from the price, or any maps of one coin.

    A :class:`Comparison` is drawn over the distance from the price, each map as shares of its own sum. Maps by name are
    drawn as outlines over the price; bins of different widths are scaled to the width of the first map, so that equal
    densities have equal heights.

    Parameters
    ----------
    comparison : Comparison or mapping of str to LiquidationMap
        The result of :func:`liqdata.compare`, or up to seven maps of one coin and unit by their name in the legend.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    BadQuery
        For anything else.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> compared = liqdata.compare({"x": market, "y": market})
    >>> ax = liqdata.plot.compare(compared, Figure().add_subplot())
    >>> ax.get_xlabel()
    'distance from the price, %'
    >>> maps = {range: market.liqmap("BTC", range) for range in ("1d", "7d")}
    >>> ax = liqdata.plot.compare(maps, Figure().add_subplot())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['1d', '7d']
    """
    _require_matplotlib()
    from . import compared
    from .pictures import of_kind

    if getattr(comparison, "_picture", None) is None:
        return compared.compare_maps(comparison, ax)
    of_kind("compare", comparison, "comparison")
    return compared.compare_sources(cast("Comparison", comparison), ax)


def draw(given: Any, ax: Axes | None = None, **options: Any) -> Axes:
    """Draw any supported answer; its columns or keys select the function.

    Parameters
    ----------
    given : Rows, Heatmap, LiquidationMap or dict
        The answer of ``overview``, ``coins``, ``exchanges``, ``chart``, ``history``, ``heatmap``, ``liqmap``,
        ``levels``, ``maxpain`` or ``cascades``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    **options
        Options of the function for this answer.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    BadQuery
        For an answer that has no plot function, such as orders.

    Examples
    --------
    >>> import liqdata
    >>> from matplotlib.figure import Figure
    >>> market = liqdata.demo()
    >>> ax = liqdata.plot.draw(market.coins("1h"), Figure().add_subplot())
    >>> ax.get_xlabel()
    'USD liquidated'
    """
    _require_matplotlib()
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
    """Draw any supported answer on a new figure, without pyplot and matplotlib's current style.

    Parameters
    ----------
    given : Rows, Heatmap, LiquidationMap or dict
        The answer of one of the queries in :func:`draw`.
    dark : bool
        Use a dark background instead of white.
    size : tuple of float
        Width and height in inches.
    dpi : float
        Pixels per inch.
    **options
        Options of the function for this answer, such as ``price=``; ``None`` means the default.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; its ``savefig`` writes a file.

    Raises
    ------
    BadQuery
        For an answer that has no plot function, such as orders.

    Examples
    --------
    >>> import io
    >>> import liqdata
    >>> file = io.BytesIO()
    >>> liqdata.plot.picture(liqdata.demo().maxpain("BTC")).savefig(file)
    >>> file.getvalue()[1:4]
    b'PNG'
    """
    _require_matplotlib()
    from .pictures import on_figure

    chosen = {name: value for name, value in options.items() if value is not None}
    return on_figure(given, draw, chosen, dark=dark, size=size, dpi=dpi)
