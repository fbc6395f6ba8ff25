"""The result of a download as text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from liqdata.text.printable import counted, printable

if TYPE_CHECKING:
    from liqdata.archive import Fetched

_SHOWN = 40  # gaps in a summary


def summary(done: Fetched) -> str:
    """The result as text of several lines."""
    lines = _planned(done) if done.dry_run else _stored(done)
    for row in done.compared:
        theirs = f"{row['same']:,} of {counted(row['rows'], 'order')} of {row['exchange']} on {_day(row['day'])}"
        lines.append(f"  {row['source']}: {theirs} are the same as in the archive, which has {row['stored']:,}")
    gaps = list(done.gaps)
    if gaps:
        lines.append("missing:")
    for row in gaps[:_SHOWN]:
        what = " ".join(row[name] for name in ("exchange", "coin", "table") if row[name])
        span = _span(row["start"], row["end"])
        lines.append(printable(f"  {row['source']}{', ' + what if what else ''}, {span}: {row['reason']}"))
    if len(gaps) > _SHOWN:
        lines.append(f"  and {counted(len(gaps) - _SHOWN, 'span')} more")
    if done.resumable and not done.dry_run:
        lines.append("The same call fetches what is missing now, and only that.")
    return "\n".join(lines)


def _planned(done: Fetched) -> list[str]:
    kinds: dict[tuple[str, str], list[Any]] = {}
    for row in done.plan:
        kinds.setdefault((row["source"], row["table"]), []).append(row)
    lines = [_total(list(done.plan), done)]
    for (source, table), rows in kinds.items():
        days = _span(min(row["day"] for row in rows), max(row["day"] for row in rows) + 86_400_000)
        lines.append(f"  {source}, {table}: {counted(len(rows), 'file')}, {_size(rows)}, {days}")
    known: dict[tuple[str, str], list[str]] = {}
    for row in done.answers:
        known.setdefault((_span(row["start"], row["end"]), row["exchanges"]), []).append(row["answer"])
    if known:
        lines.append("known then:")
    lines += [f"  {', '.join(names)}: {span} ({exchanges})" for (span, exchanges), names in known.items()]
    return lines


def _total(rows: list[Any], done: Fetched) -> str:
    cost = f", {done.usd:.2f} USD" if done.usd else ", free"
    return f"{counted(len(rows), 'file')}, {_size(rows)}, at least {_time(done.minutes)}{cost}"


def _stored(done: Fetched) -> list[str]:
    rows = list(done.rows)
    new = sum(row["new"] for row in rows)
    files = sum(row["files"] for row in rows)
    lines = [f"{counted(files, 'file')}, {_bytes(done.bytes)}, {counted(new, 'new row')}"]
    for row in rows:
        counts = f"{row['new']:,} new, {row['repeated']:,} repeated, {row['refused']:,} refused"
        lines.append(f"  {row['source']}, {row['table']}: {counted(row['files'], 'file')}, {counts}")
    return lines


def _size(rows: list[Any]) -> str:
    unknown = sum(row["bytes"] is None for row in rows)
    known = _bytes(sum(row["bytes"] or 0 for row in rows))
    return known if not unknown else f"{known} and {counted(unknown, 'file')} of unknown size"


def _bytes(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def _time(minutes: float) -> str:
    if minutes < 1:
        return counted(max(1, round(minutes * 60)), "second")
    return counted(round(minutes), "minute") if minutes < 120 else f"{minutes / 60:.1f} hours"  # noqa: PLR2004


def _span(start: int, end: int) -> str:
    first, last = _day(start), _day(end - 1)
    return first if first == last else f"{first} to {last}"


def _day(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%d}"
