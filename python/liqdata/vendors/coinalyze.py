"""Coinalyze."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from liqdata.calls.arguments import many
from liqdata.errors import BadQuery, Refused

from . import answers
from .refusal import get, scalar, words
from .reply import Get, Node, Reply
from .service import Access, BlockingVendor, Dialect, meta_of, secret, vendor_methods
from .vocabulary import bounds, period

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta
    from typing import Unpack

    from liqdata.results.rows import Rows
    from liqdata.types import Instant

    from .service import Flow, VendorOptions

__all__ = ["Coinalyze"]

CoinalyzeInterval: TypeAlias = Literal["1m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "12h", "1d"]

URL = "https://api.coinalyze.net/v1"
VARIABLE = "COINALYZE_API_KEY"
_INTERVALS = {
    "1m": "1min", "5m": "5min", "15m": "15min", "30m": "30min", "1h": "1hour", "2h": "2hour", "4h": "4hour",
    "6h": "6hour", "12h": "12hour", "1d": "daily",
}  # fmt: skip
_MOST_SYMBOLS = 20
_POINTS = 1500  # the vendor promises at least this many


def verdict(body: Node) -> tuple[str, str] | None:
    """The reason of a refusal in a body; ``None`` for an array, which is data."""
    if not isinstance(body.value, dict):
        return None
    return scalar(body.optional("code")), words(body, "message", "msg", "error")


class CoinalyzeDialect(Dialect):
    """The questions of Coinalyze."""

    def _series(
        self,
        path: str,
        *,
        symbol: str | Sequence[str],
        interval: Any,
        start: Any,
        end: Any,
        now: int,
        read: Any,
        **more: str,
    ) -> Flow[tuple[list[dict[str, Any]], dict[str, Any]]]:
        """The rows of a path for each symbol, oldest first."""
        names = symbols_of(symbol)
        step, theirs = period(interval, _INTERVALS)
        first, last = bounds(start, end)
        last = now if last is None else last
        first = last - _POINTS * step if first is None else first
        made: list[dict[str, Any]] = []
        missing: list[str] = []
        replies: list[Reply] = []
        for at in range(0, len(names), _MOST_SYMBOLS):
            part = names[at : at + _MOST_SYMBOLS]
            query = {
                "symbols": ",".join(part), "interval": theirs,
                "from": str(first // 1000), "to": str(last // 1000), **more,
            }  # fmt: skip
            reply = yield from get(self.access, Get(path, query, "a key", len(part)), verdict)
            replies.append(reply)
            sent: dict[str, list[Node]] = {}
            for item in reply.json().items():
                name = item.member("symbol")
                if name.text() not in part or name.text() in sent:
                    raise name.wrong(f"each of {', '.join(part)} once")
                sent[name.text()] = item.member("history").items()
            for one in part:
                if one not in sent:
                    missing.append(one)
                    continue
                rows = [read(point, one, point.member("t").instant(), step) for point in sent[one]]
                made += sorted(rows, key=lambda row: row["timestamp"])
        if missing and len(missing) == len(names):
            msg = f"Coinalyze left out {', '.join(map(repr, missing))}: it has no such market, or no data in this time"
            last_body = replies[-1].body[:2048].decode("utf-8", "replace")
            raise Refused(msg, status=replies[-1].status, body=last_body)
        made.sort(key=lambda row: row["timestamp"])
        return made, meta_of(self.access, replies[-1], **({"missing": missing} if missing else {}))

    def history(self, **asked: Any) -> Flow[Rows[Any]]:
        """Liquidated USD by period and market."""

        def read(point: Node, name: str, at: int, _: int) -> dict[str, Any]:
            amounts = answers.totals(point.member("l").amount(), point.member("s").amount())
            return {"timestamp": at, "symbol": name, **amounts}

        made, meta = yield from self._series("/liquidation-history", **asked, read=read, convert_to_usd="true")
        return answers.rows(answers.HISTORY, made, {**meta, "units": "usd"})

    def bars(self, **asked: Any) -> Flow[Rows[Any]]:
        """Price bars by market."""

        def read(point: Node, name: str, at: int, step: int) -> dict[str, Any]:
            prices = (point.member(part).price() for part in ("o", "h", "l", "c"))
            return answers.bar(name, at, step, *prices, volume=float(point.member("v").amount()))

        made, meta = yield from self._series("/ohlcv-history", **asked, read=read)
        return answers.rows(answers.BARS, made, {**meta, "volume": "in the unit of the market"})

    def open_interest(self, **asked: Any) -> Flow[Rows[Any]]:
        """Open interest in USD by market."""

        def read(point: Node, name: str, at: int, step: int) -> dict[str, Any]:
            amount = float(point.member("c").amount())
            return {"symbol": name, "timestamp": at, "closes_at": at + step, "open_interest_usd": amount}

        made, meta = yield from self._series("/open-interest-history", **asked, read=read, convert_to_usd="true")
        return answers.rows(answers.OPEN_INTEREST, made, {**meta, "units": "usd"})


def symbols_of(symbol: object) -> list[str]:
    """The markets of a query, each once."""
    allowed = "a market of Coinalyze, such as 'BTCUSDT_PERP.A' (its exchanges have the codes), or several"
    names = symbol.split(",") if isinstance(symbol, str) else many(symbol)
    for name in names or [symbol]:
        if not isinstance(name, str) or "." not in name or not name.isprintable() or " " in name:
            msg = f"symbol: {name!r} is not allowed; allowed: {allowed}"
            raise BadQuery(msg, parameter="symbol")
    return list(dict.fromkeys(names or []))


def coinalyze_access(api_key: str | None, **options: Unpack[VendorOptions]) -> CoinalyzeDialect:
    """The dialect with its connections."""
    key, own = secret(api_key, "api_key", VARIABLE, "Coinalyze")
    return CoinalyzeDialect(
        Access(
            "Coinalyze",
            URL,
            keys=[("api_key", key)],
            has_own_key=own,
            **options,
        )
    )


@vendor_methods
class Coinalyze(BlockingVendor[CoinalyzeDialect]):
    """Coinalyze: liquidations, bars and open interest of single markets.

    A request that the plan of the key does not allow raises :class:`~liqdata.Refused`, which says what it needs; so
    does a missing or wrong key. Requests keep to the limit of the service.

    Parameters
    ----------
    api_key : str, optional
        Key of the service; ``$COINALYZE_API_KEY`` by default. Never shown.
    %(base_url)s
    %(options)s

    Raises
    ------
    BadQuery
        For a missing key, and for an option outside its bounds; nothing is sent.

    Examples
    --------
    >>> from liqdata import vendors
    >>> vendors.Coinalyze("key")
    Coinalyze('https://api.coinalyze.net/v1')
    """

    _connect = staticmethod(coinalyze_access)

    def history(
        self,
        symbol: str | Sequence[str],
        interval: CoinalyzeInterval | timedelta = "1h",
        *,
        start: Instant | None = None,
        end: Instant | None = None,
    ) -> Rows[Any]:
        """Liquidated USD by period and market.

        Parameters
        ----------
        symbol : str or sequence of str
            Markets of Coinalyze, such as ``BTCUSDT_PERP.A``. Each counts as one request.
        interval : str or timedelta
            Length of a period.
        start, end : int, datetime or str, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.

        Returns
        -------
        Rows
            ``timestamp`` (start of the period), ``symbol``, ``long_usd``, ``short_usd``, ``total_usd`` (exact, USD),
            oldest first; ``cnt``, ``largest_usd`` and ``covered`` are missing. Markets that the service leaves out are
            in ``meta["missing"]``.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.Coinalyze("key") as service:
        ...     try:
        ...         service.history("BTC")
        ...     except ValueError as error:
        ...         print(error)
        symbol: 'BTC' is not allowed; allowed: a market of Coinalyze, such as 'BTCUSDT_PERP.A' (its exchanges have the
        codes), or several
        """
        return self._run(
            self._dialect.history(symbol=symbol, interval=interval, start=start, end=end, now=int(time.time() * 1000))
        )

    def bars(
        self,
        symbol: str | Sequence[str],
        interval: CoinalyzeInterval | timedelta = "1h",
        *,
        start: Instant | None = None,
        end: Instant | None = None,
    ) -> Rows[Any]:
        """Price bars by market.

        Parameters
        ----------
        symbol : str or sequence of str
            Markets of Coinalyze, such as ``BTCUSDT_PERP.A``. Each counts as one request.
        interval : str or timedelta
            Length of a period.
        start, end : int, datetime or str, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.

        Returns
        -------
        Rows
            ``symbol``, ``timestamp`` (open), ``closes_at``, ``open``, ``high``, ``low``, ``close``, ``volume`` (in the
            unit of the market), ``interval``, oldest first.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.Coinalyze("key") as service:
        ...     try:
        ...         service.bars("BTC")
        ...     except ValueError as error:
        ...         print(error)
        symbol: 'BTC' is not allowed; allowed: a market of Coinalyze, such as 'BTCUSDT_PERP.A' (its exchanges have the
        codes), or several
        """
        return self._run(
            self._dialect.bars(symbol=symbol, interval=interval, start=start, end=end, now=int(time.time() * 1000))
        )

    def open_interest(
        self,
        symbol: str | Sequence[str],
        interval: CoinalyzeInterval | timedelta = "1h",
        *,
        start: Instant | None = None,
        end: Instant | None = None,
    ) -> Rows[Any]:
        """Open interest by market, in USD.

        Parameters
        ----------
        symbol : str or sequence of str
            Markets of Coinalyze, such as ``BTCUSDT_PERP.A``. Each counts as one request.
        interval : str or timedelta
            Length of a period.
        start, end : int, datetime or str, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.

        Returns
        -------
        Rows
            ``symbol``, ``timestamp`` (start of the period), ``closes_at``, ``open_interest_usd`` (at its end), oldest
            first; ``exchange`` is missing.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.Coinalyze("key") as service:
        ...     try:
        ...         service.open_interest("BTC")
        ...     except ValueError as error:
        ...         print(error)
        symbol: 'BTC' is not allowed; allowed: a market of Coinalyze, such as 'BTCUSDT_PERP.A' (its exchanges have the
        codes), or several
        """
        return self._run(
            self._dialect.open_interest(
                symbol=symbol, interval=interval, start=start, end=end, now=int(time.time() * 1000)
            )
        )
