"""Compares the orders of a second source with those in the archive."""

from __future__ import annotations

import tempfile
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.ingestion.ingest import Options, stored
from liqdata.market import open as opened

from .plan import millis

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from liqdata.ingestion.given_files import GivenFile
    from liqdata.market import Market

    from .plan import PlannedFile


def compared(
    folder: Path,
    given: list[GivenFile],
    first: PlannedFile,
    coins: tuple[str, ...],
    sizes: Mapping[str, list[Any]] | None,
    *,
    format: str | None,
) -> list[dict[str, Any]]:
    """How many orders of some files the archive has, matched by count."""
    start, end = millis(first.first), millis(first.last + timedelta(days=1))

    def orders(market: Market) -> Counter[tuple[object, ...]]:
        found: Iterable[Mapping[str, Any]] = market.iter_orders(start=start, end=end, exchange=first.exchange or None)
        return Counter(_key(row) for row in found if _core.coin(row["symbol"]) in coins)

    with tempfile.TemporaryDirectory(prefix="liqdata-") as scratch:
        other = Path(scratch) / "archive"
        options = Options(format, first.exchange or None, sizes=sizes)
        if not stored(other, given, {}, options).new:
            return []
        with opened(other) as there, opened(folder) as here:
            theirs, ours = orders(there), orders(here)
    return [
        {
            "source": first.source.name,
            "exchange": first.exchange or "several",
            "day": start,
            "rows": theirs.total(),
            "same": (theirs & ours).total(),
            "stored": ours.total(),
        }
    ]


def _key(row: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(row[name] for name in ("exchange", "symbol", "side", "price", "qty", "timestamp"))
