"""The rows of some coins in a file of a whole exchange."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any

from liqdata import _core
from liqdata.errors import BadQuery
from liqdata.ingestion.given_files import content_of, unpacked

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

_NAMES = ("coin", "symbol", "market", "instrument", "pair")
"""Columns that may have the coin or the contract, in order of preference."""

_MARK = '"liquidation"'


def rows_of_coins(path: Path, coins: Collection[str], scratch: Path) -> Path:
    """Write the rows of these coins to a file in ``scratch``.

    A file without a column of coins or contracts is returned as it is.
    """
    content = content_of(str(path))
    if content == "parquet":
        return _of_parquet(path, coins, scratch)
    if content not in {"gzip", "lz4", "text"}:
        return path
    target = scratch / path.name.removesuffix(".gz").removesuffix(".lz4")
    with _text(path, content) as packed, target.open("w", encoding="utf-8", newline="") as out:
        text = _sound(packed, path.name)
        first = next(text, "")
        lines = _fills(first, text, coins) if first.lstrip()[:1] in {"{", "["} else _lines(first, text, coins)
        if lines is None:
            return path
        out.writelines(lines)
    return target


def _text(path: Path, content: str) -> IO[str]:
    if content == "text":
        return path.open(encoding="utf-8", errors="replace", newline="")
    packed: Any
    if content == "gzip":
        packed = gzip.open(path)  # noqa: SIM115 - closed with the text
    else:
        packed = io.BufferedReader(unpacked(str(path), content, str(path)), 1 << 20)
    return io.TextIOWrapper(packed, "utf-8", "replace", newline="")


def _sound(text: Iterable[str], name: str) -> Iterator[str]:
    """The lines of a file; a file that is cut short or damaged is refused."""
    try:
        yield from text
    except (OSError, EOFError, zlib.error) as error:
        msg = f"files: {name}: it is cut short or damaged ({error}); allowed: the whole file"
        raise BadQuery(msg, parameter="files") from None


def _lines(header: str, text: Iterable[str], coins: Collection[str]) -> Iterator[str] | None:
    """The header and the lines of the coins; ``None`` if no column has them."""
    names = [name.strip().strip('"').lower() for name in header.split(",")]
    place = next((names.index(name) for name in _NAMES if name in names), None)
    if place is None:
        return None

    def chosen() -> Iterator[str]:
        yield header
        for line in text:
            cells = line.split(",", place + 1)
            # A line that is cut short is passed on, so that the reader names it.
            if len(cells) <= place or _coin(cells[place].strip().strip('"')) in coins:
                yield line

    return chosen()


def _fills(first: str, text: Iterable[str], coins: Collection[str]) -> Iterator[str]:
    """The liquidations of the coins in a node's file of fills by block, a block or a fill a line."""

    def of_coins(fill: Any) -> bool:
        return not isinstance(fill, dict) or ("liquidation" in fill and _coin(str(fill.get("coin"))) in coins)

    for line in _chained(first, text):
        if _MARK not in line:
            continue
        try:
            block = json.loads(line)
        except ValueError:
            yield line  # the reader names it
            continue
        if isinstance(block, dict) and isinstance(block.get("events"), list):
            block["events"] = [leg for leg in block["events"] if not isinstance(leg, list) or of_coins(leg[-1])]
            if block["events"]:
                yield json.dumps(block) + "\n"
        elif not isinstance(block, list) or of_coins(block[-1]):
            yield line


def _chained(first: str, text: Iterable[str]) -> Iterator[str]:
    yield first
    yield from text


def _of_parquet(path: Path, coins: Collection[str], scratch: Path) -> Path:
    try:
        import pyarrow as pa
        from pyarrow import compute, parquet
    except ImportError:
        msg = 'files: rows of single coins of Parquet need pyarrow: pip install "liqdata[arrow]"'
        raise BadQuery(msg, parameter="files") from None
    try:
        table = parquet.read_table(path)
    except (OSError, pa.ArrowException) as error:
        msg = f"files: {path.name}: it cannot be read as Parquet: {error}"
        raise BadQuery(msg, parameter="files") from None
    name = next((name for name in _NAMES if name in table.column_names), None)
    if name is None:
        return path
    found = [cell for cell in table[name].unique().to_pylist() if cell is not None and _coin(str(cell)) in coins]
    target = scratch / path.name
    functions: Any = compute
    parquet.write_table(table.filter(functions.is_in(table[name], pa.array(found, table[name].type))), target)
    return target


@lru_cache(maxsize=65_536)
def _coin(symbol: str) -> str | None:
    try:
        return _core.coin(symbol)
    except BadQuery:
        return None
