"""``make bench``: the client against its peers on one loopback server; writes ``docs/dev/benchmarks.md``."""

import argparse
import random
import sys
import time
from pathlib import Path

import cases
import engine
import feed
import floors
import measure
import payloads
import reading
import report
import server
from measure import Result
from peers import MAKERS, Awaited, Stack

PAGE = Path(__file__).parents[2] / "docs" / "dev" / "benchmarks.md"
AWAITED = ["liqdata async", "aiohttp + orjson", "pyreqwest async + orjson", "httpx async + orjson"]
ALL = [name for name in MAKERS if name not in AWAITED or name == "aiohttp + orjson"]
IMPORTS = {
    "liqdata": "liqdata",
    "liqdata, numpy": "liqdata, numpy",
    "numpy": "numpy",
    "orjson": "orjson",
    "urllib3": "urllib3",
    "requests": "requests",
    "httpx": "httpx",
    "aiohttp": "aiohttp",
    "pandas": "pandas",
}
MIDDLE = cases.heatmap("DENSE", "24h")
LARGE = cases.heatmap("DENSE", "7d")
FEW = 40
BURST = 16
ROWS = 1_000_000


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, some 40 s, printed and not written")
    parser.add_argument("--only", default="", help="only single cases with this in key or title; printed")
    parser.add_argument("--peak", nargs=2, metavar=("STACK", "URL"), help=argparse.SUPPRESS)
    return parser.parse_args()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def tell(result: Result, *, busy: bool = False) -> Result:
    ours = next(iter(result.wall))

    def one(name: str) -> str:
        took = result.busy(name) if busy else result.median(name)
        return f"{name} {report.took(took)} ({result.ratio(name, ours, busy=busy):.2f}x)"

    shown = "  ".join(map(one, result.wall))
    say(f"{result.title}: {shown}")
    return result


def peak(name: str, url: str) -> None:
    """Prints the growth of this process's peak memory over one large map."""
    stack = MAKERS[name](url)
    small = cases.heatmap("DENSE", "12h")
    # Imports and connections are not what is measured.
    measure.value(stack, lambda: stack.once(small))
    print(measure.peak_growth(lambda: measure.value(stack, lambda: stack.once(LARGE))))
    stack.close()


def single(case: cases.Case, stacks: list[Stack], *, quick: bool, key: str = "") -> Result:
    stacks = [stack for stack in stacks if case.coding in stack.codings]
    measure.check(case, stacks)
    return tell(
        measure.rounds(
            case.title,
            key=key or case.key,
            works={stack: lambda stack=stack: stack.once(case) for stack in stacks},
            inner=max(1, case.inner // 4) if quick else case.inner,
            most=3 if quick else 21,
            seconds=0.5 if quick else 6,
            order=random.Random(payloads.SEED),
            ruled=case.ruled,
        )
    )


def burst(stacks: list[Awaited], *, quick: bool) -> Result:
    return tell(
        measure.rounds(
            f"{BURST} small calls in flight",
            {stack: lambda stack=stack: stack.burst(cases.SMALL, BURST) for stack in stacks},
            key="awaited burst",
            inner=5 if quick else 20,
            most=3 if quick else 21,
            seconds=0.5 if quick else 6,
            order=random.Random(payloads.SEED),
        )
    )


def imports(*, quick: bool) -> Result:
    """CPU seconds of each import, in turns."""
    result = Result("import", key="import")
    for _ in range(3 if quick else 9):
        for name, code in IMPORTS.items():
            seconds = measure.import_seconds(code)
            result.wall.setdefault(name, []).append(seconds)
            result.cpu.setdefault(name, []).append(seconds)
    return result


def main() -> None:
    options = arguments()
    if options.peak:
        peak(*options.peak)
        return
    start = time.monotonic()
    quick = options.quick
    chosen = [
        case
        for case in cases.SINGLE
        if options.only in case.key + case.title and not (quick and case.params.get("range") == "7d")
    ]
    readings = (reading.MAPS, reading.PAGES, reading.DICTS)
    maps, pages, dicts = (
        [tell(reading.measured(one, quick=quick), busy=True) for one in some if options.only in one.key + one.title]
        for some in readings
    )
    rows = ROWS // 20 if quick else ROWS
    with server.running([*cases.SINGLE, *cases.MANY], rows) as url:
        stacks = {name: make(url) for name, make in MAKERS.items()}
        singles = [single(case, [stacks[name] for name in ALL], quick=quick) for case in chosen]
        if options.only:
            for stack in stacks.values():
                stack.close()
            if singles:
                print(report.compared(singles), report.compared(singles, busy=True), report.verdict(singles), sep="\n")
            return
        pairs = [stacks[name] for name in AWAITED]
        awaited = [single(case, pairs, quick=quick, key=f"awaited {case.key}") for case in (cases.SMALL, MIDDLE)]
        awaited.insert(1, burst([stack for stack in pairs if isinstance(stack, Awaited)], quick=quick))
        many_maps = cases.MANY[:FEW] if quick else cases.MANY
        many = tell(
            measure.rounds(
                f"{len(many_maps)} heatmaps 200 × 288, 17 digits, eight in flight → arrays",
                {stack: lambda stack=stack: stack.many(many_maps) for stack in stacks.values()},
                key="many",
                inner=1,
                most=3 if quick else 5,
                seconds=1 if quick else 35,
                order=random.Random(payloads.SEED),
            )
        )
        fed = tell(feed.measured(stacks, url, rows, quick=quick))
        for stack in stacks.values():
            stack.close()
        here = str(Path(__file__))
        memory = {name: int(measure.fresh(here, "--peak", name, url)) for name in MAKERS}
    say("imports and engine")
    page = report.page(
        report.Run(
            command="make bench" if not quick else "run.py --quick",
            single=singles,
            awaited=awaited,
            maps=maps,
            pages=pages,
            dicts=dicts,
            many=many,
            feed=fed,
            memory=memory,
            imports=imports(quick=quick),
            engine=engine.anchors(most=3 if quick else 9, seconds=0.5 if quick else 2),
            apart=floors.stored(),
            taken=time.monotonic() - start,
        )
    )
    print(page)
    if not quick:
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
