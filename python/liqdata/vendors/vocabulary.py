"""The spellings of vendors: ranges, periods, exchanges, coins and pairs."""

from __future__ import annotations

import inspect
import time
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.calls.arguments import length, many, resolved
from liqdata.calls.traceback import suggestion, warn
from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ALIKE = 0.8
"""Similarity of names from which on one is taken for a misspelling of the other."""
_SAME = {"1d": "24h", "24h": "1d", "1w": "7d", "7d": "1w", "30d": "1M", "1M": "30d", "90d": "3M", "180d": "6M"}
_SAME |= {"3M": "90d", "6M": "180d", "2w": "14d", "14d": "2w", "1Y": "1y", "1y": "1Y"}


def spelled(value: object, parameter: str, known: Mapping[str, str]) -> tuple[str, str]:
    """Our spelling and the vendor's of a word; ``known`` maps ours to theirs.

    Raises
    ------
    BadQuery
        If the vendor does not have it.
    """
    if isinstance(value, str):
        for one in (value, _SAME.get(value, value)):
            if one in known:
                return one, known[one]
            for ours, theirs in known.items():
                if one == theirs:
                    return ours, theirs
    msg = f"{parameter}: {value!r} is not allowed; allowed: {', '.join(repr(one) for one in known)}"
    raise BadQuery(msg, parameter=parameter)


def period(value: object, known: Mapping[str, str]) -> tuple[int, str]:
    """The length of a period in milliseconds, and the vendor's name; ``known`` maps our names to theirs."""
    lengths = {length(ours): theirs for ours, theirs in known.items()}
    found = length(value)
    if found not in lengths:
        msg = f"interval: {value!r} is not allowed; allowed: {', '.join(repr(one) for one in known)}"
        raise BadQuery(msg, parameter="interval")
    return found, lengths[found]


def one_of(value: Any, parameter: str, allowed: Sequence[Any]) -> Any:
    """The value, if it is allowed."""
    if isinstance(value, bool) or value not in allowed:
        msg = f"{parameter}: {value!r} is not allowed; allowed: {', '.join(map(repr, allowed))}"
        raise BadQuery(msg, parameter=parameter)
    return value


def _text(value: object, parameter: str, allowed: str) -> str:
    if many(value) is not None:
        msg = f"{parameter}: {value!r} is a list; allowed: {allowed.replace('a ', 'one ')}; ask for each"
        raise BadQuery(msg, parameter=parameter)
    if not isinstance(value, str) or not value.strip():
        msg = f"{parameter}: {value!r} is not allowed; allowed: {allowed}"
        raise BadQuery(msg, parameter=parameter)
    return value.strip()


def coin_of(symbol: object) -> str:
    """The coin of a coin or a pair."""
    return _core.coin(_text(symbol, "symbol", "a coin, such as BTC, or a pair, such as BTCUSDT"))


def pair_of(symbol: object, exchange: str | None = None) -> str:
    """The pair as the exchange spells it; for a coin, its pair with USDT."""
    text = _text(symbol, "symbol", "a pair, such as BTCUSDT, or a coin, such as BTC")
    coin, _, quote, *_ = _core.symbol(text, exchange)
    if quote is not None and text.upper() != coin:
        return text
    return f"{coin}-USDT-SWAP" if exchange == "okx" else f"{coin}USDT"


def exchange_of(exchange: object, spellings: Mapping[str, str]) -> tuple[str, str]:
    """Our name of an exchange and the vendor's.

    A name that is not in ``spellings`` is sent as it is given, with a warning.

    Raises
    ------
    BadQuery
        For a name that is almost one in ``spellings``.
    """
    text = _text(exchange, "exchange", f"an exchange, such as {', '.join(map(repr, spellings))}")
    ours = _core.exchange(text)
    if ours in spellings:
        return ours, spellings[ours]
    names = {name.lower(): name for name in (*spellings.values(), *spellings)}
    if text.lower() not in names and (near := get_close_matches(text.lower(), names, n=1, cutoff=_ALIKE)):
        known = ", ".join(map(repr, spellings))
        msg = f"exchange: {text!r} is unknown; did you mean {names[near[0]]!r}?; allowed: {known}"
        raise BadQuery(msg, parameter="exchange")
    if spellings and text.lower() not in names:
        warn(
            f"exchange: {text!r} is not among the known names, {', '.join(spellings)}; it is sent as it is", UserWarning
        )
    return ours, text


def whole(value: object, parameter: str, least: int, most: int) -> int:
    """A whole number within bounds."""
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    msg = f"{parameter}: {value!r} is not allowed; allowed: a whole number from {least} to {most}"
    raise BadQuery(msg, parameter=parameter)


def bounds(start: Any, end: Any) -> tuple[int | None, int | None]:
    """The bounds of a time range, epoch milliseconds."""
    return resolved(start, end, int(time.time() * 1000))


def is_pair(symbol: object) -> bool:
    """Whether a symbol is a pair, not a coin."""
    text = _text(symbol, "symbol", "a coin, such as BTC, or a pair, such as BTCUSDT")
    coin, _, quote, *_ = _core.symbol(text)
    return quote is not None and text.upper() != coin


def coin_alone(symbol: object, vendor: str, otherwise: str) -> str:
    """The coin of a query that the vendor cannot answer for a pair.

    Raises
    ------
    BadQuery
        For a pair; ``otherwise`` says what is allowed besides a coin.
    """
    if is_pair(symbol):
        msg = f"symbol: {symbol!r} is a pair, and {vendor} adds up all pairs of a coin; allowed: a coin, such as "
        raise BadQuery(f"{msg}{coin_of(symbol)!r}{otherwise}", parameter="symbol")
    return coin_of(symbol)


def means(symbol: object, sent: str) -> bool:
    """Whether a pair that a vendor sends belongs to the requested coin or pair."""
    asked, other = (_core.symbol(str(one)) for one in (symbol, sent))
    return asked[0] == other[0] and (not is_pair(symbol) or asked[2] == other[2])


def refuse_others(vendor: str, method: str, others: Mapping[str, Any]) -> None:
    """Refuse the parameters of other sources that the service of a vendor does not have.

    Raises
    ------
    BadQuery
        For a value that is not the default of the other sources.
    TypeError
        For a name that no source has.
    """
    if not others:
        return
    from liqdata.recorded_queries import RecordedQueries

    known = inspect.signature(getattr(RecordedQueries, method)).parameters
    for name, value in others.items():
        if name not in known:
            msg = f"{method}() got an unexpected keyword argument {name!r}{suggestion(name, known)}"
            raise TypeError(msg)
        default = known[name].default
        if value is not None and value != default and (not isinstance(default, tuple) or (value,) != default):
            allowed = f"leaving {name}= out" if default is None else repr(default)
            msg = f"{name}: {vendor} cannot answer {method} by it; allowed: {allowed}"
            raise BadQuery(msg, parameter=name)
