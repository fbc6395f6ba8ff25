"""Parquet files of known writers that need more than other names of columns.

Each is recognised by its columns, and converted to a table of :func:`liqdata.ingest`. Columns are as their writers
document them; a file with other columns is left as it is, so that the reader of tables refuses it by name.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from collections.abc import Callable

LIQUIDATIONS = {"received_time", "event_time", "side", "price", "quantity"}
"""Columns of cryptohftdata's liquidations."""

READINGS = {"received_time", "timestamp", "sum_open_interest", "sum_open_interest_value"}
"""Columns of cryptohftdata's open interest."""

SNAPSHOT = {"user", "market", "size", "notional", "entry_price", "liquidation_price", "leverage_type", "leverage"}
"""Columns of a reservoir's snapshot of all positions of Hyperliquid."""

POSITION_SIDE = frozenset({"bybit", "bitget"})
"""Exchanges of which the side in a liquidation is that of the position: ``Buy`` is a liquidated long."""

IN_CONTRACTS = frozenset({"okx", "bitmex"})
"""Exchanges of which cryptohftdata's amounts are in contracts."""

_HOURLY = re.compile(r"([^/]+)/\d{4}-\d{2}-\d{2}/\d{2}/([^/]+?)_(?:liquidations|open_interest)\.parquet")
_DAY = re.compile(r"(?:^|/)date=(\d{4}-\d{2}-\d{2})/[^/]*$")
_MILLISECONDS = 10**12  # of 2001; a smaller number in a name is not an instant
_DECIMALS = 15  # of amounts; a market of a thousand coins has three more, and an archive stores 18


def converted(path: str, name: str, exchange: str | None, scratch: Callable[[], Path], *, is_sized: bool) -> str:
    """The path of the converted file, or of the file itself if its columns are not those of a known writer."""
    if find_spec("pyarrow") is None:
        return path
    import pyarrow as pa
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
        columns = set(file.schema_arrow.names)
        if columns >= LIQUIDATIONS:
            made = _liquidations(file.read(), _market(name, exchange, is_sized=is_sized))
        elif columns >= READINGS:
            made = _readings(file.read(), _market(name, exchange, is_sized=is_sized))
        elif columns >= SNAPSHOT:
            made = _snapshot(file.read(), name)
        else:
            return path
    except (OSError, pa.ArrowException):
        return path  # the reader of tables says what is damaged
    target = scratch() / Path(path).name
    parquet.write_table(made, target)
    return str(target)


def _market(name: str, exchange: str | None, *, is_sized: bool) -> tuple[str, str]:
    """Exchange and contract of a file of cryptohftdata, ``EXCHANGE/DAY/HOUR/CONTRACT_TYPE.parquet``.

    The file is refused if its amounts are in contracts and the caller does not give their size.
    """
    found = _HOURLY.search(name.replace("\\", "/"))
    folder, contract = found.groups() if found is not None else ("", "")
    if found is None:
        contract = name.replace("\\", "/").rpartition("/")[2].partition(".")[0]
        contract = contract.removesuffix("_liquidations").removesuffix("_open_interest")
    for word in ("_futures", "_derivatives"):
        folder = folder.removesuffix(word)
    known = exchange or folder
    if not contract or not known:
        missing = "contract" if not contract else "exchange"
        msg = (
            f"files: {name}: it does not name its {missing}; allowed: EXCHANGE/DAY/HOUR/CONTRACT_liquidations.parquet, "
            "or the name of the contract with exchange="
        )
        raise BadQuery(msg, parameter="files")
    where = _core.exchange(known)
    if where in IN_CONTRACTS and not is_sized:
        msg = f"files: {name}: its amounts count contracts of {where}; allowed: the same with contract_size="
        raise BadQuery(msg, parameter="files")
    return where, contract


def _liquidations(table: Any, market: tuple[str, str]) -> Any:
    import pyarrow as pa

    where, contract = market
    columns = table.to_pydict()
    rows = table.num_rows
    none = [None] * rows
    filled, average = columns.get("filled_quantity", none), columns.get("average_price", none)
    traded = columns.get("trade_time", none)
    made = {
        "exchange": [where] * rows,
        "symbol": [contract] * rows,
        "timestamp": [first or second for first, second in zip(traded, columns["event_time"], strict=True)],
        "received_at": [_milliseconds(cell) for cell in columns["received_time"]],
        "price": _first_of(average, columns["price"]),
        "qty": _first_of(filled, columns["quantity"]),
        "side": [_side(cell, where) for cell in columns["side"]],
    }
    numbers = {"timestamp": pa.int64(), "received_at": pa.int64()}
    return pa.table({name: pa.array(cells, numbers.get(name, pa.string())) for name, cells in made.items()})


