"""A market of files, without an archive of one's own."""

from __future__ import annotations

import csv
import os
import shutil
import tempfile
import weakref
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.calls.traceback import public_call, warn
from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from collections.abc import Mapping

    from liqdata.archive import Ingested
    from liqdata.market import Market

__all__ = ["read"]

_DELIMITERS = ",;\t|"


@public_call
def read(
    *files: str | os.PathLike[str],
    format: str | None = None,
    exchange: str | None = None,
    symbol: str | None = None,
    quote_rates: Mapping[str, object] | None = None,
    contract_size: object = None,
) -> Market:
    r"""Read files as a market, with the readers and rules of :func:`liqdata.ingest`.

    The rows are kept in a temporary folder until the market is no longer used. To keep them, and for files that are
    larger than the free disk space of the temporary folder, use :func:`liqdata.ingest` and :func:`liqdata.open`.

    Parameters
    ----------
    *files : str or path-like
        Files as for :func:`liqdata.ingest`.
    format : str, optional
        The format of all files; by default it is detected.
    exchange : str, optional
        The exchange of rows that do not name an exchange.
    symbol : str, optional
        The contract or coin of rows that do not name one, if the name of the file does not either. Only for CSV files
        with a header, and for files that are named after the length of their bars.
    quote_rates : mapping, optional
        Rates of quote currencies that do not count as USD, as for :func:`liqdata.ingest`.
    contract_size : number or table, optional
        The size of a contract for amounts in contracts, as for :func:`liqdata.ingest`.

    Returns
    -------
    Market

    Raises
    ------
    BadQuery
        If the format or the exchange of a file is unclear, and if no row is accepted.

    Notes
    -----
    If some rows are refused, a ``UserWarning`` has their number and the reasons.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import liqdata
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "BTCUSDT-1m-2024-01-02.csv"
    >>> _ = file.write_text("1704153600000,100,102,99,101,7,1704153659999,0,0,0,0,0\n")
    >>> with liqdata.read(file) as market:
    ...     market.bars("BTC")[0]["close"]
    101.0
    """
    from liqdata.ingestion.ingest import ingest
    from liqdata.market import open as opened

    if not files:
        msg = "files: none is given; allowed: at least one file"
        raise BadQuery(msg, parameter="files")
    size: dict[str, Any] = {} if contract_size is None else {"contract_size": contract_size}
    folder = tempfile.mkdtemp(prefix="liqdata-")
    with ExitStack() as unless_made:
        unless_made.callback(shutil.rmtree, folder, ignore_errors=True)
        archive = Path(folder) / "archive"
        named = [_named(os.fspath(file), symbol, Path(folder) / str(place)) for place, file in enumerate(files)]
        done = ingest(archive, *named, format=format, exchange=exchange, quote_rates=quote_rates, **size)
        _report(done)
        market = opened(archive)
        weakref.finalize(market._source, unless_made.pop_all().close)  # noqa: SLF001 - the same package
    return market


def _report(done: Ingested) -> None:
    """Refuse files without an accepted row, and warn of refused rows."""
    count = sum(done.refused.values())
    what = f"read: {count} of {done.rows} rows are refused: " + "; ".join(
        f"{reason} ({number})" for reason, number in done.refused.items()
    )
    if not done.new:
        msg = f"files: {what.removeprefix('read: ')}" if count else "files: they have no rows; allowed: files with rows"
        raise BadQuery(msg, parameter="files")
    if count:
        warn(what, UserWarning)


def _named(path: str, symbol: str | None, folder: Path) -> str:
    """The file, or a copy in a new folder that names the contract of its rows."""
    if symbol is None or _core.file_name(path)[0] is not None:
        return path
    coin, *_ = _core.symbol(symbol)
    if not coin or os.sep in symbol:
        msg = f"symbol: {symbol!r} is not allowed; allowed: a coin, such as BTC, or a pair, such as BTCUSDT"
        raise BadQuery(msg, parameter="symbol")
    folder.mkdir()
    copy = folder / f"{symbol}-{Path(path).name}"
    if _core.file_name(str(copy))[0] is not None:
        shutil.copyfile(path, copy)
        return str(copy)
    copy = folder / Path(path).name
    if _core.file_content(path) == "text" and _with_column(path, copy, symbol):
        return str(copy)
    msg = (
        f"symbol: {path}: cannot be given to this file; allowed: a CSV file with a header and without a contract, or a "
        f"file named after contract and length of bars, such as {symbol}-5m.csv"
    )
    raise BadQuery(msg, parameter="symbol")


def _with_column(path: str, copy: Path, symbol: str) -> bool:
    """Copy a CSV file with one more column, the contract; whether it has a header, and no such column."""
    with open(path, encoding="utf-8-sig", newline="") as source:  # noqa: PTH123 - a path as it is given
        first = source.readline()
        delimiter = max(_DELIMITERS, key=first.count)
        source.seek(0)
        rows = csv.reader(source, delimiter=delimiter)
        meant: list[Any] = [_core.column(name.strip()) for name in next(rows, [])]
        if not any(meant) or {"symbol", "coin"} & set(meant):
            return False
        source.seek(0)
        with copy.open("w", encoding="utf-8", newline="") as target:
            lines = csv.writer(target, delimiter=delimiter, lineterminator="\n")
            head = next(rows := csv.reader(source, delimiter=delimiter))
            lines.writerow([*head, "symbol"])
            lines.writerows([*row, symbol] for row in rows if row)
    return True
