"""A chart for notebooks that follows a market (``pip install "liqdata[live]"``).

:meth:`liqdata.Market.live` and :meth:`liqdata.Client.live` return a :class:`Live`.
"""

from __future__ import annotations

import io
import json
import os
import threading
from collections import deque
from datetime import UTC
from typing import TYPE_CHECKING, Any

try:
    import anywidget
    import traitlets
except ModuleNotFoundError as error:
    message = 'the live chart needs anywidget: pip install "liqdata[live]"'
    raise ModuleNotFoundError(message, name=error.name) from error

from . import _core
from .errors import BadQuery, LiqdataError, WrongState

if TYPE_CHECKING:
    from decimal import Decimal

    from .model import Model
    from .queries import Queries
    from .results.heatmap import Heatmap
    from .stream import OrderStream
    from .types import Instant

__all__ = ["Live"]

_TICK = 0.25  # seconds between two messages to the notebook, at least
_REFRESH = 5.0  # seconds between two estimates
_BEAT = 10  # ticks between two signs of life
_ORDERS = 300  # orders that are shown
_WORDS = {
    "exposed": "USD of open interest exposed",
    "expected": "USD expected to be reported as liquidated",
    "relative": "relative, not USD",
}


class Live(anywidget.AnyWidget):
    """A live chart of one coin: the estimate under candles, and the orders as they arrive.

    Do not create it yourself; :meth:`liqdata.Market.live` does. Two daemon threads follow the market in the kernel; the
    notebook opens no connection. Charts with the same parameters of the same market, archive or service share these
    threads and one stream, so that a cell can be run again and again. A saved notebook shows a picture of the map (with
    matplotlib installed); an exported page with widgets shows the last state, and says so.

    Attributes
    ----------
    view : dict
        The parameters of the chart: ``symbol``, ``range``, ``model``, and ``exchange``, ``as_of`` and ``min_usd`` if
        they were given.
    state : str
        ``live``; ``ended`` if the source has no new orders; ``closed``; or the message of an error, such as
        ``client is closed``.
    label : list of str
        The words on the picture: what is shown, its unit and its time.
    orders : list of dict
        The newest orders of the coin, newest first; at most 300. Amounts are text, timestamps epoch milliseconds.

    Examples
    --------
    >>> import liqdata
    >>> live = liqdata.demo().live("BTC", range="12h")
    >>> live.label[0]
    'BTC 12h ESTIMATE'
    >>> live.close()
    >>> live.state
    'closed'
    """

    _esm = _core.live_module()
    view = traitlets.Dict().tag(sync=True)
    grid = traitlets.Bytes(b"").tag(sync=True)
    bars: traitlets.List[Any] = traitlets.List().tag(sync=True)
    orders: traitlets.List[Any] = traitlets.List().tag(sync=True)
    label: traitlets.List[Any] = traitlets.List().tag(sync=True)
    state = traitlets.Unicode("live").tag(sync=True)
    simulated = traitlets.Bool(default_value=False).tag(sync=True)
    beat = traitlets.Int(0).tag(sync=True)
    height = traitlets.Int(480).tag(sync=True)

    def __init__(
        self, source: Queries[Any], view: dict[str, Any], asked: dict[str, Any], found: Heatmap, height: int
    ) -> None:
        self._source = source
        self._asked = asked
        shown = {name: str(value) if name in {"model", "as_of"} else value for name, value in view.items()}
        super().__init__(view={name: value for name, value in shown.items() if value is not None}, height=height)
        self._of_orders = (view["symbol"], view["exchange"], view["min_usd"])
        self._follower: _Follower | None = None
        self._closed = False
        self._show(found)
        if view["as_of"] is None:
            self._follow()
        else:
            self.state = "ended"

    def snapshot(self) -> Heatmap:
        """Return the map that is shown.

        Returns
        -------
        Heatmap
            The newest estimate that was sent to the notebook.
        """
        return self._map

    def close(self) -> None:
        """Stop following the market, and remove the chart from the notebook. May be called more than once."""
        with _LOCK:
            self._closed = True
        if self._follower is not None:
            self._follower.leave(self)
        self.state = "closed"
        super().close()

    def _follow(self) -> None:
        """Share the follower of equal charts, or start one."""
        key = (os.getpid(), *self._source._source.identity, repr(self.view), repr(self._asked))  # noqa: SLF001 - a source of this package
        with _LOCK:
            shared = self._join(_FOLLOWERS.get(key))
        if not shared:
            made = _Follower(key, self._source, self._asked, self._of_orders)  # sends requests
            with _LOCK:
                self._join(_FOLLOWERS.setdefault(key, made))
            made.start()
        if self._follower is not None:
            self.orders = self._follower.orders

    def _join(self, follower: _Follower | None) -> bool:
        """Follow with others; the caller has the lock."""
        if follower is None:
            return False
        if not self._closed:
            follower.charts.append(self)
            self._follower = follower
        return True

    def _update(self, found: Heatmap) -> None:
        if found.updated_at != self._map.updated_at:
            self._show(found)

    def _show(self, found: Heatmap) -> None:
        self._map = found
        self.simulated = bool(found.simulated)
        self.bars = [
            {name: row[name] for name in ("timestamp", "interval", "open", "high", "low", "close")}
            for row in found.price or ()
        ]
        self.grid = _core.grid_bytes(json.dumps(found.to_dict()))
        unit = _WORDS["relative"] if found.units == "relative" else _WORDS.get(found.view or "", "USD")
        self.label = [
            f"{found.symbol} {found.range} ESTIMATE",
            f"model {found.model}, {unit}",
            f"updated {found.updated_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
            "compares inside this map only",
        ]

    def _say(self, state: str) -> None:
        if not self._closed:
            self.state = state

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle = super()._repr_mimebundle_(**options)
        parts, meta = bundle if isinstance(bundle, tuple) else (bundle, {})
        if parts is None:
            return None
        picture = self._picture()
        still = {} if picture is None else {"image/png": picture}
        text = f"Live chart: {', '.join(self.label)} ({self.state}); market.serve(open=True) shows it in a browser"
        return parts | still | {"text/plain": text}, meta

    def _picture(self) -> bytes | None:
        """Draw the map as a picture for readers that show no widgets; ``None`` without matplotlib."""
        try:
            from matplotlib.figure import Figure
        except ModuleNotFoundError:
            return None
        figure = Figure(figsize=(9, 5), layout="constrained")
        self._map.plot(ax=figure.add_subplot())
        written = io.BytesIO()
        figure.savefig(written, format="png", dpi=80)
        return written.getvalue()


