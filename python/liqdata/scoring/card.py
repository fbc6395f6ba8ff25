"""The score card: the result of :func:`liqdata.score` as tables, text and picture."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from liqdata.calls.traceback import public_methods

from .columns import rows as table_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from liqdata.results.rows import Rows

__all__ = ["Scorecard"]

Line = dict[str, Any]

SCORES: dict[str, str] = {
    "map": "text",
    "state": "text",
    "side": "text",
    "n": "int",
    "usd": "float",
    **dict.fromkeys(("ig", "ig_low", "ig_high", "dig", "dig_low", "dig_high"), "float"),
    **dict.fromkeys(("spearman", "top1", "top5", "top10", "calibration"), "float"),
}
KINDS: dict[str, dict[str, str]] = {
    "rows": SCORES,
    "references": SCORES,
    "deciles": {
        **dict.fromkeys(("map", "state", "side"), "text"),
        **dict.fromkeys(("decile", "n"), "int"),
        **dict.fromkeys(("predicted_usd", "realised_usd", "calibration"), "float"),
    },
    "paired": {
        **dict.fromkeys(("map", "other", "state", "side"), "text"),
        **dict.fromkeys(("ig", "ig_low", "ig_high", "dig", "dig_low", "dig_high"), "float"),
    },
    "kappa": {
        **dict.fromkeys(("map", "state", "side"), "text"),
        "week": "time",
        **dict.fromkeys(("swept_usd", "realised_usd", "kappa"), "float"),
    },
    "checks": {
        **dict.fromkeys(("check", "slot"), "text"),
        "n": "int",
        **dict.fromkeys(("usd", "relative", "differing"), "float"),
        "odd": "bool",
    },
}


@public_methods
@dataclass(frozen=True, repr=False)
class Scorecard:
    """How well maps predict liquidations; the result of :func:`liqdata.score`.

    Parameters
    ----------
    meta : dict
        ``symbol``, ``period`` and ``reference``; ``start``, ``end``, number of ``periods`` and ``days``, and reported
        ``usd`` of the scored time; ``spans`` (start and end of each input), ``left_out`` (number of periods by reason),
        ``versions`` (by map), ``variants`` (number of different maps that this process has scored on the same reported
        USD; intervals are not corrected for picking the best of them), ``seed``, ``resamples``, ``simulated``,
        ``notes``.
    tables : dict
        For each table, a dict from column names to cells.

    Examples
    --------
    >>> import numpy as np
    >>> import liqdata
    >>> chance = np.random.default_rng(0)
    >>> hours = 1_767_225_600_000 + 3_600_000 * np.arange(24 * 20)
    >>> close = 100 * np.exp(np.cumsum(chance.normal(0, 0.004, len(hours))))
    >>> bars = {"timestamp": hours, "high": close * 1.003, "low": close * 0.997, "close": close}
    >>> usd = chance.exponential(1e6, (2, len(hours)))
    >>> realised = {"timestamp": hours, "long_usd": usd[0], "short_usd": usd[1]}
    >>> def fixed(at):  # a map of one bin on either side
    ...     price = close[(int(at.timestamp() * 1000) - hours[0]) // 3_600_000 - 1]
    ...     prices = np.array([0.995, 1.005]) * price
    ...     return liqdata.LiquidationMap(
    ...         "BTC",
    ...         "1d",
    ...         at,
    ...         price,
    ...         0.01 * price,
    ...         np.array([10]),
    ...         prices,
    ...         np.array(["long", "short"]),
    ...         np.full((2, 1), 1e7),
    ...         np.full(2, 1e7),
    ...     )
    >>> card = liqdata.score(fixed, realised, bars=bars)
    >>> card.rows()[-1]["map"], card.rows()[-1]["side"]
    ('fixed', 'both')
    """

    meta: dict[str, Any]
    tables: dict[str, dict[str, list[Any]]]

    def rows(self) -> Rows[Any]:
        """The scores of the maps, by state and side.

        Returns
        -------
        Rows
            ``map`` (name); ``state``: ``frozen`` (the map as of the open of the period) or ``refreshed`` (with changes
            of the map inside the period); ``side``: ``LONG``, ``SHORT`` or ``both``; ``n`` (number of periods);
            ``usd`` (reported); ``ig``: information gain of the map over the weak path (a prediction from the size of
            the price move), in nats per liquidated USD, with the ends ``ig_low`` and ``ig_high`` of its 95 % interval;
            ``dig``, ``dig_low`` and ``dig_high``: the same for the gain of reference and map together over the
            reference alone; ``spearman``: rank correlation of predicted and reported USD; ``top1``, ``top5``,
            ``top10``: share of the reported USD in the 1, 5 and 10 % of periods with the highest prediction;
            ``calibration``: predicted over reported USD.

        Examples
        --------
        >>> def best(card):  # the result of liqdata.score
        ...     frozen = [row for row in card.rows() if row["state"] == "frozen" and row["side"] == "both"]
        ...     return max(frozen, key=lambda row: row["dig"])["map"]
        """
        return self._rows("rows")

    def references(self) -> Rows[Any]:
        """The scores of the predictions to compare with: price paths, nulls of each map, and baselines.

        A path predicts without a map: the weak and the strong path from price moves, the adaptive path also from
        recently reported USD. A null is a changed copy of a map, such as its state some days before. A baseline is a
        simple map.

        Returns
        -------
        Rows
            Columns as in :meth:`rows`; ``state`` of a path is ``path``.

        Examples
        --------
        >>> def null(card, name):
        ...     return [row["ig"] for row in card.references() if row["map"] == name]
        """
        return self._rows("references")

    def deciles(self) -> Rows[Any]:
        """Calibration by deciles of the prediction.

        Returns
        -------
        Rows
            ``map``, ``state``, ``side``, ``decile`` (1 to 10, highest predictions last), ``n`` (number of predictions),
            ``predicted_usd``, ``realised_usd`` and ``calibration`` (their ratio).

        Examples
        --------
        >>> def highest(card):  # calibration of the highest predictions
        ...     return [row["calibration"] for row in card.deciles() if row["decile"] == 10]
        """
        return self._rows("deciles")

    def paired(self) -> Rows[Any]:
        """Differences between pairs of maps, on the same days.

        Returns
        -------
        Rows
            ``map``, ``other`` (names of the pair), ``state``, ``side``; ``ig`` and ``dig`` of ``map`` minus those of
            ``other``, with the ends of their 95 % intervals.

        Examples
        --------
        >>> def better(card):  # pairs with a significant difference
        ...     return [(row["map"], row["other"]) for row in card.paired() if row["dig_low"] > 0]
        """
        return self._rows("paired")

    def kappa(self) -> Rows[Any]:
        """Reported USD over the USD of each map that the price crossed, by week.

        Returns
        -------
        Rows
            ``map``, ``state``, ``side``, ``week`` (Monday, epoch ms), ``swept_usd`` (crossed USD of the map),
            ``realised_usd`` (reported USD) and ``kappa`` (reported over crossed USD).

        Examples
        --------
        >>> def weeks(card, name):
        ...     return {row["week"]: row["kappa"] for row in card.kappa() if row["map"] == name}
        """
        return self._rows("kappa")

    def checks(self) -> Rows[Any]:
        """Checks of the reported USD.

        Returns
        -------
        Rows
            ``check``: ``part of the period`` (USD per new price extreme, in each part of the period), ``time of the
            day`` (USD per distance that the price moved, in each hour) or ``parts against wholes`` (sums of shorter
            periods compared with the whole ones, if the table has both); ``slot`` (the part or time); ``n`` (number of
            periods); ``usd``; ``relative`` (relative to the usual value, or the sums of parts over the wholes: 1 is
            normal); ``differing`` (share of wholes that differ from their parts by more than 1 %); ``odd`` (whether
            ``relative`` is below 0.6 or above 1.67).

        Examples
        --------
        >>> def odd(card):
        ...     return [row["check"] for row in card.checks() if row["odd"]]
        """
        return self._rows("checks")

    def _rows(self, name: str) -> Rows[Any]:
        columns = self.tables[name]
        made = table_of({column: (kind, columns[column]) for column, kind in KINDS[name].items()})
        made.meta.update(self.meta)
        return made

    def to_markdown(self) -> str:
        """The card as Markdown.

        Returns
        -------
        str
            The inputs, then the tables as in the methods of this class.

        Examples
        --------
        >>> def save(card, path):
        ...     path.write_text(card.to_markdown(), encoding="utf-8")
        """
        from . import text

        return text.markdown(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the gain of each map over the reference, with intervals and nulls. Needs ``liqdata[plot]``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes

        Examples
        --------
        >>> def draw(card, path):
        ...     card.plot().figure.savefig(path)
        """
        from . import picture

        return picture.scores(self, ax)

    def __repr__(self) -> str:
        from . import text

        return text.plain(self)

    def _repr_html_(self) -> str:
        title = html.escape(repr(self).splitlines()[0])
        return f"<p>{title}</p>{self.rows()._repr_html_()}"


def columns_of(name: str, lines: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The columns of a table, from its rows."""
    return {column: [line[column] for line in lines] for column in KINDS[name]}
