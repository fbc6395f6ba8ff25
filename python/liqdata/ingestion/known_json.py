"""JSON replies of services that need more than other names of columns.

Each is recognised by its shape, and converted to a table of :func:`liqdata.ingest`. Other files are left as they are.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from collections.abc import Callable

OF_COINALYZE = "coinalyze_liquidations"
"""Name of the format of Coinalyze's history of liquidations."""

CODES = {"A": "binance", "6": "bybit", "0": "bitmex"}
"""Exchanges by the code at the end of a market of Coinalyze, as far as its documentation gives them."""

COLUMNS = {"bars": "timestamp,open,high,low,close,volume", "open_interest": "timestamp,open_interest"}
"""Header of the rows of a reply of an exchange."""

CATEGORIES = ("linear", "inverse")
"""Categories of Bybit of contracts that can be liquidated."""

_EXPIRY = re.compile(r"\d{1,2}[A-Z]{3}\d{2}")
_SECONDS = 10**11
"""The first number that is no instant in epoch seconds."""

_USD = 10**15
"""More than any total in USD."""

_LARGEST_REFUSAL = 4096  # characters
_LARGEST = 64 << 20  # bytes of a reply


def converted(
    path: str,
    name: str,
    exchange: str | None,
    scratch: Callable[[], Path],
    *,
    format: str | None,
    symbol: str | None,
) -> str:
    """The path of the converted file, or of the file itself if it is no reply of this kind.

    ``symbol`` is what the caller names in place of the name of the file.
    """
    text = _json(path)
    if text is None:
        return path
    reply = _answered(text, name, exchange)
    written: int | None = None
    is_likely = format == OF_COINALYZE or ('"symbol"' in text[:400] and '"history"' in text[:400])
    if is_likely and (totals := _coinalyze(text, name, format)) is not None:
        if format != OF_COINALYZE:
            msg = (
                f"files: {name}: it is Coinalyze's history of liquidations, of which the amounts are USD only if they "
                f'were asked for with convert_to_usd=true; allowed: format="{OF_COINALYZE}" if they were'
            )
            raise BadQuery(msg, parameter="files")
        lines = [json.dumps(row) for row in _summed(totals, name, exchange)]
    elif exchange is not None and format is None and (found := _core.decode_reply(exchange, text)) is not None:
        table, rows = found
        _of_contract(reply, name, f"{Path(path).stem}-{symbol or ''}")
        written = _written(reply, name, max(int(row[0]) for row in rows) if table == "bars" else 0)
        lines = [COLUMNS[table], *map(",".join, rows)]
    else:
        return path
    target = scratch() / Path(path).name
    target.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    # The last bar was open if the reply was written before its end.
    at = Path(path).stat().st_mtime_ns if written is None else written * 1_000_000
    os.utime(target, ns=(at, at))
    return str(target)


def _json(path: str) -> str | None:
    """The text of a file that begins as JSON; ``None`` for any other file."""
    file = Path(path)
    try:
        if not 0 < file.stat().st_size <= _LARGEST:
            return None
        with file.open("rb") as opened:
            if opened.read(64).lstrip()[:1] not in {b"[", b"{"}:
                return None
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None


def _read(text: str, name: str) -> Any:
    """The one JSON value of a text; ``None`` if more follow it.

    Raises
    ------
    BadQuery
        If the text ends within the value.
    """
    try:
        return json.loads(text, parse_float=Decimal, parse_int=Decimal)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return None
        raise _refused(name, f"it is cut short or damaged ({error}); allowed: the whole reply") from None
    except (ArithmeticError, RecursionError):  # a number or a depth that no reply has
        return None


def _answered(text: str, name: str, exchange: str | None) -> dict[str, Any]:
    """A reply of Bybit or OKX in which the exchange answers; empty for any other text.

    Raises
    ------
    BadQuery
        If the exchange, or another service with such replies, refused the request, or if the reply is cut short.
    """
    both = text[:400] + text[-400:]
    is_likely = '"retCode"' in both or ('"code"' in both and (exchange == "okx" or len(text) < _LARGEST_REFUSAL))
    if text[:1] != "{" or not (is_likely or (exchange == "bybit" and '"result"' in both)):
        return {}
    reply: dict[str, Any] = _read(text, name) or {}
    match reply:
        case {"retCode": code, "retMsg": said}:
            pass
        case {"code": str() | Decimal() as code, "msg": said} if exchange == "okx" or not reply.get("data"):
            pass
        case _:
            return reply
    if str(code).strip("0"):
        who = "bybit" if "retCode" in reply else exchange or "the service"
        raise _refused(name, f"{who} refused the request with code {code}: {said!r}; allowed: a reply with rows")
    return reply


def _of_contract(reply: dict[str, Any], name: str, words: str) -> None:
    """Refuse a reply of Bybit of another market than its name, or of spot markets or options."""
    match reply.get("result"):
        case {"category": category} if category not in CATEGORIES:
            raise _refused(name, f"category: {category!r} is not allowed; allowed: {' or '.join(CATEGORIES)}")
        case {"symbol": str() as symbol} if symbol.strip() and not _says(words.upper(), symbol):
            raise _refused(name, f"its symbol is {symbol!r}, which its name does not say; allowed: {symbol}-1m.json")


