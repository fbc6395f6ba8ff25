"""Walking a feed that grows while it is read: nothing that was there is lost, nothing comes twice."""

import asyncio
import itertools
import json
import os
import random
import subprocess
import sys
from decimal import Decimal

import pytest
from faces import FACES
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from scripted import Service, answer, data

import liqdata

EXCHANGES = ["binance", "okx"]
# How many times as many walks the long form takes.
TIMES = 24 if os.environ.get("LIQDATA_SOAK") else 1


# A service with the feed of the contract and no extensions.
NO_LIST = answer({}, 404)


class Feed:
    """An order feed, newest first, that grows by ``arrivals`` after every page it has given."""

    def __init__(self, runs, arrivals):
        self.clock = itertools.count(1_781_000_000_000)
        self.rows = []
        for run in runs:
            self.arrive(run)
        self.at_the_start = list(self.rows)
        self.arrivals = iter(arrivals)
        self.pages = 0

    def arrive(self, run):
        """``run`` equal orders more at the head; orders of one run are equal."""
        when = next(self.clock)
        row = {
            "exchange": EXCHANGES[when % 2],
            "symbol": "BTCUSDT",
            "side": "LONG" if when % 3 else "SHORT",
            "price": "63190.5",
            "qty": "0.19",
            "value_usd": "12006.195",
            "timestamp": when,
        }
        self.rows[:0] = [row] * run

    def __call__(self, exchange):
        if exchange.request.path == "/api":
            return NO_LIST(exchange)
        query = exchange.request.query
        offset, limit = int(query["offset"]), int(query["limit"])
        assert 1 <= limit <= 1000
        page = self.rows[offset : offset + limit]
        self.pages += 1
        for run in next(self.arrivals, ()):
            self.arrive(run)
        return data(page)(exchange)


# A walk that fails has asked some hundred times: to look for a smaller one would take minutes.
SEARCH = settings(
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)


def as_python(rows):
    exact = ("price", "qty", "value_usd")
    return [{key: Decimal(cell) if key in exact else cell for key, cell in row.items()} for row in rows]


def runs_of(most):
    """Runs of equal orders, mostly of one."""
    return st.one_of(st.just(1), st.just(1), st.integers(1, most))


@st.composite
def walks(draw):
    """A page size, the feed's runs at the start, and what arrives after each page: at most 500 orders."""
    page = draw(st.one_of(st.integers(2, 20), st.integers(20, 200), st.just(1000)))
    most = min(page - 1, 5)
    runs = draw(st.lists(runs_of(most), max_size=300))
    assume(sum(runs) != page or runs[0] < page - 1)
    burst = st.one_of(
        st.just(()),
        st.lists(runs_of(most), max_size=3),
        st.integers(0, 500).map(lambda rows: [1] * rows),
        st.integers(0, 100).map(lambda rows: [most] * rows),
    )
    arrivals = draw(st.lists(burst, max_size=60))
    return page, runs, arrivals


@pytest.fixture(scope="module", params=FACES)
def ask(request):
    """Walk a feed with one client for all examples; the rows it gave."""
    with Service(None) as service:
        client = FACES[request.param](service.url)

        def walk(feed, **options):
            service.play(feed)
            return client.iter_orders(**options)

        yield walk
        client.end()


@settings(SEARCH, max_examples=75 * TIMES)
@given(walks())
def test_a_walk_returns_exactly_the_rows_at_its_start(ask, walk):
    page, runs, arrivals = walk
    feed = Feed(runs, arrivals)
    assert ask(feed, page_size=page) == as_python(feed.at_the_start)
    # Each page brings a row at least, but for those that look for where a burst has moved the rows to.
    assert feed.pages <= len(feed.at_the_start) + 12 * (len(arrivals) + 1)


# It takes all of it to be lined up, so that only an empty page behind it distinguishes it from a service that gives no
# more rows at once.
@pytest.mark.parametrize("runs", [[1, 1], [4, 1]])
@pytest.mark.parametrize("more", [0, 1])
def test_a_page_of_almost_only_equal_rows_is_read_to_its_end(ask, runs, more):
    feed = Feed(runs, [])
    assert ask(feed, page_size=sum(runs) + more) == as_python(feed.at_the_start)


@settings(SEARCH, max_examples=30 * TIMES)
@given(walks(), st.integers(1, 400))
def test_a_walk_with_a_limit_returns_the_newest_rows(ask, walk, most):
    page, runs, arrivals = walk
    feed = Feed(runs, arrivals)
    assert ask(feed, page_size=page, max_rows=most) == as_python(feed.at_the_start[:most])


@pytest.mark.parametrize(
    "page,runs,arrivals",
    [
        (2, [1], [[1, 1], [1] * 498, [1] * 500]),
        (6, [2], [[5] * 100, [5] * 100]),
        (6, [2], [[1] * 6, [1] * 494, [5] * 100]),
    ],
    ids=["one row", "two equal rows", "two equal rows, mixed bursts"],
)
def test_a_short_feed_is_found_again_after_bursts(ask, page, runs, arrivals):
    feed = Feed(runs, arrivals)
    assert ask(feed, page_size=page) == as_python(feed.at_the_start)


@pytest.mark.parametrize("arriving", [1, 99, 100, 101, 500, *((50, 250) if TIMES > 1 else ())])
@pytest.mark.parametrize("page", [10, 100, 1000])
def test_a_feed_that_grows_by_as_much_after_every_page_is_read_to_its_end(ask, page, arriving):
    feed = Feed([1] * 1200, itertools.repeat([1] * arriving, 2000))
    assert ask(feed, page_size=page) == as_python(feed.at_the_start)
    assert feed.pages < 1200


