"""Listen to each exchange for ten minutes and say what arrived, and what disagrees with what is documented.

For users with a network::

    python examples/live_smoke.py                      # all exchanges, ten minutes
    python examples/live_smoke.py --exchanges okx,gate --minutes 2
    python examples/live_smoke.py --settings doubles.toml --minutes 0.1
    python examples/live_smoke.py --fetch              # a day of BTC from each free source of `liqdata fetch`

Exit code 1 where an exchange was never live, or something disagreed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import liqdata
from liqdata import _core

CONNECTING = 60.0
"""Seconds that all exchanges have to become live before the time is counted."""

EARLY = -1000
"""Milliseconds by which an exchange's clock may be ahead of ours."""

LATE = 15 * 60_000
"""Milliseconds after its event time at which an order is late even for OKX, whose rows come minutes late."""

QUIET = frozenset(
    "aster htx deribit kraken bitfinex dydx lighter lighter_rh pacifica extended coinex orderly".split()  # noqa: SIM905
)
"""Exchanges on which ten minutes without a liquidation are an ordinary quiet time."""


def disagreements(venue: dict[str, Any], minutes: float) -> list[str]:
    """Say what of a venue's state is not as it should be after so many minutes."""
    found = []
    if venue["state"] != "live":
        found.append(f"is {venue['state']} and not live")
    if venue["uncovered_count"]:
        named = ", ".join(venue["uncovered"][:3])
        found.append(f"{venue['uncovered_count']} subscriptions were not acknowledged: {named}")
    if venue["rejected"]:
        found.append(f"{venue['rejected']} frames or rows could not be read")
    if venue["unpriced"] or venue["pending"]:
        found.append(f"{venue['unpriced'] + venue['pending']} orders of markets whose multiplier is not listed")
    if venue["suspect"]:
        found.append(f"{venue['suspect']} orders are far off the market: is a unit another one by now?")
    if venue["gaps"]:
        found.append(f"{venue['gaps']} gaps, the last: {venue['last_gap']}")
    if venue["lag"] is not None and not EARLY <= venue["lag"] <= LATE:
        found.append(f"its events are {venue['lag']} ms old when they come: is the time in another unit?")
    if not venue["events"] and minutes >= 10 and venue["exchange"] not in QUIET:  # noqa: PLR2004 - the ten minutes
        found.append("connected, acknowledged, and not one event: has the feed moved?")
    if venue["trouble"]:
        found.append(f"its last trouble: {venue['trouble']}")
    return found


def connect(collector: _core.Collector) -> None:
    """Wait until every exchange is live, but no longer than it may take."""
    patience = time.monotonic() + CONNECTING
    while time.monotonic() < patience:
        status = collector.status()
        if status is not None and all(venue["state"] == "live" for venue in status["exchanges"]):
            return
        time.sleep(0.1)


FREE = (
    *("binance", "hyperliquid_contexts", "hyperliquid_liquidations", "hyperliquid_reservoir", "liquidation_ticks"),
    *("cryptohftdata", "tardis", *(["coinalyze"] if os.environ.get("COINALYZE_API_KEY") else [])),
)
"""The sources of `liqdata fetch` that cost nothing; Coinalyze needs a free key."""


def fetch_a_day(day: str, following: str) -> int:
    """Fetch a day of BTC from each free source, and print a line for each."""
    wrong = False
    for source in FREE:
        with tempfile.TemporaryDirectory() as folder:
            done = liqdata.fetch(Path(folder) / "archive", coins="BTC", start=day, end=following, sources=source)
        counts = ", ".join(f"{row['new']} {row['table']}, {row['refused']} refused" for row in done.rows)
        print(f"{source}: {len(done.plan)} requests, {done.bytes} bytes; {counts or 'no rows'}")
        for gap in done.gaps:
            print(f"  ! {gap['reason'][:300]}")
        wrong = wrong or not len(done.rows)
    return 1 if wrong else 0


def main() -> int:
    """Collect into a folder that is thrown away, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--exchanges", default="", help="exchanges, such as binance,bybit (all)")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--settings", type=Path, help="hosts, paths and times, as TOML")
    parser.add_argument("--fetch", action="store_true", help="fetch a day of BTC from each free source instead")
    arguments = parser.parse_args()
    if arguments.fetch:
        return fetch_a_day("2026-05-01", "2026-05-02")
    settings = arguments.settings.read_text(encoding="utf-8") if arguments.settings else "history_days = 1\n"
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "archive"
        venues = arguments.exchanges.replace(",", " ").split()
        collector = _core.Collector(archive, venues, [], settings, False)  # noqa: FBT003 - positional by nature
        try:
            connect(collector)
            time.sleep(arguments.minutes * 60)
            status = collector.status()
        finally:
            collector.stop()
        aside = archive / "quarantine.jsonl"
        reasons = aside.read_text(encoding="utf-8").splitlines()[:20] if aside.exists() else []
    if status is None:
        return 1
    wrong = False
    for venue in status["exchanges"]:
        told = (
            f"{venue['events']} events, {venue['bars']} bars, {venue['open_interest']} open interest, "
            f"lag {venue['lag']} ms, {venue['connections']} connections"
        )
        print(f"{venue['exchange']}: {venue['state']}; {told}")
        for what in disagreements(venue, arguments.minutes):
            wrong = True
            print(f"  ! {what}")
    print(f"kept {status['orders']} orders, {status['bars']} bars, {status['open_interest']} open interest")
    for line in reasons:
        print(f"set aside: {line[:300]}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
