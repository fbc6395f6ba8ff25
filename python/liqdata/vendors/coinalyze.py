"""Coinalyze."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from liqdata.calls.arguments import many
from liqdata.errors import BadQuery, Refused

from . import answers
from .refusal import get, scalar, words
from .reply import Get, Node, Reply
from .service import Access, BlockingVendor, Dialect, meta_of, secret, vendor_methods
from .vocabulary import bounds, coin_of, exchange_of, is_pair, means, period, refuse_others

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta
    from typing import Unpack

    from liqdata.results.rows import Rows
    from liqdata.types import Bound

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
_MARKET = "a market of Coinalyze, such as 'BTCUSDT_PERP.A' (its exchanges have the codes)"
_POINTS = 1500  # the vendor promises at least this many


def verdict(body: Node) -> tuple[str, str] | None:
    """The reason of a refusal in a body; ``None`` for an array, which is data."""
    if not isinstance(body.value, dict):
        return None
    return scalar(body.optional("code")), words(body, "message", "msg", "error")


class Markets(NamedTuple):
    """The markets of a query."""

    names: list[str]
    coin: str | None
    """The coin or pair that was asked for; ``None`` if markets were."""
    exchanges: dict[str, str]
    """The exchange of each market of a coin."""


class CoinalyzeDialect(Dialect):
    """The questions of Coinalyze."""

    def __init__(self, access: Access) -> None:
        super().__init__(access)
        self._listed: list[tuple[str, str, str, str]] | None = None

    def _get(self, path: str, query: dict[str, str], weight: int = 1) -> Flow[Reply]:
        return get(self.access, Get(path, query, "a key", weight), verdict)

    def _list(self) -> Flow[list[tuple[str, str, str, str]]]:
        """The market, coin, quote and exchange of all futures; asked once."""
        if self._listed is None:
            reply = yield from self._get("/exchanges", {})
            names = {
                row.member("code").text(): exchange_of(row.member("name").text(), {})[0] for row in reply.json().items()
            }
            reply = yield from self._get("/future-markets", {})
            self._listed = [
                (
                    row.member("symbol").text(),
                    coin_of(row.member("base_asset").text()),
                    row.member("quote_asset").text().upper(),
                    names.get(row.member("exchange").text(), row.member("exchange").text()),
                )
                for row in reply.json().items()
            ]
        return self._listed

    def exchanges_of(self, coin: str) -> Flow[list[str]]:
        """The exchanges with futures of a coin."""
        listed = yield from self._list()
        return sorted({venue for _, base, _, venue in listed if base == coin})

    def _markets(self, symbol: object, exchange: str | None) -> Flow[Markets]:
        """The given markets, or those of a coin or pair."""
        names = symbol.split(",") if isinstance(symbol, str) else many(symbol)
        if not isinstance(symbol, str) or any("." in name for name in names or []):
            if exchange is not None:
                msg = f"exchange: {exchange!r} is given with markets, which name theirs; allowed: None, or a coin"
                raise BadQuery(msg, parameter="exchange")
            return Markets(symbols_of(symbol), None, {})
        coin, pair = coin_of(symbol), is_pair(symbol)
        ours = None if exchange is None else exchange_of(exchange, {})[0]
        listed = yield from self._list()
        found = {
            name: venue
            for name, base, quote, venue in listed
            if base == coin and (not pair or means(symbol, base + quote)) and ours in {None, venue}
        }
        if not found:
            venues = sorted({venue for _, base, _, venue in listed if base == coin})
            of = f"{symbol!r} on {ours}" if ours else repr(symbol)
            known = f"one of {', '.join(map(repr, venues))}" if venues and not pair else _MARKET
            name = "exchange" if venues and ours and not pair else "symbol"
            raise BadQuery(f"{name}: Coinalyze has no market of {of}; allowed: {known}", parameter=name)
        return Markets(list(found), symbol.strip() if pair else coin, found)

    def _series(
        self,
        path: str,
        *,
        markets: Markets,
        interval: Any,
        start: Any,
        end: Any,
        now: int,
        read: Any,
        is_late: bool = False,
        **more: str,
    ) -> Flow[tuple[list[dict[str, Any]], dict[str, Any]]]:
        """The rows of a path for each market, from the start on and before the end, oldest first.

        The timestamp of a row that ``is_late`` is the end of its period, not its start.
        """
        names = markets.names
        step, theirs = period(interval, _INTERVALS)
        low, high = bounds(start, end)
        late = step if is_late else 0
        last = (now if high is None else high) - late
        first = last - _POINTS * step if low is None else max(low - late, 0)
        made: list[dict[str, Any]] = []
        missing: list[str] = []
        replies: list[Reply] = []
        for at in range(0, len(names), _MOST_SYMBOLS):
            part = names[at : at + _MOST_SYMBOLS]
            query = {
                "symbols": ",".join(part), "interval": theirs,
                "from": str(first // 1000), "to": str(last // 1000), **more,
            }  # fmt: skip
            reply = yield from self._get(path, query, len(part))
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
                rows = [read(point, one, point.member("t").past(), step) for point in sent[one]]
                rows.sort(key=lambda row: row["timestamp"])
                made += answers.within(rows, low, high, reply.answered_at)
        if missing and len(missing) == len(names) and markets.coin is None:
            msg = f"Coinalyze left out {', '.join(map(repr, missing))}: it has no such market, or no data in this time"
            last_body = replies[-1].body[:2048].decode("utf-8", "replace")
            raise Refused(msg, status=replies[-1].status, body=last_body)
        made.sort(key=lambda row: row["timestamp"])
        about: dict[str, Any] = {"missing": missing} if missing and markets.coin is None else {}
        if markets.coin is not None:
            about["markets"] = [name for name in names if name not in missing]
        return made, meta_of(self.access, replies[-1], **about)

    def history(self, symbol: Any, exchange: str | None, **asked: Any) -> Flow[Rows[Any]]:
        """Liquidated USD by period, of a coin added up, or by market."""

        def read(point: Node, name: str, at: int, _: int) -> dict[str, Any]:
            amounts = answers.totals(point.member("l").amount(), point.member("s").amount())
            return {"timestamp": at, "coin": _coin_of_market(name), "symbol": name, **amounts}

        _check(asked)
        markets = yield from self._markets(symbol, exchange)
        made, meta = yield from self._series(
            "/liquidation-history", markets=markets, **asked, read=read, convert_to_usd="true"
        )
        if markets.coin is not None:
            made = answers.added_up(made, markets.coin)
        return answers.history(made, {**meta, "units": "usd"})

    def bars(self, symbol: Any, exchange: str | None, **asked: Any) -> Flow[Rows[Any]]:
        """Price bars by market."""
        _check(asked)
        markets = yield from self._markets(symbol, exchange)

        def read(point: Node, name: str, at: int, step: int) -> dict[str, Any]:
            prices = (point.member(part).price() for part in ("o", "h", "l", "c"))
            made = answers.bar(name, at, step, *prices, volume=float(point.member("v").amount()))
            return {**made, "exchange": markets.exchanges.get(name)}

        made, meta = yield from self._series("/ohlcv-history", markets=markets, **asked, read=read)
        return answers.rows(answers.EXCHANGE_BARS, made, {**meta, "volume": "in the unit of the market"})

    def open_interest(self, symbol: Any, exchange: str | None, **asked: Any) -> Flow[Rows[Any]]:
        """Open interest in USD by market."""
        _check(asked)
        markets = yield from self._markets(symbol, exchange)

        def read(point: Node, name: str, at: int, step: int) -> dict[str, Any]:
            usd = float(point.member("c").amount())
            return answers.reading(name, markets.exchanges.get(name), at, step, usd)

        made, meta = yield from self._series(
            "/open-interest-history", markets=markets, **asked, read=read, is_late=True, convert_to_usd="true"
        )
        return answers.rows(answers.OPEN_INTEREST, made, {**meta, "units": "usd"})


def _check(asked: dict[str, Any]) -> None:
    """Check the time of a query before anything is sent."""
    period(asked["interval"], _INTERVALS)
    bounds(asked["start"], asked["end"])


def _coin_of_market(name: str) -> str:
    """The coin of a market, such as ``BTCUSDT_PERP.A``."""
    return coin_of(name.partition(".")[0].removesuffix("_PERP"))


def symbols_of(symbol: object) -> list[str]:
    """The markets of a query, each once."""
    names = symbol.split(",") if isinstance(symbol, str) else many(symbol)
    for name in names or [symbol]:
        if not isinstance(name, str) or "." not in name or not name.isprintable() or " " in name:
            msg = f"symbol: {name!r} is not allowed; allowed: {_MARKET}, or several"
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
        *,
        exchange: str | None = None,
        interval: CoinalyzeInterval | timedelta = "1h",
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """Liquidated USD by period.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``, or pair; or markets of Coinalyze, such as ``BTCUSDT_PERP.A``. Each market counts as
            one request, and the list of markets is asked for once.
        exchange : str, optional
            Only the markets of a coin on this exchange.
        interval : str or timedelta
            Length of a period.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``timestamp`` (start of the period), ``coin``, ``symbol``, ``long_usd``, ``short_usd``, ``total_usd``
            (exact, USD), oldest first; ``cnt``, ``largest_usd`` and ``covered`` are missing. A coin or pair is the sum
            over its markets, which are in ``meta["markets"]``; given markets that the service leaves out are in
            ``meta["missing"]``.

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
        ...         service.history("BTC", interval="2m")
        ...     except ValueError as error:
        ...         print(error)
        interval: '2m' is not allowed; allowed: '1m', '5m', '15m', '30m', '1h', '2h', '4h', '6h', '12h', '1d'
        """
        refuse_others("Coinalyze", "history", others)
        return self._run(
            self._dialect.history(
                symbol, exchange, interval=interval, start=start, end=end, now=int(time.time() * 1000)
            )
        )

    def bars(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        exchange: str | None = None,
        interval: CoinalyzeInterval | timedelta = "1h",
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """Price bars by market.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``, or pair; or markets of Coinalyze, such as ``BTCUSDT_PERP.A``. Each market counts as
            one request, and the list of markets is asked for once.
        exchange : str, optional
            Only the markets of a coin on this exchange.
        interval : str or timedelta
            Length of a period.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``symbol`` (the market), ``exchange``, ``timestamp`` (open), ``closes_at``, ``open``, ``high``, ``low``,
            ``close``, ``volume`` (in the unit of the market), ``interval``, oldest first; ``exchange`` is missing for
            given markets. Only closed bars, as everywhere; ``end`` is when the last one closes at most.

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
        ...         service.bars("BTC", interval="2m")
        ...     except ValueError as error:
        ...         print(error)
        interval: '2m' is not allowed; allowed: '1m', '5m', '15m', '30m', '1h', '2h', '4h', '6h', '12h', '1d'
        """
        refuse_others("Coinalyze", "bars", others)
        return self._run(
            self._dialect.bars(symbol, exchange, interval=interval, start=start, end=end, now=int(time.time() * 1000))
        )

    def open_interest(
        self,
        symbol: str | Sequence[str] = "BTC",
        *,
        exchange: str | None = None,
        interval: CoinalyzeInterval | timedelta = "1h",
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """Open interest by market, in USD.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``, or pair; or markets of Coinalyze, such as ``BTCUSDT_PERP.A``. Each market counts as
            one request, and the list of markets is asked for once.
        exchange : str, optional
            Only the markets of a coin on this exchange.
        interval : str or timedelta
            Length of a period.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``symbol``, ``timestamp`` (end of the period, from which on the reading is known), ``closes_at`` (the same),
            ``open_interest_usd``, oldest first; ``exchange`` is missing for given markets. The reading of the open
            period is left out.

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
        ...         service.open_interest("BTC", interval="2m")
        ...     except ValueError as error:
        ...         print(error)
        interval: '2m' is not allowed; allowed: '1m', '5m', '15m', '30m', '1h', '2h', '4h', '6h', '12h', '1d'
        """
        refuse_others("Coinalyze", "open_interest", others)
        return self._run(
            self._dialect.open_interest(
                symbol, exchange, interval=interval, start=start, end=end, now=int(time.time() * 1000)
            )
        )
