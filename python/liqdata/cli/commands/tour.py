"""The demo: a simulated market on a loopback server, and a client that sends all ten queries."""

from __future__ import annotations

import sys
import time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from liqdata.calls.progress import delayed_bar
from liqdata.cli.output import layout, table
from liqdata.endpoints.contract import endpoints

if TYPE_CHECKING:
    from pathlib import Path

    from liqdata.market import Market
    from liqdata.results.map import LiquidationMap

__all__ = ["tour"]

LINES = 5
"""Maximum number of lines that are shown of an answer."""

NEAR = 0.05
"""Maximum distance from the price, as a share of it, at which the map is compared with the true positions."""


def tour(out: Path, *, seed: int = 0) -> None:
    """Run the demonstration and write ``heatmap.png`` and ``liqmap.png``.

    Parameters
    ----------
    out : pathlib.Path
        Folder of the two pictures; created if it is missing.
    seed : int
        Seed of the simulated market.
    """
    from liqdata import Client, demo, serve

    out.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    with demo(seed=seed, progress=delayed_bar("demo", " bars")) as market:
        built = time.perf_counter() - began
        _say(f"A simulated market (seed {seed}), none of it real, built in {built:.2f} s.")
        with serve(market) as server, Client(server.url) as client:
            _say(f"Served at {server.url}; the client sends all ten queries over HTTP.\n")
            answers, timings = _ask(client)
            week = client.liqmap("BTC", "7d")
        for name, answer in answers.items():
            _show(name, table.records(name, answer)[:LINES], *table.label(name, answer), "simulated")
        _show("estimate and truth", _compare_with_truth(market, week), "7d map", "BTC", "USD within 5 % of the price")
        _show("How long each call took", timings, "over the loopback, first call included")
        _pictures(market, answers, out)
    _say("Everything above is simulated; the four estimated answers are estimates even on real data.")


def _show(title: str, lines: table.Records, *notes: str) -> None:
    layout.show(table.made(title, lines, notes=notes))


def _ask(client: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    answers: dict[str, Any] = {}
    timings = []
    for name in (endpoint.name for endpoint in endpoints().values() if not endpoint.extension):
        began = time.perf_counter()
        answers[name] = getattr(client, name)()
        took = time.perf_counter() - began
        timings.append({"call": f"client.{name}()", "ms": Decimal(f"{1000 * took:.2f}")})
    return answers, timings


def _compare_with_truth(market: Market, grid: LiquidationMap) -> list[dict[str, Any]]:
    """Compare the map near the price with the true positions of the simulation."""
    price = grid.current_price
    swept = grid.swept((1 - NEAR) * price, (1 + NEAR) * price)
    positions = [
        (row["side"], row["qty"] * row["liquidation_price"])
        for row in market.true_positions(grid.symbol)
        if abs(row["liquidation_price"] / price - 1) <= NEAR
    ]
    lines = []
    for side in ("LONG", "SHORT"):
        true = sum(usd for of, usd in positions if of == side)
        estimated = swept[f"{side.lower()}_usd"]
        over = estimated / true if true > 0 else None
        lines.append({"side": side, "estimated_usd": estimated, "true_usd": true, "estimated_over_true": over})
    return lines


def _pictures(market: Market, answers: dict[str, Any], out: Path) -> None:
    try:
        from liqdata import plot
    except ModuleNotFoundError as error:
        _say(f"No pictures: {error}")
        return
    for name, price in (("heatmap", market.bars("BTC")), ("liqmap", None)):
        file = out / f"{name}.png"
        grid = answers[name]
        plot.picture(grid, price=price).savefig(file)
        _say(f"wrote {file}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
