"""The measured numbers as ``docs/dev/benchmarks.md``."""

import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import floors
import payloads
from measure import MEBI, Result, noted

import liqdata

LIBRARIES = (
    "numpy", "pandas", "polars", "pyarrow", "orjson", "pysimdjson", "msgspec", "requests", "urllib3",
    "httpx", "aiohttp", "pyreqwest",
)  # fmt: skip
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


def ahead() -> str:
    """Say so where the run went before whatever else the machine had to do."""
    if not hasattr(os, "sched_getscheduler") or os.sched_getscheduler(0) != os.SCHED_FIFO:
        return ""
    return "\n- The machine was busy, and all sides had priority (`chrt --fifo 1`)."


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
    """A row per case: the median of ours, then each peer's median and how many times ours it is.

    Where a peer's wall time is marked, the processor's ratio is next to it.
    """
    names = list(dict.fromkeys(name for result in results for name in result.wall if name != ours))

    def cell(result: Result, name: str) -> str:
        if name not in result.wall:
            return "–"
        median = result.busy(name) if busy else result.median(name)
        mark = "" if busy else result.mark(name, ours)
        also = f"; CPU {result.ratio(name, ours, busy=True):.2f}×" if mark else ""
        return f"{took(median)} ({result.ratio(name, ours, busy=busy):.2f}×{also}){mark}"

    def own(result: Result) -> str:
        return f"**{took(result.busy(ours) if busy else result.median(ours))}**"

    lines = ([result.title, own(result), *(cell(result, name) for name in names)] for result in results)
    return noted(table(["", ours, *names], lines))


def ranked(result: Result, *, ours: str = OURS) -> str:
    """A row per stack: wall, CPU and how many times ours."""
    lines = (
        [
            name,
            took(result.median(name)) + result.mark(name, ours),
            took(result.busy(name)),
            f"{result.ratio(name, ours):.2f}×",
        ]
        for name in result.wall
    )
    return noted(table(["", "wall", "client CPU", f"x of {ours}"], lines))


def best(result: Result, ours: str) -> tuple[str, float]:
    """The quickest stack on orjson and how many times ours it takes."""
    rivals = [name for name in result.wall if "orjson" in name]
    name = min(rivals, key=lambda name: result.ratio(name, ours))
    return name, result.ratio(name, ours)


def verdict(blocking: Sequence[Result], awaited: Sequence[Result] = ()) -> str:
    """Where the rule holds and where it does not, ours being the blocking or the awaited client."""
    judged = [(result, OURS) for result in blocking] + [(result, AWAITED) for result in awaited]
    ruled = [(f"{result.title}, {ours}", *best(result, ours)) for result, ours in judged if result.ruled]
    if not ruled:
        return "No case of the rule was run."
    slower = [one for one in ruled if one[2] < 1]
    if not slower:
        title, name, ratio = min(ruled, key=lambda one: one[2])
        return (
            f"**The rule holds** in all {len(ruled)} cases: liqdata is never slower than the best stack with orjson; "
            f"the smallest lead is {ratio:.2f}× ({title}, over {name})."
        )
    named = "; ".join(f"{title}: {name} takes {ratio:.2f}× our time" for title, name, ratio in slower)
    return f"**The rule is broken** in {len(slower)} of {len(ruled)} cases: {named}."


def exempt(results: Sequence[Result], ours: str) -> str:
    lines = []
    for result in results:
        name, ratio = best(result, ours)
        lines.append(f"- {result.title}, {ours}: {ratio:.2f}× ({name})")
    return "\n".join(lines)


@dataclass
class Run:
    """All that one run measured."""

    command: str
    single: Sequence[Result]
    awaited: Sequence[Result]
    maps: Sequence[Result]
    pages: Sequence[Result]
    dicts: Sequence[Result]
    many: Result
    feed: Result
    memory: dict[str, int]
    imports: Result
    engine: Sequence[tuple[str, list[float]]]
    apart: floors.Ratios
    taken: float


