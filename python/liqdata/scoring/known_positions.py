""":func:`liqdata.score_truth`: compares maps with known positions.

The known positions are those of a simulation, a census of one exchange, or observed positions of some accounts. USD of
the map and of the positions are compared by distance from the price, for each side.
"""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from liqdata import _core
from liqdata.calls.arguments import millis_of
from liqdata.calls.progress import bar
from liqdata.calls.traceback import public_call
from liqdata.errors import BadQuery, Refused
from liqdata.model import Model

from .columns import Table, mine, refuse, rows
from .maps.curves import of_map
from .statistics.gain import spearman

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from liqdata.market import Market
    from liqdata.results.rows import Rows
    from liqdata.types import Progress, TruthRow

    from .columns import Flags, Floats
    from .maps.curves import MapCurves

__all__ = ["score_truth"]

BIN = 0.005
REACH = 0.30
SNAPSHOTS = 24
"""Maximum number of snapshots of observed positions that are compared."""

NEAR = (0.01, 0.02, 0.05, 0.10)
APART = 0.02
"""Maximum relative difference between the price of a snapshot and the price of the market."""

EDGES = np.round(np.arange(0.0, REACH + BIN / 2, BIN), 9)
SIDES = ("long", "short")


@public_call
def score_truth(
    market: Market,
    *,
    positions: Any = None,
    symbols: str | Sequence[str] | None = None,
    exchange: str | None = None,
    model: Literal[2] | Model | None = None,
    progress: Progress = False,
) -> Rows[TruthRow]:
    """Compare the seven-day map with known positions.

    For each side, USD are summed by the distance of the liquidation price from the current price, in 60 bins of 0.5 %
    from 0 to 30 %. Larger distances are ignored. Cells of the map that span a bin edge are split in proportion.

    Parameters
    ----------
    market : Market
        The market with the map. Without ``positions``, the known positions are :meth:`Market.true_positions` of a
        simulated market, or the observed :meth:`Market.positions` of an archive: up to 24 snapshots at least an hour
        apart. A position counts with its value in USD at its liquidation price.
        With ``exchange`` they are the observed positions of that exchange, also of a simulated market.
    positions : table, optional
        Measured positions, as pandas, polars, pyarrow or a dict of columns: ``timestamp`` (or ``t``, of the snapshot),
        ``side``, ``price`` (liquidation price), ``value_usd`` (or ``value``); optionally ``current_price`` (or ``cur``)
        at the snapshot, ``symbol`` (coin), and ``exchange``. Every snapshot is compared with the map as of its time.
    symbols : str or sequence of str, optional
        Coins to compare; by default those in ``positions``, or all coins of the market if ``positions`` names none.
    exchange : str, optional
        Compare the map of the open interest on this exchange with the positions on it, such as a census of Hyperliquid
        (:func:`liqdata.ingest` reads its files). By default the map of all exchanges is compared with all known
        positions. Positions that name no exchange are taken for those of this one.
    model : 2 or Model, optional
        The model of the map, 2 by default; its view must be ``"exposed"`` (USD of open interest).
    progress : bool or callable
        Show a progress bar of the coins (needs tqdm; on a terminal or in a notebook), or call a function with the
        number of coins done and the total.

    Returns
    -------
    Rows
        One row per coin and side: ``symbol``; ``side``; ``overlap``, from 0 to 1: each bin has a share of the map's USD
        and a share of the positions' USD, and the smaller shares are added up; ``rank_correlation`` (Spearman) of the
        map and the positions over the 60 bins; ``ratio_1pct``, ``ratio_2pct``, ``ratio_5pct``, ``ratio_10pct``: USD of
        the map over USD of the positions within that distance, usually above 1 if only a part of the positions was
        measured. With several snapshots, ``overlap`` and ``rank_correlation`` are means over the snapshots that have
        positions of the side, and each ratio is a ratio of sums. Values are NaN if no snapshot has such positions.
        ``meta`` has ``truth`` (``simulated`` or ``measured``), ``exchange``, ``version`` (:attr:`Model.version`),
        ``bin``, ``reach``, ``snapshots`` (their number by coin) and ``left_out``: coin, time and reason of each unused
        snapshot (a price more than 2 % off the market's price, or no map at that time). For observed positions ``meta``
        also has ``seen_share``, by coin the smallest observed share of the open interest (``None`` if unknown), and
        ``unplaced_usd``: USD of ignored positions, which have no liquidation price on their side of the price.

    Raises
    ------
    BadQuery
        For a market or an exchange without known positions, a table without the needed columns, a position with a
        liquidation price on the wrong side of the price, positions without a usable snapshot, and a model with another
        view.

    Examples
    --------
    >>> import liqdata
    >>> rows = liqdata.score_truth(liqdata.demo(), symbols="BTC")
    >>> [row["side"] for row in rows]
    ['LONG', 'SHORT']
    >>> all(0 < row["overlap"] <= 1 for row in rows)
    True
    >>> liqdata.score_truth(liqdata.demo(), symbols="BTC", exchange="bitget").meta["exchange"]
    'bitget'
    """
    if not hasattr(market, "true_positions"):
        refuse("market", f"a {type(market).__name__} is not allowed", "a liqdata.Market")
    if exchange is not None:
        exchange = _exchange(exchange)
    seen = None
    is_simulated = positions is None and market.simulated
    if positions is None and not (market.simulated and exchange is None):
        seen = _Seen.of(market, symbols, exchange)
        positions = seen.table
    version = _version(model)
    # Set the model explicitly, because the default of `liqmap` may have the expected view.
    model = 2 if model is None else model
    measured = None if positions is None else _Measured.of(positions, exchange)
    coins = _coins(market, symbols, measured)
    lines: list[dict[str, Any]] = []
    counts: dict[str, int] = {}
    left_out: list[dict[str, Any]] = []
    with closing(bar(wanted=progress, total=len(coins), what="coins", unit=" coins")) as shown:
        for coin in coins:
            pairs = list(_pairs(market, coin, measured, (model, exchange), left_out))
            if not pairs:
                why = next((f": {one['why']}" for one in left_out if one["symbol"] == coin), "")
                refuse(
                    "positions",
                    f"no snapshot of {coin!r} can be used{why}",
                    "snapshots from times that the market covers",
                )
            counts[coin] = len(pairs)
            lines += [
                {"symbol": coin, "side": side.upper(), **scores([pair[side] for pair in pairs])} for side in SIDES
            ]
            shown.update(1)
    kinds = {name: "text" if name in {"symbol", "side"} else "float" for name in lines[0]}
    found = rows({name: (kind, [line[name] for line in lines]) for name, kind in kinds.items()})
    found.meta.update(
        as_of=market.now,
        simulated=market.simulated,
        exchange=exchange,
        version=version,
        truth="simulated" if is_simulated else "measured",
        bin=BIN,
        reach=REACH,
        snapshots=counts,
        left_out=left_out,
    )
    if seen is not None:
        found.meta.update(seen_share=seen.share, unplaced_usd=seen.unplaced_usd)
    return found


