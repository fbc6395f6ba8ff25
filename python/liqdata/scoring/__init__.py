"""Scores of liquidation maps against reported liquidations; :class:`Scorecard` contains them.

Liquidations happen only at prices that the market reaches, so a map is scored given the price path. The prediction
for a period is the USD of the map between the price at the open and the extremes of the period (the *crossed* USD).
It is compared with the reported USD. Every fit uses only earlier periods. ``docs/explanation/scoring.md`` describes
the method.

Other predictions show whether a map adds information. A *path* predicts the USD without a map: the weak and the strong
path from price moves, the adaptive path also from recently reported USD. A *null* is a changed copy of the map, such as
its state some days before. A *baseline* is a simple map.

:func:`liqdata.score` is in ``score``, :func:`liqdata.score_truth` in ``known_positions``, :func:`liqdata.fit_shares`
in ``shares``, :func:`liqdata.league` in the package ``league``. ``columns`` reads input tables, and ``truth`` reads
the reported USD. ``compare`` makes the tables of a ``card``; ``text`` and ``picture`` print and draw a card. ``maps``
has the maps and baselines to score, ``statistics`` the fits and scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .card import Scorecard
    from .league.referee import League
    from .shares import Shares

__all__ = ["League", "Scorecard", "Shares"]


def __getattr__(name: str) -> object:
    if name == "League":
        from .league.referee import League

        return League
    if name == "Scorecard":
        from .card import Scorecard

        return Scorecard
    if name == "Shares":
        from .shares import Shares

        return Shares
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
