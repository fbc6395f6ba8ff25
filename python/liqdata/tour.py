"""The demonstration: a simulated market behind a real loopback server, asked all ten questions by the client."""

from __future__ import annotations

import sys
import time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from . import screen
from ._table import endpoints

if TYPE_CHECKING:
    from pathlib import Path

    from .market import Market

__all__ = ["tour"]

LINES = 5
"""Lines shown of an answer that is a long list."""


def tour(out: Path, *, seed: int = 0) -> None:
    """Run the demonstration and write ``heatmap.png`` and ``liqmap.png``.

    Parameters
    ----------
    out : pathlib.Path
        Folder of the two pictures; made where it is missing.
    seed : int
        Which simulated market.
    """
    from . import Client, demo, serve

    out.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    with demo(seed=seed) as market:
        built = time.perf_counter() - began
        _say(f"A simulated market (seed {seed}), none of it real, built in {built:.2f} s.")
        with serve(market) as server, Client(server.url) as client:
            _say(f"Served at {server.url}; the client asks all ten questions over HTTP.\n")
            answers, timings = _ask(client)
        for name, answer in answers.items():
            note = f"{screen.label(name, answer)} · simulated"
            screen.show(name, screen.records(name, answer)[:LINES], note=note)
        screen.show("How long each call took", timings, note="over the loopback, first call included")
        _pictures(market, answers, out)
    _say("Everything above is simulated; the four estimated answers are estimates even on real data.")


def _ask(client: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    answers: dict[str, Any] = {}
    timings = []
    for name in (endpoint.name for endpoint in endpoints().values() if not endpoint.extension):
        began = time.perf_counter()
        answers[name] = getattr(client, name)()
        took = time.perf_counter() - began
        timings.append({"call": f"client.{name}()", "ms": Decimal(f"{1000 * took:.2f}")})
    return answers, timings


def _pictures(market: Market, answers: dict[str, Any], out: Path) -> None:
    try:
        from . import plot
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
