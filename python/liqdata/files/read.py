"""A market of files, without an archive of one's own."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from liqdata import _core
from liqdata.calls.traceback import public_call, warn
from liqdata.errors import BadQuery
from liqdata.text.printable import printable

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from liqdata.archive import Ingested
    from liqdata.market import Market

__all__ = ["read"]


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
        The contract or coin of the rows of files in which neither a column nor the name of the file has it.
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
        If the format or the exchange of a file is unclear, if ``symbol`` names no coin, and if no row is accepted.

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
    from liqdata.ingestion.ingest import Options, check, stored
    from liqdata.ingestion.tables import rates, sizes
    from liqdata.market import open as opened

    if not files:
        msg = "files: none is given; allowed: at least one file"
        raise BadQuery(msg, parameter="files")
    check(files, {}, format=format, exchange=exchange, symbol=symbol)
    if symbol is not None:
        _core.symbol(symbol)  # refuses what names no coin
    options = Options(format, exchange, rates=rates(quote_rates), sizes=sizes(contract_size), symbol=symbol)
    folder = tempfile.mkdtemp(prefix="liqdata-")
    with ExitStack() as unless_made:
        unless_made.callback(shutil.rmtree, folder, ignore_errors=True)
        archive = Path(folder) / "archive"
        _report(stored(archive, files, {}, options))
        market = opened(archive)
        weakref.finalize(market._source, unless_made.pop_all().close)  # noqa: SLF001 - the same package
    return market


def _report(done: Ingested) -> None:
    """Refuse files without an accepted row, and warn of refused rows."""
    count = sum(done.refused.values())
    what = f"read: {count} of {done.rows} rows are refused: " + "; ".join(
        printable(f"{reason} ({number}; first at {done.first[reason]})") for reason, number in done.refused.items()
    )
    if not done.new:
        msg = f"files: {what.removeprefix('read: ')}" if count else "files: they have no rows; allowed: files with rows"
        raise BadQuery(msg, parameter="files")
    if count:
        warn(what, UserWarning)
