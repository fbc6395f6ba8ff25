"""The measured numbers as ``docs/benchmarks.md``."""

import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import payloads
from measure import MEBI, Result

LIBRARIES = ("liqdata", "numpy", "pandas", "orjson", "requests", "httpx", "aiohttp", "urllib3")
OURS = "liqdata"
AWAITED = "liqdata async"


def proc(path: str, key: str) -> str:
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "unknown")


def machine() -> str:
    memory = int(proc("/proc/meminfo", "MemTotal").split()[0]) / MEBI
    cores = len(os.sched_getaffinity(0))
    processor = proc("/proc/cpuinfo", "model name")
    return f"{processor}, {cores} cores, {memory:.0f} GiB, {platform.system()} {platform.machine()}"


def took(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms" if seconds < 0.1 else f"{seconds * 1e3:.0f} ms"
    return f"{seconds:.2f} s"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def compared(results: Sequence[Result], *, ours: str = OURS, busy: bool = False) -> str:
    """A row per case: the median of ours, then each peer's median and how many times ours it is."""
    names = [name for name in results[0].wall if name != ours]

    def cell(result: Result, name: str) -> str:
        return f"{took(result.median(name))} ({result.ratio(name, ours):.2f}×)"

    head = ["", ours, *names]
    rows = [[result.title, f"**{took(result.median(ours))}**", *(cell(result, n) for n in names)] for result in results]
    if busy:
        head = ["client CPU", ours, *names]
        rows = [[result.title, *(took(result.busy(name)) for name in (ours, *names))] for result in results]
    return table(head, rows)


def best(result: Result, ours: str) -> tuple[str, float]:
    """The quickest stack on orjson and how many times ours it takes."""
    rivals = [name for name in result.wall if "orjson" in name]
    name = min(rivals, key=lambda name: result.ratio(name, ours))
    return name, result.ratio(name, ours)


def verdict(results: Sequence[Result]) -> str:
    """Where the rule holds and where it does not, ours being the blocking client."""
    ruled = [(result, *best(result, OURS)) for result in results if result.ruled]
    if not ruled:
        return "No case that the rule speaks of was run."
    slower = [(result, name, ratio) for result, name, ratio in ruled if ratio < 1]
    if not slower:
        least = min(ruled, key=lambda one: one[2])
        return (
            f"**The rule holds**: in all {len(ruled)} cases it speaks of, the blocking client is faster than the best "
            f"orjson stack; the least lead is {least[2]:.2f}× ({least[0].title}, over {least[1]})."
        )
    named = "; ".join(f"{result.title}: {name} takes {ratio:.2f}× our time" for result, name, ratio in slower)
    return f"**The rule is broken** in {len(slower)} of the {len(ruled)} cases it speaks of: {named}."


def exempt(results: Sequence[Result], ours: str) -> str:
    lines = []
    for result in results:
        name, ratio = best(result, ours)
        lines.append(f"- {result.title}, {ours}: {ratio:.2f}× ({name})")
    return "\n".join(lines)


def page(
    *,
    command: str,
    single: Sequence[Result],
    awaited: Sequence[Result],
    many: Result,
    memory: dict[str, int],
    imports: dict[str, float],
    engine: Sequence[tuple[str, list[float]]],
    taken: float,
) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    result_size = 8 * payloads.SIZES["7d"][0] * payloads.SIZES["7d"][1] / MEBI
    load = os.getloadavg()[1]
    at_once = table(
        ["", "wall", "client CPU", "x of liqdata"],
        ([name, took(many.median(name)), took(many.busy(name)), f"{many.ratio(name):.2f}×"] for name in many.wall),
    )
    peaks = table(
        ["", "peak growth", "x of liqdata"],
        ([name, f"{grown / MEBI:.1f} MiB", f"{grown / memory[OURS]:.1f}×"] for name, grown in memory.items()),
    )
    started = table(["", "CPU"], ([name, took(seconds)] for name, seconds in imports.items()))
    anchors = table(
        ["", "median", "least"], ([title, took(statistics.median(each)), took(min(each))] for title, each in engine)
    )
    free = [result for result in single if not result.ruled]
    return f"""# Benchmarks

Written by `{command}` on {datetime.now(UTC):%Y-%m-%d} in {taken:.0f} s; do not edit.

{verdict([*single, many])}

The rule: nothing may be slower than the best orjson stack, rows → dicts and an awaited small call aside. There, the
best orjson stack's time over ours:

{exempt(free, OURS)}
{exempt([result for result in awaited if result.title.startswith("small")], AWAITED)}

## How it is measured

- Machine: {machine()}; load average of the last five minutes {load:.1f}, this run included.
- Python {platform.python_version()}, {versions}.
- Every reply is **synthetic** and seeded; no real service has been measured. One loopback server in its own process
  sends ready bytes to all, uncompressed unless a row says gzip. Client and server share the cores.
- Every stack keeps its connections. Before any clock runs, each stack's answer is checked to equal ours.
- The stacks take turns, in random order in every round; the garbage collector rests during a round. A time is the
  median over the rounds; **(x×) is the median of the round-by-round ratios, the peer's time over ours**: above 1 ours
  is faster. {single[0].rounds()} rounds at most a case, fewer where a case's share of time ran out.
- The peers parse the JSON and make by hand what liqdata gives: the same arrays, dicts or frame.

## One call, wall time

aiohttp and liqdata async are timed inside their event loop, one await after the other.

{compared(single)}
## One call, CPU time of the client's process

Threads included; what the server's process does is not.

{compared(single, busy=True)}
## Awaited, against the asynchronous client

{compared(awaited, ours=AWAITED)}
## {many.title}

Blocking: liqdata by a sequence of symbols, the peers on eight threads; awaited: `gather` under a semaphore of eight.

{at_once}
## Peak memory of one 1000 × 1440 map, 17 digits

Growth of the resident peak over what was resident before the call, in a fresh process; the matrix alone is
{result_size:.1f} MiB.

{peaks}
## Import, CPU time in a fresh interpreter

{started}
## The engine, in process

The demo market, and {200_000:,} synthetic orders of 24 hours.

{anchors}"""
