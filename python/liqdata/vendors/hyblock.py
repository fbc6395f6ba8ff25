"""Hyblock Capital."""

from __future__ import annotations

import itertools
import math
import time
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from liqdata.calls.arguments import datetime_of
from liqdata.errors import Refused, UnexpectedReply
from liqdata.results.heatmap import Heatmap

from . import answers
from .answers import Levels
from .paging import next_start
from .refusal import get, scalar, words
from .reply import NOT_AHEAD, Get, Node, Reply
from .service import Access, BlockingVendor, Dialect, meta_of, secret, vendor_methods
from .vocabulary import bounds, coin_alone, coin_of, exchange_of, period, refuse_others, spelled

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta
    from typing import Unpack

    from liqdata.results.map import LiquidationMap
    from liqdata.results.rows import Rows
    from liqdata.types import Bound

    from .service import Flow, VendorOptions

__all__ = ["Hyblock"]

HyblockRange: TypeAlias = Literal["12h", "7d", "1w", "1M", "30d", "3M", "90d", "6M", "180d", "1y", "2y"]
HyblockMapRange: TypeAlias = Literal["1d", "24h", "7d", "1w", "1M", "30d", "all"]
HyblockInterval: TypeAlias = Literal["1m", "5m", "15m", "30m", "1h", "4h", "1d"]

URL = "https://api.hyblockcapital.com/v2"
TOKEN_URL = "https://auth-api.hyblockcapital.com"  # noqa: S105 - an address
TOKEN_PATH = "/oauth2/token"  # noqa: S105 - a path
_DAY = 24 * 60 * 60 * 1000
_RANGES = {"12h": "12h", "7d": "7d", "1M": "1m", "3M": "3m", "6M": "6m", "1y": "1y", "2y": "2y"}
_ALL = "all"
_MAP_RANGES = {"1d": _DAY, "7d": 7 * _DAY, "1M": 30 * _DAY, _ALL: 0}
_INTERVALS = {one: one for one in ("1m", "5m", "15m", "30m", "1h", "4h", "1d")}
_EXCHANGES = {one: one for one in ("binance", "bybit", "okx", "bitmex", "bitget", "hyperliquid", "deribit")}
_SIDES = "as the vendor spells them; whether they mean the position is not documented"
_EARLY = 60  # seconds before its end at which a token is replaced
_MOST = 1000
_ROW = {"timestamp", "openDate"}
_DATA = {"data", "access_token"} | _ROW


def verdict(body: Node) -> tuple[str, str] | None:
    """The reason of a refusal in a body; ``None`` if the body has data."""
    if not isinstance(body.value, dict) or not _DATA.isdisjoint(body.value):
        return None
    return scalar(body.optional("code")), words(body, "message", "error_description", "error", "msg")


class HyblockAccess(Access):
    """The address of the vendor, with a token that is fetched when it is needed."""

    def __init__(self, ids: tuple[str, str, str], **options: Any) -> None:
        self._client_id, self._client_secret, self._api_key = ids
        super().__init__("Hyblock", URL, keys=[("x-api-key", self._api_key)], hidden=self._client_secret, **options)
        self._auth = self.connect(options["base_url"] or TOKEN_URL, ())
        self._ends = -math.inf

    def begin(self, request: Get) -> Any:
        """Start a call; the path of the token is a POST to its own address."""
        if request.path != TOKEN_PATH:
            return super().begin(request)
        form = [
            ("grant_type", "client_credentials"), ("client_id", self._client_id),
            ("client_secret", self._client_secret),
        ]  # fmt: skip

        def begin(bridge: Any = None, token: int = 0) -> Any:
            return self._auth.begin_document(TOKEN_PATH, [], 1, form, bridge, token)

        return begin

    def close(self) -> None:
        """Close the connections when running calls have ended."""
        self._auth.close()
        super().close()

    def token(self, *, renew: bool) -> Flow[None]:
        """Fetch a token, unless the last one is still good."""
        if not renew and time.monotonic() < self._ends:
            return
        request = Get(TOKEN_PATH, {}, "the client id and the client secret")
        reply = yield from get(self, request, verdict)
        try:
            data = reply.json()
        except UnexpectedReply:
            msg = f"{TOKEN_PATH}: the body is not JSON"  # without its text, which may have a token
            raise UnexpectedReply(msg, path="") from None
        bearer = data.member("access_token").text()
        seconds = data.member("expires_in").whole()
        self._secrets.append(bearer)
        closed = self.core.closed
        self.core = self.connect(self._url, [("x-api-key", self._api_key), ("Authorization", f"Bearer {bearer}")])
        if closed:
            self.core.close()
        self._ends = time.monotonic() + seconds - _EARLY


