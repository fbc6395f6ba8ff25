"""Symbols: coins and trading pairs in any spelling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from . import _core
from .calls.traceback import public_call
from .errors import BadQuery

__all__ = ["Symbol", "parse"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Symbol:
    """A coin or a trading pair, made by :func:`parse`.

    Attributes
    ----------
    coin : str
        The coin, such as ``"BTC"``. On Hyperliquid third parties (builders) run own markets; the coins of such a market
        have the name of the builder as prefix: ``"XYZ:TSLA"``.
    namespace : str or None
        The name of the builder in lower case, such as ``"xyz"`` for ``"xyz:TSLA"``; ``None`` for every other coin.
    quote : str or None
        Quote currency of a pair, such as ``"USDT"``; ``None`` for a coin.
    pair : str or None
        The pair in the spelling of this package, such as ``"BTCUSDT"``; ``None`` for a coin. The perpetual and the
        dated contracts of a pair have the same ``pair``.
    kind : {"perpetual", "dated", "spot", "option"} or None
        Contract type that the spelling indicates, perpetual by default; ``None`` for a coin.
    exchange : str or None
        The exchange, if the text or the argument ``exchange`` names one.
    native_id : str or None
        The exchange's own name of the perpetual contract. ``None`` without an exchange, for a coin, for a contract of
        another type, and if the name cannot be derived from the pair.
    scale : int
        Number of coins in one listed unit: 1000 for ``"1000PEPEUSDT"``.

    Examples
    --------
    >>> import liqdata
    >>> found = liqdata.symbols.parse("BINANCE:1000PEPEUSDT.P")
    >>> found.coin, found.quote, found.kind, found.exchange, found.scale
    ('PEPE', 'USDT', 'perpetual', 'binance', 1000)
    >>> found = liqdata.symbols.parse("XYZ-TSLA/USDC:USDC")
    >>> found.coin, found.namespace, found.quote
    ('XYZ:TSLA', 'xyz', 'USDC')
    >>> liqdata.symbols.parse("BTC-USDT-SWAP").ccxt
    'BTC/USDT:USDT'
    """

    coin: str
    namespace: str | None
    quote: str | None
    pair: str | None
    kind: Literal["perpetual", "dated", "spot", "option"] | None
    exchange: str | None
    native_id: str | None
    scale: int

    @property
    def ccxt(self) -> str | None:
        """The unified symbol of ccxt, such as ``"BTC/USDT:USDT"``; spot pairs have no settlement currency.

        ``None`` for a coin, for dated contracts and options (a symbol has no expiry), and for a perpetual in USD: it is
        settled in USD on some exchanges and in the coin on others.
        """
        if self.pair is None or self.quote is None or self.kind not in {"perpetual", "spot"}:
            return None
        base = self.pair.removesuffix(self.quote).replace(":", "-")
        if self.kind == "spot":
            return f"{base}/{self.quote}"
        return None if self.quote == "USD" else f"{base}/{self.quote}:{self.quote}"

    def __str__(self) -> str:
        return self.pair or self.coin


@public_call
def parse(text: str, *, exchange: str | None = None) -> Symbol:
    """Parse a symbol as exchanges, ccxt, TradingView or people spell it.

    Parameters
    ----------
    text : str
        Such as ``"BTC"``, ``"BTCUSDT"``, ``"BTC/USDT:USDT"``, ``"BTC-USDT-SWAP"``, ``"PF_XBTUSD"``, ``"BTCUSDT.P"``,
        ``"BINANCE:BTCUSDT"``, ``"xyz:TSLA"`` or ``"BTC-27NOV26-80000-C"``.
    exchange : str, optional
        The exchange to derive ``native_id`` for.

    Returns
    -------
    Symbol

    Raises
    ------
    BadQuery
        For text that is not a symbol, for a misspelt well-known pair (with the nearest names), and for an exchange that
        this package does not know or that contradicts ``text``.

    Examples
    --------
    >>> import liqdata
    >>> found = liqdata.symbols.parse("PF_XBTUSD", exchange="bitmex")
    >>> found.coin, found.pair, found.native_id
    ('BTC', 'BTCUSD', 'XBTUSD')
    >>> liqdata.symbols.parse("1000PEPEUSDT").scale
    1000
    """
    if not isinstance(text, str):
        message = f'symbol: {text!r} is not text; allowed: a coin such as "BTC" or a trading pair such as "BTCUSDT"'
        raise BadQuery(message, parameter="symbol")
    if exchange is not None and not isinstance(exchange, str):
        message = f'exchange: {exchange!r} is not text; allowed: an exchange such as "binance"'
        raise BadQuery(message, parameter="exchange")
    coin, namespace, quote, pair, kind, where, native_id, scale = _core.symbol(text, exchange)
    return Symbol(
        coin=coin,
        namespace=namespace,
        quote=quote,
        pair=pair,
        kind=cast('Literal["perpetual", "dated", "spot", "option"] | None', kind),
        exchange=where,
        native_id=native_id,
        scale=scale,
    )
