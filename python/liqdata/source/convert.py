"""Conversion of replies from the Rust core to the objects that callers get."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from liqdata import _core
from liqdata.calls.arguments import datetime_of
from liqdata.calls.traceback import warn
from liqdata.errors import NotCovered, UnexpectedReply
from liqdata.results.record import Record
from liqdata.results.rows import Rows

if TYPE_CHECKING:
    from datetime import datetime

    from liqdata.results.heatmap import Heatmap
    from liqdata.results.map import LiquidationMap
    from liqdata.types import BarRow, RowDecimals, Units

A = TypeVar("A")


class Origin(NamedTuple):
    """Where a reply came from, and the values for the ``meta`` of the answer."""

    source: str
    as_of: datetime | None
    """The instant as of which the answer was computed; ``None`` while there are no data."""
    simulated: bool | None
    decimals: RowDecimals = "decimal"
    damaged: int = 0
    replayed: bool = False
    question: dict[str, object] | None = None
    bars: Callable[[str, int, int], Rows[BarRow] | None] | None = None
    """Reads the bars of a coin between two instants (epoch ms)."""
    far: bool = False
    """Whether ``bars`` sends a request to a service."""
    coverage: _core.Table | None = None
    """The coverage of realised totals (rows of ``coverage()``), if it is known."""
    earlier: tuple[int, int] | None = None
    """Open and length (ms) of the first earlier bar that cannot be resampled to the requested interval."""
    time_unit: str | None = None
    """The unit in which a service sent instants, if it was not milliseconds."""
    more: Callable[[dict[str, object]], bool] | None = None
    """Asks whether a further page of orders has rows, if this costs no request to a service."""
    period: tuple[float, dict[str, float], int | None] | None = None
    """Of realised orders: the covered share of the period, that of each window, and since when orders are known."""

    def of_reply(self, reply: _core.Table | _core.Reply) -> Origin:
        """A copy with the values that a reply has: coverage, earlier bar, and unit of instants."""
        return self._replace(
            coverage=reply.coverage, earlier=reply.earlier, time_unit=reply.time_unit, period=reply.period
        )

    def of_question(self, endpoint: str, parameters: Mapping[str, object]) -> Origin:
        """A copy with the endpoint and the given parameters as ``question``."""
        given = {name: value for name, value in parameters.items() if value is not None}
        return self._replace(question={"endpoint": endpoint, **given})

    def meta(self, newest: datetime | None) -> dict[str, Any]:
        """The ``meta`` of rows and grids.

        Parameters
        ----------
        newest : datetime or None
            Time of the newest row, or of the last input of an estimate.
        """
        age = None if newest is None or self.as_of is None else max(self.as_of - newest, timedelta(0))
        meta: dict[str, Any] = {
            "source": self.source,
            "as_of": self.as_of,
            "simulated": self.simulated,
            "age": age,
        }
        if self.replayed:
            meta["replayed"] = True
        if self.damaged:
            meta["damaged"] = self.damaged
        if self.time_unit is not None:
            meta["time_unit"] = f"{self.time_unit} (converted)"
        if self.question is not None:
            meta["question"] = self.question
        if self.coverage is not None:
            meta["coverage"] = self.coverage.dicts("decimal")
        if self.period is not None:
            meta["covered"], windows, since = self.period
            if windows:
                meta["covered_windows"] = windows
            meta["data_from"] = None if since is None else datetime_of(since)
        if self.earlier is not None:
            opened, interval = self.earlier
            meta["earlier"] = {"timestamp": datetime_of(opened), "interval": interval}
        return meta


@dataclass(frozen=True)
class BarsOfMap:
    """A callable that reads the bars over the time of a heatmap."""

    read: Callable[[str, int, int], Rows[BarRow] | None]
    symbol: str
    span: tuple[int, int]
    far: bool

    def __call__(self) -> Rows[BarRow] | None:
        """Read the bars."""
        return self.read(self.symbol, *self.span)


Convert = Callable[[Any, Origin], A]


def record(reply: _core.Reply, origin: Origin) -> Record:
    """A dict with the keys of the contract; the other members of the reply become attributes."""
    updated = reply.members.get("updatedAt")
    meta = origin.meta(datetime_of(updated) if isinstance(updated, int) else None)
    meta = _explained(reply.explain, meta) | _priced_at(reply) | _served_by(reply)
    _warn_if_unknown(meta)
    unmarked = origin.simulated is None or "recording" in meta
    made = Record(
        reply.members,
        meta=meta,
        units=reply.labels.get("units", _units(reply.explain)),
        simulated=reply.labels.get("simulated") if unmarked else origin.simulated,
    )
    made.__dict__.update(reply.extensions)
    if "view" in reply.labels:
        made.__dict__["view"] = reply.labels["view"]
    return made


def _units(explain: dict[str, Any] | None) -> Units:
    """The units of an estimate that does not state them."""
    return "relative" if (explain or {}).get("openInterestScale") == "relative" else "usd"


def _warn_if_unknown(meta: dict[str, Any]) -> None:
    """Warn if no part of the period of a realised answer is covered: its zeros are unknown."""
    if meta.get("covered") != 0:
        return
    since = meta["data_from"]
    known = "this source has no orders" if since is None else f"its orders begin at {since:%Y-%m-%dT%H:%M:%SZ}"
    name = (meta.get("question") or {}).get("endpoint", "answer")
    warn(f"{name}: no part of the period is covered, so zeros and missing rows mean unknown; {known}", NotCovered)


_COIN_COLUMN = {"bars": "symbol", "open_interest": "symbol", "positions": "coin"}
"""Endpoints that return rows of one coin, and the column with the coin."""


def _check_coin(reply: _core.Table, question: dict[str, object] | None) -> None:
    """Refuse a reply with rows of a coin that was not requested."""
    column = _COIN_COLUMN.get(str((question or {}).get("endpoint")))
    symbol = (question or {}).get("symbol")
    if column is None or not isinstance(symbol, str):
        return
    coin = _core.coin(symbol)
    for name in reply.codes(column)[1]:
        if _core.coin(name) != coin:
            msg = f"data[].{column}: {name[:80]!r} is not the requested {coin!r}"
            raise UnexpectedReply(msg, path=f"data[].{column}")


def rows(reply: _core.Table, origin: Origin) -> Rows[Any]:
    """Convert a table to rows with ``meta``."""
    _check_coin(reply, origin.question)
    newest = reply.newest()
    meta = origin.meta(None if newest is None else datetime_of(newest))
    if origin.question is not None and origin.question["endpoint"] == "orders":
        meta["more"] = reply.more if reply.more is not None else _more(len(reply), origin.question, origin.more)
    _warn_if_unknown(meta)
    return Rows(reply, decimals=origin.decimals, meta=meta)


def _more(count: int, question: Mapping[str, object], ask: Callable[[dict[str, object]], bool] | None) -> bool | None:
    """Whether more orders match than a page has; ``None`` if the page is full and the source does not say it."""
    parameters = {name: value for name, value in question.items() if name != "endpoint"}
    limit, offset = (int(str(parameters[name])) for name in ("limit", "offset"))
    if count < limit:
        return False
    return None if ask is None else ask({**parameters, "limit": 1, "offset": offset + limit})


def positions(reply: _core.Table, origin: Origin) -> Rows[Any]:
    """Convert a table to positions; columns that have one value per snapshot become entries of ``meta``."""
    shared = {(row["exchange"], row["timestamp"], row["seen_share"]) for row in reply.dicts("float")}
    found = rows(reply.keeping(["timestamp", "seen_share"], []), origin)
    shares: dict[str, Any] = {}
    for exchange, _, share in shared:  # different shares of one exchange count as unknown
        shares[exchange] = share if shares.get(exchange, share) == share else None
    found.meta["seen_share"] = next(iter(shares.values()), None) if len(shares) <= 1 else shares
    found.meta["snapshot"] = max((datetime_of(at) for _, at, _ in shared), default=None)
    return found


def heatmap(reply: _core.Reply, origin: Origin) -> Heatmap:
    """Make a heatmap of the decoded buffers; its bars are read when they are first used."""
    from liqdata.results.heatmap import Heatmap

    meta = _labelled(reply, origin)
    if "recording" not in meta:
        meta.setdefault("view", _VIEWS.get(reply.members["model"]))
    columns = len(reply.members["times"])
    parted = reply.parted if {len(part) for part in reply.parted or ()} == {columns} else None
    # The widths of rows are for pictures of other programs; those of this package draw rows around their prices.
    extensions = {name: value for name, value in reply.extensions.items() if name not in {"row_step", "edges"}}
    meta |= _exact(extensions)
    made = Heatmap(**reply.members, **extensions, meta=meta, parted=parted)
    if origin.bars is None or not columns:
        return made
    return replace(made, bars=BarsOfMap(origin.bars, made.symbol, made.span, origin.far))


def liqmap(reply: _core.Reply, origin: Origin) -> LiquidationMap:
    """Make a liquidation map of the decoded buffers."""
    from liqdata.results.map import LiquidationMap

    meta = _labelled(reply, origin)
    extensions = dict(reply.extensions)
    if "measured" in extensions:
        measured = extensions.pop("measured")
        others = {name: value for name, value in measured.items() if name != "seen_share"}
        meta |= {"view": "measured", "seen_share": measured["seen_share"], "measured": others}
    meta |= _exact(extensions)
    extensions.pop("clusters", None)  # computed from the bins
    fine = _fine(reply, extensions.pop("fine", None))
    if "bounds" in extensions:
        bounds = extensions.pop("bounds")
        extensions["bounds"] = (bounds["low"], bounds["high"])
    return LiquidationMap(**reply.members, **extensions, meta=meta, fine=fine)


def _exact(extensions: dict[str, Any]) -> dict[str, Any]:
    """Take the measured part of a blended map from ``extensions``; the ``meta`` of it."""
    if "exact" not in extensions:
        return {}
    exact = extensions.pop("exact")
    exchanges = [{**one, "observed_at": datetime_of(one["observed_at"])} for one in exact["exchanges"]]
    within = {int(percent): share for percent, share in exact["within"].items()}
    return {"exact_share": exact["share"], "exact_within": within, "measured_exchanges": exchanges}


def _fine(reply: _core.Reply, shown: dict[str, Any] | None) -> tuple[Any, ...] | None:
    """The fine grid of a map, its USD by leverage and bin; ``None`` if it does not fit the leverages.

    ``shown`` is the part of the grid with the prices of the bins. The explanation has all of it.
    """
    leverages = len(reply.members["leverages"])
    sent = None if shown is None else tuple(shown[name] for name in ("p0", "h", "first", "longs_end", "usd"))
    found = sent if reply.fine is None else reply.fine
    if found is None or not leverages:
        return None
    *grid, usd = found
    return (*grid, usd.reshape(leverages, -1)) if usd.size % leverages == 0 else None


_VIEWS = {2: "exposed", 3: "expected"}


def _labelled(reply: _core.Reply, origin: Origin) -> dict[str, Any]:
    """The ``meta`` of a grid: its labels and its explanation."""
    labels = reply.labels
    meta = _explained(reply.explain, origin.meta(reply.members["updated_at"]))
    meta["units"] = labels.get("units", _units(reply.explain))
    if "view" in labels:
        meta["view"] = labels["view"]
    # A recorded map is of another market than the one that sends it.
    if meta.get("simulated") is None or "source" in labels:
        meta["simulated"] = labels.get("simulated")
    return meta | _priced_at(reply) | _served_by(reply)


def _priced_at(reply: _core.Reply) -> dict[str, Any]:
    """The ``meta`` with the instant of the current price of an estimate, if the source sent it."""
    at = reply.labels.get("price_at")
    return {} if at is None else {"price_at": datetime_of(at)}


def _served_by(reply: _core.Reply) -> dict[str, Any]:
    """The ``meta`` of a recorded map: the name of the recording, and the instant of the map."""
    labels = reply.labels
    if "source" not in labels:
        return {}
    at = datetime_of(labels["recorded_at"])
    return {"recording": labels["source"], "recorded_at": at, "as_of": at}


def _explained(explain: dict[str, Any] | None, meta: dict[str, Any]) -> dict[str, Any]:
    """Add the inputs of an estimate (``explain``) and its view to ``meta``, if the source sent them."""
    if explain is not None:
        meta["explain"] = explain
        if "modelNumber" in explain:
            meta["view"] = _VIEWS[explain["modelNumber"]]
        if "opened" in explain:
            meta["opened"] = explain.pop("opened")
            meta["opened_since"] = datetime_of(explain.pop("openedSince"))
        if "partial" in explain:
            meta["partial"] = explain.pop("partial")
    return meta
