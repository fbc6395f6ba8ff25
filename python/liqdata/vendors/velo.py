"""Velo: history only."""

from __future__ import annotations

import base64
import csv
import io
import time
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from liqdata.calls.arguments import length
from liqdata.errors import UnexpectedReply

from . import answers
from .refusal import get, scalar, words
from .reply import Get, Node, Reply
from .service import Access, BlockingVendor, Dialect, meta_of, secret, vendor_methods
from .vocabulary import bounds, coin_alone, coin_of, exchange_of, is_pair, means, pair_of, refuse_others

if TYPE_CHECKING:
    from datetime import timedelta
    from typing import Unpack

    from liqdata.results.rows import Rows
    from liqdata.types import Bound

    from .service import Flow, VendorOptions

__all__ = ["Velo"]

VeloExchange: TypeAlias = Literal["binance", "bybit", "okx", "hyperliquid", "deribit"]

URL = "https://api.velo.xyz/api/v1"
VARIABLE = "VELO_API_KEY"
_EXCHANGES = {
    "binance": "binance-futures", "bybit": "bybit", "okx": "okex-swap", "hyperliquid": "hyperliquid",
    "deribit": "deribit",
}  # fmt: skip
_LONG, _SHORT = "sell_liquidations_dollar_volume", "buy_liquidations_dollar_volume"
_MOST = 22_500  # values of one call
_VALUES = 2  # columns of one row
_PERIODS = 1000  # periods asked for without a start
_SIDES = "sell_liquidations close longs, buy_liquidations close shorts (read as the side of the order)"


def verdict(body: Node) -> tuple[str, str] | None:
    """The reason of a refusal in a body; data are CSV, so every JSON object is a refusal."""
    if not isinstance(body.value, dict):
        return None
    return scalar(body.optional("code")), words(body, "message", "error", "msg")


class VeloDialect(Dialect):
    """The questions of Velo."""

    def history(
        self, symbol: str, exchange: str | None, interval: Any, *, start: Any, end: Any, now: int
    ) -> Flow[Rows[Any]]:
        """Liquidated USD by period: of a coin, added up, or of a pair on one exchange."""
        first, last = bounds(start, end)
        step = length(interval)
        last = now if last is None else last
        first = last - _PERIODS * step if first is None else first
        if exchange is None:
            coin_alone(symbol, "Velo", ", or one exchange")
        names = [exchange_of(one, _EXCHANGES) for one in (_EXCHANGES if exchange is None else [exchange])]
        asked = pair_of(symbol) if is_pair(symbol) else coin_of(symbol)
        about = {"products": asked} if is_pair(symbol) else {"coins": asked}
        made: dict[tuple[Any, ...], dict[str, Any]] = {}
        begin, reach = first, _MOST // (_VALUES * len(names)) * step
        while True:
            until = min(begin + reach, last)
            query = {
                "type": "futures", "exchanges": ",".join(theirs for _, theirs in names), **about,
                "columns": f"{_SHORT},{_LONG}", "begin": str(begin), "end": str(until),
                "resolution": str(step // 60_000),
            }  # fmt: skip
            reply = yield from get(self.access, Get("/rows", query, "a plan with this range of history"), verdict)
            for row in _rows(reply):
                if begin <= row["timestamp"] <= until and row["timestamp"] < last and means(symbol, row["symbol"]):
                    made[row["timestamp"], row.pop("venue"), row["symbol"]] = row
            begin = until
            if begin >= last:
                break
        ordered = answers.added_up(made.values(), asked)
        ours = [name for name, _ in names]
        meta = meta_of(self.access, reply, exchanges=ours, units="usd", sides=_SIDES)
        return answers.history(ordered, meta)


def _rows(reply: Reply) -> list[dict[str, Any]]:
    """The rows of a CSV body; columns are found by name."""
    try:
        lines = list(csv.reader(io.StringIO(reply.body.decode())))
    except (UnicodeDecodeError, csv.Error) as error:
        msg = f"the body is not CSV: {error}"
        raise UnexpectedReply(msg, path="") from None
    if not lines:
        return []
    head = {name: place for place, name in enumerate(lines[0])}
    for name in ("product", "time", _LONG, _SHORT):
        if name not in head:
            msg = f"{name}: is missing; allowed: a first line with this column"
            raise UnexpectedReply(msg, path=name)
    made = []
    for number, line in enumerate(lines[1:]):
        if not line:
            continue
        if len(line) != len(head):
            msg = f"[{number}]: has {len(line)} values; allowed: {len(head)}, as the first line"
            raise UnexpectedReply(msg, path=f"[{number}]")
        row = Node(dict(zip(head, line, strict=True)), f"[{number}]", reply.latest)
        long, short = (_amount(row, name) for name in (_LONG, _SHORT))
        made.append(
            {
                "timestamp": row.member("time").past(),
                "symbol": row.member("product").text(),
                "venue": row.optional("exchange") and row.member("exchange").text(),
                **answers.totals(long, short),
            }
        )
    return made


def _amount(row: Node, name: str) -> Any:
    return row.member(name).amount()


def velo_access(api_key: str | None, **options: Unpack[VendorOptions]) -> VeloDialect:
    """The dialect with its connections."""
    key, own = secret(api_key, "api_key", VARIABLE, "Velo")
    token = base64.b64encode(f"api:{key}".encode()).decode()
    return VeloDialect(
        Access(
            "Velo",
            URL,
            keys=[("Authorization", f"Basic {token}")],
            has_own_key=own,
            hidden=key,
            **options,
        )
    )


@vendor_methods
class Velo(BlockingVendor[VeloDialect]):
    """Velo: liquidations by period.

    A request that the plan of the key does not allow raises :class:`~liqdata.Refused`, which says what it needs; so
    does a missing or wrong key. Requests keep to the limit of the service.

    Parameters
    ----------
    api_key : str, optional
        Key of the service; ``$VELO_API_KEY`` by default. Never shown.
    %(base_url)s
    %(options)s

    Raises
    ------
    BadQuery
        For a missing key, and for an option outside its bounds; nothing is sent.

    Examples
    --------
    >>> from liqdata import vendors
    >>> vendors.Velo("key")
    Velo('https://api.velo.xyz/api/v1')
    """

    _connect = staticmethod(velo_access)

    def history(
        self,
        symbol: str,
        *,
        exchange: VeloExchange | None = None,
        interval: str | timedelta = "1h",
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
            Only this exchange; all known ones by default.
        interval : str or timedelta
            Length of a period.
        start, end : int, datetime, str or timedelta, optional
            Only this time: from ``start`` to ``end``. Without a start, the last 1000 periods.
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
        >>> with vendors.Velo("key") as service:
        ...     try:
        ...         service.history("BTC", interval="2s")
        ...     except ValueError as error:
        ...         print(error)
        interval: '2s' is not allowed; allowed: whole minutes, such as "5m", "4h", "1d", "1w", a timedelta, or
        milliseconds
        """
        refuse_others("Velo", "history", others)
        return self._run(
            self._dialect.history(
                symbol=symbol, exchange=exchange, interval=interval, start=start, end=end, now=int(time.time() * 1000)
            )
        )
