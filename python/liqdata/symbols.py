"""What a symbol means, in whichever way it is spelled: the rule that every question and every table goes by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from . import _core
from ._doors import door
from .errors import BadQuery

__all__ = ["Symbol", "symbol"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Symbol:
    """A coin or a trading pair, read by :func:`symbol`.

    Attributes
    ----------
    coin : str
        The coin, such as ``"BTC"``.
    quote : str or None
        What a pair is quoted in, such as ``"USDT"``; ``None`` of a coin.
    pair : str or None
        The pair in the spelling of this package, such as ``"BTCUSDT"``; ``None`` of a coin. Perpetual and dated
        contracts share it.
    kind : {"perpetual", "dated", "spot"} or None
        The kind of contract that the spelling names, perpetual where it says nothing; ``None`` of a coin.
    exchange : str or None
        The exchange, where one was named.
    native_id : str or None
        How that exchange calls the perpetual contract; ``None`` where no exchange was named, of a coin, of a dated
        contract, and where the name does not follow from the pair.
    scale : int
        How many of the coin one listed unit holds: 1000 of ``"1000PEPEUSDT"``.

    Examples
    --------
    >>> import liqdata
    >>> found = liqdata.symbol("BINANCE:1000PEPEUSDT.P")
    >>> found.coin, found.quote, found.kind, found.exchange, found.scale
    ('PEPE', 'USDT', 'perpetual', 'binance', 1000)
    """

    coin: str
    quote: str | None
    pair: str | None
    kind: Literal["perpetual", "dated", "spot"] | None
    exchange: str | None
    native_id: str | None
    scale: int

    def __str__(self) -> str:
        return self.pair or self.coin


@door
def symbol(text: str, *, exchange: str | None = None) -> Symbol:
    """Read a symbol as exchanges, ccxt, TradingView or people spell it.

    Parameters
    ----------
    text : str
        Such as ``"BTC"``, ``"BTCUSDT"``, ``"BTC/USDT:USDT"``, ``"BTC-USDT-SWAP"``, ``"PF_XBTUSD"``, ``"BTCUSDT.P"`` or
        ``"BINANCE:BTCUSDT"``.
    exchange : str, optional
        The exchange whose own name of the contract is wanted; see ``native_id``.

    Returns
    -------
    Symbol

    Raises
    ------
    BadQuery
        For what names nothing, for a slip in a well-known pair, with the nearest names, and for an exchange that this
        package does not listen to or another than ``text`` names.

    Examples
    --------
    >>> import liqdata
    >>> found = liqdata.symbol("PF_XBTUSD", exchange="bitmex")
    >>> found.coin, found.pair, found.native_id
    ('BTC', 'BTCUSD', 'XBTUSD')
    >>> liqdata.symbol("1000PEPEUSDT").scale
    1000
    """
    if not isinstance(text, str):
        message = f'symbol: {text!r} is no text; allowed: a coin such as "BTC" or a trading pair such as "BTCUSDT"'
        raise BadQuery(message, parameter="symbol")
    if exchange is not None and not isinstance(exchange, str):
        message = f'exchange: {exchange!r} is no text; allowed: an exchange such as "binance"'
        raise BadQuery(message, parameter="exchange")
    coin, quote, pair, kind, where, native_id, scale = _core.symbol(text, exchange)
    return Symbol(
        coin=coin,
        quote=quote,
        pair=pair,
        kind=cast('Literal["perpetual", "dated", "spot"] | None', kind),
        exchange=where,
        native_id=native_id,
        scale=scale,
    )
