"""A history with plotly: shorts upward and longs downward, or groups as stacked bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from liqdata.plot import colours, layout
from liqdata.plot.periods import groups_of, lacking, name_of, span_of, title_of

from .figure import currency, figure

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from liqdata.results.rows import Rows

__all__ = ["history"]


def history(rows: Rows[Any], *, interval: Any) -> go.Figure:
    """Draw a history; see :func:`liqdata.plot.history`."""
    times = rows["timestamp"]
    span = span_of(rows, interval)
    names = groups_of(rows)
    share, periods = lacking(rows)
    caveat = ["simulated market"] if rows.meta.get("simulated") else []
    covered = (
        [] if share is None else [f"{share:.0%} of the time covered" + (", less where shaded" if len(periods) else "")]
    )
    found = figure(
        [title_of(rows, names), *caveat],
        [f"per {name_of(times, span)}", *covered, *layout.known(rows.meta)[len(caveat) :]],
    )
    period = np.timedelta64(span, "ms")
    middles = times + period // 2
    many = len(set(names)) > 1
    if many:
        # Every group has a bar at the same places, or plotly does not stack them.
        middles, place = np.unique(middles, return_inverse=True)
        sums = {
            name: np.bincount(place, np.where(names == name, np.nan_to_num(rows["total_usd"]), 0.0))
            for name in sorted(set(names))
        }
        for rank, (name, usd) in enumerate(sorted(sums.items(), key=lambda one: -float(one[1].sum()))):
            colour = colours.GROUPS[rank] if rank < len(colours.GROUPS) else colours.OTHERS
            _bars(found, middles, usd, (str(name), colour), span)
    else:
        _bars(found, middles, rows["short_usd"], ("shorts, upward", colours.SHORT), span)
        _bars(found, middles, -rows["long_usd"], ("longs, downward", colours.LONG), span)
    for start in periods:
        found.add_vrect(x0=start, x1=start + period, fillcolor="#ffffff", opacity=0.13, line_width=0, layer="below")
    found.update_layout(barmode="stack" if many else "relative")
    found.update_xaxes(title="time, UTC")
    found.update_yaxes(title="USD liquidated", **currency)
    return found


def _bars(into: go.Figure, times: Any, usd: Any, look: tuple[str, str], span: int) -> None:
    name, colour = look
    into.add_bar(
        x=times,
        y=usd,
        customdata=np.abs(usd),
        width=0.86 * span,
        marker={"color": colour, "line": {"width": 0}},
        name=name,
        hovertemplate="%{x} UTC<br>%{customdata:,.0f} USD",
    )
