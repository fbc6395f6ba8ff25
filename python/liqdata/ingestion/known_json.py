"""JSON replies of services that need more than other names of columns.

Each is recognised by its shape, and converted to a table of :func:`liqdata.ingest`. Other files are left as they are.
"""

from __future__ import annotations

import json
import os
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

_LARGEST = 64 << 20  # bytes of a reply
_CLOSED = {"[": "]", "{": "}"}


def converted(path: str, name: str, exchange: str | None, scratch: Callable[[], Path], format: str | None) -> str:
    """The path of the converted file, or of the file itself if it is no reply of this kind."""
    text = _json(path)
    if text is None:
        return path
    if '"history"' in text[:400] and (totals := _coinalyze(text)) is not None:
        if format != OF_COINALYZE:
            msg = (
                f"files: {name}: it is Coinalyze's history of liquidations, of which the amounts are USD only if they "
                f'were asked for with convert_to_usd=true; allowed: format="{OF_COINALYZE}" if they were'
            )
            raise BadQuery(msg, parameter="files")
        lines = [json.dumps(row) for row in _summed(totals, name, exchange)]
    elif exchange is not None and format is None and (found := _core.decode_reply(exchange, text)) is not None:
        table, rows = found
        lines = [COLUMNS[table], *map(",".join, rows)]
    else:
        return path
    target = scratch() / Path(path).name
    target.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    # The last bar was open if the reply was written before its end.
    times = Path(path).stat()
    os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
    return str(target)


def _json(path: str) -> str | None:
    """The text of a file that is one JSON value; ``None`` for any other file."""
    file = Path(path)
    try:
        if not 0 < file.stat().st_size <= _LARGEST:
            return None
        with file.open("rb") as opened:
            if opened.read(64).lstrip()[:1] not in {b"[", b"{"}:
                return None
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return text if text.endswith(_CLOSED.get(text[:1], "\0")) else None


def _coinalyze(text: str) -> list[tuple[str, list[dict[str, Any]]]] | None:
    """The markets and their periods; ``None`` for another shape."""
    try:
        markets = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    except ValueError:
        return None
    found = []
    for one in markets if isinstance(markets, list) else [None]:
        match one:
            case {"symbol": str() as symbol, "history": [*periods]} if all(
                isinstance(period, dict) and period.keys() >= {"t", "l", "s"} for period in periods
            ):
                found.append((symbol, periods))
            case _:
                return None
    return found


def _summed(markets: list[tuple[str, list[dict[str, Any]]]], name: str, exchange: str | None) -> list[dict[str, str]]:
    """The totals of each exchange and coin, over its markets."""
    sums: dict[tuple[str, str, int], list[Decimal]] = {}
    for market, periods in markets:
        contract, _, code = market.rpartition(".")
        where = CODES.get(code) or exchange
        if where is None or (exchange not in {None, "all", where} and code in CODES):
            what = f"exchange: {exchange!r} is not that of {market!r}" if where else f"files: {name}: {market!r}"
            msg = f"{what}; allowed: the exchange of its markets as exchange=, or exchange='all' for their sum"
            raise BadQuery(msg, parameter="exchange")
        where = exchange if exchange == "all" else where
        coin = _core.coin(contract.removesuffix("_PERP"))
        for period in periods:
            both = sums.setdefault((where, coin, int(period["t"]) * 1000), [Decimal(0), Decimal(0)])
            for side, amount in enumerate((period["l"], period["s"])):
                both[side] += amount
    return [
        {"exchange": where, "symbol": coin, "timestamp": str(at), "long_usd": str(long), "short_usd": str(short)}
        for (where, coin, at), (long, short) in sums.items()
    ]
