"""Score cards as text: a summary for a terminal, and Markdown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from liqdata.text.printable import printable

if TYPE_CHECKING:
    from liqdata.results.rows import Rows

    from .card import Scorecard

_USD = frozenset({"usd", "predicted_usd", "realised_usd", "swept_usd"})
_TITLES = {
    "rows": "Maps",
    "references": "Paths, nulls and baselines",
    "paired": "Differences on the same days",
    "deciles": "Calibration by tenths of the periods",
    "kappa": "Realised over swept USD, by week",
    "checks": "The truth itself",
}


def head(card: Scorecard) -> str:
    """The scored inputs in one line."""
    meta = card.meta
    return (
        f"{meta['symbol']} {meta['period']}: {meta['periods']:,} periods on {meta['days']} days, "
        f"{meta['start']:%Y-%m-%d} to {meta['end']:%Y-%m-%d}, {meta['usd']:,.0f} USD realised; "
        f"reference: {meta['reference']} path{', simulated market' if meta['simulated'] else ''}"
    )


def plain(card: Scorecard) -> str:
    """The head, and a line for each map and state, for both sides together."""
    return "\n".join([printable(f"Scorecard({head(card)})"), *lines(card.rows())])


def lines(rows: Rows[Any]) -> list[str]:
    """A line for each row that covers both sides."""
    return [
        f"  {printable(row['map'])}, {row['state']}: ig {interval(row, 'ig')}, dig {interval(row, 'dig')}, "
        f"spearman {row['spearman']:.2f}, top 10 % {row['top10']:.2f}, calibration {row['calibration']:.2f}"
        for row in rows
        if row["side"] == "both" and row["n"]
    ]


def interval(row: dict[str, Any], name: str) -> str:
    """A gain of a row with its interval."""
    return f"{row[name]:+.4f} [{row[f'{name}_low']:+.4f}, {row[f'{name}_high']:+.4f}]"


def markdown(card: Scorecard) -> str:
    """All tables of a card as Markdown."""
    meta = card.meta
    lines = [f"# Scorecard: {meta['symbol']}, {meta['period']}", "", f"{head(card)}.", ""]
    for name, (start, end) in meta["spans"].items():
        lines.append(f"- `{name}`: {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC")
    lines += [f"- left out: {count:,} periods, {reason}" for reason, count in meta["left_out"].items() if count]
    lines += [f"- `{name}` has version {version}" for name, version in meta["versions"].items() if version]
    lines.append(
        f"- intervals: 95 %, {meta['resamples']} resamples of whole days, seed {meta['seed']}; "
        f"variants tried on this truth: {meta['variants']}, not corrected for"
    )
    lines += [f"- {note}" for note in meta["notes"]]
    for name, title in _TITLES.items():
        rows = getattr(card, name)()
        if len(rows):
            lines += ["", f"## {title}", "", *_table(rows)]
    return "\n".join(lines) + "\n"


def _table(rows: Any) -> list[str]:
    names = rows.columns
    kinds = dict(zip(names, rows._table.kinds(), strict=True))  # noqa: SLF001 - the native table knows which columns are times
    lines = ["| " + " | ".join(names) + " |"]
    lines.append("|" + "|".join("---" if kinds[name] == "text" else "--:" for name in names) + "|")
    for row in rows:
        cells = (_cell(name, kinds[name], row[name]) for name in names)
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _cell(name: str, kind: str, value: Any) -> str:
    if kind == "time":
        from liqdata.calls.arguments import datetime_of

        return f"{datetime_of(value):%Y-%m-%d}"
    if isinstance(value, float):
        if math.isnan(value):
            return "–"
        return f"{value:,.0f}" if name in _USD else f"{value:.4f}"
    return printable(str(value)).replace("|", "\\|")
