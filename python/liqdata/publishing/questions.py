"""The questions of the page: what it asks a server, and so what is published."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BAR", "GRIDS", "RANGES", "first_question", "of_all", "of_coin"]

_MINUTE = 60_000
_DAY = 1440 * _MINUTE
BAR = 5 * _MINUTE
"""Length of the shortest bar of an estimate, in milliseconds."""

GRIDS = "api/liq-heatmap?"
"""Begins the questions with an answer in bytes."""

_MODELS = (2, 3)
_UNITS = {"m": _MINUTE, "h": 60 * _MINUTE, "d": _DAY}


class _Range(NamedTuple):
    """How the page divides a range: its length, a column of the heatmap, a candle and a period of realised amounts."""

    length: str
    column: str
    candle: str
    period: str


RANGES = {
    "12h": _Range("12h", "5m", "5m", "10m"),
    "24h": _Range("1d", "10m", "5m", "15m"),
    "3d": _Range("3d", "30m", "15m", "1h"),
    "7d": _Range("7d", "1h", "30m", "2h"),
    "1M": _Range("30d", "4h", "2h", "8h"),
}
"""The ranges that are published, as the page divides them (``web/src/view/state.ts``, ``web/src/chart/axis.ts``)."""


def of_coin(coin: str, now: int) -> Iterator[str]:
    """The questions about a coin, with the instant up to which the market is known."""
    for model in _MODELS:
        for name in RANGES:
            yield _question("liq-heatmap", symbol=coin, range=name, model=model, explain=1, values="u16")
            yield _map(coin, name, model)
        yield _question("liq-levels", symbol=coin, model=model)
        yield _question("liq-maxpain", symbol=coin, model=model)
    for one in RANGES.values():
        start = _start(one, now)
        whole = start // _span(one.period) * _span(one.period)
        yield _question("bars", symbol=coin, start=start, interval=one.candle, running=1)
        yield _question("liquidations/history", symbol=coin, by="exchange", interval=one.period, start=whole)
        yield _question("liquidations/cascades", symbol=coin, start=start)
    yield _question("bars", symbol=coin, start=now // _DAY * _DAY - 366 * _DAY, interval="1d")
    yield _question("liquidations/largest", symbol=coin, limit=300, range="24h")
    yield _question("liquidations", limit=300, symbol=coin)


def of_all(now: int) -> Iterator[str]:
    """The questions about all coins together."""
    yield _question("liquidations/overview")
    yield _question("liquidations", limit=300)
    for name, one in RANGES.items():
        if name not in {"12h", "24h"}:
            yield _question("liquidations/overview", range=name)
        yield _question("liquidations/coins", limit=12, range=name)
        yield _question("liquidations/exchanges", range=name)
        yield _question("liquidations/undercount", range=name)
        yield _question("coverage", range=name)
        yield _question("gaps", start=_start(one, now))


def first_question(coin: str) -> str:
    """The question with an answer that says when the last bar of a coin closed."""
    return _map(coin, "24h", _MODELS[0])


def _map(coin: str, name: str, model: int) -> str:
    return _question("liq-map", symbol=coin, range="1d" if name == "24h" else name, model=model)


def _start(one: _Range, now: int) -> int:
    return (now - _span(one.length)) // _span(one.column) * _span(one.column)


def _span(text: str) -> int:
    return int(text[:-1]) * _UNITS[text[-1]]


def _question(path: str, **parameters: str | int) -> str:
    """The address of a question, with its parameters in the order of their names."""
    query = urlencode(sorted(parameters.items()))
    return f"api/{path}?{query}" if query else f"api/{path}"