def _says(words: str, symbol: str) -> bool:
    """Whether the words of a name, in upper case, are those of a contract or of its coin."""
    parts, whole = re.findall(r"[^\W_]+", words), re.sub(r"[\W_]", "", symbol)
    coin, quote, kind = _market(symbol)
    runs = ("".join(parts[first:last]) for last in range(len(parts) + 1) for first in range(last))
    if kind == "dated" or any(_EXPIRY.fullmatch(part) for part in parts):
        return kind == "dated" and whole in runs
    found = [_market("-".join(parts[at : at + 2]), parts[at]) for at in range(len(parts))]
    named = {one[1] for one in found if one[0] == coin}
    return whole in runs or (bool(named) and named <= {None, quote})


def _market(*texts: str) -> tuple[str, str | None, str | None]:
    """Coin, quote and kind of the first text that is a symbol."""
    for text in texts:
        with contextlib.suppress(BadQuery):
            coin, _, quote, _, kind, *_ = _core.symbol(text)
            return coin, quote, kind
    return "", None, None


def _written(reply: dict[str, Any], name: str, last: int) -> int | None:
    """The epoch milliseconds at which Bybit answered, if it says so; not before its last bar."""
    at = reply.get("time")
    if at is None:
        return None
    if not isinstance(at, Decimal) or not _SECONDS <= at < _SECONDS * 1000 or at % 1:
        raise _refused(name, f"time: {str(at)[:80]} is not allowed; allowed: epoch milliseconds, as a number")
    if last > at:
        raise _refused(name, f"time: {at} is before its bar of {last}; allowed: bars that open before the reply")
    return int(at)


def _coinalyze(text: str, name: str, format: str | None) -> list[tuple[str, list[dict[str, Any]]]] | None:
    """The markets and their periods; ``None`` for another shape."""
    markets = _read(text, name)
    found = []
    for one in markets if isinstance(markets, list) else [markets]:
        match one:
            case {"symbol": str() as symbol, "history": [*periods]} if all(isinstance(one, dict) for one in periods):
                found.append((symbol, periods))
            case {"message": said} | {"error": said} if format == OF_COINALYZE:
                raise _refused(name, f"Coinalyze refused the request: {said!r}; allowed: its history of liquidations")
            case _:
                return None
    is_named = format == OF_COINALYZE or any(period.keys() >= {"l", "s"} for _, periods in found for period in periods)
    return found if found and is_named else None


def _summed(markets: list[tuple[str, list[dict[str, Any]]]], name: str, exchange: str | None) -> list[dict[str, str]]:
    """The totals of each exchange and coin, over its markets."""
    sums: dict[tuple[str, str, int], list[Decimal]] = {}
    seen: dict[str, set[int]] = {}
    for market, periods in markets:
        contract, _, code = market.rpartition(".")
        where = CODES.get(code) or exchange
        if where is None or (exchange not in {None, "all", where} and code in CODES):
            what = f"exchange: {exchange!r} is not that of {market!r}" if where else f"files: {name}: {market!r}"
            msg = f"{what}; allowed: the exchange of its markets as exchange=, or exchange='all' for their sum"
            raise BadQuery(msg, parameter="exchange")
        where = exchange if exchange == "all" else where
        coin = _core.coin(contract.removesuffix("_PERP"))
        if market in seen:
            raise _refused(name, f"it has the market {market!r} twice; allowed: each market once")
        instants = seen.setdefault(market, set())
        for period in periods:
            at = int(_cell(period, "t", f"{name}: {market}", "whole epoch seconds", end=_SECONDS, step=1))
            if at in instants:
                raise _refused(name, f"the market {market!r} has the instant {at} twice; allowed: each instant once")
            instants.add(at)
            both = sums.setdefault((where, coin, at * 1000), [Decimal(0), Decimal(0)])
            for side, column in enumerate("ls"):
                both[side] += _cell(period, column, f"{name}: {market} at {at}", "USD from 0 on", end=_USD)
    return [
        {"exchange": where, "symbol": coin, "timestamp": str(at), "long_usd": str(long), "short_usd": str(short)}
        for (where, coin, at), (long, short) in sums.items()
    ]


def _cell(
    period: dict[str, Any], column: str, place: str, allowed: str, *, end: int, step: int | None = None
) -> Decimal:
    """A number from 0 on and below an end, a multiple of a step if there is one."""
    found = period.get(column)
    if not isinstance(found, Decimal) or not 0 <= found < end or (step is not None and found % step):
        shown = str(found) if isinstance(found, Decimal) else json.dumps(found, default=str)
        raise _refused(place, f"{column}: {shown[:80]} is not allowed; allowed: {allowed}, as a number")
    return found


def _refused(name: str, why: str) -> BadQuery:
    return BadQuery(f"files: {name}: {why}", parameter="files")