def _version(model: Literal[2] | Model | None) -> str:
    """The version of a model; models without the exposure view are refused."""
    if model is None or model == 2:  # noqa: PLR2004 - the contract's number of that view
        return _core.model_version(2)
    if not isinstance(model, Model) or model.view != "exposed":
        refuse("model", f"{model!r} does not estimate exposed open interest", "2, or a Model without kappa0 and nu")
    return model.version


def _exchange(name: object) -> str:
    """The usual name of an exchange."""
    found = _core.exchange(name) if isinstance(name, str) else ""
    if not found:
        refuse("exchange", f"{name!r} is not allowed", "the name of an exchange, such as 'hyperliquid'")
    return found


class Compared(NamedTuple):
    """USD of a map and of positions, by bin, and within each distance in :data:`NEAR`."""

    map_bins: Floats
    true_bins: Floats
    map_near: Floats
    true_near: Floats


class _Measured(NamedTuple):
    """Measured positions as columns with one cell per position."""

    data: Table
    timestamp: Any
    long: Flags
    price: Floats
    usd: Floats
    current: Floats | None

    @classmethod
    def of(cls, positions: Any, exchange: str | None) -> _Measured:
        data = Table(positions, "positions")
        if exchange is not None and "exchange" in data:
            data.need("exchange")
            of_exchange = np.asarray([_core.exchange(name) == exchange for name in data.texts("exchange")])
            if not of_exchange.any():
                refuse("positions", f"no row has the exchange {exchange!r}", "positions on that exchange")
            cells = {name: np.asarray(data.cells(name), dtype=object)[of_exchange] for name in data.names}
            data = Table(cells, "positions")
        time = "t" if "t" in data and "timestamp" not in data else "timestamp"
        value = "value" if "value" in data and "value_usd" not in data else "value_usd"
        data.need(time, "side", "price", value)
        own = next((name for name in ("current_price", "cur") if name in data), None)
        current = None if own is None else data.floats(own, least=0.0)
        return cls(
            data,
            data.instants(time),
            _longs(data),
            data.floats("price", least=0.0),
            data.floats(value, least=0.0),
            current,
        )


