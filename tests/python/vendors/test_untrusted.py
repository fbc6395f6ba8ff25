"""Replies of vendors with wrong instants, sizes and pages: refused by name, and no place where a walk goes on."""

import itertools
import json
import logging
import time

import pytest
import vendor_replies as replies
from vendor_double import serving

import liqdata
from liqdata import vendors

KEY = "k3y-that-no-one-sees"
HOUR = 3_600_000
DAY = 24 * HOUR
ROOT = "/api/futures/"
HEAT, ORDER = f"{ROOT}liquidation/aggregated-heatmap/model2", f"{ROOT}liquidation/order"


def now():
    return int(time.time() * 1000)


def glass(double, **options):
    return vendors.CoinGlass(KEY, base_url=double.url, retries=0, **options)


def ank(double):
    return vendors.CoinAnk(KEY, base_url=double.url, retries=0)


def block(double):
    return vendors.Hyblock("an-id", "s3cret-of-client", KEY, base_url=double.url, retries=0)


TOKEN = {"/oauth2/token": {"access_token": "t0ken-that-no-one-sees", "expires_in": 3600}}


def order(at, **more):
    named = {"exchange_name": "BINANCE", "symbol": "ETHUSDT", "base_asset": "ETH", "price": 2000, "side": 1}
    return {**named, "usd_value": 100, "time": at, **more}


def ank_order(at):
    named = {"exchangeName": "Binance", "contractCode": "ETHUSDT", "posSide": "long", "price": 2000, "amount": 1}
    return {**named, "tradeTurnover": 2000, "ts": at}


# --- instants

