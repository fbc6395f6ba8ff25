"""The baselines and a pool of all maps against the true positions of simulated markets, scored as a map is."""

import numpy as np
import pandas as pd
from simulated import COINS, MODELS, NEAR

import liqdata
from liqdata.scoring.columns import LONG, SHORT, Table
from liqdata.scoring.known_positions import against, scores, spread
from liqdata.scoring.maps import baselines
from liqdata.scoring.maps.curves import of_map
from liqdata.scoring.maps.models import Estimated
from liqdata.scoring.statistics import fit
from liqdata.scoring.statistics.path import read_bars, read_path
from liqdata.scoring.truth import realised

PERIOD = 15 * 60_000
POOL = "pool"


def others(market: liqdata.Market) -> pd.DataFrame:
    """One row per source, coin and side: each baseline at the market's end, and the pool of them and the models."""
    orders = pd.DataFrame(list(market.iter_orders()))
    rows = []
    for coin in COINS:
        bars, interest = market.bars(coin).to_pandas(), market.open_interest(coin).to_pandas()
        path_bars = read_bars(bars, coin)
        # The pool is fitted to the liquidations that were published.
        path = read_path(realised(orders, coin, PERIOD), path_bars)
        mapped, crossed = {}, {}
        for name, model in MODELS.items():
            grid = market.liqmap(coin, "7d", model=model)
            mapped[name] = spread(of_map(grid, 0), grid.current_price)
            crossed[name] = Estimated(name, market, model, coin).crossed(path.opens, path.low, path.high)
        price = market.liqmap(coin, "7d", model=2).current_price
        for name in baselines.NAMES:
            mapped[name] = spread(baselines.standing(name, path_bars, interest, coin), price)
            crossed[name], _ = baselines.made(name, path, interest, coin)
        pooled = _weights([crossed[name] for name in mapped], path.usd)
        mapped[POOL] = {
            side: pooled[place] @ np.stack([one[side] for one in mapped.values()])
            for side, place in (("long", LONG), ("short", SHORT))
        }
        rows += _scored(market, coin, price, {name: mapped[name] for name in (*baselines.NAMES, POOL)})
    return pd.DataFrame(rows)


def by_venue(market: liqdata.Market) -> pd.DataFrame:
    """One row per source, coin and side: the map of all open interest, and the sum of one of each venue's own."""
    rows = []
    for coin in COINS:
        grid = market.liqmap(coin, "7d", model=2)
        price = grid.current_price
        venues = market.open_interest(coin).to_pandas()["exchange"].unique()
        maps = [market.liqmap(coin, "7d", model=2, exchange=venue) for venue in venues]
        parts = [spread(of_map(one, 0), price) for one in maps]
        mapped = {
            "all venues at once": spread(of_map(grid, 0), price),
            "sum over venues": {side: np.sum([part[side] for part in parts], axis=0) for side in parts[0]},
        }
        rows += _scored(market, coin, price, mapped)
    return pd.DataFrame(rows)


def _scored(
    market: liqdata.Market, coin: str, price: float, mapped: dict[str, dict[str, np.ndarray]]
) -> list[dict[str, object]]:
    truth = Table(market.true_positions(coin), "positions")
    at = truth.floats("liquidation_price")
    long = np.asarray([side.lower() == "long" for side in truth.texts("side")])
    return [
        {
            "source": name,
            "symbol": coin,
            "side": side,
            **scores([pair]),
            **{f"map_{near}pct": usd for near, usd in zip(NEAR, pair.map_near, strict=True)},
            **{f"true_{near}pct": usd for near, usd in zip(NEAR, pair.true_near, strict=True)},
        }
        for name, one in mapped.items()
        for side, pair in against(one, price, long, at, truth.floats("qty") * at).items()
    ]


def _weights(crossed: list[np.ndarray], usd: np.ndarray) -> np.ndarray:
    """What a USD of each map counts in the pool, (2, M): by side, with a constant, as the scorer pools them.

    Nothing where nothing of a map was crossed, because its value is then unknown.
    """
    weights = np.zeros((2, len(crossed)))
    for side in (LONG, SHORT):
        seen = [place for place, one in enumerate(crossed) if one[:, side].any()]
        terms = np.column_stack([*(crossed[place][:, side] for place in seen), np.ones(len(usd))])
        weights[side, seen] = fit.together(terms, usd[:, side])[:-1]
    return weights
