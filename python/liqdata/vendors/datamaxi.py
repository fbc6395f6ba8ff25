"""DataMaxi+."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from liqdata.errors import BadQuery

from . import answers
from .answers import Levels
from .refusal import get, scalar, words
from .reply import Get, Node, Reply
from .service import Access, BlockingVendor, Dialect, meta_of, secret, vendor_methods
from .vocabulary import coin_of, exchange_of, refuse_others, spelled, whole

if TYPE_CHECKING:
    from typing import Unpack

    from liqdata.results.map import LiquidationMap
    from liqdata.results.rows import Rows

    from .service import Flow, VendorOptions

__all__ = ["DataMaxi"]

DataMaxiWindow: TypeAlias = Literal["1h", "4h", "24h", "1d"]

URL = "https://api.datamaxiplus.com/api/v1"
VARIABLE = "DATAMAXI_API_KEY"
_WINDOWS = {"1h": "1h", "4h": "4h", "24h": "24h"}
_EXCHANGES = {one: one for one in ("binance", "bybit", "okx", "bitget", "gate", "hyperliquid")}
_TIERS = {10: "l10xUsd", 25: "l25xUsd", 50: "l50xUsd", 100: "l100xUsd"}
_SIDES = "of the position: longs below the price"
_MOST = 1000


def verdict(body: Node) -> tuple[str, str] | None:
    """The reason of a refusal in a body; ``None`` if the body does not refuse."""
    if not isinstance(body.value, dict) or "error" not in body.value:
        return None
    return scalar(body.optional("code")), words(body, "error", "message", "msg")


class DataMaxiDialect(Dialect):
    """The questions of DataMaxi+."""

    def _get(self, path: str, **query: str | None) -> Flow[Reply]:
        given = {name: value for name, value in query.items() if value is not None}
        return get(self.access, Get(f"/{path}", given, "a key"), verdict)

    def liqmap(self, symbol: str, range: str, exchange: str, quote: str) -> Flow[LiquidationMap]:
        """The modelled map of a pair by leverage."""
        spelled(range, "range", {"all": "all"})
        name, spelling = exchange_of(exchange, _EXCHANGES)
        coin = coin_of(symbol)
        if not isinstance(quote, str) or not quote.isalnum():
            msg = f"quote: {quote!r} is not allowed; allowed: a quote currency, such as USDT"
            raise BadQuery(msg, parameter="quote")
        reply = yield from self._get("liquidation/map", exchange=spelling, base=coin, quote=quote.upper())
        data = reply.json()
        levels = Levels()
        for bucket in data.member("buckets").items():
            price, side = bucket.member("price").price(), bucket.member("side").side().lower()
            for leverage, member in _TIERS.items():
                levels.add(price, bucket.member(member).amount(), leverage, side)
        meta = meta_of(self.access, reply, exchange=name, units="usd", view="modelled", sides=_SIDES)
        for member in ("assumptions", "totalOiUsd", "symbol"):
            if (found := data.optional(member)) is not None:
                meta[member] = found.plain()
        updated = data.optional("generatedAt")
        return levels.map(
            symbol=coin, range="all", updated_at=reply.answered_at if updated is None else updated.past(),
            price=data.member("currentPrice").price(), meta=meta,
        )  # fmt: skip

    def _totals(self, range: str, limit: int | None) -> Flow[tuple[Node, dict[str, Any]]]:
        _, theirs = spelled(range, "range", _WINDOWS)
        most = None if limit is None else str(whole(limit, "limit", 1, _MOST))
        reply = yield from self._get("liquidation/heatmap", window=theirs, topN=most)
        return reply.json(), meta_of(self.access, reply, units="usd", sides=_SIDES)

    def coins(self, range: str, limit: int | None) -> Flow[Rows[Any]]:
        """Coins by liquidated USD."""
        data, meta = yield from self._totals(range, limit)
        made: dict[str, dict[str, Any]] = {}
        for row in data.member("tokens").items():
            name, amounts = row.member("base").text(), _amounts(row)
            if name in made:
                amounts = {key: amounts[key] + made[name][key] for key in amounts}
            made[name] = {"coin": name, **amounts}
        return answers.rows(answers.COINS, answers.largest_first(made.values())[:limit], meta)

    def exchanges(self, range: str, symbol: str | None) -> Flow[Rows[Any]]:
        """Liquidated USD by exchange, of all coins or of one."""
        if symbol is not None:
            return (yield from self._exchanges_of(range, coin_of(symbol)))
        data, meta = yield from self._totals(range, None)
        made = [
            {"exchange": exchange_of(row.member("exchange").text(), {})[0], **_amounts(row)}
            for row in data.member("exchanges").items()
        ]
        return answers.rows(answers.EXCHANGES, answers.largest_first(made), meta)

    def _exchanges_of(self, range: str, coin: str) -> Flow[Rows[Any]]:
        """The markets of a coin, added up by exchange."""
        _, theirs = spelled(range, "range", _WINDOWS)
        reply = yield from self._get("cex/symbol/liquidation", base=coin, window=theirs)
        made: dict[str, dict[str, Any]] = {}
        for row in reply.json().items():
            base = row.member("b")
            if base.text().upper() != coin:
                raise base.wrong(coin)
            name = exchange_of(row.member("e").text(), {})[0]
            mine = {
                "long_usd": row.member("long_volume_usd").amount(),
                "short_usd": row.member("short_volume_usd").amount(),
                "total_usd": row.member("total_volume_usd").amount(),
                "cnt": row.member("event_count").whole(),
            }
            before = made.get(name)
            amounts = mine if before is None else {key: mine[key] + before[key] for key in mine}
            made[name] = {"exchange": name, **amounts}
        meta = meta_of(self.access, reply, units="usd", sides=_SIDES, symbol=coin)
        return answers.rows(answers.EXCHANGES, answers.largest_first(made.values()), meta)


def _amounts(row: Node) -> dict[str, Any]:
    return {
        "long_usd": row.member("longUsd").amount(),
        "short_usd": row.member("shortUsd").amount(),
        "total_usd": row.member("totalUsd").amount(),
    }


def datamaxi_access(api_key: str | None, **options: Unpack[VendorOptions]) -> DataMaxiDialect:
    """The dialect with its connections."""
    key, own = secret(api_key, "api_key", VARIABLE, "DataMaxi+")
    return DataMaxiDialect(
        Access(
            "DataMaxi",
            URL,
            keys=[("X-DTMX-APIKEY", key)],
            has_own_key=own,
            **options,
        )
    )


@vendor_methods
class DataMaxi(BlockingVendor[DataMaxiDialect]):
    """DataMaxi+: a modelled map, and totals by coin and exchange.

    A request that the plan of the key does not allow raises :class:`~liqdata.Refused`, which says what it needs; so
    does a missing or wrong key. Requests keep to the limit of the service.

    Parameters
    ----------
    api_key : str, optional
        Key of the service; ``$DATAMAXI_API_KEY`` by default. Never shown.
    %(base_url)s
    %(options)s

    Raises
    ------
    BadQuery
        For a missing key, and for an option outside its bounds; nothing is sent.

    Examples
    --------
    >>> from liqdata import vendors
    >>> vendors.DataMaxi("key")
    DataMaxi('https://api.datamaxiplus.com/api/v1')
    """

    _connect = staticmethod(datamaxi_access)

    def liqmap(
        self,
        symbol: str = "BTC",
        range: Literal["all"] = "all",
        *,
        exchange: str = "binance",
        quote: str = "USDT",
        **others: Any,
    ) -> LiquidationMap:
        """The service's modelled map of a pair, by price and leverage.

        Parameters
        ----------
        symbol : str
            Coin, such as ``BTC``, or pair, such as ``BTCUSDT``.
        range : {"all"}
            The map is of all open interest; the service has no other range.
        exchange : str
            The exchange; the service has no map of all together.
        quote : str
            Quote currency of the pair.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        LiquidationMap
            In USD. ``meta["assumptions"]`` has the assumptions of the model.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.DataMaxi("key") as service:
        ...     try:
        ...         service.liqmap("")
        ...     except ValueError as error:
        ...         print(error)
        symbol: '' is not allowed; allowed: a coin, such as BTC, or a pair, such as BTCUSDT
        """
        refuse_others("DataMaxi", "liqmap", others)
        return self._run(self._dialect.liqmap(symbol=symbol, range=range, exchange=exchange, quote=quote))

    def coins(self, range: DataMaxiWindow = "24h", limit: int | None = None, **others: Any) -> Rows[Any]:
        """Coins by liquidated USD, largest first.

        Parameters
        ----------
        range : str
            Rolling window that ends now.
        limit : int, optional
            Maximum number of rows, 1 to 1000.
        **others
            Parameters of other sources. They are refused by name, because the service cannot answer by them.

        Returns
        -------
        Rows
            ``coin``, ``long_usd``, ``short_usd``, ``total_usd`` (USD); ``cnt`` is missing.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.DataMaxi("key") as service:
        ...     try:
        ...         service.coins("2h")
        ...     except ValueError as error:
        ...         print(error)
        range: '2h' is not allowed; allowed: '1h', '4h', '24h'
        """
        refuse_others("DataMaxi", "coins", others)
        return self._run(self._dialect.coins(range=range, limit=limit))

    def exchanges(self, range: DataMaxiWindow = "24h", *, symbol: str | None = None, **others: Any) -> Rows[Any]:
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
            ``exchange``, ``long_usd``, ``short_usd``, ``total_usd`` (exact, USD) and ``cnt``, which is missing without
            ``symbol``.

        Raises
        ------
        BadQuery
            For a wrong parameter; nothing is sent.
        LiqdataError
            If the call fails: refused, no answer, or a reply of another shape.

        Examples
        --------
        >>> from liqdata import vendors
        >>> with vendors.DataMaxi("key") as service:
        ...     try:
        ...         service.exchanges("2h")
        ...     except ValueError as error:
        ...         print(error)
        range: '2h' is not allowed; allowed: '1h', '4h', '24h'
        """
        refuse_others("DataMaxi", "exchanges", others)
        return self._run(self._dialect.exchanges(range=range, symbol=symbol))
