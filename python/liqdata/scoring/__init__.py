"""Scores of liquidation maps against what was liquidated; :class:`Scorecard` holds them.

A map is scored conditionally on the path of the price, because liquidations happen only where the price goes. The
prediction for a period is the USD that the map holds between the price and the period's extremes; it is compared with
the reported USD. Every fit uses only the past. ``docs/scoring.md`` has the protocol.

:func:`liqdata.score` is in ``score``, :func:`liqdata.score_truth` in ``known_positions``. ``columns`` reads tables,
``truth`` the reported USD, ``compare`` makes the tables of a ``card``, ``text`` and ``picture`` print and draw it. The
package ``maps`` has the maps and baselines that are scored; ``statistics`` has the fits and scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .card import Scorecard

__all__ = ["Scorecard"]


def __getattr__(name: str) -> object:
    if name != "Scorecard":
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from .card import Scorecard

    return Scorecard
