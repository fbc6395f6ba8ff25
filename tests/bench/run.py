"""``make bench``: the client against its peers on one loopback server; writes ``docs/benchmarks.md``."""

import argparse
import random
import sys
import time
from pathlib import Path

import cases
import engine
import measure
import payloads
import report
import server
from measure import Result
from peers import MAKERS, Stack

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
ALL = [name for name in MAKERS if name != "httpx async + orjson"]
AWAITED = ["liqdata async", "aiohttp + orjson", "httpx async + orjson"]
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


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, some 40 s, printed and not written")
    parser.add_argument("--only", default="", help="only single cases whose key or title contains this; printed")
    parser.add_argument("--peak", nargs=2, metavar=("STACK", "URL"), help=argparse.SUPPRESS)
    return parser.parse_args()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def tell(result: Result) -> Result:
    shown = "  ".join(f"{name} {report.took(result.median(name))}" for name in result.wall)
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


def single(case: cases.Case, stacks: list[Stack], *, quick: bool) -> Result:
    measure.check(case, stacks)
    return tell(
        measure.rounds(
            case.title,
            {stack: lambda stack=stack: stack.once(case) for stack in stacks},
            inner=max(1, case.inner // 4) if quick else case.inner,
            most=3 if quick else 21,
            seconds=0.5 if quick else 7,
            order=random.Random(payloads.SEED),
            ruled=case.ruled,
        )
    )


def main() -> None:
    options = arguments()
    if options.peak:
        peak(*options.peak)
        return
    start = time.monotonic()
    quick = options.quick
    with server.running() as url:
        stacks = {name: make(url) for name, make in MAKERS.items()}
        chosen = [
            case
            for case in cases.SINGLE
            if options.only in case.key + case.title and not (quick and case.params.get("range") == "7d")
        ]
        singles = [single(case, [stacks[name] for name in ALL], quick=quick) for case in chosen]
        if options.only:
            for stack in stacks.values():
                stack.close()
            print(report.compared(singles), report.compared(singles, busy=True), report.verdict(singles), sep="\n")
            return
        pairs = [stacks[name] for name in AWAITED]
        awaited = [single(case, pairs, quick=quick) for case in (cases.SMALL, MIDDLE)]
        maps = cases.MANY[:FEW] if quick else cases.MANY
        many = tell(
            measure.rounds(
                f"{len(maps)} heatmaps 200 × 288, 17 digits, eight in flight → arrays",
                {stack: lambda stack=stack: stack.many(maps) for stack in stacks.values()},
                inner=1,
                most=3 if quick else 5,
                seconds=1 if quick else 45,
                order=random.Random(payloads.SEED),
            )
        )
        for stack in stacks.values():
            stack.close()
        here = str(Path(__file__))
        memory = {name: int(measure.fresh(here, "--peak", name, url)) for name in MAKERS}
    say("imports and engine")
    page = report.page(
        command="make bench" if not quick else "run.py --quick",
        single=singles,
        awaited=awaited,
        many=many,
        memory=memory,
        imports={name: measure.import_seconds(code, 3 if quick else 9) for name, code in IMPORTS.items()},
        engine=engine.anchors(most=3 if quick else 9, seconds=0.5 if quick else 3),
        taken=time.monotonic() - start,
    )
    print(page)
    if not quick:
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
