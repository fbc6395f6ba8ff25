"""The blocking client: ten questions to any service that speaks the contract."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast, overload

from . import _answers, _core
from ._answers import Convert, Origin, batch
from ._inputs import choice, many, number
from ._progress import bar
from .errors import BadQuery
from .stream import OrderStream
from .walk import OrderIterator

if TYPE_CHECKING:
    from .grids import Heatmap, LiquidationMap
    from .rows import Rows
    from .types import (
        ChartRow,
        CoinRow,
        ExchangeRow,
        HeatmapRange,
        Levels,
        MapRange,
        MaxPain,
        Model,
        OrderRow,
        Overview,
        RowDecimals,
        Window,
    )

__all__ = ["Client"]

A = TypeVar("A")


class Options:
    """What a client was made with: checked, picklable unless it holds secrets."""

    def __init__(
        self,
        base_url: str | None,
        *,
        timeout: float,
        connect_timeout: float,
        retries: int,
        rate_limit: float | None,
        max_body: int,
        decimals: str,
        headers: Mapping[str, str] | None,
        proxy: str | None,
    ) -> None:
        if base_url is None:
            base_url = os.environ.get("LIQDATA_BASE_URL") or None
        if base_url is None:
            msg = (
                "base_url: none is given and $LIQDATA_BASE_URL is not set; allowed: the address of a service, such as "
                '"https://example.org" (without one, liqdata.demo() gives a simulated market and liqdata.Market(...) '
                "answers from your own tables)"
            )
            raise BadQuery(msg, parameter="base_url")
        if not isinstance(base_url, str):
            msg = f"base_url: {base_url!r} is not text; allowed: an http or https address"
            raise BadQuery(msg, parameter="base_url")
        if proxy is not None and not isinstance(proxy, str):
            msg = f"proxy: a {type(proxy).__name__} is not text; allowed: the address of a proxy, or None"
            raise BadQuery(msg, parameter="proxy")
        seconds = "a number of seconds above 0"
        self.decimals: RowDecimals = cast("RowDecimals", choice(decimals, "decimals", ("decimal", "float", "text")))
        self._made: dict[str, Any] = {
            "base_url": base_url,
            "timeout": number(timeout, "timeout", seconds),
            "connect_timeout": number(connect_timeout, "connect_timeout", seconds),
            "retries": retries,
            "rate_limit": None
            if rate_limit is None
            else number(rate_limit, "rate_limit", "requests a second above 0, or None"),
            "max_body": max_body,
            "headers": _pairs(headers),
            "proxy": proxy,
        }
        self.core = _core.Client(**self._made)

    def portable(self, kind: str) -> dict[str, Any]:
        """The keyword arguments that make the same client elsewhere; never secrets."""
        if self.core.holds_secrets:
            msg = f"cannot pickle a {kind} that carries headers or proxy credentials; make it in the worker instead"
            raise TypeError(msg)
        return {**self._made, "headers": None, "decimals": self.decimals}

    def origin(self) -> Origin:
        """Where an answer that has just arrived came from."""
        return Origin(self.core.base_url, datetime.now(UTC), self.core.simulated, self.decimals)


def _pairs(headers: Mapping[str, str] | None) -> list[tuple[str, str]]:
    if headers is None:
        return []
    allowed = "a mapping of header names to texts"
    if not isinstance(headers, Mapping):
        msg = f"headers: a {type(headers).__name__} is not allowed; allowed: {allowed}"
        raise BadQuery(msg, parameter="headers")
    pairs = list(headers.items())
    for name, value in pairs:
        if not isinstance(name, str) or not isinstance(value, str):
            msg = f"headers: the value of {name!r} is a {type(value).__name__}, not text; allowed: {allowed}"
            raise BadQuery(msg, parameter="headers")
    return pairs


class Client:
    """A blocking client of a service that speaks the contract.

    Safe in notebooks (a running event loop does not matter), in threads, after a fork, and interruptible by Ctrl-C.
    Connections are kept and reused; close the client, or use it in a ``with`` statement.

    Parameters
    ----------
    base_url : str, optional
        Address of the service, http or https, with or without a path prefix. Default: ``$LIQDATA_BASE_URL``.
    timeout : float
        Deadline of one call in seconds; it covers retries and the waits between them.
    connect_timeout : float
        Deadline of one attempt to connect, in seconds.
    retries : int
        Further attempts after the first; only what is worth repeating is repeated.
    rate_limit : float, optional
        Requests per second, all threads together. Waiting for a turn does not count against ``timeout``.
    max_body : int
        Largest reply taken, in bytes after decompression.
    decimals : {"decimal", "float", "text"}
        Whether decimal amounts in dict rows are exact :class:`~decimal.Decimal`, ``float``, or exact text.
    headers : mapping of str to str, optional
        Sent with every request; never shown in a repr, a log or an error.
    proxy : str, optional
        Address of a proxy; wins over the environment's. Loopback addresses are always asked directly.

    Raises
    ------
    BadQuery
        For an option outside its bounds; nothing is sent.

    Notes
    -----
    Every method with ``symbol`` also takes a sequence of symbols and then returns a dict by (upper-case) symbol in the
    order given. The symbols are fetched concurrently, eight at a time, duplicates once. The first failure ends the
    rest and is raised with its symbol in the notes.

    Every method raises :class:`~liqdata.BadQuery` before any I/O, and then :class:`~liqdata.NoAnswer`,
    :class:`~liqdata.TooSlow`, :class:`~liqdata.Refused` or :class:`~liqdata.UnexpectedReply`.

    Examples
    --------
    >>> import liqdata
    >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
    ...     client.coins("1h", limit=2).columns
    ['coin', 'long_usd', 'short_usd', 'total_usd', 'cnt']
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        timeout: float = 10.0,
        connect_timeout: float = 5.0,
        retries: int = 4,
        rate_limit: float | None = None,
        max_body: int = 64 * 2**20,
        decimals: Literal["decimal", "float", "text"] = "decimal",
        headers: Mapping[str, str] | None = None,
        proxy: str | None = None,
    ) -> None:
        self._options = Options(
            base_url,
            timeout=timeout,
            connect_timeout=connect_timeout,
            retries=retries,
            rate_limit=rate_limit,
            max_body=max_body,
            decimals=decimals,
            headers=headers,
            proxy=proxy,
        )
        self._core = self._options.core

    @property
    def base_url(self) -> str:
        """Address of the service."""
        return self._core.base_url

    def _ask(self, question: _core.Question, convert: Convert[A]) -> A:
        return convert(self._core.ask(question), self._options.origin())

    def _each(self, symbol: object, make: Callable[[Any], _core.Question], convert: Convert[A]) -> Any:
        symbols = many(symbol)
        if symbols is None:
            return self._ask(make(symbol), convert)
        questions = batch(symbols, make)
        if not questions and not self._core.closed:
            return {}
        answers = self._core.begin_many(list(questions.values()), list(questions)).wait()
        origin = self._options.origin()
        return {name: convert(answer, origin) for name, answer in zip(questions, answers, strict=True)}

    def overview(self) -> Overview:
        """Long, short and total USD and the count of the last 1, 4, 12 and 24 hours.

        Returns
        -------
        dict
            By window; ``long_usd``, ``short_usd``, ``total_usd`` as float (USD) and ``cnt`` as int. A window that the
            service leaves out is absent.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     list(client.overview())
        ['1h', '4h', '12h', '24h']
        """
        answer: Overview = self._ask(_core.overview(), _answers.plain)
        return answer

    def coins(self, range: Window = "24h", limit: int = 30) -> Rows[CoinRow]:
        """Coins by liquidated USD within a window.

        Parameters
        ----------
        range : {"1h", "4h", "12h", "24h"}
            Rolling window.
        limit : int
            Most rows wanted, 1 to 200.

        Returns
        -------
        Rows
            ``coin``, ``long_usd``, ``short_usd``, ``total_usd`` (float, USD), ``cnt``.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     len(client.coins(limit=5))
        5
        """
        return self._ask(_core.coins(range, limit), _answers.rows)

    def exchanges(self, range: Window = "24h") -> Rows[ExchangeRow]:
        """Liquidated USD per exchange within a window.

        Parameters
        ----------
        range : {"1h", "4h", "12h", "24h"}
            Rolling window.

        Returns
        -------
        Rows
            ``exchange``, ``long_usd``, ``short_usd``, ``total_usd`` (exact decimals, USD), ``cnt``.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     type(client.exchanges()[0]["total_usd"]).__name__
        'Decimal'
        """
        return self._ask(_core.exchanges(range), _answers.rows)

    def largest(self, range: Window = "24h", limit: int = 20) -> Rows[OrderRow]:
        """The largest single liquidation orders within a window.

        Parameters
        ----------
        range : {"1h", "4h", "12h", "24h"}
            Rolling window.
        limit : int
            Most rows wanted, 1 to 1000.

        Returns
        -------
        Rows
            ``exchange``, ``symbol`` (pair), ``side``, ``price``, ``qty`` (base units), ``value_usd`` (exact decimals)
            and ``timestamp`` (epoch ms).

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     len(client.largest("24h", limit=3))
        3
        """
        return self._ask(_core.largest(range, limit), _answers.rows)

    @overload
    def orders(
        self, symbol: str | None = None, exchange: str | None = None, limit: int = 50, offset: int = 0
    ) -> Rows[OrderRow]: ...
    @overload
    def orders(
        self, symbol: Sequence[str], exchange: str | None = None, limit: int = 50, offset: int = 0
    ) -> dict[str, Rows[OrderRow]]: ...
    def orders(
        self,
        symbol: str | Sequence[str] | None = None,
        exchange: str | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> Rows[OrderRow] | dict[str, Rows[OrderRow]]:
        """One page of the order feed, newest first; :meth:`iter_orders` walks all of it.

        Parameters
        ----------
        symbol : str or sequence of str, optional
            Only this trading pair, such as ``BTCUSDT``.
        exchange : str, optional
            Only this exchange, such as ``binance``.
        limit : int
            Most rows wanted, 1 to 1000.
        offset : int
            Rows to skip from the newest.

        Returns
        -------
        Rows or dict of str to Rows
            ``exchange``, ``symbol`` (pair), ``side``, ``price``, ``qty`` (base units), ``value_usd`` (exact decimals)
            and ``timestamp`` (epoch ms).

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     {row["symbol"] for row in client.orders("BTCUSDT", limit=5)}
        {'BTCUSDT'}
        """
        answer: Rows[OrderRow] | dict[str, Rows[OrderRow]] = self._each(
            symbol, lambda one: _core.orders(one, exchange, limit, offset), _answers.rows
        )
        return answer

    @overload
    def chart(self, symbol: str = "BTCUSDT") -> Rows[ChartRow]: ...
    @overload
    def chart(self, symbol: Sequence[str]) -> dict[str, Rows[ChartRow]]: ...
    def chart(self, symbol: str | Sequence[str] = "BTCUSDT") -> Rows[ChartRow] | dict[str, Rows[ChartRow]]:
        """Liquidated USD per hour and side over the last 24 hours.

        Parameters
        ----------
        symbol : str or sequence of str
            Trading pair, such as ``BTCUSDT``.

        Returns
        -------
        Rows or dict of str to Rows
            ``hour`` (epoch ms), ``side``, ``total_usd`` (exact decimal, USD); an hour may have one side only.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     list(client.chart(["BTCUSDT", "ETHUSDT"]))
        ['BTCUSDT', 'ETHUSDT']
        """
        answer: Rows[ChartRow] | dict[str, Rows[ChartRow]] = self._each(symbol, _core.chart, _answers.rows)
        return answer

    @overload
    def heatmap(self, symbol: str = "BTC", range: HeatmapRange = "24h", model: Model = 2) -> Heatmap: ...
    @overload
    def heatmap(self, symbol: Sequence[str], range: HeatmapRange = "24h", model: Model = 2) -> dict[str, Heatmap]: ...
    def heatmap(
        self, symbol: str | Sequence[str] = "BTC", range: HeatmapRange = "24h", model: Model = 2
    ) -> Heatmap | dict[str, Heatmap]:
        """Estimated liquidations over price and time.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``.
        range : {"12h", "24h", "3d", "7d", "1M"}
            Positions opened in the last so much time.
        model : {2, 3}
            2: USD of open interest exposed; 3: USD expected to be reported liquidated.

        Returns
        -------
        Heatmap or dict of str to Heatmap
            ``matrix`` is (P, T) float64, ``prices`` (P,) float64, ``times`` (T,) datetime64[ms].

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     map = client.heatmap("BTC", "12h")
        >>> map.matrix.shape == (map.prices.size, map.times.size)
        True
        """
        answer: Heatmap | dict[str, Heatmap] = self._each(
            symbol, lambda one: _core.heatmap(one, range, model), _answers.heatmap
        )
        return answer

    @overload
    def liqmap(self, symbol: str = "BTC", range: MapRange = "1d") -> LiquidationMap: ...
    @overload
    def liqmap(self, symbol: Sequence[str], range: MapRange = "1d") -> dict[str, LiquidationMap]: ...
    def liqmap(
        self, symbol: str | Sequence[str] = "BTC", range: MapRange = "1d"
    ) -> LiquidationMap | dict[str, LiquidationMap]:
        """Estimated liquidations by price and leverage tier.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``.
        range : {"1d", "7d"}
            Positions opened in the last so much time.

        Returns
        -------
        LiquidationMap or dict of str to LiquidationMap
            ``tiers`` is (N, L) float64 in USD, ``prices``, ``sides`` and ``total`` are (N,), ``leverages`` (L,).

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     client.liqmap("BTC").leverages.tolist()
        [10, 25, 50, 100]
        """
        answer: LiquidationMap | dict[str, LiquidationMap] = self._each(
            symbol, lambda one: _core.liqmap(one, range), _answers.liqmap
        )
        return answer

    @overload
    def levels(self, symbol: str = "BTC") -> Levels: ...
    @overload
    def levels(self, symbol: Sequence[str]) -> dict[str, Levels]: ...
    def levels(self, symbol: str | Sequence[str] = "BTC") -> Levels | dict[str, Levels]:
        """The strongest long and short cluster of each leverage tier.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``.

        Returns
        -------
        dict or dict of str to dict
            As on the wire: ``symbol``, ``price``, ``updatedAt`` (epoch ms) and ``tiers`` by leverage, each with
            ``longPrice``, ``longIntensity``, ``shortPrice``, ``shortIntensity`` (intensities 0 to 1).

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     list(client.levels("ETH")["tiers"])
        ['10', '25', '50', '100']
        """
        answer: Levels | dict[str, Levels] = self._each(symbol, _core.levels, _answers.plain)
        return answer

    @overload
    def maxpain(self, symbol: str = "BTC") -> MaxPain: ...
    @overload
    def maxpain(self, symbol: Sequence[str]) -> dict[str, MaxPain]: ...
    def maxpain(self, symbol: str | Sequence[str] = "BTC") -> MaxPain | dict[str, MaxPain]:
        """The strongest long and short cluster of a day and of a week.

        Parameters
        ----------
        symbol : str or sequence of str
            Coin, such as ``BTC``.

        Returns
        -------
        dict or dict of str to dict
            As on the wire: ``symbol``, ``price``, ``updatedAt`` (epoch ms), ``d1`` and ``d7`` with ``long`` and
            ``short`` (``price``, ``usd``, signed ``distPct``), ``totalLong`` and ``totalShort`` (USD).

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     client.maxpain("BTC")["d1"]["long"]["distPct"] < 0
        True
        """
        answer: MaxPain | dict[str, MaxPain] = self._each(symbol, _core.maxpain, _answers.plain)
        return answer

    def iter_orders(
        self,
        symbol: str | None = None,
        exchange: str | None = None,
        *,
        page_size: int = 1000,
        max_rows: int | None = None,
        progress: bool = False,
    ) -> OrderIterator:
        """Every row of the order feed, newest first, each exactly once though the feed grows while it is read.

        Parameters
        ----------
        symbol : str, optional
            Only this trading pair.
        exchange : str, optional
            Only this exchange.
        page_size : int
            Rows per request, 1 to 1000.
        max_rows : int, optional
            Stop after so many rows.
        progress : bool
            Show a bar of rows on a terminal or in a notebook (needs tqdm).

        Returns
        -------
        OrderIterator
            An iterator of dict rows as of :meth:`orders`. Its ``to_pandas()``, ``to_polars()`` and ``to_arrow()`` take
            all rows that are left as columns, without going through dicts.

        Raises
        ------
        UnexpectedReply
            If equal rows fill a whole page, so that pages cannot be told apart.

        Examples
        --------
        >>> import liqdata
        >>> with liqdata.serve(liqdata.demo()) as server, liqdata.Client(server.url) as client:
        ...     sum(1 for row in client.iter_orders("BTCUSDT", max_rows=250, page_size=100))
        250
        """
        walk = self._core.walk(symbol, exchange, page_size, max_rows)
        return OrderIterator(
            lambda: walk.begin_next().wait(), bar(wanted=progress, total=max_rows), self._options.origin
        )

    def stream_orders(
        self, symbol: str | None = None, exchange: str | None = None, *, last_event_id: str | None = None
    ) -> OrderStream:
        """The orders as they arrive, oldest first: an iterator that waits for the next and has no end of its own.

        A connection that breaks off or falls silent is replaced by another, which goes on behind the last order. The
        stream is an extension of ``liqdata serve`` beside the ten endpoints.

        Parameters
        ----------
        symbol : str, optional
            Only this trading pair.
        exchange : str, optional
            Only this exchange.
        last_event_id : str, optional
            Go on behind this order: an earlier stream's ``last_event_id``. From now on where absent.

        Returns
        -------
        OrderStream
            An iterator of rows as of :meth:`orders`; its ``last_event_id`` is the id of the last one. Use it in
            ``with``, or ``close()`` it.

        Raises
        ------
        NoAnswer
            If no connection can be had within the client's retries; asked again, the stream goes on where it was.
        Refused
            With status 410 if the service no longer knows the place to go on from, so that orders are missing:
            :meth:`iter_orders` has them, and the stream, asked again, goes on behind the gap. With status 404 if the
            service has no stream.
        UnexpectedReply
            For an event outside the contract, which is left out.
        RuntimeError
            If the client is closed, also meanwhile.

        Examples
        --------
        >>> import liqdata
        >>> def watch(url, most):
        ...     with liqdata.Client(url) as client, client.stream_orders("BTCUSDT") as stream:
        ...         for row in stream:
        ...             if row["value_usd"] > most:
        ...                 return row, stream.last_event_id
        """
        core = self._core.stream(symbol, exchange, last_event_id)
        return OrderStream(core, decimals=self._options.decimals)

    def close(self) -> None:
        """Refuse further calls; connections are closed once calls under way have ended."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return remake, (type(self), self._options.portable(type(self).__name__))

    def __repr__(self) -> str:
        return f"Client({self.base_url!r}{', closed' if self._core.closed else ''})"


def remake(kind: type[A], options: dict[str, Any]) -> A:
    """A client of these options: what a pickle calls."""
    return kind(**options)