def page(run: Run) -> str:
    versions = ", ".join([f"liqdata {liqdata.__version__}", *(f"{name} {version(name)}" for name in LIBRARIES)])
    size = 8 * payloads.SIZES["7d"][0] * payloads.SIZES["7d"][1]
    peaks = table(
        ["", "peak growth", "x of the matrix"],
        ([name, f"{grown / MEBI:.1f} MiB", f"{grown / size:.2f}×"] for name, grown in run.memory.items()),
    )
    started = table(
        ["", "CPU", "x of liqdata"],
        ([name, took(run.imports.median(name)), f"{run.imports.ratio(name):.2f}×"] for name in run.imports.wall),
    )
    anchors = table(
        ["", "median", "least"], ([title, took(statistics.median(each)), took(min(each))] for title, each in run.engine)
    )
    measured = [*run.single, *run.awaited, *run.maps, *run.pages, *run.dicts, run.many, run.feed, run.imports]
    bars, met = floors.table(measured, run.apart, (run.memory[OURS], size), table)
    free = [result for result in run.single if not result.ruled]
    return f"""# Benchmarks

Written by `{run.command}` on {datetime.now(UTC):%Y-%m-%d} in {run.taken:.0f} s; do not edit.

{met}. A rule: no call, blocking or awaited, should be slower than the best stack with orjson, except rows → dicts.
{verdict([*run.single, run.many], [*run.awaited, run.many])}

## The floors

A floor is the least ratio that liqdata should reach: the peer's time over the time of liqdata, as the median over
rounds. "Best" means the best of several peers.

{bars}
The rows about serving and ranking are from [serving](benchmarks-serving.md) and [archive](benchmarks-archive.md).
[Feeds](benchmarks-feeds.md) has the decoding of exchange frames.

## How it is measured

- Machine: {machine()}; load average of the last five minutes {os.getloadavg()[1]:.1f}, including this run.
- Python {platform.python_version()}, {versions}.
- Every reply is **synthetic** with a fixed seed; no real service was measured. One compiled loopback server in its own
  process (`examples/ready.rs`) sends prepared bytes to all stacks, uncompressed unless a row says gzip or zstd. Client
  and server share the cores.
- Every stack reuses its connections. Before the measurement each stack's answer is checked to equal that of liqdata.
- The stacks take turns, in random order in every round, without garbage collection. A time is the median over the
  rounds. **(x×) is the median over the rounds of the peer's time over that of liqdata**: above 1 liqdata is faster. A
  case has at most {run.single[0].rounds()} rounds, fewer if its time ran out.
- The peers parse the JSON and build the same arrays, columns, dicts or frame as liqdata.

## How fast is a map read?

From bytes in memory to arrays, without HTTP; CPU time.

{compared(run.maps, busy=True)}
## How fast are rows read?

From a page of 1,000 orders in memory to numpy columns (numbers, instants, names); CPU time.

{compared(run.pages, busy=True)}
To dicts, with amounts as text, float or Decimal:

{compared(run.dicts, busy=True)}
## How long does one call take?

Wall time. aiohttp is timed inside its event loop, one await after the other.

{compared(run.single)}
## How much of the processor does one call take?

CPU time of the client's process with its threads, without the server's process.

{compared(run.single, busy=True)}
Cases outside the rule, the time of the best stack with orjson over that of liqdata:

{exempt(free, OURS)}

## How long does an awaited call take?

{compared(run.awaited, ours=AWAITED)}
## {run.many.title}

Blocking: liqdata gets a list of symbols, the peers use eight threads. Awaited: `gather` with a semaphore of eight.

{ranked(run.many)}
## {run.feed.title}

liqdata is `client.iter_orders().to_arrow()`. "By hand" converts each page to numpy columns on arrival.

{ranked(run.feed)}
## How much memory does one 1000 × 1440 map take?

Growth of the peak resident memory during the call, in a fresh process; the matrix alone is
{size / MEBI:.1f} MiB.

{peaks}
## How long does the import take?

CPU time in a fresh interpreter.

{started}
## How fast is the engine, in process?

The demo market, and {200_000:,} synthetic orders of 24 hours.

{anchors}"""