AHEAD = [
    (
        HEAT,
        lambda at: replies.glass(
            {
                "y_axis": replies.PRICES,
                "liquidation_leverage_data": replies.CELLS,
                "price_candlesticks": replies.CANDLES,
                "update_time": at,
            }
        ),
        lambda double: glass(double).heatmap("ETH"),
        "data.update_time",
    ),
    (
        HEAT,
        lambda at: replies.glass(
            {
                "y_axis": replies.PRICES,
                "liquidation_leverage_data": replies.CELLS,
                "price_candlesticks": [*replies.CANDLES[:2], [at // 1000, *replies.CANDLES[2][1:]]],
            }
        ),
        lambda double: glass(double).heatmap("ETH"),
        "data.price_candlesticks[2]",
    ),
    (
        f"{ROOT}price/history",
        lambda at: replies.glass([{"time": at, "open": 1, "high": 2, "low": 1, "close": 2, "volume_usd": 3}]),
        lambda double: glass(double).bars("ETH"),
        "data[0].time",
    ),
    (
        f"{ROOT}open-interest/history",
        lambda at: replies.glass([{"time": at, "close": 2}]),
        lambda double: glass(double).open_interest("ETH"),
        "data[0].time",
    ),
    (
        f"{ROOT}liquidation/aggregated-history",
        lambda at: replies.glass(
            [{"time": at, "aggregated_long_liquidation_usd": 1, "aggregated_short_liquidation_usd": 1}]
        ),
        lambda double: glass(double).history("ETH"),
        "data[0].time",
    ),
    (
        "/liquidation",
        lambda at: {"data": [{"openDate": at, "longLiquidation": 1, "shortLiquidation": 2}]},
        lambda double: block(double).history("ETH"),
        "data[0].openDate",
    ),
    (
        "/api/liquidation/aggregated-history",
        lambda at: replies.ank([{"ts": at, "all": {"longTurnover": 1, "shortTurnover": 1}}]),
        lambda double: ank(double).history("ETH"),
        "data[0].ts",
    ),
    (
        "/ohlcv-history",
        lambda at: [{"symbol": "E.A", "history": [{"t": at // 1000, "o": 1, "h": 1, "l": 1, "c": 1, "v": 1}]}],
        lambda double: vendors.Coinalyze(KEY, base_url=double.url, retries=0).bars("E.A"),
        "[0].history[0].t",
    ),
]


@pytest.mark.parametrize("path, reply, ask, field", AHEAD, ids=[f"{row[0]} {row[3]}" for row in AHEAD])
@pytest.mark.parametrize("days", [1, 400])
def test_an_instant_ahead_of_the_clock_is_refused_by_the_name_of_its_field(path, reply, ask, field, days):
    with (
        serving({path: reply(now() + days * DAY), **TOKEN}) as double,
        pytest.raises(liqdata.UnexpectedReply, match="at most ten minutes ahead of this machine's clock") as raised,
    ):
        ask(double)
    assert raised.value.path.startswith(field)


def test_the_clock_of_a_service_that_is_ahead_dates_no_answer():
    wrong = {"Date": "Wed, 01 Jan 2099 00:00:00 GMT"}
    with serving({HEAT: (200, replies.HEATMAPS["documented"], wrong)}) as double, glass(double) as service:
        assert abs(service.heatmap("ETH").updated_at.timestamp() - time.time()) < 60


@pytest.mark.parametrize("wrong", [631_152_000_000, 1_100_000_000_000, 1_700_000_000])
def test_an_order_of_the_far_past_does_not_end_a_walk(wrong):
    """An order with a wrong time stands among 200 others; those before it are still read."""
    every = [order(replies.MS - place * 1000) for place in range(700)]
    every[100]["time"] = wrong

    def page(query):
        end = int(query.get("end_time", 2**53))
        return replies.glass([row for row in every if row["time"] <= end or row["time"] == wrong][:200])

    with serving({ORDER: page}) as double, glass(double) as service:
        found = [row["timestamp"] for row in service.iter_orders("ETH", "binance")]
    assert {row["time"] for row in every if row["time"] != wrong} <= set(found)
    assert found == sorted(found, reverse=True)


def test_the_periods_of_a_series_go_on_behind_a_row_of_the_far_past():
    begin = now() // HOUR * HOUR - 1500 * HOUR
    cell = {"all": {"longTurnover": 1, "shortTurnover": 1}}

    def page(query):
        last = int(query["endTime"]) // HOUR * HOUR
        rows = [{"ts": last - place * HOUR, **cell} for place in range(int(query["size"]))]
        return replies.ank([*rows[:7], {"ts": 1_000_000_000_000, **cell}, *rows[8:]])

    with serving({"/api/liquidation/aggregated-history": page}) as double, ank(double) as service:
        found = service.history("ETH", start=begin, end=begin + 1400 * HOUR)
    assert len(found) == 1400 - 3  # the wrong row stands for one in each page


# --- pages


def moving():
    """The newest 200 orders, whatever is asked; a new one for each page."""
    serial = itertools.count()
    rows = [order(now() - 1000 - place, price=100 + place) for place in range(200)]

    def page(_):
        rows.insert(0, order(now(), price=1000 + next(serial)))
        return replies.glass(rows[:200])

    return page


WALKS = [
    ({ORDER: moving()}, lambda double: list(glass(double).iter_orders("ETH", "binance")), "end"),
    ({ORDER: moving()}, lambda double: glass(double).orders("ETH", "binance", limit=900), "end"),
    (
        {ORDER: replies.glass([order(replies.MS - place) for place in range(200)])},
        lambda double: list(glass(double).iter_orders("ETH", "binance")),
        "end",
    ),
    (
        {"/api/liquidation/orders": replies.ank([ank_order(replies.MS - place) for place in range(50)])},
        lambda double: list(ank(double).iter_orders("ETH", "binance")),
        "end",
    ),
    (
        {
            f"{ROOT}liquidation/aggregated-history": replies.glass(
                [
                    {
                        "time": replies.MS // HOUR * HOUR - place * HOUR,
                        "aggregated_long_liquidation_usd": 1,
                        "aggregated_short_liquidation_usd": 1,
                    }
                    for place in range(1000)
                ]
            )
        },
        lambda double: glass(double).history("ETH", start=replies.MS - 100 * DAY),
        "start",
    ),
    (
        {
            "/liquidation": {
                "data": [
                    {"openDate": replies.T - place * 3600, "longLiquidation": 1, "shortLiquidation": 1}
                    for place in range(1000)
                ]
            },
            **TOKEN,
        },
        lambda double: block(double).history("ETH", start=replies.MS - 100 * DAY),
        "start",
    ),
    (
        {
            "/api/liquidation/aggregated-history": replies.ank(
                [
                    {"ts": replies.MS // HOUR * HOUR - place * HOUR, "all": {"longTurnover": 1, "shortTurnover": 1}}
                    for place in range(500)
                ]
            )
        },
        lambda double: ank(double).history("ETH", start=replies.MS - 100 * DAY),
        "end",
    ),
    (
        {ORDER: replies.glass([order(replies.MS - place) for place in range(200)])},
        lambda double: list(glass(double).iter_orders("ETH", "binance", end=replies.MS - DAY)),
        "end",
    ),
]


@pytest.mark.parametrize("paths, ask, bound", WALKS, ids=range(len(WALKS)))
def test_a_walk_ends_where_a_service_ignores_a_bound_of_the_period(paths, ask, bound):
    with (
        serving(paths) as double,
        pytest.raises(liqdata.UnexpectedReply, match=f"the service ignores the {bound}") as raised,
    ):
        ask(double)
    assert raised.value.path == "data"
    assert len(double.asked) < 6


def test_orders_from_the_requested_end_on_are_left_out():
    every = [order(replies.MS - place * 1000) for place in range(30)]
    with serving({ORDER: replies.glass(every)}) as double, glass(double) as service:
        found = service.orders("ETH", "binance", end=replies.MS - 10_000)
    assert [row["timestamp"] for row in found] == [row["time"] for row in every[11:]]


# --- sizes

LONG = 4000


def sparse(cells):
    candles = [[replies.T - 60 * (LONG - place), "1", "1", "1", "1", "1"] for place in range(LONG)]
    data = {"y_axis": list(range(1, LONG + 1)), "liquidation_leverage_data": cells, "price_candlesticks": candles}
    return replies.glass(data)


SIZES = [
    ({HEAT: sparse([[0, 0, 1.0]])}, lambda double: glass(double).heatmap("ETH")),
    (
        {
            "/api/liqMap/getLiqHeatMap": replies.ank(
                {
                    "liqHeatMap": {
                        "data": [[0, 0, 1]],
                        "priceArray": list(range(1, LONG + 1)),
                        "chartTimeArray": [replies.MS - 60_000 * (LONG - place) for place in range(LONG)],
                    }
                }
            )
        },
        lambda double: ank(double).heatmap("ETH"),
    ),
    (
        {
            "/liquidationHeatmap": {
                "data": [
                    {
                        "startingPrice": place + 1,
                        "endingPrice": place + 2,
                        "timestamp": replies.T + place,
                        "size": 1,
                        "side": "long",
                    }
                    for place in range(LONG)
                ]
            },
            **TOKEN,
        },
        lambda double: block(double).heatmap("ETH"),
    ),
    (
        {
            f"{ROOT}liquidation/aggregated-map": replies.glass(
                {"data": {str(place): [[place, 1, place, None]] for place in range(1, LONG)}}
            )
        },
        lambda double: glass(double).liqmap("ETH"),
    ),
]


@pytest.mark.parametrize("paths, ask", SIZES, ids=range(len(SIZES)))
def test_a_grid_that_a_small_reply_states_is_bounded_before_it_is_made(paths, ask):
    with serving(paths) as double, pytest.raises(liqdata.UnexpectedReply, match=r"has a grid of .*allowed: at most"):
        ask(double)


@pytest.mark.parametrize(
    "change",
    [
        {"price": "1e-999999999"},
        {"price": "1e-40"},
        {"usd_value": "1e300"},
        {"usd_value": "9e28"},
        {"price": 10**-20, "usd_value": 10**20},
        {"price": "1e-9", "usd_value": "1e10"},
        {"side": "1e300"},
        {"time": 10**300},
        {"time": "1e18"},
        {"time": 0},
    ],
)
def test_a_number_of_any_size_is_an_answer_or_a_refusal(change):
    with serving({ORDER: replies.glass([order(replies.MS, **change)])}) as double, glass(double) as service:
        try:
            found = len(service.orders("ETH", "binance"))
        except liqdata.UnexpectedReply as error:
            found = "allowed" in str(error)
    assert found == 1


@pytest.mark.parametrize(
    "path, reply, ask",
    [
        (
            f"{ROOT}liquidation/aggregated-map",
            replies.glass({"data": {"1": [[1, 1, 10**30, None]]}}),
            lambda double: glass(double).liqmap("ETH"),
        ),
        (
            "/cex/symbol/liquidation",
            [
                {
                    "b": "ETH", "e": "binance", "long_volume_usd": 1, "short_volume_usd": 1, "total_volume_usd": 2,
                    "event_count": 10**30,
                }
            ],
            lambda double: vendors.DataMaxi(KEY, base_url=double.url, retries=0).exchanges(symbol="ETH"),
        ),
        (HEAT, b"[" * 100_000, lambda double: glass(double).heatmap("ETH")),
        (
            HEAT,
            json.dumps({"code": "0", "data": 1}).encode().replace(b"1}", b"[" * 400 + b"]" * 400 + b"}"),
            lambda double: glass(double).heatmap("ETH"),
        ),
        (
            HEAT,
            b'{"code":"0","data":{"x":' + b"[" * 400 + b"]" * 400 + b',"liquidation_leverage_data":[[0,0,"x"]]}}',
            lambda double: glass(double).heatmap("ETH"),
        ),
    ],
)  # fmt: skip
def test_what_no_reader_expects_is_an_unexpected_reply(path, reply, ask):
    with serving({path: reply}) as double, pytest.raises(liqdata.UnexpectedReply):
        ask(double)


def test_the_limit_in_a_header_may_be_anything():
    for value in ("²", "9" * 5000, "-1", "nan", "0"):
        headers = {"api-key-max-limit": value}
        with serving({HEAT: (200, replies.HEATMAPS["served"], headers)}) as double, glass(double) as service:
            assert service.heatmap("ETH").symbol == "ETH"


# --- keys

SECRETS = {
    "CoinGlass": ("k3y+that/no=one",),
    "Coinalyze": (KEY,),
    "CoinAnk": ('k3y-"that"-no-one',),
    "Hyblock": ("an-id", "s3cret+of/client", KEY),
    "DataMaxi": (KEY,),
    "Velo": (KEY,),
}


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("status", [200, 401, 429, 500, 302])
def test_log_records_have_no_key_that_a_service_repeats(name, status, caplog):
    """In the reason, in the body, in the address of a redirect, and as a URL or JSON writes it."""
    caplog.set_level(logging.DEBUG)
    keys = SECRETS[name]
    shown = [*keys[-2:]] if name == "Hyblock" else [*keys]
    sent = []

    def answer(_):
        words = "invalid key " + " ".join([*shown, *sent])
        body = {"code": "500", "msg": words, "message": words, "error": words}
        # Waits for a limit of Coinalyze count as no attempt: a short one would be waited for a hundred times.
        wait = "600" if (name, status) == ("Coinalyze", 429) else "0"
        return status, body, {"Location": f"/else?key={shown[-1]}", "Retry-After": wait}

    paths = dict.fromkeys(
        [
            HEAT, "/api/liqMap/getLiqHeatMap", "/liquidation-history", "/oauth2/token", "/liquidation/map", "/rows",
            "/liquidationHeatmap", "/else", "/future-markets", "/exchanges",
        ],
        answer,
    )  # fmt: skip
    with serving(paths) as double, getattr(vendors, name)(*keys, base_url=double.url, retries=1) as service:
        ask = next(getattr(service, one) for one in ("heatmap", "liqmap", "history") if one in dir(service))
        with pytest.raises(liqdata.LiqdataError) as raised:
            ask("BTC")
        sent += [double.asked[-1][2].get("authorization", "").removeprefix("Basic ")]
    assert double.asked
    text = caplog.text + str(raised.value) + str(vars(raised.value)) + "".join(getattr(raised.value, "__notes__", []))
    forms = itertools.chain(shown, (json.dumps(key)[1:-1] for key in shown))
    assert [form for form in forms if form in text] == []


def test_a_reply_with_a_token_that_cannot_be_read_shows_no_token(caplog):
    caplog.set_level(logging.DEBUG)
    broken = b'{"access_token": "t0ken-that-no-one-sees", "expires_in": 3600'
    with serving({"/oauth2/token": broken}) as double, pytest.raises(liqdata.UnexpectedReply) as raised:
        block(double).heatmap("ETH")
    assert "t0ken" not in str(raised.value) + caplog.text
