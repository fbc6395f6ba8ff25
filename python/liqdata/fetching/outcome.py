"""The result of a download, as rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from liqdata.archive import Fetched
from liqdata.vendors.answers import typed_rows

from .plan import merged, millis

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .fetch import Delivery
    from .plan import Gap, Plan

_PLAN = (("source", "text"), ("file", "text"), ("table", "text"), ("day", "time"), ("bytes", "int"), ("usd", "float"))
_ROWS = (
    *(("source", "text"), ("table", "text"), ("files", "int"), ("rows", "int")),
    *(("new", "int"), ("repeated", "int"), ("refused", "int"), ("bytes", "int")),
)
_GAPS = (
    *(("source", "text"), ("exchange", "text"), ("table", "text"), ("coin", "text")),
    *(("start", "time"), ("end", "time"), ("reason", "text")),
)
_COMPARED = (
    *(("source", "text"), ("exchange", "text"), ("day", "time")),
    *(("rows", "int"), ("same", "int"), ("stored", "int")),
)
_ANSWERS = (("answer", "text"), ("start", "time"), ("end", "time"), ("exchanges", "text"))


def fetched(
    plan: Plan,
    deliveries: Mapping[tuple[str, str], Delivery],
    gaps: Sequence[Gap],
    compared: Sequence[dict[str, Any]],
    *,
    dry_run: bool,
) -> Fetched:
    """Make the result of a plan and of what was stored."""
    day = timedelta(days=1)
    meta = {"source": "fetch", "as_of": datetime.now(UTC), "simulated": None, "age": None}

    def rows(columns: Iterable[tuple[str, str]], made: Sequence[dict[str, Any]]) -> Any:
        return typed_rows(columns, made, meta)

    files = [
        {
            "source": one.source.name,
            "file": one.file,
            "table": one.table,
            "day": millis(one.first),
            "bytes": one.size,
            "usd": one.usd,
        }
        for one in plan.files
    ]
    stored = [{"source": source, "table": table, **vars(one)} for (source, table), one in deliveries.items()]
    missing = [
        {
            "source": gap.source,
            "exchange": gap.exchange or None,
            "table": gap.table or None,
            "coin": gap.coin or None,
            "start": millis(gap.first),
            "end": millis(gap.last + day),
            "reason": gap.reason,
        }
        for gap in merged(gaps)
    ]
    known = [
        {"answer": name, "start": millis(first), "end": millis(last + day), "exchanges": ", ".join(exchanges)}
        for name, spans, exchanges in plan.answers()
        for first, last in spans
    ]
    return Fetched(
        plan=rows(_PLAN, files),
        rows=rows(_ROWS, stored),
        gaps=rows(_GAPS, missing),
        compared=rows(_COMPARED, compared),
        answers=rows(_ANSWERS, known),
        bytes=sum(one.size or 0 for one in plan.files) if dry_run else sum(one.bytes for one in deliveries.values()),
        usd=sum(one.usd for one in plan.files) if dry_run else sum(one.usd for one in deliveries.values()),
        minutes=plan.minutes(),
        resumable=any(gap.again for gap in gaps),
        dry_run=dry_run,
    )
