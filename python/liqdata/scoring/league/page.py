"""The page of a league: one static file without scripts, which needs no other file."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any

from liqdata.scoring.statistics.fit import WARM
from liqdata.scoring.statistics.gain import RESAMPLES
from liqdata.scoring.text import interval
from liqdata.text.printable import counted, printable

from .chain import FILE, second

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .referee import League
    from .tables import Line, Table

_FEW = 8
"""Number of days from which on intervals of whole days say something."""

_MOST = 200
"""Maximum number of lines of a list; league.json has all."""

_STYLE = """
:root { color-scheme: light dark; --back: #fff; --raised: #f4f5f7; --text: #14171c; --faint: #545d6b; --line: #d5d9e0;
  --dot: #1463b0; --warn: #7a4f00; --warn-back: #ffe9b8; --bad: #a01515;
  font: 14px/1.45 system-ui, "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums; }
@media (prefers-color-scheme: dark) { :root { --back: #0b0d12; --raised: #12161e; --text: #e6e8ec; --faint: #9aa3b2;
  --line: #232833; --dot: #5aa9f0; --warn: #f2b53c; --warn-back: #3a2c06; --bad: #ff8f8f; } }
body { margin: 0 auto; padding: 16px; max-width: 1400px; background: var(--back); color: var(--text); }
h1 { font-size: 20px; margin: 0 0 8px; } h2 { font-size: 16px; margin: 32px 0 8px; }
p, ul { margin: 0 0 8px; max-width: 90ch; overflow-wrap: anywhere; } ul { padding-left: 20px; }
.faint, caption { color: var(--faint); } .bad { color: var(--bad); }
.tag { background: var(--warn-back); color: var(--warn); border-radius: 3px; padding: 1px 6px; font-size: 12px; }
.wide { overflow-x: auto; margin: 0 0 8px; border: 1px solid var(--line); border-radius: 4px; }
.wide:focus-visible, summary:focus-visible { outline: 2px solid var(--dot); }
summary { cursor: pointer; padding: 4px 0; }
table { border-collapse: collapse; width: 100%; } caption { text-align: left; padding: 6px 8px; }
th, td { padding: 5px 8px; text-align: right; white-space: nowrap; border-top: 1px solid var(--line); }
th { background: var(--raised); } th:first-child, td:first-child, .text { text-align: left; }
td:first-child, td.text { white-space: normal; min-width: 13ch; overflow-wrap: anywhere; }
td.text { min-width: 22ch; }
svg { display: block; width: 160px; height: 16px; margin-left: auto; } circle { fill: var(--dot); }
line { stroke: var(--dot); stroke-width: 3; } .zero { stroke: var(--faint); stroke-width: 1; stroke-dasharray: 2 2; }
"""
_HEAD = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>League of liquidation maps</title><style>{_STYLE}</style></head><body><main>"""
_EXPLAINED = f"""<p>Each map was committed with its SHA-256 before its period began. It is scored after the period,
against the liquidations that the archive has collected. The maps are <b>estimated</b>, the liquidations reported.</p>
<ul><li><b>dig</b> is what a map adds to the adaptive price path, a prediction without a map, in nats per liquidated
USD. Compare maps by it: above 0 a map helps, below 0 it harms. <b>ig</b> is its gain alone over the weak path.</li>
<li>Brackets are 95 % intervals, from {RESAMPLES} resamples of whole days. They are not corrected for choosing the
best of several maps.</li>
<li>A <b>null</b> is a changed copy of the map: its state some days before, its average, its mirror image. A map that
is no better than its best null shows no information of its own.</li>
<li>Predictions are fitted to earlier periods only. The first {WARM} periods of a map are for learning.</li></ul>"""
_CHAIN = """The chain shows that no line was changed. It shows when a line was written only to those who saw a later
hash: publish it."""


def html(made: League, period: int, now: int) -> str:
    """The page."""
    parts = [
        _HEAD,
        f"<h1>League of liquidation maps{_tag(any(one.simulated for one in made.tables))}</h1>",
        f'<p class="faint">Periods of {period // 60_000} minutes, written {second(now)}</p>',
        _EXPLAINED,
        *(_section(one) for one in made.tables),
        *([] if made.tables else ["<h2>No scores</h2><p>No period of a committed map has ended.</p>"]),
        f"<h2>Chain</h2><p>{counted(made.commitments, 'commitment')} in <code>{FILE}</code>, verified.",
        f"The hash of the last line is <code>{made.hash}</code>. {_CHAIN}</p>",
        f"<h2>Changed maps</h2>{_list([described(one) for one in made.changed], 'bad') or '<p>None.</p>'}",
        f"<h2>Late maps</h2>{_list([described(one) for one in made.late], 'bad') or '<p>None.</p>'}",
        f"<h2>Not committed</h2>{_list(made.notes) or '<p>Nothing is left out.</p>'}",
        "</main></body></html>\n",
    ]
    return "\n".join(parts)


def described(one: dict[str, Any]) -> str:
    """A changed or late map in one line."""
    line = "" if one["line"] is None else f"line {one['line']}: "
    return f"{line}{one['source']} {one['question']}, period of {second(one['start'])}: {one['why']}"


def reading(row: Line) -> str:
    """What a row of scores says, in words."""
    if row["days"] < _FEW:
        return f"too few days to say: {row['days']}"
    if row["dig_high"] < 0:
        return "worse than the price path alone"
    if not row["dig_low"] > 0:
        return "no gain over the price path is shown"
    if row["null_dig"] >= row["dig"]:
        return f"better than the price path, but no better than its null ({row['null']})"
    return "better than the price path alone"


def _section(one: Table) -> str:
    both = [row for row in one.rows if row["side"] == "both"]
    ends = [0.0, *(row[name] for row in both for name in ("dig_low", "dig_high") if math.isfinite(row[name]))]
    parts = [f"<h2>{escape(one.coin)}, estimated maps of {escape(one.range)}{_tag(one.simulated)}</h2>"]
    if both:
        heads = ["map", "dig", "in words", "best null", "ig", "maps", "periods", "top 10 %", "calibration"]
        cells = [_cells(row, min(ends), max(ends)) for row in both]
        parts.append(_table("Longs and shorts together, by dig", heads, cells))
        apart = [{**row, "map": f"{row['source']} {row['model']}", "what": row["side"]} for row in one.rows]
        some = [*(row for row in apart if row["side"] != "both"), *one.more]
        some.sort(key=lambda row: row["map"])
        rows = [[f"{row['map']}, {row['what']}", interval(row, "dig"), f"{row['n']:,}"] for row in some]
        inner = _table("", ["map", "dig", "periods"], rows)
        parts.append(f"<details><summary>Sides, nulls, and differences between maps</summary>{inner}</details>")
    rows = [
        [name, "; ".join(f"{why}: {count:,}" for why, count in reasons.items() if count) or "nothing"]
        for name, reasons in one.left_out.items()
    ]
    return "\n".join([*parts, _table("", ["map", "maps left out"], rows), _list(one.notes)])


def _cells(row: Line, low: float, high: float) -> list[str]:
    dig = _Drawing(escape(interval(row, "dig")) + _drawing(row, low, high))
    null = f"{row['null']}: {row['null_dig']:+.4f}"
    counts = (f"{row['maps']:,}", f"{row['n']:,}", f"{row['top10']:.2f}", f"{row['calibration']:.2f}")
    return [f"{row['source']} {row['model']}", dig, reading(row), null, interval(row, "ig"), *counts]


class _Drawing(str):
    """HTML, which needs no escapes."""

    __slots__ = ()


def _drawing(row: Line, low: float, high: float) -> str:
    """The interval of a row; all rows of a table have one scale, and the dashed line is 0."""
    if not math.isfinite(row["dig"]):
        return ""
    cells = (row["dig_low"], row["dig_high"], row["dig"], 0.0)
    first, last, dot, zero = (f"{5 + 150 * (cell - low) / ((high - low) or 1.0):.1f}" for cell in cells)
    return (
        f'<svg viewBox="0 0 160 16" aria-hidden="true"><line class="zero" x1="{zero}" x2="{zero}" y1="0" y2="16"/>'
        f'<line x1="{first}" x2="{last}" y1="8" y2="8"/><circle cx="{dot}" cy="8" r="4"/></svg>'
    )


def _table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in a frame, which scrolls where the screen is narrow."""
    kinds = [' class="text"' if head in {"in words", "maps left out"} else "" for head in heads]
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    lines = "".join(_row("td", kinds, row) for row in rows)
    frame = f'<div class="wide" tabindex="0" role="group" aria-label="{escape(caption or ", ".join(heads))}">'
    return f"{frame}<table>{title}{_row('th', kinds, heads)}{lines}</table></div>"


def _row(kind: str, classes: Sequence[str], cells: Sequence[str]) -> str:
    texts = (cell if isinstance(cell, _Drawing) else escape(printable(cell)) for cell in cells)
    return f"<tr>{''.join(f'<{kind}{each}>{text}</{kind}>' for each, text in zip(classes, texts, strict=True))}</tr>"


def _list(lines: Sequence[str], kind: str = "") -> str:
    shown = [*lines[:_MOST], *([f"{len(lines) - _MOST:,} more in league.json"] if len(lines) > _MOST else [])]
    return (
        f'<ul class="{kind}">{"".join(f"<li>{escape(printable(line))}</li>" for line in shown)}</ul>' if shown else ""
    )


def _tag(simulated: bool) -> str:  # noqa: FBT001 - used in texts
    return ' <span class="tag">SIMULATED</span>' if simulated else ""