def _readings(table: Any, market: tuple[str, str]) -> Any:
    import pyarrow as pa

    where, contract = market
    columns = table.to_pydict()
    readings = [_text(cell) for cell in columns["sum_open_interest"]]
    return pa.table(
        {
            "exchange": pa.array([where] * table.num_rows, pa.string()),
            "symbol": pa.array([contract] * table.num_rows, pa.string()),
            "timestamp": pa.array(columns["timestamp"], pa.int64()),
            "open_interest": pa.array(readings, pa.string()),
        }
    )


def _snapshot(table: Any, name: str) -> Any:
    """The open positions of all accounts at one instant.

    Rows without a size are no positions. A liquidation price of 0 or below says that no price liquidates the position.
    """
    import pyarrow as pa

    at = _instant(name)
    numbers = ("size", "notional", "entry_price", "liquidation_price", "leverage")
    columns: dict[str, list[Any]] = {one: _rounded(table[one].cast(pa.float64())) for one in numbers}
    columns |= {one: table[one].to_pylist() for one in ("user", "market", "leverage_type")}
    if 0 in columns["size"]:
        rows = [row for row, size in enumerate(columns["size"]) if size != 0]
        columns = {one: [cells[row] for row in rows] for one, cells in columns.items()}
    sizes, markets = columns["size"], columns["market"]
    shares = _shares(markets, sizes)
    made: dict[str, tuple[list[Any], Any]] = {
        "timestamp": ([at] * len(sizes), pa.int64()),
        "exchange": (["hyperliquid"] * len(sizes), pa.string()),
        "coin": (markets, pa.string()),
        "account": (columns["user"], pa.string()),
        "side": ([None if size is None else "LONG" if size > 0 else "SHORT" for size in sizes], pa.string()),
        "qty": ([None if size is None else abs(size) for size in sizes], pa.float64()),
        "value_usd": ([None if value is None else abs(value) for value in columns["notional"]], pa.float64()),
        "entry_price": (columns["entry_price"], pa.float64()),
        "liquidation_price": (
            [price if price is not None and price > 0 else None for price in columns["liquidation_price"]],
            pa.float64(),
        ),
        "leverage": (columns["leverage"], pa.float64()),
        "margin_mode": (columns["leverage_type"], pa.string()),
        "seen_share": ([shares[market] for market in markets], pa.float64()),
    }
    return pa.table({name: pa.array(cells, kind) for name, (cells, kind) in made.items()})


def _rounded(column: Any) -> list[float | None]:
    """The numbers of a column with at most :data:`_DECIMALS` decimals; NaN is a missing number."""
    cells = column.to_numpy().tolist()
    return [None if isnan(cell) else round(cell, _DECIMALS) for cell in cells]


def _instant(name: str) -> int:
    """The instant of a snapshot: the milliseconds in the name of its file, else the end of the day of its folder.

    The end of the day is the first instant at which the state of an unknown time of the day is surely past.
    """
    path = name.replace("\\", "/")
    at = path.rpartition("/")[2].partition(".")[0].rpartition("_")[2]
    if at.isdecimal() and int(at) >= _MILLISECONDS:
        return int(at)
    day = _DAY.search(path)
    try:
        start = datetime.strptime(day[1], "%Y-%m-%d").replace(tzinfo=UTC) if day else None
    except ValueError:
        start = None
    if start is None:
        msg = (
            f"files: {name}: it does not name the instant of the snapshot; allowed: BLOCK_MILLISECONDS.parquet, or a "
            "folder date=YYYY-MM-DD"
        )
        raise BadQuery(msg, parameter="files")
    return int((start + timedelta(days=1)).timestamp() * 1000)


def _shares(markets: list[str | None], sizes: list[float | None]) -> dict[str | None, float]:
    """By market, the share of its open interest that the positions make up.

    Each contract has a long and a short, so open interest is at least the larger of the two sums.
    """
    sums: dict[str | None, list[float]] = {market: [0.0, 0.0] for market in markets}
    for market, size in zip(markets, sizes, strict=True):
        sums[market][(size or 0.0) < 0] += abs(size or 0.0)
    return {market: round(sum(sides) / (2 * max(sides) or 1.0), 6) for market, sides in sums.items()}


def _side(cell: object, exchange: str) -> str | None:
    """The side of the position that was liquidated."""
    word = str(cell).upper()
    is_buy = {"BUY": True, "B": True, "SELL": False, "S": False}.get(word)
    if is_buy is None:
        return None if cell is None else word
    is_long = is_buy if exchange in POSITION_SIDE else not is_buy
    return "LONG" if is_long else "SHORT"


def _first_of(preferred: list[Any], other: list[Any]) -> list[str | None]:
    """The preferred amounts where there are any above 0, else the others, as text with every digit."""
    return [
        _text(first) if _is_amount(first) else _text(second) for first, second in zip(preferred, other, strict=True)
    ]


def _is_amount(cell: object) -> bool:
    try:
        return cell is not None and float(str(cell)) > 0
    except ValueError:
        return False


def _text(cell: object) -> str | None:
    return None if cell is None else str(cell)


def _milliseconds(nanoseconds: int | None) -> int | None:
    return None if nanoseconds is None else nanoseconds // 1_000_000
