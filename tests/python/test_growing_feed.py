"""Walking a feed that grows while it is read: nothing that was there is lost, nothing comes twice."""

import itertools
from decimal import Decimal

import pytest
from faces import FACES
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scripted import Service, data

EXCHANGES = ["binance", "okx"]


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
        """``run`` equal orders more at the head; orders of one run can be told apart by nothing."""
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


@settings(SEARCH, max_examples=150)
@given(walks())
def test_a_walk_gives_exactly_the_rows_that_were_there_when_it_began(ask, walk):
    page, runs, arrivals = walk
    feed = Feed(runs, arrivals)
    assert ask(feed, page_size=page) == as_python(feed.at_the_start)
    # Each page brings a row at least, but for those that look for where a burst has moved the rows to.
    assert feed.pages <= len(feed.at_the_start) + 12 * (len(arrivals) + 1)


@settings(SEARCH, max_examples=60)
@given(walks(), st.integers(1, 400))
def test_a_walk_that_is_bounded_gives_the_newest_rows(ask, walk, most):
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
def test_a_feed_of_a_row_or_two_is_found_again_behind_bursts(ask, page, runs, arrivals):
    feed = Feed(runs, arrivals)
    assert ask(feed, page_size=page) == as_python(feed.at_the_start)


@pytest.mark.parametrize("arriving", [1, 50, 99, 100, 101, 250, 500])
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


def test_a_feed_that_stands_still_is_read_in_as_many_pages_as_it_has_and_a_few(ask):
    feed = Feed([1] * 3000, ())
    assert ask(feed, page_size=100) == as_python(feed.at_the_start)
    assert feed.pages <= 30 + 10


def test_equal_rows_at_the_seam_of_two_pages_stay_as_many_as_they_are(ask):
    for run in range(2, 9):
        for arriving in (0, 1, 5, run, 40):
            feed = Feed([1] * 12 + [run] * 3 + [1] * 7, itertools.repeat([1] * arriving, 300))
            assert ask(feed, page_size=10) == as_python(feed.at_the_start), (run, arriving)


def test_arrivals_that_look_like_the_newest_row_are_not_taken_for_it(ask):
    feed = Feed([1] * 30, ())
    twin = dict(feed.rows[0])

    def grow(exchange):
        query = exchange.request.query
        offset, limit = int(query["offset"]), int(query["limit"])
        page = feed.rows[offset : offset + limit]
        feed.rows.insert(0, twin)
        return data(page)(exchange)

    assert ask(grow, page_size=10) == as_python(feed.at_the_start)


def test_a_feed_that_loses_its_oldest_rows_meanwhile_still_ends(ask):
    feed = Feed([1] * 500, ())

    def shrink(exchange):
        query = exchange.request.query
        offset, limit = int(query["offset"]), int(query["limit"])
        page = feed.rows[offset : offset + limit]
        del feed.rows[-40:]
        return data(page)(exchange)

    got = ask(shrink, page_size=50)
    assert got == as_python(feed.at_the_start[: len(got)])
    assert len(got) >= 100