class _Seen(NamedTuple):
    """Observed positions of the market, as a table like the argument ``positions``."""

    table: dict[str, list[Any]]
    share: dict[str, float | None]
    unplaced_usd: float

    @classmethod
    def of(cls, market: Market, symbols: str | Sequence[str] | None, exchange: str | None) -> _Seen:
        names = ("timestamp", "symbol", "side", "price", "value_usd", "current_price")
        parts: dict[str, list[Any]] = {name: [] for name in names}
        share: dict[str, float | None] = {}
        others: set[str] = set()
        unplaced = 0.0
        for coin in _coins(market, symbols, None):
            for found in _snapshots(market, coin):
                of = np.ones(len(found), dtype=np.bool_)
                if exchange is not None:
                    others |= set(found["exchange"])
                    of = found["exchange"] == exchange
                    if not of.any():
                        continue
                value, qty, price = (found[name][of] for name in ("value_usd", "qty", "liquidation_price"))
                largest = int(np.argmax(value))
                now = float(value[largest] / qty[largest])
                share_now = _share(found.meta["seen_share"], exchange)
                least = share.get(coin, share_now)
                share[coin] = None if share_now is None or least is None else min(share_now, least)
                side = found["side"][of]
                # A missing price is NaN.
                placed = np.where(side == "LONG", price < now, price > now)
                unplaced += float(value[~placed].sum())
                count = int(placed.sum())
                same = (millis_of(found.meta["snapshot"]), coin, now)
                at, of_coin, current = (np.full(count, cell, dtype=object) for cell in same)
                columns = (at, of_coin, side[placed], price[placed], (qty * price)[placed], current)
                for name, cells in zip(names, columns, strict=True):
                    parts[name] += cells.tolist()
        if not parts["price"]:
            if exchange is not None:
                what = f"no position on {exchange!r} is known of a coin with bars"
                refuse("exchange", what, ", ".join(sorted(others)) or "positions of it, in an archive or as positions=")
            what = "only a simulated market knows its positions, and this market has observed none of a coin with bars"
            refuse("positions", what, "a table of measured positions")
        return cls(parts, share, unplaced)


def _share(seen: dict[str, float | None] | float | None, exchange: str | None) -> float | None:
    """The seen share of an exchange, or the smallest of several exchanges."""
    if not isinstance(seen, dict):
        return seen
    shares = [share for name, share in seen.items() if exchange in {None, name}]
    return None if None in shares else min(share for share in shares if share is not None)


def _snapshots(market: Market, coin: str) -> Iterator[Rows[Any]]:
    """The last snapshots of a coin, newest first, at least an hour apart."""
    at: Any = None
    for _ in range(SNAPSHOTS):
        found = market.positions(coin, as_of=at)
        if not len(found):
            return
        yield found
        at = found.meta["snapshot"] - timedelta(hours=1)


def _longs(data: Table) -> Flags:
    sides = [side.lower() for side in data.texts("side")]
    wrong = next((row for row, side in enumerate(sides) if side not in SIDES), None)
    if wrong is not None:
        refuse(data.parameter, f"column 'side', row {wrong}: {sides[wrong]!r} is not a side", "long and short")
    return np.asarray([side == "long" for side in sides], dtype=np.bool_)


def _coins(market: Market, symbols: str | Sequence[str] | None, measured: _Measured | None) -> list[str]:
    if symbols is not None:
        named = [symbols] if isinstance(symbols, str) else list(symbols)
        coins = list(dict.fromkeys(_core.coin(str(symbol)) for symbol in named))
        if not coins:
            refuse("symbols", "there are none", "coins, such as 'BTC'")
    elif measured is not None and "symbol" in measured.data:
        coins = list(dict.fromkeys(_core.coin(symbol) for symbol in measured.data.texts("symbol")))
    else:
        coins = market.symbols
    if measured is not None and "symbol" not in measured.data and len(coins) != 1:
        what = f"the positions do not name their coin, one of {coins}"
        refuse("symbols", what, "one coin, or positions with a column 'symbol'")
    return coins


