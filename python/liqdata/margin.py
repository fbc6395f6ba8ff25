"""Maintenance margins of exchanges, and liquidation prices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from . import _core
from .calls.arguments import choice
from .calls.traceback import public_call
from .errors import BadQuery
from .results.rows import Rows

if TYPE_CHECKING:
    from .types import BracketRow

__all__ = ["brackets", "liquidation_price"]


@public_call
def brackets(symbol: str, exchange: str = "binance") -> Rows[BracketRow]:
    """Maintenance margins of a market by position size, as the exchange published them.

    A bracket is a range of position sizes with its own margin rate. The maintenance margin of a position is
    ``maintenance_margin * notional - deduction_usd``, with the values of the bracket that contains the notional (the
    USD value of the position). Exchanges change their brackets; the returned ones were published on the day ``as_of``.
    Estimates do not use brackets: a :class:`Model` has its own rates (``mmr=``).

    Parameters
    ----------
    symbol : str
        Coin or pair, such as ``BTC`` or ``1000PEPEUSDT``.
    exchange : {"binance", "hyperliquid"}
        The exchange. Brackets are available for BTC, ETH, SOL, XRP, DOGE and PEPE on Binance, and for BTC and ETH on
        Hyperliquid.

    Returns
    -------
    Rows
        ``exchange``, ``symbol`` (the exchange's own name), ``tier`` (number of the bracket, from 1),
        ``notional_cap_usd`` (upper end of the bracket, ``None`` if unlimited), ``maintenance_margin`` (a share),
        ``max_leverage``, ``deduction_usd``, ``as_of`` (day of publication, epoch ms) and ``source``.

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
        Side of the position, in upper or lower case.
    entry : float
        Entry price, above 0.
    leverage : float
        Leverage of the position, at least 1.
    mmr : float, optional
        Maintenance margin rate, at least 0 and below 1. If it is left out, the :func:`brackets` of ``exchange`` and
        ``symbol`` determine the rate.
    exchange, symbol : str, optional
        The market with the :func:`brackets` to use. As exchanges do, the function uses the bracket of the notional at
        the liquidation price.
    notional : float, optional
        USD value of the position at its entry price, above 0; needed with ``exchange`` and ``symbol``.
    fee : float
        Rate of the closing fee, at least 0 and below 1, if the exchange adds this fee to the maintenance margin (OKX:
        its taker fee).
    contract : {"linear", "inverse"}
        A linear contract is settled in dollars, an inverse one in the coin. An inverse contract needs ``mmr=``.
    margin_of : {"mark", "entry"}
        Price at which the position is valued for the maintenance margin: the mark price, or the entry price (BitMEX's
        inverse contracts, and the former rule of Bybit).

    Returns
    -------
    float
        The price; 0 for a long that no price liquidates, infinity for such a short.

    Raises
    ------
    BadQuery
        For a number outside its bounds, a leverage that the bracket does not allow, and a market without brackets.

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
            _refuse("mmr", None, "a rate, because brackets are known only for contract='linear' with margin_of='mark'")
        of = _market(exchange, symbol, notional, leverage)
    else:
        mmr = _number("mmr", mmr, lambda value: 0 <= value < 1, "a share from 0 to below 1")
        if mmr + fee >= 1:
            _refuse("fee", fee, "a fee that together with mmr is below 1")
    found: float = _core.liquidation_price(long, entry, leverage, mmr or 0.0, fee, inverse, of_entry, of)
    if long:
        return max(found, 0.0)
    # No price liquidates a short of an inverse contract with a leverage of 1: its margin in coins covers any loss.
    return found if found > 0 and math.isfinite(found) else math.inf


def _market(
    exchange: str | None, symbol: str | None, notional: float | None, leverage: float
) -> tuple[str, str, float]:
    """Check the arguments of a bracket look-up."""
    for name, given in (("exchange", exchange), ("symbol", symbol), ("notional", notional)):
        if given is None:
            _refuse(name, None, "mmr=, or exchange=, symbol= and notional=")
    usd = _number("notional", notional, lambda value: value > 0, "USD above 0")
    _known(symbol, exchange)
    where = (str(exchange), str(symbol))
    highest = _core.max_leverage(*where, usd)
    if highest is None:
        _refuse("notional", notional, "a notional that the last bracket allows")
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
