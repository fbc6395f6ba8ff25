"""CoinGlass, API version 4."""

from __future__ import annotations

import math
import re
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from liqdata.calls.arguments import datetime_of, number, usd
from liqdata.errors import BadQuery, Refused, UnexpectedReply
from liqdata.results.record import Record

from . import answers
from .answers import Levels
from .paging import ORDERS_AT_ONCE, OrderPages, next_start, order_of
from .refusal import get, is_unknown, scalar, words
from .reply import Get, Node, Reply, is_number
from .service import Access, BlockingVendor, Dialect, meta_of, secret, vendor_methods
from .vocabulary import (
    bounds,
    coin_alone,
    coin_of,
    exchange_of,
    is_pair,
    one_of,
    pair_of,
    period,
    refuse_others,
    spelled,
    whole,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import timedelta
    from typing import Unpack

    from liqdata.results.heatmap import Heatmap
    from liqdata.results.map import LiquidationMap
    from liqdata.results.rows import Rows
    from liqdata.types import Bound, Window

    from .service import Flow, VendorOptions

__all__ = ["CoinGlass"]

CoinGlassRange: TypeAlias = Literal["12h", "24h", "1d", "3d", "7d", "1M", "30d", "3M", "6M", "1y"]
CoinGlassMapRange: TypeAlias = Literal["1d", "24h", "7d", "1M", "30d"]
CoinGlassPainRange: TypeAlias = Literal["12h", "24h", "1d", "48h", "3d", "7d", "14d", "1M", "30d"]
CoinGlassInterval: TypeAlias = Literal["1m", "3m", "5m", "15m", "30m", "1h", "4h", "6h", "8h", "12h", "1d", "1w"]
Sides: TypeAlias = Literal["documented", "position", "checked"]

URL = "https://open-api-v4.coinglass.com"
VARIABLE = "COINGLASS_API_KEY"
_RANGES = {"12h": "12h", "24h": "24h", "3d": "3d", "7d": "7d", "1M": "30d", "3M": "90d", "6M": "180d", "1y": "1y"}
_MAP_RANGES = {"1d": "1d", "7d": "7d", "1M": "30d"}
_PAIN_RANGES = {"12h": "12h", "24h": "24h", "48h": "48h", "3d": "3d", "7d": "7d", "14d": "14d", "1M": "30d"}
_PAIN_KEYS = {"12h": "h12", "24h": "d1", "48h": "d2", "3d": "d3", "7d": "d7", "14d": "d14", "1M": "d30"}
_WINDOWS = {"1h": "1h", "4h": "4h", "12h": "12h", "24h": "24h"}
_INTERVALS = {one: one for one in ("1m", "3m", "5m", "15m", "30m", "1h", "4h", "6h", "8h", "12h", "1d", "1w")}
_EXCHANGES = {
    "binance": "Binance",
    "okx": "OKX",
    "bybit": "Bybit",
    "bitget": "Bitget",
    "htx": "HTX",
    "gate": "Gate",
    "hyperliquid": "Hyperliquid",
    "bitmex": "Bitmex",
    "coinex": "CoinEx",
    "deribit": "Deribit",
    "kraken": "Kraken",
    "bitfinex": "Bitfinex",
}
_PROFESSIONAL, _STANDARD, _STARTUP = "the plan Professional", "the plan Standard", "the plan Startup"
_ANY_PLAN = "any plan"
_PER_MINUTE = {"HOBBYIST": 30, "STARTUP": 80, "STANDARD": 300, "PROFESSIONAL": 1200}
_LIMIT_HEADER = "api-key-max-limit"
LIMITS = {"per_minute": _LIMIT_HEADER, "used": "api-key-use-limit"}
"""The headers with the limit of the key."""

_PAGE = 200  # rows of one page of orders
_MOST = 1000  # rows of one page of a series
_SIDES = {"documented": {1: "SHORT", 2: "LONG"}, "position": {1: "LONG", 2: "SHORT"}}
_SIDES_READ = {
    "documented": "1 is a buy, which closes a short; 2 is a sell, which closes a long (documents of the endpoint)",
    "position": "1 is a long, 2 is a short (documents of the WebSocket)",
}
_ROOT = "/api/futures"
_VOLUME_PLACES = 8
_UNDECIDED = 0.05  # shares of long USD that differ by less do not decide which side is which
_CELLS = {
    "cells": ("liquidation_leverage_data", "liq"),
    "prices": ("y_axis", "y"),
    "times": ("price_candlesticks", "prices"),
    "updated": ("update_time", "updateTime"),
}


def verdict(body: Node) -> tuple[str, str] | None:
    """The code and the reason of a refusal in a body; ``None`` if the body does not refuse."""
    if not isinstance(body.value, dict):
        return None
    code, reason = scalar(body.optional("code")), words(body, "msg", "message", "error")
    is_bare = not code and bool(reason) and "data" not in body.value
    if code in {"0", ""} and body.value.get("success") is not False and not is_bare:
        return None
    return code, reason


def unwrap(body: Node) -> Node:
    """The data of a reply."""
    code = body.member("code")
    if scalar(code) != "0":
        raise code.wrong('"0"')
    return body.member("data")


class CoinGlassDialect(Dialect):
    """The questions of CoinGlass."""

    def __init__(self, access: Access, sides: str) -> None:
        self.access = access
        self.sides = sides

    def _get(self, path: str, needs: str, **query: str | None) -> Flow[Reply]:
        given = {name: value for name, value in query.items() if value is not None}
        request = Get(path if path.startswith("/") else f"{_ROOT}/{path}", given, needs)
        return get(self.access, request, verdict, self._level)

    def _level(self) -> Flow[str]:
        reply = yield Get("/api/user/account/subscription", {})
        return self._keep(reply)

    def _keep(self, reply: Reply) -> str:
        """The plan in a reply. Its limit is kept from now on, unless a header states one."""
        level = unwrap(reply.json()).member("level").text()
        per_minute = _PER_MINUTE.get(level.upper())
        if per_minute is not None and _LIMIT_HEADER not in reply.headers and not self.access.core.closed:
            self.access.core.pace(per_minute)
        return level

    def _meta(self, reply: Reply, **more: Any) -> dict[str, Any]:
        limits = {
            name: int(reply.headers[header])
            for name, header in LIMITS.items()
            if re.fullmatch(r"\d{1,9}", reply.headers.get(header, ""), re.ASCII)
        }
        return meta_of(self.access, reply, **more, **({"limits": limits} if limits else {}))

    def plan(self) -> Flow[Record]:
        """The plan of the key."""
        reply = yield from self._get("/api/user/account/subscription", _ANY_PLAN)
        data = unwrap(reply.json())
        found = {
            "level": self._keep(reply),
            "expires_at": datetime_of(data.member("expire_time").instant()),
            "expired": data.member("expired").truth(),
        }
        return Record(found, meta=self._meta(reply))

    def heatmap(self, symbol: str, range: str, model: int, exchange: str | None) -> Flow[Heatmap]:
        """A heatmap of a coin, or of a pair on one exchange."""
        ours, theirs = spelled(range, "range", _RANGES)
        one_of(model, "model", (1, 2, 3))
        about, query = self._about(symbol, exchange)
        path = f"liquidation/{'aggregated-' if exchange is None else ''}heatmap/model{model}"
        reply = yield from self._get(path, _PROFESSIONAL, **query, range=theirs)
        made = answers.heatmap(
            reply,
            names=_CELLS,
            root=(),
            symbol=coin_of(symbol),
            range=ours,
            model=model,
            candles=True,
            meta=self._meta(reply, **about, units="relative"),
            unwrap=unwrap,
        )
        return made

    def _about(self, symbol: str, exchange: str | None) -> tuple[dict[str, Any], dict[str, str]]:
        """What ``meta`` says of the symbol, and the query for it: a coin, or a pair of an exchange."""
        if exchange is None:
            return {}, {"symbol": coin_of(symbol)}
        ours, theirs = exchange_of(exchange, _EXCHANGES)
        pair = pair_of(symbol, ours)
        return {"exchange": ours, "pair": pair}, {"exchange": theirs, "symbol": pair}

    def liqmap(self, symbol: str, range: str, exchange: str | None, price: float | None) -> Flow[LiquidationMap]:
        """A liquidation map of a coin, or of a pair on one exchange."""
        ours, theirs = spelled(range, "range", _MAP_RANGES)
        given = None if price is None else number(price, "price", "a price above 0")
        if given is not None and not 0 < given < math.inf:
            msg = f"price: {price!r} is not allowed; allowed: a price above 0, or None"
            raise BadQuery(msg, parameter="price")
        about, query = self._about(symbol, exchange)
        path = f"liquidation/{'aggregated-' if exchange is None else ''}map"
        reply = yield from self._get(path, _PROFESSIONAL, **query, range=theirs)
        data = unwrap(reply.json())
        last = None
        if isinstance(data.value, dict):
            last = data.optional("last_price", "lastPrice")
            if not data.value or not all(map(is_number, data.value)):
                data = data.member("data", "liqMapV2")
        levels = Levels()
        if isinstance(data.value, list):
            for item in data.items():
                name = item.member("instrument").member("exName").text()
                _read_levels(levels, item.member("liqMapV2"), exchange_of(name, {})[0])
        else:
            _read_levels(levels, data, None)
        at = given if given is not None else math.nan if last is None else last.price()
        known = "given" if given is not None else "unknown" if last is None else "sent"
        return levels.map(
            symbol=coin_of(symbol),
            range=ours,
            updated_at=reply.answered_at,
            price=at,
            meta=self._meta(reply, **about, units="relative", price=known, sides="by position to the price"),
        )

    def maxpain(self, symbol: str, range: str) -> Flow[Record]:
        """The strongest level on each side."""
        ours, theirs = spelled(range, "range", _PAIN_RANGES)
        coin = coin_of(symbol)
        reply = yield from self._get("liquidation/max-pain", _PROFESSIONAL, range=theirs)
        for row in unwrap(reply.json()).items():
            if row.member("symbol").text().upper() == coin:
                break
        else:
            msg = f"data: has no row for {coin!r}; allowed: a row for the requested coin"
            raise UnexpectedReply(msg, path="data")
        price = row.member("price").price()
        found: dict[str, dict[str, float]] = {}
        raw: dict[str, str] = {}
        for name in ("long", "short"):
            at = row.member(f"{name}_max_pain_liq_price")
            level = at.price()
            side = "long" if level < price else "short"
            if side in found:
                raise at.wrong(f"a price on the other side of {price:.12g} than the other level")
            amount = float(row.member(f"{name}_max_pain_liq_level").amount())
            found[side] = {"price": level, "usd": amount, "distPct": 100.0 * (level / price - 1.0)}
            raw[side] = f"{name}_max_pain_liq_price"
        pain = {"long": found["long"], "short": found["short"], "totalLong": None, "totalShort": None}
        answer = {"symbol": coin, "price": price, "updatedAt": reply.answered_at, _PAIN_KEYS[ours]: pain}
        meta = self._meta(reply, units="relative", sides="by position to the price", names=raw)
        return Record(answer, meta=meta, units="relative")

    def orders(
        self, symbol: str, exchange: str | None, limit: int, offset: int, *, min_usd: Any, start: Any, end: Any
    ) -> Flow[Rows[Any]]:
        """The newest orders of a coin or a pair."""
        most, skipped = whole(limit, "limit", 1, ORDERS_AT_ONCE), whole(offset, "offset", 0, ORDERS_AT_ONCE)
        patience = self.access.options["timeout"]
        pages = coinglass_pages(symbol, exchange, start, end, skipped + most + 1, patience=patience)
        found: list[dict[str, Any]] = []
        meta: dict[str, Any] = {}
        while not pages.done:
            page = yield from self.page(symbol, pages, min_usd)
            meta = page.meta if page is not None else meta
            found += pages.accept(page)
        more = {"missing": pages.missing} if pages.missing else {}
        return answers.page_of_orders(found, skipped, most, {**meta, **more}, is_cut=pages.cut)

    def page(self, symbol: str, pages: OrderPages, min_usd: Any) -> Flow[Rows[Any] | None]:
        """The next page of orders, newest first; ``None`` if the vendor does not have the exchange."""
        try:
            return (yield from self._page(symbol, pages, min_usd))
        except Refused as error:
            if pages.is_alone or not is_unknown(error):
                raise
            return None

    def _page(self, symbol: str, pages: OrderPages, min_usd: Any) -> Flow[Rows[Any]]:
        ours, theirs = exchange_of(pages.exchange, _EXCHANGES)
        reply = yield from self._get(
            "liquidation/order",
            _STANDARD,
            exchange=theirs,
            symbol=coin_of(symbol),
            min_liquidation_amount=usd(0 if min_usd is None else min_usd),
            start_time=None if pages.first is None else str(pages.first),
            end_time=None if pages.end is None else str(pages.end),
        )
        found = pages.read(unwrap(reply.json()).items(), _order)
        sides = self.sides
        check: dict[str, Any] = {}
        if sides == "checked":
            sides, check = yield from self._checked(found, ours)
        made = [{**row, "side": _SIDES[sides][row["side"]]} for row in found]
        meta = self._meta(reply, sides=_SIDES_READ[sides], qty="value_usd / price, 12 decimal places", **check)
        return answers.rows(answers.ORDERS, made, meta)

    def _checked(self, found: list[dict[str, Any]], exchange: str) -> Flow[tuple[str, dict[str, Any]]]:
        """Which reading of the sides fits the totals of the same hours better."""
        if not found:
            return "documented", {"checked": "no orders"}
        hour = 60 * 60 * 1000
        first, last = (at // hour * hour for at in (found[-1]["timestamp"], found[0]["timestamp"]))
        pair = found[0]["symbol"]
        mine = [row for row in found if row["symbol"] == pair]
        page = yield from self._series(
            "liquidation/history", pair, exchange, "1h", first=first, last=last + hour, read=_history_row
        )
        long = float(sum((row["long_usd"] for row in page[0]), Decimal(0)))
        short = float(sum((row["short_usd"] for row in page[0]), Decimal(0)))
        sells = float(sum((row["value_usd"] for row in mine if row["side"] == 2), Decimal(0)))  # noqa: PLR2004
        whole_usd = float(sum((row["value_usd"] for row in mine), Decimal(0)))
        if not long + short or not whole_usd:
            return "documented", {"checked": "no totals of the same hours"}
        share, sell_share = long / (long + short), sells / whole_usd
        apart = [abs(share - sell_share), abs(share - (1.0 - sell_share))]
        if abs(apart[0] - apart[1]) < _UNDECIDED:
            return "documented", {"checked": "the totals of the same hours do not decide"}
        return ("documented" if apart[0] < apart[1] else "position"), {"checked": "against totals of the same hours"}

    def history(
        self, symbol: str, exchange: str | Sequence[str] | None, interval: Any, start: Any, end: Any
    ) -> Flow[Rows[Any]]:
        """Liquidated USD by period."""
        first, last = bounds(start, end)
        _, theirs = period(interval, _INTERVALS)
        if isinstance(exchange, str) and is_pair(symbol):
            made, reply, about = yield from self._series(
                "liquidation/history", symbol, exchange, theirs, first=first, last=last, read=_history_row
            )
            return answers.history(made, self._meta(reply, **about, units="usd"))
        coin_alone(symbol, "CoinGlass", ", or one exchange")
        exchange = [exchange] if isinstance(exchange, str) else exchange
        names = [exchange_of(one, _EXCHANGES) for one in (_EXCHANGES if exchange is None else exchange)]
        if not names:
            msg = f"exchange: {exchange!r} names no exchange; allowed: one, several, or None for all known ones"
            raise BadQuery(msg, parameter="exchange")
        made, reply, about = yield from self._series(
            "liquidation/aggregated-history",
            symbol,
            None,
            theirs,
            first=first,
            last=last,
            read=_aggregated_row,
            exchange_list=",".join(name for _, name in names),
        )
        about["exchanges"] = [name for name, _ in names]
        return answers.history(made, self._meta(reply, **about, units="usd"))

    def _series(
        self,
        path: str,
        symbol: str,
        exchange: str | None,
        interval: str,
        *,
        first: int | None,
        last: int | None,
        read: Any,
        later: int = 0,
        **more: str,
    ) -> Flow[tuple[list[dict[str, Any]], Reply, dict[str, Any]]]:
        """All pages of a series from ``first`` on and before ``last``, oldest first.

        The service dates a row ``later`` milliseconds before its timestamp.
        """
        about, query = self._about(symbol, exchange)
        low = first
        name = str(about.get("pair") or query["symbol"])
        made: dict[int, dict[str, Any]] = {}
        while True:
            reply = yield from self._get(
                path,
                _ANY_PLAN,
                **query,
                **more,
                interval=interval,
                limit=str(_MOST),
                start_time=None if low is None else str(max(low - later, 0)),
                end_time=None if last is None else str(max(last - later, 0)),
            )
            page = [read(row, name) for row in unwrap(reply.json()).items()]
            for at, count in Counter(row["timestamp"] for row in page).items():
                if count > 1:
                    msg = f"data: has two rows for {at}; allowed: one row for each period"
                    raise UnexpectedReply(msg, path="data")
            low = next_start(made, page, low, last, full=len(page) >= _MOST)
            if low is None:
                break
        return answers.within((made[at] for at in sorted(made)), first, last, reply.answered_at), reply, about

    def coins(self, range: str, limit: int | None, exchange: str) -> Flow[Rows[Any]]:
        """Coins by liquidated USD."""
        _, theirs = spelled(range, "range", _WINDOWS)
        most = None if limit is None else whole(limit, "limit", 1, 100_000)
        ours, name = exchange_of(exchange, _EXCHANGES)
        reply = yield from self._get("liquidation/coin-list", _STARTUP, exchange=name)
        made = [
            {
                "coin": row.member("symbol").text(),
                "long_usd": row.member(f"long_liquidation_usd_{theirs}").amount(),
                "short_usd": row.member(f"short_liquidation_usd_{theirs}").amount(),
                "total_usd": row.member(f"liquidation_usd_{theirs}").amount(),
            }
            for row in unwrap(reply.json()).items()
        ]
        meta = self._meta(reply, exchange=ours, units="usd")
        return answers.rows(answers.COINS, answers.largest_first(made)[:most], meta)

    def exchanges(self, range: str, symbol: str | None) -> Flow[Rows[Any]]:
        """Liquidated USD by exchange."""
        _, theirs = spelled(range, "range", _WINDOWS)
        coin = None if symbol is None else coin_of(symbol)
        reply = yield from self._get("liquidation/exchange-list", _ANY_PLAN, symbol=coin, range=theirs)
        made, total = [], None
        for row in unwrap(reply.json()).items():
            name = row.member("exchange").text()
            amounts = {
                "long_usd": row.member("long_liquidation_usd", "longLiquidation_usd").amount(),
                "short_usd": row.member("short_liquidation_usd", "shortLiquidation_usd").amount(),
                "total_usd": row.member("liquidation_usd").amount(),
            }
            if name.lower() == "all":
                total = amounts
            else:
                made.append({"exchange": exchange_of(name, {})[0], **amounts})
        return answers.rows(
            answers.EXCHANGES, answers.largest_first(made), self._meta(reply, units="usd", symbol=coin, all=total)
        )

    def bars(self, symbol: str, exchange: str, interval: Any, start: Any, end: Any) -> Flow[Rows[Any]]:
        """Price bars of a pair."""
        first, last = bounds(start, end)
        step, theirs = period(interval, _INTERVALS)
        ours, _ = exchange_of(exchange, _EXCHANGES)

        def read(row: Node, name: str) -> dict[str, Any]:
            prices = [row.member(part).price() for part in ("open", "high", "low", "close")]
            usd = float(row.member("volume_usd").amount())
            volume = round(2 * usd / (prices[1] + prices[2]), _VOLUME_PLACES)
            made = answers.bar(name, row.member("time").past(), step, *prices, volume=volume, volume_usd=usd)
            return {**made, "exchange": ours}

        made, reply, about = yield from self._series(
            "price/history", symbol, exchange, theirs, first=first, last=last, read=read
        )
        meta = self._meta(reply, **about, units="usd", volume="volume_usd / the middle of the range, 8 decimal places")
        return answers.rows(answers.BOTH_VOLUMES, made, meta)

    def open_interest(self, symbol: str, exchange: str, interval: Any, start: Any, end: Any) -> Flow[Rows[Any]]:
        """Open interest of a pair in USD."""
        first, last = bounds(start, end)
        step, theirs = period(interval, _INTERVALS)
        ours, _ = exchange_of(exchange, _EXCHANGES)

        def read(row: Node, name: str) -> dict[str, Any]:
            usd = float(row.member("close").amount())
            return answers.reading(name, ours, row.member("time").past(), step, usd)

        made, reply, about = yield from self._series(
            "open-interest/history", symbol, exchange, theirs, first=first, last=last, read=read, later=step, unit="usd"
        )
        return answers.rows(answers.OPEN_INTEREST, made, self._meta(reply, **about, units="usd"))


def _read_levels(levels: Levels, prices: Node, exchange: str | None) -> None:
    """Add the levels of an object from price to rows of price, level, leverage and a fourth value."""
    for rows in prices.members().values():
        for row in rows.items():
            price, amount, leverage = row.items(3)[:3]
            tier = None if leverage.value is None else leverage.leverage()
            levels.add(price.price(), amount.amount(), tier, exchange=exchange)


def _order(row: Node) -> dict[str, Any]:
    """An order; its side is the vendor's number."""
    price, value = row.member("price"), row.member("usd_value").amount()
    price.price()
    side = row.member("side")
    if side.whole() not in {1, 2}:
        raise side.wrong("1 or 2")
    return {
        "exchange": exchange_of(row.member("exchange_name").text(), {})[0],
        "symbol": row.member("symbol").text(),
        "side": side.whole(),
        "price": price.decimal(),
        "qty": answers.quotient(value, price.decimal()),
        "value_usd": value,
        "timestamp": row.member("time").instant(),
    }


def _history_row(row: Node, name: str) -> dict[str, Any]:
    return _totals_row(row, name, ("{}_liquidation_usd", "{}LiquidationUsd", "aggregated_{}_liquidation_usd"))


def _aggregated_row(row: Node, name: str) -> dict[str, Any]:
    return _totals_row(row, name, ("aggregated_{}_liquidation_usd", "{}_liquidation_usd", "{}LiquidationUsd"))


def _totals_row(row: Node, name: str, spellings: tuple[str, ...]) -> dict[str, Any]:
    long, short = (row.member(*(one.format(side) for one in spellings)).amount() for side in ("long", "short"))
    return {"timestamp": row.member("time", "t").past(), "symbol": name, **answers.totals(long, short)}


def coinglass_pages(
    symbol: str, exchange: str | None, start: Any, end: Any, max_rows: int | None, *, patience: float | None = None
) -> OrderPages:
    """The pages of orders of a coin or a pair, on one exchange or on all that are known."""
    coin_of(symbol)
    most = None if max_rows is None else whole(max_rows, "max_rows", 1, 2**63 - 1)
    names = list(_EXCHANGES) if exchange is None else [exchange]
    return OrderPages(names, *bounds(start, end), page=_PAGE, most=most, wanted=order_of(symbol), patience=patience)


def coinglass_access(api_key: str | None, sides: str, **options: Unpack[VendorOptions]) -> CoinGlassDialect:
    """The dialect with its connections."""
    one_of(sides, "sides", ("documented", "position", "checked"))
    key, own = secret(api_key, "api_key", VARIABLE, "CoinGlass")
    access = Access(
        "CoinGlass",
        URL,
        keys=[("CG-API-KEY", key)],
        has_own_key=own,
        **options,
    )
    return CoinGlassDialect(access, sides)


@vendor_methods
class CoinGlass(BlockingVendor[CoinGlassDialect]):
    """CoinGlass, API version 4: heatmaps, maps, orders and totals.

    A request that the plan of the key does not allow raises :class:`~liqdata.Refused`, which says what it needs; so
    does a missing or wrong key. Requests keep to the limit of the service.

    Parameters
    ----------
    api_key : str, optional
        Key of the service; ``$COINGLASS_API_KEY`` by default. Never shown.
    %(base_url)s
    sides : {"documented", "position", "checked"}
        How the side of an order is read: ``documented`` (1 is a short, 2 a long), ``position`` (1 is a long, 2 a
        short), or ``checked``: the one that fits the totals of the same hours better, for one more request.
    %(options)s

    Raises
    ------
    BadQuery
        For a missing key, and for an option outside its bounds; nothing is sent.

    Examples
    --------
    >>> from liqdata import vendors
    >>> vendors.CoinGlass("key")
    CoinGlass('https://open-api-v4.coinglass.com')
    """

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        sides: Sides = "documented",
        timeout: float = 10.0,
        retries: int = 4,
        proxy: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._use(
            coinglass_access(
                api_key, sides, base_url=base_url, timeout=timeout, retries=retries, proxy=proxy, headers=headers
            )
        )

    def _options(self) -> dict[str, Any]:
        return {"sides": self._dialect.sides}

    def heatmap(
        self,
        symbol: str = "BTC",
        range: CoinGlassRange = "24h",
        model: Literal[1, 2, 3] = 2,
        *,
        exchange: str | None = None,
        **others: Any,
    ) -> Heatmap:
        """Liquidation heatmap of a coin, or of a pair on one exchange.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        range : str
            Range of the map.
        model : {1, 2, 3}
            Model of the service.
        exchange : str, optional
            Only this exchange, and its pair; without it all exchanges together.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Heatmap
            ``units`` is ``relative``: cells compare within the map only. Axes are those of the service, ``times`` are
            the ends of columns, and a cell that is not sent is 0. The candles that come along are ``price``.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.CoinGlass("key") as service:
        ...     try:
        ...         service.heatmap("BTC", "2h")
        ...     except ValueError as error:
        ...         print(error)
        range: '2h' is not allowed; allowed: '12h', '24h', '3d', '7d', '1M', '3M', '6M', '1y'
        """
        refuse_others("CoinGlass", "heatmap", others)
        return self._run(self._dialect.heatmap(symbol=symbol, range=range, model=model, exchange=exchange))

    def liqmap(
        self,
        symbol: str = "BTC",
        range: CoinGlassMapRange = "1d",
        *,
        exchange: str | None = None,
        price: float | None = None,
        **others: Any,
    ) -> LiquidationMap:
        """Liquidation levels by price and leverage.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        range : str
            Range of the map.
        exchange : str, optional
            Only this exchange, and its pair; without it all exchanges together.
        price : float, optional
            The current price, for a reply without one. Without a price ``sides`` is ``unknown``.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        LiquidationMap
            ``units`` is ``relative``. Sides are read from the price. ``meta["exchanges"]`` has the part of each
            exchange, if the service sends it.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.CoinGlass("key") as service:
        ...     try:
        ...         service.liqmap("BTC", "2h")
        ...     except ValueError as error:
        ...         print(error)
        range: '2h' is not allowed; allowed: '1d', '7d', '1M'
        """
        refuse_others("CoinGlass", "liqmap", others)
        return self._run(self._dialect.liqmap(symbol=symbol, range=range, exchange=exchange, price=price))

    def maxpain(self, symbol: str = "BTC", range: CoinGlassPainRange = "24h", **others: Any) -> Record:
        """The strongest liquidation level on each side.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        range : str
            Range of the levels.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Record
            As :meth:`liqdata.Client.maxpain`; the key is ``d1``, ``d7`` and so on by range. The level below the price
            is that of longs, whatever the service calls it. ``usd`` is relative.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.CoinGlass("key") as service:
        ...     try:
        ...         service.maxpain("BTC", "2h")
        ...     except ValueError as error:
        ...         print(error)
        range: '2h' is not allowed; allowed: '12h', '24h', '48h', '3d', '7d', '14d', '1M'
        """
        refuse_others("CoinGlass", "maxpain", others)
        return self._run(self._dialect.maxpain(symbol=symbol, range=range))

    def orders(
        self,
        symbol: str,
        exchange: str | None = None,
        limit: int = 50,
        offset: int = 0,
        *,
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
        >>> with vendors.CoinGlass("key") as service:
        ...     try:
        ...         service.orders("BTC", "binance", min_usd=-1)
        ...     except ValueError as error:
        ...         print(error)
        min_usd: -1 is not allowed; allowed: USD from 0 on
        """
        refuse_others("CoinGlass", "orders", others)
        return self._run(self._dialect.orders(symbol, exchange, limit, offset, min_usd=min_usd, start=start, end=end))

    def iter_orders(
        self,
        symbol: str,
        exchange: str | None = None,
        *,
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
        >>> with vendors.CoinGlass("key") as service:
        ...     try:
        ...         [row for row in service.iter_orders("BTC", "binance", max_rows=0)]
        ...     except ValueError as error:
        ...         print(error)
        max_rows: 0 is not allowed; allowed: a whole number from 1 to 9223372036854775807
        """
        refuse_others("CoinGlass", "iter_orders", others)
        pages = coinglass_pages(symbol, exchange, start, end, max_rows)
        pages.faults = self._faults
        while not pages.done:
            page = self._run(self._dialect.page(symbol, pages, min_usd))
            yield from pages.accept(page)

    def history(
        self,
        symbol: str,
        *,
        exchange: str | Sequence[str] | None = None,
        interval: CoinGlassInterval | timedelta = "1h",
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """Liquidated USD by period.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, for the sum over its markets; or a pair of one exchange, such as ``BTCUSDT``.
        exchange : str or sequence of str, optional
            Only these exchanges, added up by the service; all known ones by default.
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
        >>> with vendors.CoinGlass("key") as service:
        ...     try:
        ...         service.history("BTC", interval="2m")
        ...     except ValueError as error:
        ...         print(error)
        interval: '2m' is not allowed; allowed: '1m', '3m', '5m', '15m', '30m', '1h', '4h', '6h', '8h', '12h', '1d',
        '1w'
        """
        refuse_others("CoinGlass", "history", others)
        return self._run(
            self._dialect.history(symbol=symbol, exchange=exchange, interval=interval, start=start, end=end)
        )

    def coins(
        self, range: Window = "24h", limit: int | None = None, *, exchange: str = "binance", **others: Any
    ) -> Rows[Any]:
        """Coins by liquidated USD on one exchange, largest first.

        Parameters
        ----------
        range : str
            Rolling window that ends now.
        limit : int, optional
            Maximum number of rows.
        exchange : str
            The exchange, by default Binance alone: the service has no ranking over all exchanges.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``coin``, ``long_usd``, ``short_usd``, ``total_usd`` (USD); ``cnt`` is missing. ``meta["exchange"]`` is the
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
        >>> with vendors.CoinGlass("key") as service:
        ...     try:
        ...         service.coins("2h")
        ...     except ValueError as error:
        ...         print(error)
        range: '2h' is not allowed; allowed: '1h', '4h', '12h', '24h'
        """
        refuse_others("CoinGlass", "coins", others)
        return self._run(self._dialect.coins(range=range, limit=limit, exchange=exchange))

    def exchanges(self, range: Window = "24h", *, symbol: str | None = None, **others: Any) -> Rows[Any]:
        """Liquidated USD by exchange, largest first.

        Parameters
        ----------
        range : str
            Rolling window that ends now.
        symbol : str, optional
            Only this coin.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``exchange``, ``long_usd``, ``short_usd``, ``total_usd`` (exact, USD); ``cnt`` is missing. The row of all
            exchanges is in ``meta["all"]``.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.CoinGlass("key") as service:
        ...     try:
        ...         service.exchanges("2h")
        ...     except ValueError as error:
        ...         print(error)
        range: '2h' is not allowed; allowed: '1h', '4h', '12h', '24h'
        """
        refuse_others("CoinGlass", "exchanges", others)
        return self._run(self._dialect.exchanges(range=range, symbol=symbol))

    def bars(
        self,
        symbol: str = "BTC",
        *,
        exchange: str = "binance",
        interval: CoinGlassInterval | timedelta = "1h",
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """Price bars of a pair.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        exchange : str
            The exchange.
        interval : str or timedelta
            Length of a period.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``symbol``, ``exchange``, ``timestamp`` (open), ``closes_at``, ``open``, ``high``, ``low``, ``close``,
            ``volume`` (base units: ``volume_usd`` at the middle of the bar's range, as in its CSV files),
            ``volume_usd`` (as sent), ``interval``, oldest first. Only closed bars, as everywhere; ``end`` is when the
            last one closes at most.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.CoinGlass("key") as service:
        ...     try:
        ...         service.bars("BTC", interval="2m")
        ...     except ValueError as error:
        ...         print(error)
        interval: '2m' is not allowed; allowed: '1m', '3m', '5m', '15m', '30m', '1h', '4h', '6h', '8h', '12h', '1d',
        '1w'
        """
        refuse_others("CoinGlass", "bars", others)
        return self._run(self._dialect.bars(symbol=symbol, exchange=exchange, interval=interval, start=start, end=end))

    def open_interest(
        self,
        symbol: str = "BTC",
        *,
        exchange: str = "binance",
        interval: CoinGlassInterval | timedelta = "1h",
        start: Bound | None = None,
        end: Bound | None = None,
        **others: Any,
    ) -> Rows[Any]:
        """Open interest of a pair, in USD.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        exchange : str
            The exchange.
        interval : str or timedelta
            Length of a period.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start the service decides how far it goes back.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``symbol``, ``exchange``, ``timestamp`` (end of the period, from which on the reading is known),
            ``closes_at`` (the same), ``open_interest_usd``, oldest first. The reading of the open period is left out.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.CoinGlass("key") as service:
        ...     try:
        ...         service.open_interest("BTC", interval="2m")
        ...     except ValueError as error:
        ...         print(error)
        interval: '2m' is not allowed; allowed: '1m', '3m', '5m', '15m', '30m', '1h', '4h', '6h', '8h', '12h', '1d',
        '1w'
        """
        refuse_others("CoinGlass", "open_interest", others)
        return self._run(
            self._dialect.open_interest(symbol=symbol, exchange=exchange, interval=interval, start=start, end=end)
        )

    def plan(self) -> Record:
        """The plan of the key.

        Returns
        -------
        Record
            ``level``, ``expires_at`` (UTC datetime) and ``expired``.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.CoinGlass("key", base_url="http://127.0.0.1:1", retries=0) as service:
        ...     try:
        ...         service.plan()
        ...     except ConnectionError as error:
        ...         print(type(error).__name__)
        NoAnswer
        """
        return self._run(self._dialect.plan())
