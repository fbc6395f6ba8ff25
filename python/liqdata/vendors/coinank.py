"""CoinAnk."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from liqdata.calls.arguments import usd
from liqdata.errors import BadQuery, Refused, UnexpectedReply

from . import answers
from .answers import Levels
from .paging import ORDERS_AT_ONCE, OrderPages, earlier_end, order_of
from .refusal import get, is_unknown, scalar, words
from .reply import Get, Node, Reply
from .service import Access, BlockingVendor, Dialect, meta_of, secret, vendor_methods
from .vocabulary import (
    bounds,
    coin_alone,
    coin_of,
    exchange_of,
    is_pair,
    pair_of,
    period,
    refuse_others,
    spelled,
    whole,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta
    from decimal import Decimal
    from typing import Unpack

    import numpy as np
    import numpy.typing as npt

    from liqdata.results.heatmap import Heatmap
    from liqdata.results.map import LiquidationMap
    from liqdata.results.rows import Rows
    from liqdata.types import Bound

    from .service import Flow, VendorOptions

__all__ = ["CoinAnk"]

CoinAnkRange: TypeAlias = Literal["12h", "24h", "1d", "3d", "7d", "1w", "2w", "1M", "30d", "3M", "6M", "1y"]
CoinAnkMapRange: TypeAlias = Literal["1d", "24h", "7d", "1w"]
CoinAnkInterval: TypeAlias = Literal["5m", "15m", "30m", "1h", "4h", "12h", "1d"]
CoinAnkWindow: TypeAlias = Literal["5m", "15m", "30m", "1h", "4h", "12h", "24h"]

URL = "https://open-api.coinank.com"
VARIABLE = "COINANK_API_KEY"
_RANGES = {
    "12h": "12h", "24h": "1d", "3d": "3d", "7d": "1w", "2w": "2w", "1M": "1M", "3M": "3M", "6M": "6M", "1y": "1Y",
}  # fmt: skip
_MAP_RANGES = {"1d": "1d", "7d": "1w"}
_INTERVALS = {one: one for one in ("5m", "15m", "30m", "1h", "4h", "12h", "1d")}
_EXCHANGES = {
    "binance": "Binance", "okx": "Okex", "bybit": "Bybit", "bitget": "Bitget", "htx": "Huobi", "gate": "Gate",
    "hyperliquid": "Hyperliquid", "aster": "Aster", "lighter": "Lighter",
}  # fmt: skip
_VIP1, _VIP3, _VIP4 = "the plan VIP1", "the plan VIP3", "the plan VIP4"
_MOST = 500
_CELLS = {"cells": ("data",), "prices": ("priceArray",), "times": ("chartTimeArray",), "updated": ("updateTime",)}
_SIDES = "of the position, as the vendor states"
_NOT_LEVELS = {"symbol", "lastPrice", "lastIndex", "prices"}
_TIER = re.compile(r"x\d{1,4}", re.ASCII)


def verdict(body: Node) -> tuple[str, str] | None:
    """The code and the reason of a refusal in a body; ``None`` if the body does not refuse."""
    if not isinstance(body.value, dict):
        return None
    code = scalar(body.optional("code"))
    if code in {"1", ""} and body.value.get("success") is not False:
        inner = body.optional("data")
        return verdict(inner) if inner is not None and _is_envelope(inner) else None
    reason = words(body, "msg", "message", "error")
    if code == "-7":
        reason += " (the clock of this machine may be wrong: the vendor says that a time stamp has expired)"
    return code, reason


def _is_envelope(node: Node) -> bool:
    return isinstance(node.value, dict) and "success" in node.value and "code" in node.value


def unwrap(body: Node) -> Node:
    """The data of a reply, out of one or two envelopes."""
    if isinstance(body.value, list) and len(body.value) == 1:
        body = body.items()[0]  # workers that pass replies on wrap them
    if "code" not in body.members() and "data" not in body.members():
        success = body.member("success")
        if success.value is not True:
            raise success.wrong("true")
        return body
    code = body.member("code")
    if scalar(code) != "1":
        raise code.wrong('"1"')
    data = body.member("data")
    return unwrap(data) if _is_envelope(data) else data


class CoinAnkDialect(Dialect):
    """The questions of CoinAnk."""

    def _get(self, path: str, needs: str, **query: str | None) -> Flow[Reply]:
        # The vendor answers undeclared parameters with empty data, so only declared ones are sent.
        given = {name: value for name, value in query.items() if value is not None}
        return get(self.access, Get(f"/api/{path}", given, needs), verdict)

    def heatmap(self, symbol: str, range: str, exchange: str) -> Flow[Heatmap]:
        """A heatmap of a pair."""
        ours, theirs = spelled(range, "range", _RANGES)
        name, spelling = exchange_of(exchange, _EXCHANGES)
        pair = pair_of(symbol)
        reply = yield from self._get("liqMap/getLiqHeatMap", _VIP4, exchange=spelling, symbol=pair, interval=theirs)
        return answers.heatmap(
            reply, names=_CELLS, root=("liqHeatMap",), symbol=coin_of(symbol), range=ours, model=0, candles=False,
            meta=meta_of(self.access, reply, exchange=name, pair=pair, units="relative"), unwrap=unwrap,
        )  # fmt: skip

    def liqmap(self, symbol: str, range: str, exchange: str | None) -> Flow[LiquidationMap]:
        """A map of a coin by exchange, or of a pair by leverage."""
        ours, theirs = spelled(range, "range", _MAP_RANGES)
        coin, about = coin_of(symbol), {}
        if exchange is None:
            reply = yield from self._get("liqMap/getAggLiqMap", _VIP4, baseCoin=coin, interval=theirs)
        else:
            name, spelling = exchange_of(exchange, _EXCHANGES)
            about = {"exchange": name, "pair": pair_of(symbol)}
            reply = yield from self._get(
                "liqMap/getLiqMap", _VIP4, symbol=about["pair"], exchange=spelling, interval=theirs
            )
        data = unwrap(reply.json())
        axis = data.member("prices")
        prices = answers.prices_of(axis)
        last = data.optional("lastPrice")
        price = math.nan if last is None else last.price()
        longs = _longs(data, prices, price)
        levels = Levels()
        for name, node in data.members().items():
            is_level = _TIER.fullmatch(name) if exchange else name in _EXCHANGES.values()
            if name in _NOT_LEVELS or not (is_level or isinstance(node.value, list)):
                continue
            amounts = node.items()
            if len(amounts) != prices.size:
                raise node.wrong(f"{prices.size} amounts, one for each price")
            tier: int | None = None
            of_exchange: str | None = None
            if exchange is None:
                of_exchange = exchange_of(name, {})[0]
            elif is_level:
                tier = int(name[1:])
            else:
                raise node.wrong("names such as x25, which state a leverage")
            for place, (at, amount) in enumerate(zip(prices.tolist(), amounts, strict=True)):
                side = "" if longs is None else "long" if place < longs else "short"
                levels.add(at, amount.amount(), tier, side, exchange=of_exchange)
        if not levels.cells:
            what = "tier" if exchange else "exchange"
            msg = f"{data.path}: has no amounts; allowed: an array of amounts for each {what}"
            raise UnexpectedReply(msg, path=data.path)
        return levels.map(
            symbol=coin, range=ours, updated_at=reply.answered_at, price=price,
            meta=meta_of(self.access, reply, **about, units="relative", sides="by position to the price"),
        )  # fmt: skip

    def orders(
        self, symbol: str, exchange: str | None, limit: int, offset: int, *, side: str | None, min_usd: Any, start: Any,
        end: Any,
    ) -> Flow[Rows[Any]]:  # fmt: skip
        """The newest orders of a coin or a pair."""
        most, skipped = whole(limit, "limit", 1, ORDERS_AT_ONCE), whole(offset, "offset", 0, ORDERS_AT_ONCE)
        patience = self.access.options["timeout"]
        pages = coinank_pages(symbol, exchange, start, end, skipped + most + 1, patience=patience)
        found: list[dict[str, Any]] = []
        meta: dict[str, Any] = {}
        while not pages.done:
            page = yield from self.page(symbol, pages, side, min_usd)
            meta = page.meta if page is not None else meta
            found += pages.accept(page)
        more = {"missing": pages.missing} if pages.missing else {}
        return answers.page_of_orders(found, skipped, most, {**meta, **more}, is_cut=pages.cut)

    def page(self, symbol: str, pages: OrderPages, side: str | None, min_usd: Any) -> Flow[Rows[Any] | None]:
        """The next page of orders, newest first; ``None`` if the vendor does not have the exchange."""
        _, spelling = exchange_of(pages.exchange, _EXCHANGES)
        wanted = None if side is None else spelled(side, "side", {"LONG": "long", "SHORT": "short"})[1]
        try:
            reply = yield from self._get(
                "liquidation/orders", _VIP3, baseCoin=coin_of(symbol), exchange=spelling, side=wanted,
                amount=usd(0 if min_usd is None else min_usd),
                endTime=None if pages.end is None else str(pages.end),
            )  # fmt: skip
        except Refused as error:
            if pages.is_alone or not is_unknown(error):
                raise
            return None
        made = pages.read(unwrap(reply.json()).items(), _order)
        return answers.rows(answers.ORDERS, made, meta_of(self.access, reply, sides=_SIDES))

    def history(self, symbol: str, exchange: str | None, interval: Any, start: Any, end: Any) -> Flow[Rows[Any]]:
        """Liquidated USD by period, of a coin or of a pair on one exchange."""
        first, last = bounds(start, end)
        _, theirs = period(interval, _INTERVALS)
        if exchange is None:
            name = coin_alone(symbol, "CoinAnk", ", or one exchange")
            path, query = "liquidation/aggregated-history", {"baseCoin": name}
        elif is_pair(symbol):
            name = pair_of(symbol)
            path, query = "liquidation/history", {"exchange": exchange_of(exchange, _EXCHANGES)[1], "symbol": name}
        else:
            msg = "exchange: CoinAnk has only pairs of one exchange, not coins; allowed: None, or a pair instead of "
            raise BadQuery(f"{msg}{symbol!r}", parameter="exchange")
        made: dict[int, dict[str, Any]] = {}
        until = last
        while True:
            reply = yield from self._get(
                path, _VIP1, **query, interval=theirs, endTime=None if until is None else str(until), size=str(_MOST)
            )
            page = [_period(row, name, is_sum=exchange is None) for row in unwrap(reply.json()).items()]
            until = earlier_end(made, page, first, until)
            if until is None:
                break
        wanted = answers.within((made[at] for at in sorted(made)), first, last, reply.answered_at)
        return answers.history(wanted, meta_of(self.access, reply, units="usd"))


def _period(row: Node, name: str, *, is_sum: bool) -> dict[str, Any]:
    """The totals of a period; those of all exchanges are in a member of their own."""
    amounts = row.member("all") if is_sum else row
    long, short = (amounts.member(part).amount() for part in ("longTurnover", "shortTurnover"))
    return {"timestamp": row.member("ts").past(), "symbol": name, **answers.totals(long, short)}


def _longs(data: Node, prices: npt.NDArray[np.float64], price: float) -> int | None:
    """How many prices are those of longs: up to the price, or without a price up to ``lastIndex``."""
    last = data.optional("lastIndex")
    index = None if last is None else last.whole()
    if last is not None and index is not None and not -1 <= index < prices.size:
        raise last.wrong(f"the index of one of {prices.size} prices")
    if not math.isnan(price):
        return int((prices <= price).sum())
    return None if index is None else index + 1


def _order(row: Node) -> dict[str, Any]:
    row.member("price").price()
    return {
        "exchange": exchange_of(row.member("exchangeName").text(), {})[0],
        "symbol": row.member("contractCode").text(),
        "side": row.member("posSide").side(),
        "price": row.member("price").decimal(),
        "qty": row.member("amount").amount(),
        "value_usd": row.member("tradeTurnover").amount(),
        "timestamp": row.member("ts").instant(),
    }


def coinank_pages(
    symbol: str, exchange: str | None, start: Any, end: Any, max_rows: int | None, *, patience: float | None = None
) -> OrderPages:
    """The pages of orders of a coin or a pair, on one exchange or on all that are known."""
    coin_of(symbol)
    most = None if max_rows is None else whole(max_rows, "max_rows", 1, 2**63 - 1)
    names = list(_EXCHANGES) if exchange is None else [exchange]
    return OrderPages(names, *bounds(start, end), page=None, most=most, wanted=order_of(symbol), patience=patience)


def coinank_access(api_key: str | None, **options: Unpack[VendorOptions]) -> CoinAnkDialect:
    """The dialect with its connections."""
    key, own = secret(api_key, "api_key", VARIABLE, "CoinAnk")
    return CoinAnkDialect(
        Access(
            "CoinAnk",
            URL,
            keys=[("apikey", key)],
            has_own_key=own,
            **options,
        )
    )


@vendor_methods
class CoinAnk(BlockingVendor[CoinAnkDialect]):
    """CoinAnk: heatmaps, maps, orders and history.

    A request that the plan of the key does not allow raises :class:`~liqdata.Refused`, which says what it needs; so
    does a missing or wrong key. Requests keep to the limit of the service.

    Parameters
    ----------
    api_key : str, optional
        Key of the service; ``$COINANK_API_KEY`` by default. Never shown.
    %(base_url)s
    %(options)s

    Raises
    ------
    BadQuery
        For a missing key, and for an option outside its bounds; nothing is sent.

    Examples
    --------
    >>> from liqdata import vendors
    >>> vendors.CoinAnk("key")
    CoinAnk('https://open-api.coinank.com')
    """

    _connect = staticmethod(coinank_access)

    def heatmap(
        self, symbol: str = "BTC", range: CoinAnkRange = "24h", *, exchange: str = "binance", **others: Any
    ) -> Heatmap:
        """Liquidation heatmap of a pair on one exchange.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        range : str
            Range of the map.
        exchange : str
            The exchange; the service has no map of all together.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Heatmap
            ``units`` is ``relative``: cells compare within the map only. Axes are those of the service, ``times`` are
            the ends of columns, and a cell that is not sent is 0.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.CoinAnk("key") as service:
        ...     try:
        ...         service.heatmap("BTC", "2h")
        ...     except ValueError as error:
        ...         print(error)
        range: '2h' is not allowed; allowed: '12h', '24h', '3d', '7d', '2w', '1M', '3M', '6M', '1y'
        """
        refuse_others("CoinAnk", "heatmap", others)
        return self._run(self._dialect.heatmap(symbol=symbol, range=range, exchange=exchange))

    def liqmap(
        self, symbol: str = "BTC", range: CoinAnkMapRange = "1d", *, exchange: str | None = None, **others: Any
    ) -> LiquidationMap:
        """Liquidation levels by price.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        range : str
            Range of the map.
        exchange : str, optional
            Only this exchange, by leverage; without it all exchanges, without leverages.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        LiquidationMap
            ``units`` is ``relative``. Sides are read from the price. ``meta["exchanges"]`` has the part of each
            exchange.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.CoinAnk("key") as service:
        ...     try:
        ...         service.liqmap("BTC", "2h")
        ...     except ValueError as error:
        ...         print(error)
        range: '2h' is not allowed; allowed: '1d', '7d'
        """
        refuse_others("CoinAnk", "liqmap", others)
        return self._run(self._dialect.liqmap(symbol=symbol, range=range, exchange=exchange))

    def orders(
        self,
        symbol: str,
        exchange: str | None = None,
        limit: int = 50,
        offset: int = 0,
        *,
        side: Literal["LONG", "SHORT"] | None = None,
        min_usd: float | Decimal | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """The newest liquidation orders.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        exchange : str, optional
            Only this exchange; without it all known ones, one after the other.
        limit : int
            Maximum number of rows, 1 to 1000.
        offset : int
            Number of newest rows to skip, 0 to 1000.
        side : {"LONG", "SHORT"}, optional
            Only this side.
        min_usd : float or Decimal, optional
            Only orders of at least this many USD.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``exchange``, ``symbol``, ``side``, ``price``, ``qty``, ``value_usd``, ``timestamp``, newest first.
            ``meta["more"]`` says whether more match, ``meta["missing"]`` names exchanges that the service refused. The
            service has orders of coins: the search for those of a pair ends after ``timeout`` seconds, or 50 pages, in
            which there was none; ``meta["more"]`` is then true, and ``iter_orders`` with a start goes on.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.CoinAnk("key") as service:
        ...     try:
        ...         service.orders("BTC", "binance", min_usd=-1)
        ...     except ValueError as error:
        ...         print(error)
        min_usd: -1 is not allowed; allowed: USD from 0 on
        """
        refuse_others("CoinAnk", "orders", others)
        return self._run(
            self._dialect.orders(symbol, exchange, limit, offset, side=side, min_usd=min_usd, start=start, end=end)
        )

    def iter_orders(
        self,
        symbol: str,
        exchange: str | None = None,
        *,
        side: Literal["LONG", "SHORT"] | None = None,
        min_usd: float | Decimal | None = None,
        start: Bound | None = None,
        end: Bound | None = None,
        max_rows: int | None = None,
        **others: Any,
    ) -> Iterator[dict[str, Any]]:
        """All liquidation orders, newest first, page by page.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        exchange : str, optional
            Only this exchange; without it all known ones.
        side : {"LONG", "SHORT"}, optional
            Only this side.
        min_usd : float or Decimal, optional
            Only orders of at least this many USD.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.
        max_rows : int, optional
            Stop after this many orders.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        iterator of dict
            Rows as dicts; none is lost or given twice where pages meet. Orders of a pair that is not among 200 pages of
            its coin need a ``start``.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.CoinAnk("key") as service:
        ...     try:
        ...         [row for row in service.iter_orders("BTC", "binance", max_rows=0)]
        ...     except ValueError as error:
        ...         print(error)
        max_rows: 0 is not allowed; allowed: a whole number from 1 to 9223372036854775807
        """
        refuse_others("CoinAnk", "iter_orders", others)
        pages = coinank_pages(symbol, exchange, start, end, max_rows)
        pages.faults = self._faults
        while not pages.done:
            page = self._run(self._dialect.page(symbol, pages, side, min_usd))
            yield from pages.accept(page)

    def history(
        self,
        symbol: str,
        *,
        exchange: str | None = None,
        interval: CoinAnkInterval | timedelta = "1h",
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """Liquidated USD by period.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, for the sum over its markets; or a pair of one exchange, such as ``BTCUSDT``.
        exchange : str, optional
            Only this exchange, with a pair.
        interval : str or timedelta
            Length of a period.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start, the last 500 periods.
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
        >>> with vendors.CoinAnk("key") as service:
        ...     try:
        ...         service.history("BTC", interval="2m")
        ...     except ValueError as error:
        ...         print(error)
        interval: '2m' is not allowed; allowed: '5m', '15m', '30m', '1h', '4h', '12h', '1d'
        """
        refuse_others("CoinAnk", "history", others)
        return self._run(
            self._dialect.history(symbol=symbol, exchange=exchange, interval=interval, start=start, end=end)
        )