def test_bursts_between_quiet_pages_cost_few_pages_more(ask):
    quiet = Feed([1] * 3000, ())
    assert ask(quiet, page_size=100) == as_python(quiet.at_the_start)
    bursts = Feed([1] * 3000, [[1] * (500 if place % 7 == 3 else 0) for place in range(200)])
    assert ask(bursts, page_size=100) == as_python(bursts.at_the_start)
    assert bursts.pages <= 4 * quiet.pages


def test_a_quiet_feed_is_read_in_few_extra_pages(ask):
    feed = Feed([1] * 3000, ())
    assert ask(feed, page_size=100) == as_python(feed.at_the_start)
    assert feed.pages <= 30 + 10


def test_equal_rows_at_a_page_boundary_are_counted_correctly(ask):
    for run in range(2, 9):
        for arriving in (0, 1, 5, run, 40):
            feed = Feed([1] * 12 + [run] * 3 + [1] * 7, itertools.repeat([1] * arriving, 300))
            assert ask(feed, page_size=10) == as_python(feed.at_the_start), (run, arriving)


def test_new_rows_equal_to_the_newest_row_are_distinguished(ask):
    feed = Feed([1] * 30, ())
    twin = dict(feed.rows[0])

    def grow(exchange):
        if exchange.request.path == "/api":
            return NO_LIST(exchange)
        query = exchange.request.query
        offset, limit = int(query["offset"]), int(query["limit"])
        page = feed.rows[offset : offset + limit]
        feed.rows.insert(0, twin)
        return data(page)(exchange)

    assert ask(grow, page_size=10) == as_python(feed.at_the_start)


def test_a_walk_ends_if_the_oldest_rows_expire(ask):
    feed = Feed([1] * 500, ())

    def shrink(exchange):
        if exchange.request.path == "/api":
            return NO_LIST(exchange)
        query = exchange.request.query
        offset, limit = int(query["offset"]), int(query["limit"])
        page = feed.rows[offset : offset + limit]
        del feed.rows[-40:]
        return data(page)(exchange)

    got = ask(shrink, page_size=50)
    assert got == as_python(feed.at_the_start[: len(got)])
    assert len(got) >= 100


def test_a_walk_with_cancelled_waits_loses_no_row(server, market):
    chance = random.Random(5)

    async def main():
        loop = asyncio.get_running_loop()
        cancelled = 0
        async with liqdata.AsyncClient(server.url) as client:
            walk = client.iter_orders(page_size=60, max_rows=3000)
            rows = []
            while True:
                wait = asyncio.ensure_future(anext(walk))
                if chance.random() < 0.5:
                    # Before, while and after the rows come.
                    loop.call_later(chance.uniform(0, 0.001), wait.cancel)
                try:
                    rows.append(await wait)
                except asyncio.CancelledError:
                    cancelled += 1
                except StopAsyncIteration:
                    return rows, cancelled

    cancelled = 0
    for _ in range(4):
        rows, times = asyncio.run(main())
        assert rows == list(market.iter_orders(max_rows=3000))
        cancelled += times
    assert cancelled


def numbered(number):
    return {
        "exchange": "okx",
        "symbol": "BTCUSDT",
        "side": "LONG",
        "price": str(number + 1),
        "qty": "1",
        "value_usd": "1",
        "timestamp": 1_781_136_000_000 + number,
    }


def page_of(exchange, top):
    """Answer with the page that is asked for of a feed of so many rows."""
    if exchange.request.path == "/api":
        return NO_LIST(exchange)
    offset, limit = (int(exchange.request.query[name]) for name in ("offset", "limit"))
    newest = top - offset - 1
    return data([numbered(number) for number in range(newest, max(newest - limit, -1), -1)])(exchange)


PRESSED = """
import json, os, random, signal, sys, threading, time
import liqdata

chance = random.Random(6)
numbers, times, armed, over = [], 0, False, False

def interrupt(*_):
    # Only a statement of the loop below is interrupted, each of them at most once.
    global armed
    if armed:
        armed = False
        raise KeyboardInterrupt

def press():
    while not over:
        time.sleep(chance.uniform(0.001, 0.03))
        os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, interrupt)
with liqdata.Client(sys.argv[1]) as client:
    walk = client.iter_orders(page_size=100)
    threading.Thread(target=press, daemon=True).start()
    while not over:
        try:
            armed = times < 40
            row = next(walk, None)
            if row is None:
                over = True
            else:
                numbers.append(int(row["price"]))
            armed = False
        except KeyboardInterrupt:
            times += 1
print(json.dumps([times, numbers]))
"""


def test_a_walk_with_repeated_interrupts_loses_no_page():
    rows = 3000

    def slowly(exchange):
        exchange.wait(0.02)
        return page_of(exchange, rows)

    with Service(slowly) as service:
        argv = [sys.executable, "-c", PRESSED, service.url]
        ran = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    times, numbers = json.loads(ran.stdout)
    assert times > 3
    assert numbers == sorted(set(numbers), reverse=True)
    # An interrupt may hit the script itself between a row's return and its keeping; a page is more than all of these.
    assert rows - len(numbers) <= times < 100


def test_a_walk_of_a_fast_feed_resumes_once_it_is_slower():
    rows = 40
    top = rows
    fast = True

    def page(exchange):
        nonlocal top
        goes_on = page_of(exchange, top)
        if fast:
            top += 10 ** min(11, 4 + len(exchange.service.requests) // 2)
        return goes_on

    with Service(page) as service, liqdata.Client(service.url) as client:
        walk = client.iter_orders(page_size=10)
        numbers = []
        with pytest.raises(liqdata.UnexpectedReply, match="faster than it can be read"):
            numbers.extend(row["price"] for row in walk)
        fast = False
        numbers.extend(row["price"] for row in walk)
        assert numbers == list(range(rows, 0, -1))