class _Follower:
    """Follows a source for all charts with equal parameters, on two threads."""

    def __init__(
        self, key: tuple[object, ...], source: Queries[Any], asked: dict[str, Any], of_orders: tuple[Any, ...]
    ) -> None:
        self._key = key
        self._source = source
        self._asked = asked
        self.charts: list[Live] = []
        self._end = threading.Event()
        self._ended = False
        self._new: deque[dict[str, Any]] = deque(maxlen=_ORDERS)
        self._symbol, exchange, least = of_orders
        newest = source.orders(self._symbol, exchange, limit=50, min_usd=least)
        self.orders = [_written(row) for row in newest]
        self._stream: OrderStream[Any] = source.stream_orders(self._symbol, exchange, min_usd=least)

    def start(self) -> None:
        """Start, unless another follower was faster or no chart is left."""
        if not self.charts:
            self.leave(None)
            return
        for work in (self._listen, self._refresh):
            threading.Thread(target=work, name="liqdata-live", daemon=True).start()

    def leave(self, chart: Live | None) -> None:
        """Follow no longer for a chart; end with the last one."""
        with _LOCK:
            if chart in self.charts:
                self.charts.remove(chart)
            if self.charts:
                return
            self._retire()
        self._stop()

    def _retire(self) -> None:
        """Let later charts start another follower; the caller has the lock."""
        if _FOLLOWERS.get(self._key) is self:
            del _FOLLOWERS[self._key]

    def _stop(self) -> None:
        self._end.set()
        self._stream.close()

    def _say(self, state: str) -> None:
        with _LOCK:
            self._retire()
            charts = list(self.charts)
        for chart in charts:
            chart._say(state)  # noqa: SLF001 - as all that a follower does with its charts

    def _close(self, error: WrongState) -> None:
        """End, because the source was closed; charts of equal sources that are open get another follower."""
        with _LOCK:
            self._retire()
            charts, self.charts = self.charts, []
        self._stop()
        for chart in charts:
            state = str(error)
            if not chart._source._source.closed:  # noqa: SLF001
                try:
                    chart._follow()  # noqa: SLF001
                except LiqdataError as other:
                    state = str(other)
                else:
                    continue
            chart._say(state)  # noqa: SLF001

    def _listen(self) -> None:
        """Collect the rows of the stream; runs in a thread."""
        try:
            for row in self._stream:
                self._new.appendleft(_written(row))
        except WrongState as error:
            self._close(error)
        except LiqdataError as error:
            self._say(str(error))
        else:
            self._ended = True
            if not self._end.is_set():
                self._say("ended")

    def _refresh(self) -> None:
        """Send what is new, at most four times a second; runs in a thread."""
        ticks = 0
        while not self._end.wait(_TICK):
            # A chart that hears this has a kernel; one on a saved page has none.
            if ticks % _BEAT == 0:
                for chart in list(self.charts):
                    chart.beat += 1
            ticks += 1
            ended = self._ended
            if self._new:
                rows = [self._new.popleft() for _ in range(len(self._new))]
                self.orders = (rows + self.orders)[:_ORDERS]
                for chart in list(self.charts):
                    chart.orders = self.orders
            if ended:
                break
            if ticks * _TICK < _REFRESH:
                continue
            ticks = 0
            self._estimate()

    def _estimate(self) -> None:
        """Send the newest map."""
        try:
            found = self._source.heatmap(self._symbol, **self._asked)
        except WrongState as error:
            self._close(error)
        except LiqdataError as error:
            self._say(str(error))
        else:
            for chart in list(self.charts):
                chart._update(found)  # noqa: SLF001


_LOCK = threading.Lock()
_FOLLOWERS: dict[tuple[object, ...], _Follower] = {}


def _written(row: Any) -> dict[str, Any]:
    """An order as the API sends it, with amounts as text."""
    order = {name: row[name] for name in ("exchange", "symbol", "side", "timestamp")}
    return order | {name: str(row[name]) for name in ("price", "qty", "value_usd")}


def live_of(
    source: Queries[Any],
    symbol: str,
    *,
    range: str,
    model: int | Model,
    source_name: str | None,
    exchange: str | None,
    as_of: Instant | None,
    height: int,
    min_usd: float | Decimal | None,
) -> Live:
    """Make the chart of a source."""
    if source_name not in {None, "estimate"}:
        msg = f'source: {source_name!r} has no heatmap; allowed: "estimate"'
        raise BadQuery(msg, parameter="source")
    view: dict[str, Any] = {
        "symbol": symbol,
        "range": range,
        "model": model,
        "exchange": exchange,
        "as_of": as_of,
        "min_usd": min_usd,
    }
    asked: dict[str, Any] = {name: view[name] for name in ("range", "model", "exchange", "as_of")}
    return Live(source, view, asked, source.heatmap(symbol, **asked), height)
