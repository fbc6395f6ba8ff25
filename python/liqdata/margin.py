"""Maintenance margins of exchanges, and liquidation prices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from . import _core
from .calls.arguments import choice
from .calls.traceback import public_call
from .errors import BadQuery
from .rows import Rows

if TYPE_CHECKING:
    from .types import BracketRow

__all__ = ["brackets", "liquidation_price"]


@public_call
def brackets(symbol: str, exchange: str = "binance") -> Rows[BracketRow]:
    """Maintenance margins of a market by position size, as the exchange published them.

    The margin of a position is ``maintenance_margin * notional - deduction_usd`` of the bracket that contains the
    notional. Exchanges change their brackets; these are of the day ``as_of``. Estimates do not use them: :class:`Model`
    has its own rates (``mmr=``).

    Parameters
    ----------
    symbol : str
        Coin or pair, such as ``BTC`` or ``1000PEPEUSDT``.
    exchange : {"binance", "hyperliquid"}
        Available are BTC, ETH, SOL, XRP, DOGE and PEPE of Binance, BTC and ETH of Hyperliquid.

    Returns
    -------
    Rows
        ``exchange``, ``symbol`` (the exchange's name), ``tier`` (from 1), ``notional_cap_usd`` (``None`` if unlimited),
        ``maintenance_margin`` (a share), ``max_leverage``, ``deduction_usd``, ``as_of`` (day, epoch ms) and
        ``source``.

    Raises
    ------
    BadQuery
        For a market without known brackets; the message lists the markets that have them.

    Examples
    --------
    >>> import liqdata
    >>> first, second, *_ = liqdata.margin.brackets("BTC")
    >>> first["notional_cap_usd"], first["maintenance_margin"], second["deduction_usd"]
    (300000.0, 0.004, 300.0)
    """
    return Rows(_known(symbol, exchange), meta={"simulated": False})


@public_call
def liquidation_price(
    side: Literal["LONG", "SHORT", "long", "short"],
    entry: float,
    leverage: float,
    *,
    mmr: float | None = None,
    exchange: str | None = None,
    symbol: str | None = None,
    notional: float | None = None,
    fee: float = 0.0,
    contract: Literal["linear", "inverse"] = "linear",
    margin_of: Literal["mark", "entry"] = "mark",
) -> float:
    """The mark price at which an isolated position is liquidated: its equity equals its maintenance margin.

    For a linear contract ``P = (E (s - 1/L) - a) / (s - m - f)`` with ``s`` 1 for longs and -1 for shorts, ``E`` entry,
    ``L`` leverage, ``m`` maintenance margin rate, ``f`` fee and ``a`` deduction per unit; for an inverse one
    ``P = E (s + m + f) / (s + 1/L)``. With ``margin_of="entry"`` it is ``P = E (1 - s (1/L - m - f))`` for a linear
    contract and ``P = E / (1 + s (1/L - m - f))`` for an inverse one.

    Parameters
    ----------
    side : {"LONG", "SHORT"}
        Of the position, in either case.
    entry : float
        Entry price, above 0.
    leverage : float
        At least 1.
    mmr : float, optional
        Maintenance margin rate, 0 to below 1. Without it, brackets give the rate.
    exchange, symbol : str, optional
        The market for the :func:`brackets`. The bracket is that of the notional at the liquidation price, as exchanges
        compute it.
    notional : float, optional
        USD of the position at its entry, above 0; needed with ``exchange`` and ``symbol``.
    fee : float
        Rate of the closing fee, if the exchange counts it as margin (OKX: its taker fee), 0 to below 1.
    contract : {"linear", "inverse"}
        Settled in dollars or in the coin; an inverse one needs ``mmr=``.
    margin_of : {"mark", "entry"}
        Base of the maintenance margin: the value at the mark price, or at the entry price (BitMEX's inverse contracts,
        and the former rule of Bybit).

    Returns
    -------
    float
        The price; 0 for a long that no price liquidates, infinity for such a short.

    Raises
    ------
    BadQuery
        For a number outside its bounds, a leverage that the bracket does not allow, and a market that is not known.

    Examples
    --------
    >>> import liqdata
    >>> round(liqdata.margin.liquidation_price("LONG", 100.0, 100, mmr=0.005), 4)
    99.4975
    >>> round(liqdata.margin.liquidation_price("LONG", 20_000.0, 50, mmr=0.005, margin_of="entry"), 6)
    19700.0
    >>> round(liqdata.margin.liquidation_price("SHORT", 60_000.0, 4, mmr=0.05, contract="inverse", margin_of="entry"))
    75000
    >>> liqdata.margin.liquidation_price("SHORT", 60_000.0, 20, exchange="binance", symbol="BTC", notional=1e6) < 63_000
    True
    """
    long = choice(side.upper() if isinstance(side, str) else side, "side", ("LONG", "SHORT")) == "LONG"
    entry = _number("entry", entry, lambda value: value > 0, "a price above 0")
    leverage = _number("leverage", leverage, lambda value: value >= 1, "a number from 1 on")
    fee = _number("fee", fee, lambda value: 0 <= value < 1, "a share from 0 to below 1")
    inverse = choice(contract, "contract", ("linear", "inverse")) == "inverse"
    of_entry = choice(margin_of, "margin_of", ("mark", "entry")) == "entry"
    of = None
    if mmr is None:
        if inverse or of_entry:
            _refuse("mmr", None, "a rate, for brackets are known of linear contracts and the mark price")
        of = _market(exchange, symbol, notional, leverage)
    else:
        mmr = _number("mmr", mmr, lambda value: 0 <= value < 1, "a share from 0 to below 1")
        if mmr + fee >= 1:
            _refuse("fee", fee, "a fee that together with mmr is below 1")
    found: float = _core.liquidation_price(long, entry, leverage, mmr or 0.0, fee, inverse, of_entry, of)
    if long:
        return max(found, 0.0)
    # A short of an inverse contract with a leverage of 1 cannot lose more than it has.
    return found if found > 0 and math.isfinite(found) else math.inf


def _market(
    exchange: str | None, symbol: str | None, notional: float | None, leverage: float
) -> tuple[str, str, float]:
    """The arguments of a bracket look-up."""
    for name, given in (("exchange", exchange), ("symbol", symbol), ("notional", notional)):
        if given is None:
            _refuse(name, None, "mmr=, or exchange=, symbol= and notional=")
    usd = _number("notional", notional, lambda value: value > 0, "USD above 0")
    _known(symbol, exchange)
    where = (str(exchange), str(symbol))
    highest = _core.max_leverage(*where, usd)
    if highest is None:
        _refuse("notional", notional, "what the last bracket allows")
    if leverage > highest:
        _refuse("leverage", leverage, f"up to {highest:g} at that notional")
    return (*where, usd)


def _known(symbol: object, exchange: object) -> _core.Table:
    known = _core.bracketed()
    exchanges = sorted({name for name, _ in known})
    where = _core.exchange(exchange) if isinstance(exchange, str) else exchange
    if where not in exchanges:
        _refuse("exchange", exchange, ", ".join(exchanges))
    if not isinstance(symbol, str) or not symbol.strip():
        _refuse("symbol", symbol, "a coin or a pair")
    found = _core.brackets(str(where), symbol)
    if found is None:
        _refuse("symbol", symbol, ", ".join(name for place, name in known if place == where))
    return found


def _number(name: str, value: Any, allowed: Any, said: str) -> float:
    plain = isinstance(value, (int, float)) or hasattr(value, "__float__")
    if isinstance(value, (bool, str)) or not plain:
        _refuse(name, value, said)
    number = float(value)
    if not math.isfinite(number) or not allowed(number):
        _refuse(name, value, said)
    return number


def _refuse(name: str, value: object, allowed: str) -> NoReturn:
    msg = f"{name}: {value!r} is not allowed; allowed: {allowed}"
    raise BadQuery(msg, parameter=name)
