"""``docs/explanation/scorecard.md``, measured: ``make scorecard``, or ``python tests/scorecard/run.py``.

``--only positions`` measures the section on true positions again, with its gates, and leaves the others as they stand.
What needs recordings that may not be shipped is left out where ``$LIQDATA_REAL_DATA`` does not name their folder. The
section on all positions of Hyperliquid is made of the file that ``$LIQDATA_CENSUS`` names, a snapshot of a reservoir.
"""

import argparse
import os
from pathlib import Path

import baseline_maps
import measured
import page
import realised
import simulated
import whole_exchange

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "scorecard.md"


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--seeds", type=int, default=12, help="markets that the gates are held to")
    reader.add_argument("--fewer", type=int, default=3, help="markets of each quality and habit")
    reader.add_argument("--page", type=Path, default=PAGE)
    reader.add_argument("--only", choices=["positions"], help="measure this section again, of an existing page")
    asked = reader.parse_args()
    gated: list[page.Gate] = []
    print("simulated markets as they are …", flush=True)
    seeds = range(asked.seeds)
    found = simulated.as_it_is(seeds, baseline_maps.others)
    parts = [page.as_it_is(found, simulated.level_distances(seeds), gated)]
    if asked.only:
        text = asked.page.read_text(encoding="utf-8")
        asked.page.write_text(page.dated(page.with_section(text, parts[0], gated), text), encoding="utf-8")
        return
    print("seen badly …", flush=True)
    parts.append(page.seen_badly(simulated.seen_badly(range(asked.fewer))))
    print("of other habits …", flush=True)
    habits = simulated.of_habits(range(asked.fewer))
    parts.append(page.of_habits(habits))
    folder = os.environ.get("LIQDATA_REAL_DATA")
    if folder:
        recordings = Path(folder) / "market"
        print("measured positions …", flush=True)
        positions = measured.Measured(recordings)
        parts.append(page.measured(positions.shares(), positions.meta(), gated))
        given = os.environ.get("LIQDATA_CENSUS")
        if given is None:
            parts.append(page.without_census())
        else:
            parts.append(page.census(*whole_exchange.scored(Path(given), *whole_exchange.recorded(recordings))))
        print("liquidations …", flush=True)
        parts.append(page.realised(*realised.on_recorded_bars(recordings)))
        days = realised.by_day(recordings)
        parts.append(page.by_day(days, gated))
        parts.append(page.facts(habits, positions.near(), days, recordings))
    else:
        parts.append(page.without_recordings())
    parts = [page.head(), page.gates(gated), *parts, page.foot()]
    before = asked.page.read_text(encoding="utf-8") if asked.page.exists() else ""
    asked.page.write_text(page.dated("\n\n".join(parts) + "\n", before), encoding="utf-8")
    print(f"{asked.page} is written")


if __name__ == "__main__":
    main()