def _pairs(
    market: Market,
    coin: str,
    measured: _Measured | None,
    estimate: tuple[Literal[2] | Model, str | None],
    left_out: list[dict[str, Any]],
) -> Iterator[dict[str, Compared]]:
    """Compare the map, of a model and an exchange, and the positions of each snapshot, by side."""
    model, exchange = estimate
    if measured is None:
        data = Table(market.true_positions(coin), "positions")
        grid = market.liqmap(coin, "7d", model=model)
        liquidated_at = data.floats("liquidation_price")
        price = grid.current_price
        usd = data.floats("qty") * liquidated_at
        yield against(spread(of_map(grid, 0), price), price, _longs(data), liquidated_at, usd)
        return
    of_coin = mine(measured.data, coin)
    chosen = np.ones(len(measured.price), dtype=np.bool_) if of_coin is None else of_coin
    for at in np.unique(measured.timestamp[chosen]).tolist():
        of = chosen & (measured.timestamp == at)
        try:
            grid = market.liqmap(coin, "7d", model=model, exchange=exchange, as_of=at)
        except (Refused, BadQuery) as error:
            if isinstance(error, BadQuery) and error.parameter not in {"as_of", "exchange"}:
                raise
            left_out.append({"symbol": coin, "timestamp": at, "why": str(error)})
            continue
        price = grid.current_price if measured.current is None else float(measured.current[of][0])
        if abs(price / grid.current_price - 1.0) > APART:
            why = f"its price is {price:g}, but the market price is {grid.current_price:g}"
            left_out.append({"symbol": coin, "timestamp": at, "why": why})
            continue
        wrong = of & ((measured.price < price) != measured.long)
        if wrong.any():
            row = int(np.argmax(wrong))
            side = SIDES[0] if measured.long[row] else SIDES[1]
            what = (
                f"row {row}: at the price {price:g}, a {side} with the liquidation price {measured.price[row]:g} "
                "would already be liquidated"
            )
            refuse("positions", what, "longs below the price and shorts above")
        mapped = spread(of_map(grid, 0), grid.current_price)
        yield against(mapped, price, measured.long[of], measured.price[of], measured.usd[of])


def spread(curves: MapCurves, now: float) -> dict[str, Floats]:
    """USD of a map between its price and each distance, by side.

    The distances are the bin edges, followed by those in :data:`NEAR`.
    """
    return {
        "long": np.asarray([curves.long.over(now * (1.0 - edge)) for edge in (*EDGES, *NEAR)]),
        "short": np.asarray([curves.short.under(now * (1.0 + edge)) for edge in (*EDGES, *NEAR)]),
    }


def against(
    mapped: dict[str, Floats], price: float, long: Flags, liquidated_at: Floats, usd: Floats
) -> dict[str, Compared]:
    """USD of the map by distance from the map's price, and USD of the positions by distance from ``price``."""
    distances = np.abs(liquidated_at / price - 1.0)
    found = {}
    for side, of in (("long", long), ("short", ~long)):
        true_bins, _ = np.histogram(distances[of], EDGES, weights=usd[of])
        true_near = [float(usd[of & (distances <= edge)].sum()) for edge in NEAR]
        map_bins, map_near = np.diff(mapped[side][: len(EDGES)]), mapped[side][len(EDGES) :]
        found[side] = Compared(map_bins, true_bins, map_near, np.asarray(true_near))
    return found


def scores(pairs: Sequence[Compared]) -> dict[str, float]:
    """The scores of one coin and side."""
    known = [pair for pair in pairs if pair.true_bins.sum() > 0]
    nan = float("nan")
    overlaps = [_overlap(pair) for pair in known]
    ranks = [spearman(pair.map_bins, pair.true_bins) for pair in known]
    mapped = np.sum([pair.map_near for pair in pairs], axis=0)
    true = np.sum([pair.true_near for pair in pairs], axis=0)
    return {
        "overlap": float(np.mean(overlaps)) if known else nan,
        "rank_correlation": float(np.mean(ranks)) if known else nan,
        **{
            f"ratio_{round(100 * near)}pct": float(above / below) if below > 0 else nan
            for near, above, below in zip(NEAR, mapped, true, strict=True)
        },
    }


def _overlap(pair: Compared) -> float:
    total = float(pair.map_bins.sum())
    if not total > 0:
        return 0.0
    return float(np.minimum(pair.map_bins / total, pair.true_bins / pair.true_bins.sum()).sum())
