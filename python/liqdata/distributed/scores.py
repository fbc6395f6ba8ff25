"""Scorecards of many coins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from liqdata import _core
from liqdata.calls.arguments import switch
from liqdata.calls.arguments import symbols as names_of
from liqdata.calls.traceback import public_call
from liqdata.errors import BadQuery
from liqdata.scoring.score import fresh_trials, merge_trials
from liqdata.scoring.score import score as score_here

from .tasks import archive_path, checked_client, new_run, run_all, worker_market

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from datetime import timedelta

    from liqdata.scoring.card import Scorecard
    from liqdata.scoring.score import Trials
    from liqdata.types import Instant

__all__ = ["score"]


@public_call
def score(
    path: str | os.PathLike[str],
    symbols: str | Sequence[str] | None = None,
    *,
    client: object = None,
    stored: bool = False,
    period: str | timedelta | int = "1h",
    start: Instant | None = None,
    end: Instant | None = None,
    reference: Literal["adaptive", "strong", "weak"] = "adaptive",
    baselines: object = (),
    seed: int = 0,
) -> dict[str, Scorecard]:
    """Score the estimates of an archive for many coins, one task per coin.

    Parameters
    ----------
    path : str or path-like
        The archive: a folder that all workers reach under this path, or an address such as ``"s3://bucket/prefix"``.
    symbols : str or sequence of str, optional
        Coins, such as ``["BTC", "ETH"]``. By default all coins of the archive that can be scored; the others, with too
        little data, are left out.
    client : distributed.Client, optional
        Compute on this Dask cluster; in this process by default.
    stored : bool
        Score the stored maps as they were served (:meth:`liqdata.Market.maps`), instead of model 2.
    period, start, end, reference, baselines, seed
        As for :func:`liqdata.score`.

    Returns
    -------
    dict of str to Scorecard
        Each card equals that of :func:`liqdata.score` for the coin, to the last bit.

    Raises
    ------
    BadQuery
        For a wrong parameter, and if a named coin cannot be scored.
    ArchiveError
        If the archive cannot be read.

    Examples
    --------
    >>> from liqdata.distributed import score
    >>> def ranking(client):  # a distributed.Client
    ...     cards = score("s3://bucket/archive", client=client, period="30m")
    ...     return {coin: card.meta["usd"] for coin, card in cards.items()}
    """
    archive, runner, run = archive_path(path), checked_client(client), new_run()
    switch(stored, "stored")
    names = None if symbols is None else list(dict.fromkeys(map(_core.coin, names_of(symbols))))
    options = {
        "period": period,
        "start": start,
        "end": end,
        "reference": reference,
        "baselines": baselines,
        "seed": seed,
    }
    coins = run_all(runner, _coins, [(archive, run)])[0] if names is None else names
    tasks = [(archive, run, coin, options, (stored, names is not None)) for coin in coins]
    cards = {}
    for coin, found in zip(coins, run_all(runner, _score, tasks), strict=True):
        if found is not None:
            cards[coin] = merge_trials(*found)
    return cards


def _coins(path: str, run: str) -> list[str]:
    return worker_market(path, run).symbols


def _score(
    path: str, run: str, coin: str, options: dict[str, Any], flags: tuple[bool, bool]
) -> tuple[Scorecard, Trials] | None:
    """The card of a coin, and what was scored for it; ``None`` for an unnamed coin with too little data."""
    market = worker_market(path, run)
    stored, named = flags
    with fresh_trials() as trials:
        try:
            return score_here(market.maps(coin) if stored else market, market, symbol=coin, **options), trials
        except BadQuery as error:
            if named or error.parameter not in {"realised", "bars", "maps"}:
                raise
            return None
