""":func:`liqdata.score`: scores maps against reported liquidations."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, overload

import numpy as np

from liqdata import _core
from liqdata.calls.arguments import choice, datetime_of, many, time_bounds
from liqdata.calls.progress import bar, checked_progress
from liqdata.calls.traceback import public_call
from liqdata.errors import BadQuery

from .card import Scorecard, columns_of
from .columns import DAY, Flags, Floats, Table, refuse
from .compare import Comparison, Scored
from .maps import sources
from .maps.nulls import nulls
from .statistics import fit, gain, trial
from .statistics.checks import checks
from .statistics.path import Path, read_bars, read_path
from .truth import Truth, period_of, realised

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import timedelta

    from liqdata.types import Instant, Progress

    from .statistics.trial import Paths, Run, Trial

__all__ = ["Trials", "fresh_trials", "merge_trials", "score"]

Trials: TypeAlias = dict[bytes, set[bytes]]
"""Digests of the predictions that were scored, by the digest of the reported USD."""

_PROCESS: Trials = {}
_TRIALS: ContextVar[Trials] = ContextVar("trials", default=_PROCESS)


@overload
def score(
    maps: object,
    realised: object,
    *,
    bars: object = None,
    open_interest: object = None,
    symbol: str = "BTC",
    period: str | timedelta | int = "1h",
    start: Instant | None = None,
    end: Instant | None = None,
    reference: Literal["adaptive", "strong", "weak"] = "adaptive",
    baselines: object = (),
    seed: int = 0,
    progress: Progress = False,
    client: object = None,
) -> Scorecard: ...
@overload
def score(
    maps: object,
    realised: object,
    *,
    bars: object = None,
    open_interest: object = None,
    symbol: Sequence[str],
    period: str | timedelta | int = "1h",
    start: Instant | None = None,
    end: Instant | None = None,
    reference: Literal["adaptive", "strong", "weak"] = "adaptive",
    baselines: object = (),
    seed: int = 0,
    progress: Progress = False,
    client: object = None,
) -> dict[str, Scorecard]: ...
@public_call
def score(
    maps: object,
    realised: object,
    *,
    bars: object = None,
    open_interest: object = None,
    symbol: str | Sequence[str] = "BTC",
    period: str | timedelta | int = "1h",
    start: Instant | None = None,
    end: Instant | None = None,
    reference: Literal["adaptive", "strong", "weak"] = "adaptive",
    baselines: object = (),
    seed: int = 0,
    progress: Progress = False,
    client: object = None,
) -> Scorecard | dict[str, Scorecard]:
    """Score liquidation maps against reported liquidations, given the price path.

    The prediction for a period uses the map as of the open of the period: its USD between the price at the open and
    the highest and lowest price of the period. The prediction is scaled to the reported USD and compared with
    predictions without a map. All fits use only earlier periods and are repeated each UTC day.
    ``docs/explanation/scoring.md`` has every formula.

    Parameters
    ----------
    maps
        The maps to score: a market (its model 2); a :class:`~liqdata.Model`, which estimates from ``bars`` and
        ``open_interest`` (in the expected view it is fitted to earlier periods of ``realised``); a function that takes
        an instant (UTC datetime) and returns the :class:`~liqdata.LiquidationMap` or :class:`~liqdata.Heatmap`
        available at that instant (or ``None``); a sequence of maps, or of pairs of an instant and a map; rows of
        ``market.maps()``, or its recordings of another service (``source=``): their liquidation maps, or heatmaps if
        there are none; or a mapping from names to any of these.
    realised
        Reported USD: a table with ``timestamp`` (open of the period), ``long_usd``, ``short_usd`` and optionally
        ``symbol`` (coin) and ``interval``, with periods of ``period`` or parts of it; or orders as for
        :class:`~liqdata.Market`; or a market with orders or totals. A period without a row counts as unknown and is
        not scored. The same holds for a period of a market that was covered by less than 90 %.
    bars : table, optional
        ``timestamp`` (open), ``high``, ``low``, ``close`` and optionally ``volume``, ``symbol`` (coin) and
        ``closes_at``. Bars may be as long as the period; bars of 15 or 5 minutes are better. Bars of several lengths
        are resampled to the longest. By default the bars of ``maps`` or of ``realised``, if it is a market.
    open_interest : table, optional
        Open interest as for :class:`~liqdata.Market`; needed for a :class:`~liqdata.Model` and the baseline
        ``"interest"``. By default the open interest of ``maps``, if it is a market.
    symbol : str or sequence of str
        Coin, such as ``BTC``; for several coins the result is a dict from coin to card.
    period : str, timedelta or int
        Length of the periods, such as ``"30m"`` or ``"1h"``: whole minutes that divide a day.
    start, end : int, datetime or str, optional
        Score only periods between these instants; fits also use periods before ``start``.
    reference : {"adaptive", "strong", "weak"}
        The prediction without a map that ``dig`` compares with: from price moves (``"weak"``, ``"strong"``), or also
        from recently reported USD (``"adaptive"``).
    baselines
        Further maps, for comparison, in the table :meth:`Scorecard.references`: a sequence, or a mapping by name, of
        anything that ``maps`` accepts. Also the names ``"template"``, ``"prints"``, ``"interest"`` (needs
        ``open_interest``) and ``"turnover"`` of simple maps.
    seed : int
        Seed of the random resamples of days, from which the intervals come.
    progress : bool or callable
        Show a progress bar of the stages (needs tqdm; on a terminal or in a notebook), or call a function with the
        number of stages done and the total.
    client : distributed.Client, optional
        Compute on this Dask cluster, with the same result; in this process by default.

    Returns
    -------
    Scorecard or dict of str to Scorecard

    Raises
    ------
    BadQuery
        For wrong tables, for maps that use later data or have different versions, and if no period can be scored;
        ``parameter`` names the input.

    Examples
    --------
    >>> import liqdata
    >>> with liqdata.demo() as market:
    ...     card = liqdata.score(market, market)
    >>> card.meta["periods"] > 400
    True
    >>> liqdata.score(abs, {"timestamp": [0], "long_usd": [1.0], "short_usd": [-1.0]}, bars={})
    Traceback (most recent call last):
    ...
    liqdata.errors.BadQuery: realised: column 'short_usd', row 0: -1 is not allowed; allowed: finite numbers from 0 on
    """
    choice(reference, "reference", trial.PATHS)
    checked_progress(progress)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        refuse("seed", f"{seed!r} is not allowed", "a whole number from 0 on")
    first, last = time_bounds(start, end)
    length = period_of(period)
    symbols = many(symbol)
    run = _runner(client)
    cards: dict[str, Scorecard] = {}
    coins = [_coin(one) for one in ([symbol] if symbols is None else symbols)]
    if len(coins) > 1:
        _check_coin_column(realised, bars)
    shown = bar(wanted=progress, total=len(coins) * _STAGES, what="scoring", unit=" stages")
    try:
        for coin in coins:
            job = _Job(coin, length, first, last, reference, seed, open_interest, run, shown.update)
            cards[coin] = job.card(maps, realised, bars, baselines)
    finally:
        shown.close()
    return cards[coins[0]] if symbols is None else cards


_STAGES = 4


def _coin(symbol: Any) -> str:
    _core.question("levels", symbol=symbol)  # raises for a symbol that is not text
    return _core.coin(str(symbol))


def _check_coin_column(realised: Any, bars: Any) -> None:
    """Refuse tables without a coin column if several coins are scored."""
    for name, value in (("realised", realised), ("bars", bars)):
        data = None if value is None or _market(value) is not None else Table(value, name)
        if data is not None and "symbol" not in data and "coin" not in data:
            refuse(
                name,
                "column 'symbol' is missing",
                "a table that names the coin of each row, because several coins are scored",
            )


def _runner(client: Any) -> Run:
    """Return a function that runs tasks: one after another in this process, or on a Dask cluster."""
    if client is None:
        return lambda function, tasks: [function(*task) for task in tasks]
    if not all(hasattr(client, name) for name in ("map", "gather", "scatter")):
        refuse("client", f"a {type(client).__name__} runs no tasks", "a distributed.Client, or None")

    def run(function: Callable[..., Any], tasks: list[tuple[Any, ...]]) -> list[Any]:
        if not tasks:
            return []
        # Arrays and tuples that several tasks use are sent to the cluster only once.
        shared = {
            id(one): one for task in tasks for one in task if isinstance(one, np.ndarray) or hasattr(one, "_fields")
        }
        sent = dict(zip(shared, client.scatter(list(shared.values()), hash=False), strict=True))
        columns = zip(*([sent.get(id(one), one) for one in task] for task in tasks), strict=True)
        # With `pure=True`, Dask would reuse results for a different function with the same name.
        return list(client.gather(client.map(function, *map(list, columns), pure=False)))

    return run


class _Job(NamedTuple):
    """The scoring of one coin."""

    symbol: str
    period: int
    start: int | None
    end: int | None
    reference: str
    seed: int
    open_interest: Any
    run: Run
    done: Callable[[int], object]

    def card(self, maps: Any, reported: Any, bars: Any, baselines: Any) -> Scorecard:
        """Read the inputs, compute predictions, compare them."""
        truth = realised(reported, self.symbol, self.period)
        market, readings = _market(maps) or _market(reported), self.open_interest
        if market is not None:
            bars = market.bars(self.symbol) if bars is None else bars
            readings = market.open_interest(self.symbol) if readings is None else readings
        elif bars is None and isinstance(maps, str | int | float | None):
            allowed = "a Market, a Model, a callable, maps with their instants, or several by name"
            refuse("maps", f"{maps!r} is not allowed", allowed)
        if bars is None:
            refuse("bars", "None", "a table of bars, unless `maps` is a market with bars")
        path = read_path(truth, read_bars(bars, self.symbol))
        asking = sources.Asking(path, truth, self.symbol, bars, readings, self.run)
        given = sources.sources(maps, "maps", asking)
        named = _named(baselines)
        bases = sources.sources(named, "baselines", asking) if named else []
        self.done(1)
        asked: list[tuple[str, str, Floats]] = []
        for source in given:
            asked.append((source.name, "frozen", sources.frozen(source, path)))
            inside = source.refreshed(path)
            if inside is not None:
                asked.append((source.name, "refreshed", inside))
        count = len(asked)
        asked += [(f"baseline: {base.name}", "frozen", sources.frozen(base, path)) for base in bases]
        frozen = [cells for _, state, cells in asked if state == "frozen"]
        if len(frozen) > 1:
            asked.append((f"pool of {len(frozen)}", "frozen", np.stack(frozen, axis=2)))
        for source in given:
            asked += [(f"{source.name}: {name}", "frozen", found) for name, found in nulls(source, path).items()]
        self.done(1)
        known = trial.paths(path, self.run)
        made = trial.trials(path, known, [one[2] for one in asked], self.reference, self.run)
        self.done(1)
        entries = [
            Scored(name, state, one.alone, one.full, one.crossed)
            for (name, state, _), one in zip(asked, made, strict=True)
        ]
        rows = trial.scored(path, known, made[:count], self.start, self.end)
        if not rows.any():
            self._nothing(path, known, made[:count])
        meta = self._meta(truth, path, given, rows)
        markets = [one for one in (_market(maps), _market(reported)) if one is not None]
        meta["simulated"] = any(one.simulated for one in markets)
        meta["variants"] = _variants(path, [one.crossed for one in made[:count]])
        found = Comparison(
            path, known, getattr(known, self.reference), rows, gain.Resampled(path.opens, self.seed)
        ).tables(entries[:count], entries[count:])
        found["checks"] = checks(path, truth.parts, rows)
        self.done(1)
        return Scorecard(meta, {name: columns_of(name, lines) for name, lines in found.items()})

    def _nothing(self, path: Path, known: Paths, made: list[Trial]) -> None:
        warm = int(np.isfinite(known.strong).all(axis=1).sum())
        maps = [int(np.isfinite(one.crossed).all(axis=1).sum()) for one in made]
        what = (
            f"nothing is left to score: {len(path.opens)} periods are in both `realised` and `bars`, {warm} of them "
            f"after the first {fit.WARM} and the end of that day; the maps cover {min(maps)} of them"
        )
        refuse("realised", what, f"more than {fit.WARM} periods that all inputs share")

    def _meta(self, truth: Truth, path: Path, given: list[Any], rows: Flags) -> dict[str, Any]:
        opens = path.opens[rows]
        end = int(opens[-1]) + self.period
        bars = path.bars
        spans = {
            "realised": (int(truth.opens[0]), int(truth.opens[-1]) + self.period),
            "bars": (bars.start, bars.start + bars.interval * len(bars.close)),
        }
        for source in given:
            if isinstance(source, sources.Recorded) and source.maps:
                spans[f"maps: {source.name}"] = (source.maps[0].at, source.maps[-1].at)
        notes = []
        if not np.isfinite(bars.volume).any():
            notes.append("the bars have no volume: relative volume is 1 throughout")
        if bars.interval > 15 * 60_000:
            notes.append(f"bars of {bars.interval // 60_000} minutes: the paths see no shorter excursions")
        return {
            "symbol": self.symbol,
            "period": f"{self.period // 60_000} min",
            "reference": self.reference,
            "start": datetime_of(int(opens[0])),
            "end": datetime_of(end),
            "periods": len(opens),
            "days": len(np.unique(opens // DAY)),
            "usd": float(path.usd[rows].sum()),
            "spans": {name: (datetime_of(first), datetime_of(last)) for name, (first, last) in spans.items()},
            "left_out": {
                "realised but without bars": len(truth.opens) - len(path.opens),
                "realised in part only": truth.incomplete,
                "to learn from, outside start and end, or without a map": len(path.opens) - len(opens),
            },
            "versions": {source.name: source.version for source in given},
            "seed": self.seed,
            "resamples": gain.RESAMPLES,
            "notes": notes,
        }


def _market(maps: Any) -> Any:
    """The first market of an argument, which provides missing tables."""
    from liqdata.market import Market

    given = maps.values() if isinstance(maps, Mapping) else [maps]
    return next((one for one in given if isinstance(one, Market)), None)


def _named(baselines: Any) -> Any:
    """Baselines by name; unnamed ones are numbered."""
    if isinstance(baselines, Mapping):
        return dict(baselines)
    if isinstance(baselines, Iterable) and not isinstance(baselines, (str, bytes)) and not callable(baselines):
        return {
            one if isinstance(one, str) else getattr(one, "__name__", f"baseline {place}"): one
            for place, one in enumerate(baselines, 1)
        }
    raise BadQuery(
        f"baselines: {baselines!r} is not allowed; allowed: a sequence or a mapping by name of {sources.ALLOWED}",
        parameter="baselines",
    )


def _variants(path: Path, predictions: list[Floats]) -> int:
    """Number of different predictions that this process has scored on the same reported USD."""
    truth = hashlib.blake2b(path.opens.tobytes() + path.usd.tobytes(), digest_size=16).digest()
    seen = _TRIALS.get().setdefault(truth, set())
    seen.update(hashlib.blake2b(one.tobytes(), digest_size=16).digest() for one in predictions)
    return len(seen)


@contextmanager
def fresh_trials() -> Iterator[Trials]:
    """Count the variants of the block apart from those of this process."""
    trials: Trials = {}
    token = _TRIALS.set(trials)
    try:
        yield trials
    finally:
        _TRIALS.reset(token)


def merge_trials(card: Scorecard, trials: Trials) -> Scorecard:
    """Count the variants of a card that was computed apart as if this process had scored it."""
    for truth, predictions in trials.items():
        seen = _PROCESS.setdefault(truth, set())
        seen.update(predictions)
        card.meta["variants"] = len(seen)
    return card
