"""What hostile replies cost the client as they grow, in time and in memory at the peak; part of ``make bench``.

Body sizes double. Each body is asked for by a fresh process, which a server in this one answers.
"""

import argparse
import gzip
import json
import math
import os
import socket
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import report
from measure import MEBI, fresh, peak_growth

import liqdata

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "dev" / "benchmarks-hostile.md"
SIZES = [MEBI << step for step in range(5)]
REPEATS = 3
CAP = 64 * MEBI
HEATMAP = (
    '{"symbol":"BTC","range":"24h","model":2,"updatedAt":1790000000000,"currentPrice":1.5,'
    '"prices":[1],"times":[1790000000000],'
)
ROW = (
    '{"exchange":"okx","symbol":"BTCUSDT","side":"LONG","price":"1.5","qty":"2","value_usd":"3",'
    '"timestamp":1790000000000}'
)

PRICED = ROW.partition('"1.5"')


def filled(before: str, unit: str, behind: str, size: int) -> str:
    """``unit`` as often as it goes between the other two."""
    return before + unit * ((size - len(before) - len(behind)) // len(unit)) + behind


def numbered(before: str, unit: str, behind: str, size: int) -> str:
    """As :func:`filled`, units numbered where they say ``@``, all as long as the last one."""
    width = len(str(size))
    count = (size - len(before) - len(behind)) // (len(unit) - 1 + width)
    return before + "".join(unit.replace("@", f"{at:0{width}}") for at in range(count)) + behind


def nested(before: str, around: tuple[str, str, str], behind: str, size: int) -> str:
    """What opens, what is inside, what closes, as deep as it goes."""
    opening, inside, closing = around
    depth = (size - len(before) - len(behind)) // (len(opening) + len(closing))
    return before + opening * depth + inside + closing * depth + behind


MATRIX = HEATMAP + '"matrix":'
BINS = (
    '{"symbol":"BTC","range":"1d","updatedAt":1790000000000,"currentPrice":1.5,"binWidth":1,"leverages":[10],"bins":['
)
DATA = '{"success":true,"data":['
RAGGED = (",[1]", ",[1,2]]}")
REST = '"matrix":[[1]]}'

CASES: dict[str, tuple[str, Callable[[int], str | bytes]]] = {
    "lists in lists, in ignored members": (
        "heatmap",
        lambda size: nested(HEATMAP + '"x":', ("[", "", "]"), ',"matrix":[[1]]}', size),
    ),
    "lists in lists, for a matrix": ("heatmap", lambda size: nested(MATRIX, ("[", "1", "]"), "}", size)),
    "objects in objects": ("orders", lambda size: nested('{"success":true,"data":', ('{"a":', "1", "}"), "}", size)),
    "brackets that never close": ("heatmap", lambda size: filled(MATRIX, "[", "", size)),
    "one long text": ("heatmap", lambda size: filled('{"range":"24h","symbol":"', "A", '"}', size)),
    "one long text of escapes": ("heatmap", lambda size: filled('{"range":"24h","symbol":"', "\\u0041", '"}', size)),
    "a text that never ends": ("orders", lambda size: filled(DATA + '{"exchange":"', "a", "", size)),
    "a long reason of a refusal": (
        "coins",
        lambda size: filled('{"success":false,"error":{"message":"', "no ", '"}}', size),
    ),
    "many unknown members": (
        "heatmap",
        lambda size: numbered(HEATMAP, '"k@":[{}],', '"matrix":[[1]]}', size),
    ),
    "many members of one name": ("heatmap", lambda size: filled(HEATMAP, '"x":0,', '"matrix":[[1]]}', size)),
    "many tiers in one bin": (
        "liqmap",
        lambda size: numbered(BINS + '{"price":1,"side":"long","total":1,"tiers":{', '"1@":1,', '"10":1}}]}', size),
    ),
    "many orders, each of another symbol": (
        "orders",
        lambda size: numbered(DATA, ROW.replace("BTCUSDT", "S@") + ",", ROW + "]}", size),
    ),
    "many orders, the last one damaged": ("orders", lambda size: filled(DATA, ROW + ",", '{"exchange":"okx"}]}', size)),
    "one number of many digits": ("heatmap", lambda size: filled(MATRIX + "[[1.", "7", "]]}", size)),
    "one price of many digits": (
        "orders",
        lambda size: filled(
            DATA + ROW.partition('"1.5"')[0] + '"1.', "0", '"' + ROW.partition('"1.5"')[2] + "]}", size
        ),
    ),
    "one exponent of many digits": ("heatmap", lambda size: filled(MATRIX + "[[1e-", "7", "]]}", size)),
    "a row that never ends": ("heatmap", lambda size: filled(MATRIX + "[[0", ",0", "", size)),
    "rows of one cell, the last one ragged": (
        "heatmap",
        lambda size: filled(MATRIX + "[[1]", *RAGGED, size),
    ),
    "rows of no cells": ("heatmap", lambda size: filled(MATRIX + "[[]", ",[]", "]}", size)),
    "rows of nulls": ("heatmap", lambda size: filled(MATRIX + "[[null]", ",[null]", "]}", size)),
    "blanks": ("heatmap", lambda size: filled(HEATMAP, " ", REST, size)),
    "blanks, zipped": (
        "heatmap",
        lambda size: gzip.compress(filled(HEATMAP, " ", REST, size).encode(), 9),
    ),
    "rows of one cell, zipped, the last one ragged": (
        "heatmap",
        lambda size: gzip.compress(filled(MATRIX + "[[1]", *RAGGED, size).encode(), 9),
    ),
}
BEYOND = "blanks, zipped"
"""Asked for beyond the cap too."""

FRAMES: dict[str, tuple[str, Callable[[int], str]]] = {
    "a frame of equal rows": (
        "bybit",
        lambda size: filled(
            '{"topic":"allLiquidation.SOLUSDT","type":"snapshot","ts":1790000000500,"data":[',
            (row := '{"T":1790000000000,"s":"SOLUSDT","S":"Buy","v":"2.5","p":"180.40"}') + ",",
            row + "]}",
            size,
        ),
    ),
    "a frame of lists in lists": ("binance", lambda size: nested("", ("[", "", "]"), "", size)),
}


@cache
def body(title: str, size: int) -> bytes:
    made = CASES[title][1](size)
    return made if isinstance(made, bytes) else made.encode()


def converse(connection: socket.socket) -> None:
    """Answer ``/<number of the case>/<size>/…`` until the peer goes away."""
    with connection, suppress(ConnectionError):
        while head := connection.recv(65_536):
            _, case, size, *_ = head.split(b" ", 2)[1].split(b"/")
            title = list(CASES)[int(case)]
            reply = body(title, int(size))
            zipped = "Content-Encoding: gzip\r\n" if reply.startswith(b"\x1f\x8b") else ""
            kind = "Content-Type: application/json\r\n"
            lead = f"HTTP/1.1 200 OK\r\n{kind}{zipped}Content-Length: {len(reply)}\r\n\r\n"
            connection.sendall(lead.encode() + reply)


@contextmanager
def serving() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=converse, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def measured(work: Callable[[], Any]) -> dict[str, Any]:
    """Peak growth and CPU seconds of what either works or is refused."""
    said = "read"

    def attempt() -> Any:
        nonlocal said
        try:
            return work()
        except (liqdata.UnexpectedReply, liqdata.Refused) as error:
            said = type(error).__name__
            return None

    peak = peak_growth(attempt)
    taken = []
    for _ in range(REPEATS):
        start = time.process_time()
        attempt()
        taken.append(time.process_time() - start)
    return {"said": said, "peak": peak, "seconds": statistics.median(taken)}


def child(url: str, title: str, size: int) -> dict[str, Any]:
    """Ask once for the smallest body, so that all that is needed is there, then measure."""
    if title in FRAMES:
        exchange, make = FRAMES[title]
        small, frame = make(200), make(size)
        with suppress(liqdata.UnexpectedReply):
            liqdata.feeds.decode(exchange, small)
        return measured(lambda: liqdata.feeds.decode(exchange, frame))
    endpoint = CASES[title][0]
    symbol = ["BTC"] if endpoint in {"heatmap", "liqmap"} else []
    number = list(CASES).index(title)

    def ask(size: int) -> Callable[[], Any]:
        client = liqdata.Client(f"{url}/{number}/{size}", max_body=CAP, timeout=120, retries=0)
        return lambda: getattr(client, endpoint)(*symbol)

    with suppress(liqdata.LiqdataError):
        ask(1000)()
    return measured(ask(size))


def exponent(sizes: list[int], values: list[float]) -> float:
    """The slope of a line through the points, both axes logarithmic, taken robustly: the median over all pairs."""
    points = [(math.log(size), math.log(max(value, 1e-9))) for size, value in zip(sizes, values, strict=True)]
    pairs = [(a, b) for at, a in enumerate(points) for b in points[at + 1 :]]
    return statistics.median((b[1] - a[1]) / (b[0] - a[0]) for a, b in pairs)


def page(found: dict[str, list[dict[str, Any]]], beyond: dict[str, Any]) -> str:
    largest = SIZES[-1]
    rows = []
    for title, each in found.items():
        least, most = each[0]["seconds"], each[-1]["seconds"]
        slope = exponent(SIZES, [one["seconds"] for one in each])
        peak = max(one["peak"] / size for one, size in zip(each, SIZES, strict=True))
        rows.append([title, each[-1]["said"], report.took(least), report.took(most), f"{slope:.2f}", f"{peak:.1f}×"])
    steepest = max(rows, key=lambda row: float(row[4]))
    hungriest = max(rows, key=lambda row: float(row[5][:-1]))
    head = ["", "outcome", f"{SIZES[0] // MEBI} MiB", f"{largest // MEBI} MiB", "exponent of growth", "peak memory"]
    return f"""# Hostile replies

Written by `make bench` on {datetime.now(UTC):%Y-%m-%d}; do not edit.

The costs of a malicious service for the client. **Time grows with the size of the body to the power of
{steepest[4]} at the steepest** ({steepest[0]}); memory takes at most {hungriest[5]} the body
({hungriest[0]}).

- Machine: {report.machine()}; load average of the last five minutes {os.getloadavg()[1]:.1f}, this run included.
- CPU time of the client's process over loopback, the median of {REPEATS} requests, each case and size in a
  fresh process; the exponent is the median slope over {len(SIZES)} sizes that double: 1 is linear, 2 quadratic.
- Peak memory is the growth of resident memory as a multiple of the body, the maximum over all sizes. Sizes are those of
  the decompressed body.
- A body beyond the limit (`max_body`, {CAP // MEBI} MiB), {2 * CAP // MEBI} MiB of compressed blanks, raises
  `{beyond["said"]}` after {report.took(beyond["seconds"])}, with a peak of {beyond["peak"] / MEBI:.0f} MiB.

{report.table(head, rows)}"""


def main() -> None:
    """Measure every case at every size, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--print", action="store_true", help="print the page and do not write it")
    parser.add_argument("--only", default="", help="only the cases with this in their title")
    parser.add_argument("--child", nargs=3, metavar=("URL", "TITLE", "SIZE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        url, title, size = options.child
        print(json.dumps(child(url, title, int(size))))
        return
    with serving() as url:

        def result(title: str, size: int) -> dict[str, Any]:
            body.cache_clear()
            found: dict[str, Any] = json.loads(fresh(__file__, "--child", url, title, str(size)))
            print(title, size // MEBI, found, file=sys.stderr)
            return found

        titles = [title for title in [*CASES, *FRAMES] if options.only in title]
        found = {title: [result(title, size) for size in SIZES] for title in titles}
        text = page(found, result(BEYOND, 2 * CAP))
    if options.print or options.only:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