class HyblockDialect(Dialect):
    """The questions of Hyblock."""

    def __init__(self, access: HyblockAccess) -> None:
        super().__init__(access)
        self._tokens = access

    def _get(self, path: str, **query: str | None) -> Flow[Reply]:
        given = {name: value for name, value in query.items() if value is not None}
        request = Get(f"/{path}", given, "a plan with this endpoint")
        yield from self._tokens.token(renew=False)
        try:
            return (yield from get(self.access, request, verdict))
        except Refused as error:
            if error.status != 401:  # noqa: PLR2004 - the HTTP status
                raise
        # A token may end early; a new one decides whether the key is refused.
        yield from self._tokens.token(renew=True)
        return (yield from get(self.access, request, verdict))

    def heatmap(self, symbol: str, range: str, exchange: str | None) -> Flow[Heatmap]:
        """A heatmap of a coin on one exchange or several."""
        import numpy as np

        ours, theirs = spelled(range, "range", _RANGES)
        names, spelling = _exchanges(exchange)
        coin = coin_of(symbol)
        reply = yield from self._get("liquidationHeatmap", exchange=spelling, lookback=theirs, coin=coin)
        cells: dict[tuple[tuple[float, float], int], float] = {}
        sides: dict[str, float] = {}
        columns: dict[int, Node] = {}
        for row in data_of(reply):
            low, high = row.member("startingPrice").price(), row.member("endingPrice").price()
            if high <= low:
                raise row.member("endingPrice").wrong(f"a price above startingPrice, {low:.12g}")
            dated = row.member("timestamp")
            at, amount = dated.instant(), float(row.member("size").amount())
            columns.setdefault(at, dated)
            side = row.member("side").side().lower()
            cells[(low, high), at] = cells.get(((low, high), at), 0.0) + amount
            sides[side] = sides.get(side, 0.0) + amount
        if not cells:
            msg = "data: is empty; allowed: at least one cell"
            raise UnexpectedReply(msg, path="data")
        bins = sorted({where for where, _ in cells})
        times = sorted(columns)
        # A time may be the end of its column, which is then still open.
        step = min((after - before for before, after in itertools.pairwise(times)), default=0)
        if times[-1] - step > reply.latest:
            raise columns[times[-1]].wrong(NOT_AHEAD)
        answers.bounded(len(bins), len(times), "data")
        matrix = np.zeros((len(bins), len(times)))
        rows = {where: place for place, where in enumerate(bins)}
        places = {at: place for place, at in enumerate(times)}
        for (where, at), amount in cells.items():
            matrix[rows[where], places[at]] = amount
        meta = meta_of(self.access, reply, exchanges=names, units="relative", sides=_SIDES, by_side=sides)
        return Heatmap(
            symbol=coin, range=ours, model=0, updated_at=datetime_of(reply.answered_at), current_price=math.nan,
            prices=np.array([(low + high) / 2 for low, high in bins]), times=np.array(times, dtype="datetime64[ms]"),
            matrix=matrix, meta={**meta, "bins": np.array(bins), "columns": answers.AS_SENT},
        )  # fmt: skip

    def liqmap(self, symbol: str, range: str, exchange: str | None) -> Flow[LiquidationMap]:
        """The open levels of a coin by leverage."""
        ours, _ = spelled(range, "range", dict.fromkeys(_MAP_RANGES, ""))
        names, spelling = _exchanges(exchange)
        coin = coin_of(symbol)
        reply = yield from self._get("liquidationLevels", coin=coin, exchange=spelling)
        levels = Levels()
        for row in data_of(reply):
            if ours != _ALL:
                created, at = (row.member(name).past() for name in ("creationDate", "timestamp"))
                if at - created > _MAP_RANGES[ours]:
                    continue
            leverage = row.member("leverage").leverage()
            levels.add(
                row.member("price").price(), row.member("size").amount(), leverage, row.member("side").side().lower()
            )
        meta = meta_of(self.access, reply, exchanges=names, units="relative", sides=_SIDES)
        return levels.map(symbol=coin, range=ours, updated_at=reply.answered_at, price=math.nan, meta=meta)

    def history(self, symbol: str, exchange: str | None, interval: Any, *, start: Any, end: Any) -> Flow[Rows[Any]]:
        """Liquidations by period."""
        first, last = bounds(start, end)
        _, theirs = period(interval, _INTERVALS)
        asked = first
        coin = coin_alone(symbol, "Hyblock", "")
        made: dict[int, dict[str, Any]] = {}
        while True:
            reply = yield from self._get(
                "liquidation", coin=coin, timeframe=theirs, sort="asc",
                exchange=None if exchange is None else exchange_of(exchange, _EXCHANGES)[1],
                startTime=None if first is None else str(first // 1000),
                endTime=None if last is None else str(last // 1000), limit=str(_MOST),
            )  # fmt: skip
            page = [_period(row, coin) for row in data_of(reply)]
            first = next_start(made, page, first, last, full=len(page) >= _MOST)
            if first is None:
                break
            first += 999  # the service counts seconds
        wanted = answers.within((made[at] for at in sorted(made)), asked, last, reply.answered_at)
        return answers.history(wanted, meta_of(self.access, reply, units="usd"))


def _period(row: Node, coin: str) -> dict[str, Any]:
    """The totals of a period."""
    long, short = (row.member(name).amount() for name in ("longLiquidation", "shortLiquidation"))
    return {"timestamp": row.member("openDate").past(), "symbol": coin, **answers.totals(long, short)}


def _exchanges(exchange: str | None) -> tuple[list[str], str]:
    """Our names of an exchange, or of all known ones, and the list as the vendor spells it."""
    found = [exchange_of(one, _EXCHANGES) for one in (_EXCHANGES if exchange is None else [exchange])]
    return [name for name, _ in found], ",".join(spelling for _, spelling in found)


def data_of(reply: Reply) -> list[Node]:
    """The rows of a reply: in an envelope, in an array, or one row alone."""
    body = reply.json()
    if isinstance(body.value, dict) and "data" not in body.value and not _ROW.isdisjoint(body.value):
        return [body]
    return (body.member("data") if isinstance(body.value, dict) else body).items()


def hyblock_access(
    client_id: str | None, client_secret: str | None, api_key: str | None, **options: Unpack[VendorOptions]
) -> HyblockDialect:
    """The dialect with its connections."""
    given = [
        secret(value, name, f"HYBLOCK_{name.upper()}", "Hyblock")
        for name, value in (("client_id", client_id), ("client_secret", client_secret), ("api_key", api_key))
    ]
    ids = (given[0][0], given[1][0], given[2][0])
    return HyblockDialect(
        HyblockAccess(
            ids,
            has_own_key=any(own for _, own in given),
            **options,
        )
    )


@vendor_methods
class Hyblock(BlockingVendor[HyblockDialect]):
    """Hyblock Capital: heatmaps, open levels and history.

    A request that the plan of the key does not allow raises :class:`~liqdata.Refused`, which says what it needs; so
    does a missing or wrong key. Requests keep to the limit of the service.

    Parameters
    ----------
    client_id : str, optional
        Id of the client; ``$HYBLOCK_CLIENT_ID`` by default.
    client_secret : str, optional
        Secret of the client; ``$HYBLOCK_CLIENT_SECRET`` by default. Never shown.
    api_key : str, optional
        Key of the service; ``$HYBLOCK_API_KEY`` by default. Never shown.
    %(base_url)s
    %(options)s

    Raises
    ------
    BadQuery
        For a missing key, and for an option outside its bounds; nothing is sent.

    Examples
    --------
    >>> from liqdata import vendors
    >>> vendors.Hyblock("id", "key", "key")
    Hyblock('https://api.hyblockcapital.com/v2')
    """

    def __init__(
        self,
        client_id: str | None = None,
        client_secret: str | None = None,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        timeout: float = 10.0,
        retries: int = 4,
        proxy: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._use(
            hyblock_access(
                client_id,
                client_secret,
                api_key,
                base_url=base_url,
                timeout=timeout,
                retries=retries,
                proxy=proxy,
                headers=headers,
            )
        )

    def heatmap(
        self, symbol: str = "BTC", range: HyblockRange = "7d", *, exchange: str | None = None, **others: Any
    ) -> Heatmap:
        """Liquidation heatmap of a coin.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        range : str
            Range of the map.
        exchange : str, optional
            Only this exchange; all known ones by default, added up.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Heatmap
            ``units`` is ``relative``: cells compare within the map only. Axes are those of the service, ``times``
            as they are sent, and a cell that is not sent is 0. ``meta["bins"]`` has the low and high end of each row,
            ``meta["by_side"]`` the sums of the sides.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.Hyblock("id", "key", "key") as service:
        ...     try:
        ...         service.heatmap("BTC", "2h")
        ...     except ValueError as error:
        ...         print(error)
        range: '2h' is not allowed; allowed: '12h', '7d', '1M', '3M', '6M', '1y', '2y'
        """
        refuse_others("Hyblock", "heatmap", others)
        return self._run(self._dialect.heatmap(symbol=symbol, range=range, exchange=exchange))

    def liqmap(
        self, symbol: str = "BTC", range: HyblockMapRange = "1d", *, exchange: str | None = None, **others: Any
    ) -> LiquidationMap:
        """Open liquidation levels by price and leverage.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        range : str
            Only levels that were created in this time before now.
        exchange : str, optional
            Only this exchange; all known ones by default, added up.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        LiquidationMap
            ``units`` is ``relative``; ``current_price`` is NaN, because the service sends none.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.Hyblock("id", "key", "key") as service:
        ...     try:
        ...         service.liqmap("")
        ...     except ValueError as error:
        ...         print(error)
        symbol: '' is not allowed; allowed: a coin, such as BTC, or a pair, such as BTCUSDT
        """
        refuse_others("Hyblock", "liqmap", others)
        return self._run(self._dialect.liqmap(symbol=symbol, range=range, exchange=exchange))

    def history(
        self,
        symbol: str,
        *,
        exchange: str | None = None,
        interval: HyblockInterval | timedelta = "1h",
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """Liquidations by period.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, for the sum over its markets.
        exchange : str, optional
            Only this exchange.
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
            (exact, USD), oldest first; ``cnt``, ``largest_usd`` and ``covered`` are missing.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.Hyblock("id", "key", "key") as service:
        ...     try:
        ...         service.history("BTC", interval="2m")
        ...     except ValueError as error:
        ...         print(error)
        interval: '2m' is not allowed; allowed: '1m', '5m', '15m', '30m', '1h', '4h', '1d'
        """
        refuse_others("Hyblock", "history", others)
        return self._run(
            self._dialect.history(symbol=symbol, exchange=exchange, interval=interval, start=start, end=end)
        )
