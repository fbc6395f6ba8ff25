"""A whole order feed, page by page, into one table: eight pages in flight."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cases
import columns
import measure
import numpy as np
import pandas as pd
import payloads
from measure import Result
from peers import Blocking, Stack

import liqdata

PAGE = 1000
PATH = "/feed/api/liquidations"
FRAMES = ("requests + orjson", "pyreqwest async + orjson")
HANDS = (
    "requests + orjson",
    "urllib3 + orjson",
    "pyreqwest + orjson",
    "pyreqwest async + orjson",
    "aiohttp + orjson",
)


@dataclass(frozen=True, eq=False)
class Walker:
    """One way to walk the whole feed into a table."""

    name: str
    walk: Callable[[], Any]
    # Its result as columns of ours, to compare.
    columns: Callable[[Any], columns.Columns]


def pages(stack: Stack, rows: int) -> list[Any]:
    """All pages as parsed JSON, in order."""
    asked = [{"limit": str(PAGE), "offset": str(offset)} for offset in range(0, rows, PAGE)]
    url = stack.url + PATH
    if isinstance(stack, Blocking):
        return list(stack.threads.map(lambda one: stack.fetch(url, one), asked))

    async def all_of() -> list[Any]:
        async def one(parameters: dict[str, str]) -> Any:
            async with stack.open:
                return await stack.fetch(url, parameters)

        return await asyncio.gather(*map(one, asked))

    return stack.loop.run_until_complete(all_of())


def frame(stack: Stack, rows: int) -> Any:
    return cases.frame({"data": [row for page in pages(stack, rows) for row in page["data"]]})


def by_hand(stack: Stack, rows: int) -> columns.Columns:
    """Each page becomes columns as soon as it is there, and its dicts are let go."""
    names = columns.no_names()
    asked = [{"limit": str(PAGE), "offset": str(offset)} for offset in range(0, rows, PAGE)]
    url = stack.url + PATH
    if isinstance(stack, Blocking):
        # Codes are given out by one thread, in the order of the pages.
        pages = stack.threads.map(lambda one: stack.fetch(url, one)["data"], asked)
        return columns.joined([columns.by_hand(page, names) for page in pages], names)

    async def all_of() -> list[columns.Columns]:
        async def one(parameters: dict[str, str]) -> columns.Columns:
            async with stack.open:
                return columns.by_hand((await stack.fetch(url, parameters))["data"], names)

        return await asyncio.gather(*map(one, asked))

    return columns.joined(stack.loop.run_until_complete(all_of()), names)


def of_frame(made: Any) -> columns.Columns:
    """The columns of a pandas frame."""
    named = {name: made[name].to_numpy(dtype=object).astype(str) for name in columns.TEXTS}
    rest = {name: made[name].to_numpy() for name in columns.MONEY}
    return named | rest | {"timestamp": made["timestamp"].dt.tz_localize(None).to_numpy().astype("datetime64[ms]")}


def plain(made: columns.Columns) -> columns.Columns:
    """Columns by hand with their names spelled out."""
    return of_frame(pd.DataFrame(
        {name: np.array(cell[1])[cell[0]] if isinstance(cell, tuple) else cell for name, cell in made.items()}
    ))  # fmt: skip


def measured(stacks: dict[str, Stack], url: str, rows: int, *, quick: bool) -> Result:
    """Walk the feed in every way, the results checked to be equal first."""
    client = liqdata.Client(f"{url}/feed", timeout=60)
    walkers = [
        Walker("liqdata", lambda: client.iter_orders().to_arrow(), lambda made: of_frame(made.to_pandas())),
        Walker("liqdata to_pandas", lambda: client.iter_orders().to_pandas(), of_frame),
    ]
    walkers += [Walker(f"{name}, DataFrame", lambda name=name: frame(stacks[name], rows), of_frame) for name in FRAMES]
    walkers += [Walker(f"{name}, by hand", lambda name=name: by_hand(stacks[name], rows), plain) for name in HANDS]
    own = walkers[0].columns(walkers[0].walk())
    for walker in walkers[1:]:
        if not columns.same(own, walker.columns(walker.walk())):
            msg = f"{walker.name} does not give what liqdata gives: the feed"
            raise SystemExit(msg)
    result = measure.rounds(
        f"{rows:,} orders over {rows // PAGE:,} pages, eight in flight → one table",
        {walker: walker.walk for walker in walkers},
        key="feed",
        inner=1,
        most=3 if quick else 7,
        seconds=1 if quick else 50,
        order=random.Random(payloads.SEED),
        warm=False,
    )
    client.close()
    return result
