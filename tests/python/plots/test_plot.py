"""The pictures: what stands on them, read from matplotlib's own objects."""

import asyncio
import itertools
import pickle
import sys
from datetime import timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import samples
from drawn import END, bars, heatmap, levels, liqmap, maxpain, rows
from matplotlib import colors, dates
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from printed import collisions

import liqdata
from liqdata import plot
from liqdata.plot import amounts, colours
from liqdata.source.service import check_bars


def said(ax):
    """All that stands on axes, line breaks aside."""
    return " ".join(text.get_text().replace("\n", " ") for text in ax.findobj(Text))


@pytest.fixture
def client(server):
    with liqdata.Client(server.url) as asking:
        yield asking


@pytest.fixture
def ax():
    return Figure(figsize=(8, 5)).add_subplot()


def test_a_heatmap_has_a_log_scale_with_zeros_masked(ax):
    grid = heatmap()
    grid.plot(ax)
    mesh = ax.collections[0]
    assert isinstance(mesh.norm, colors.LogNorm)
    assert int(np.ma.count_masked(mesh.get_array())) == int((grid.matrix == 0.0).sum())
    low, high = ax.get_ylim()
    rows = np.sort(grid.matrix[(grid.prices >= low) & (grid.prices <= high)].max(axis=1))
    # A tenth of the visible rows, but at most ten, has the brightest colour.
    assert mesh.norm.vmax == float(f"{rows[-min(10, len(rows) // 10)]:.3g}")


@pytest.mark.parametrize("coin, names", [("BTC", ("12h", "7d")), ("PEPE", ("24h", "1M"))])
def test_few_pixels_of_a_heatmap_are_bright(coin, names):
    shares = {}
    for name in names:
        figure = Figure(figsize=(8, 5))
        canvas = FigureCanvasAgg(figure)
        ax = samples.simulated().heatmap(coin, name).plot(figure.add_subplot())
        canvas.draw()
        left, below, right, above = (int(edge) for edge in ax.bbox.extents)
        pixels = np.asarray(canvas.buffer_rgba())[::-1][below:above, left:right, :3] / 255
        shares[name] = float((pixels @ [0.2126, 0.7152, 0.0722] > 0.35).mean())
    # Something is bright, or nothing was drawn.
    assert 0.0 < min(shares.values()) <= max(shares.values()) <= 0.2, shares


def test_a_column_is_drawn_up_to_its_time(ax):
    grid = heatmap()
    grid.plot(ax)
    left, right = (dates.num2date(edge) for edge in ax.get_xlim())
    assert (left, right) == (END - timedelta(hours=24), END)


def test_a_heatmap_names_coin_range_model_unit_and_that_it_is_an_estimate(ax):
    heatmap(meta={"simulated": True}).plot(ax)
    words = said(ax)
    for part in ("BTC", "24h", "model 2", "estimate", "simulated", "2026-06-11 00:00 UTC"):
        assert part in words
    (bar,) = ax.child_axes
    assert "USD of open interest exposed" in bar.get_ylabel()
    assert "inside one map" in bar.get_ylabel()
    assert ax.yaxis.get_label_position() == "right"
    assert "simulated" not in heatmap().plot(Figure().add_subplot()).get_title(loc="left")


def test_the_view_is_cropped_and_the_data_are_not(ax):
    grid = heatmap()
    before = grid.matrix.copy()
    grid.plot(ax)
    low, high = ax.get_ylim()
    assert grid.prices[0] < low < grid.current_price < high
    assert (grid.matrix == before).all()
    assert ax.collections[0].get_array().shape == grid.matrix.shape


OPENS = [END - timedelta(hours=hours) for hours in (3, 2, 1)]
CLOSES = [59_900.0, 60_100.0, 60_000.0]
MILLIS = [int(when.timestamp() * 1000) for when in OPENS]
BARS = {"timestamp": OPENS, "close": CLOSES}
COINS = {"timestamp": [*OPENS, OPENS[0]], "close": [*CLOSES, 1.0], "symbol": ["BTC", "BTC", "BTC", "ETH"]}
TABLE = pa.table({**COINS, "timestamp": pa.array(COINS["timestamp"], pa.timestamp("ms", "UTC"))})


class Stream:
    """Something that gives Arrow and nothing else."""

    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)


def drawn(ax):
    """The price line: its times as epoch milliseconds, and its values."""
    line = next(line for line in ax.lines if line.get_label() == "price")
    times = [when.astype("datetime64[ms]").astype("int64") for when in line.get_xdata()]
    return times, line.get_ydata().tolist()


@pytest.mark.parametrize(
    "price",
    [
        [{"timestamp": when, "close": close} for when, close in zip(MILLIS, CLOSES, strict=True)],
        {"timestamp": MILLIS, "close": CLOSES, "symbol": ["BTC"] * 3},
        {"timestamp": [when.isoformat() for when in OPENS], "close": CLOSES},
        {"timestamp": [float(when) for when in MILLIS], "close": [str(close) for close in CLOSES]},
        COINS,
        pd.DataFrame({"timestamp": pd.to_datetime(OPENS), "close": CLOSES}),
        pd.DataFrame({"close": CLOSES}, index=pd.DatetimeIndex(OPENS)),
        pd.DataFrame({"close": CLOSES}, index=pd.DatetimeIndex(OPENS).tz_localize(None)),
        pd.DataFrame({"timestamp": pd.DatetimeIndex(OPENS).tz_convert("Asia/Tokyo"), "close": CLOSES}),
        pd.DataFrame({"timestamp": pd.Series(OPENS, dtype="timestamp[us, tz=UTC][pyarrow]"), "close": CLOSES}),
        pd.Series(CLOSES, index=pd.DatetimeIndex(OPENS) + pd.Timedelta(hours=1)),
        {when + timedelta(hours=1): close for when, close in zip(OPENS, CLOSES, strict=True)},
        pl.DataFrame(COINS),
        TABLE,
        TABLE.combine_chunks().to_batches()[0],
        TABLE.set_column(2, "symbol", TABLE["symbol"].dictionary_encode()),
        TABLE.set_column(1, "close", TABLE["close"].cast(pa.decimal128(38, 1))),
        TABLE.set_column(0, "timestamp", TABLE["timestamp"].cast(pa.timestamp("ns", "Asia/Tokyo"))),
        TABLE.set_column(0, "timestamp", TABLE["timestamp"].cast(pa.int64())),
        pa.concat_tables([TABLE[:1], TABLE[1:]]),
        Stream(),
    ],
    ids=[
        "rows",
        "columns",
        "text",
        "floats",
        "coins",
        "frame",
        "index",
        "naive",
        "elsewhere",
        "pyarrow",
        "series",
        "mapping",
        "polars",
        "arrow",
        "batch",
        "dictionary",
        "decimal",
        "zone",
        "millis",
        "chunks",
        "stream",
    ],
)
def test_a_price_is_drawn_at_the_close_of_its_bar(ax, price):
    heatmap().plot(ax, price=price)
    assert drawn(ax) == ([when + 3_600_000 for when in MILLIS], CLOSES)


@pytest.mark.parametrize("form", ["rows", "to_pandas", "to_polars", "to_arrow"])
def test_the_bars_of_a_market_are_drawn_in_every_form(ax, form):
    with liqdata.demo() as market:
        grid, bars = market.heatmap("BTC"), market.bars("BTC", interval="5m")
    grid.plot(ax, price=bars if form == "rows" else getattr(bars, form)(), candles=False)
    again = Figure(figsize=(8, 5)).add_subplot()
    grid.plot(again, price=[{"timestamp": bar["timestamp"], "close": bar["close"]} for bar in bars])
    assert drawn(ax) == drawn(again)
    assert len(drawn(ax)[0]) == 289


@pytest.mark.parametrize("missing", [float("nan"), None], ids=["nan", "none"])
@pytest.mark.parametrize(
    "shape", [dict, pd.DataFrame, pl.DataFrame, pa.table], ids=["dict", "pandas", "polars", "arrow"]
)
def test_a_close_that_is_missing_is_a_gap_and_crops_nothing(ax, shape, missing):
    closes = [70_000.0, missing, 50_000.0, 60_000.0]
    opens = [END - timedelta(hours=hours) for hours in (4, 3, 2, 1)]
    heatmap().plot(ax, price=shape({"timestamp": opens, "close": closes}))
    low, high = ax.get_ylim()
    assert low < 50_000.0
    assert high > 70_000.0
    np.testing.assert_array_equal(drawn(ax)[1], [70_000.0, np.nan, 50_000.0, 60_000.0])


def test_a_close_between_gaps_is_a_point(ax):
    nan = float("nan")
    values = [59_000.0, nan, 59_100.0, 59_200.0, nan, 59_300.0]
    heatmap().plot(ax, price={END - timedelta(hours=6 - hour): value for hour, value in enumerate(values)})
    points = next(line for line in ax.lines if line.get_marker() == ".")
    assert points.get_ydata().tolist() == [59_000.0, 59_300.0]


@pytest.mark.parametrize(
    "price,says",
    [
        ({END + timedelta(hours=5): 1.0}, "none of its times is within the time of the BTC heatmap"),
        ([], "none of its times is within"),
        ({**BARS, "close": [float("nan")] * 3}, "all 3 of its closes"),
        ({END + timedelta(hours=5): 1.0, END: float("nan")}, "all 1 of its closes"),
        ({**BARS, "symbol": ["ETH"] * 3}, r"for \['ETH'\], but the heatmap is for 'BTC'"),
        ({**BARS, "symbol": ["BTC"]}, "3 closes and 1 symbols"),
        ({**BARS, "close": CLOSES[:2]}, r"3 times and closes of the shape \(2,\)"),
        ({**BARS, "close": ["dear", "dear", "cheap"]}, "not a number.*dear"),
        ({**BARS, "close": [1.0, float("inf"), 1.0]}, "close at 2026-06-10T22:00:00.000Z is infinite"),
        ({**BARS, "timestamp": [*OPENS[:2], None]}, "a time is missing"),
        ({**BARS, "timestamp": [*OPENS[:2], pd.NaT]}, "NaT is not an instant"),
        (pd.DataFrame({**BARS, "timestamp": [*OPENS[:2], pd.NaT]}), "a time is missing"),
        (pd.Series(CLOSES, index=pd.DatetimeIndex([*OPENS[:2], pd.NaT])), "NaT is not an instant"),
        ({**BARS, "timestamp": ["noon"] * 3}, "'noon' is not an instant"),
        ([1, 2, 3], "item 0 is 1"),
        ([{"timestamp": MILLIS[0], "close": 1.0}, 2], "item 1 is 2"),
        ([{"timestamp": MILLIS[0], "close": 1.0}, {"timestamp": MILLIS[1]}], "rows 0 and 1 .* 'close'"),
        ([{"timestamp": MILLIS[0], "close": 1.0}, {**BARS, "symbol": "ETH"}], "rows 0 and 1 .* 'symbol'"),
        (np.array([1.0, 2.0]), "a ndarray has no times"),
        (pl.Series(CLOSES), "a Series that is not a table"),
        (TABLE["close"], "a ChunkedArray that is not a table"),
        (TABLE.append_column("close", TABLE["close"]), "a Table that is not a table.*close"),
        (pd.DataFrame([[1, 2.0, 3.0]], columns=["timestamp", "close", "close"]), "closes of the shape"),
        (pd.DataFrame([[1.0, 2.0]]), "closes of the shape"),
        ("BTC", "a str has no times"),
        (b"BTC", "a bytes has no times"),
        (60_000.0, "a float has no times"),
    ],
)
def test_a_price_that_cannot_be_drawn_is_refused_rather_than_left_out(ax, price, says):
    with pytest.raises(liqdata.BadQuery, match=rf"(?s)^price: .*{says}.*; allowed: ") as caught:
        heatmap().plot(ax, price=price)
    assert caught.value.parameter == "price"
    assert not ax.lines


@pytest.mark.parametrize(
    "price,missing", [({"timestamp": MILLIS, "open": CLOSES}, "close"), ({"close": CLOSES}, "timestamp")]
)
def test_a_price_without_time_or_close_is_refused(ax, price, missing):
    with pytest.raises(ValueError, match=missing):
        heatmap().plot(ax, price=price)


def test_a_map_stacks_its_tiers_to_the_total(ax):
    grid = liqmap()
    grid.plot(ax)
    tops = [[path.vertices[:, 1].max() for path in bars.get_paths()] for bars in ax.collections]
    assert len(tops) == len(grid.leverages)
    assert tops[-1] == pytest.approx(grid.total)


def test_a_map_has_cumulative_curves_that_end_at_the_totals(ax):
    grid = liqmap()
    grid.plot(ax)
    curves = ax.figure.axes[1]
    ends = [line.get_ydata()[-1] for line in curves.lines]
    assert ends == pytest.approx([grid.total[grid.sides == side].sum() for side in ("long", "short")])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["10×", "25×", "50×", "100×", "longs, cumulative", "shorts, cumulative"]


@pytest.mark.parametrize(
    "grid",
    [
        heatmap(prices=np.empty(0), matrix=np.empty((0, 24))),
        heatmap(prices=np.empty(0), times=np.empty(0, dtype="datetime64[ms]"), matrix=np.empty((0, 0))),
        heatmap(matrix=np.zeros((81, 24))),
        heatmap(matrix=np.full((81, 24), np.nan)),
        heatmap(matrix=np.ones((81, 24))),
        heatmap(
            prices=np.array([60_000.0]), times=np.array(["2026-06-11"], dtype="datetime64[ms]"), matrix=np.ones((1, 1))
        ),
        liqmap(prices=np.empty(0), sides=np.empty(0, dtype="<U5"), tiers=np.empty((0, 4)), total=np.empty(0)),
        liqmap(tiers=np.zeros((40, 4)), total=np.zeros(40)),
    ],
    ids=["no-prices", "nothing", "zeros", "nan", "constant", "one-cell", "empty-map", "zero-map"],
)
def test_an_odd_grid_still_gives_a_picture(grid, tmp_path):
    file = tmp_path / "picture.png"
    plot.picture(grid).savefig(file)
    assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["heatmap", "liqmap"])
def test_a_plot_needs_no_dataframe_library(market, monkeypatch, tmp_path, name):
    for library in ("pandas", "polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, library, None)
    price = market.bars("BTC") if name == "heatmap" else None
    plot.picture(getattr(market, name)("BTC"), price=price).savefig(tmp_path / "picture.png")


def test_without_axes_a_new_figure_is_made_and_known_to_pyplot():
    from matplotlib import pyplot as plt

    plt.switch_backend("agg")
    ax = heatmap().plot()
    try:
        assert plt.fignum_exists(ax.figure.number)
    finally:
        plt.close(ax.figure)


@pytest.mark.parametrize("make", [heatmap, liqmap])
def test_texts_of_neighbouring_small_axes_do_not_overlap(make):
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    places = figure.subplots(1, 2)
    for place in places:
        make().plot(place)
    figure.draw_without_rendering()
    left, right = (place.get_tightbbox() for place in places)
    assert left.x1 <= right.x0
    for place in places:
        labels = [label.get_window_extent() for label in place.get_xticklabels() if label.get_text()]
        assert all(one.x1 < next_.x0 for one, next_ in itertools.pairwise(labels))


def test_a_tiny_price_is_written_with_the_digits_it_has():
    assert [amounts.price(value) for value in (7.8808e-6, 9e-6, 1e-8, 0.0)] == ["7.8808e-6", "9e-6", "1e-8", "0"]


@pytest.mark.parametrize("draw", ["heatmap", "liqmap"])
def test_far_leverages_are_named_and_do_not_flatten_near_ones(ax, draw):
    with liqdata.demo() as market:
        grid = getattr(market, draw)("BTC", span="all")
    grid.plot(ax, **({"price": False} if draw == "heatmap" else {}))
    low, high = ax.get_ylim() if draw == "heatmap" else ax.get_xlim()
    price = grid.current_price
    assert 0.86 * price < low < price < high < 1.14 * price
    assert grid.prices.min() < 0.6 * price
    seen = (grid.prices >= low) & (grid.prices <= high)
    if draw == "heatmap":
        mass, strongest = grid.matrix[:, -1], grid.matrix[seen].max()
        assert ax.collections[0].norm.vmax <= strongest < grid.matrix.max()
        assert ax.collections[0].get_array().shape == grid.matrix.shape
    else:
        mass, strongest = grid.total, grid.total[seen].max()
        assert strongest < ax.get_ylim()[1] < grid.total.max()
    assert f"{1 - mass[seen].sum() / mass.sum():.0%} lie beyond the view" in said(ax)


def test_bars_are_drawn_as_candles_white_where_the_price_rose(ax):
    columns = {name: values[-4:] for name, values in bars(288, 60).items()}
    heatmap().plot(ax, price=columns)
    wicks = next(lines for lines in ax.collections if lines.get_label() == "price").get_segments()
    assert [(wick[:, 1].min(), wick[:, 1].max()) for wick in wicks] == list(
        zip(columns["low"], columns["high"], strict=True)
    )
    rose = columns["close"] >= columns["open"]
    bodies = {round(patch.get_x(), 6): colors.to_hex(patch.get_facecolor()) for patch in ax.patches}
    expected = [colours.PRICE if up else colours.PAPER for up in rose]
    assert [bodies[place] for place in sorted(bodies)] == expected


def test_the_bars_of_a_map_are_drawn_by_default(ax):
    came = rows(**{**bars(24, 60), "symbol": np.array(["BTC"] * 24, dtype=object)})
    grid = heatmap(bars=came)
    assert grid.price is came
    grid.plot(ax)
    assert "1 h candles" in said(ax)
    for stated in ({"price": False}, {"price": None, "candles": False}):
        other = grid.plot(Figure().add_subplot(), **stated)
        assert not [lines for lines in other.collections if lines.get_label() == "price"]
        assert ("price" in {line.get_label() for line in other.lines}) == ("candles" in stated)


def test_bars_are_fetched_once_and_pickled():
    asked = []

    def bring():
        asked.append(1)
        return "the bars"

    grid = heatmap(bars=bring)
    assert not asked
    assert pickle.loads(pickle.dumps(grid)).price == grid.price == "the bars"
    assert len(asked) == 1
    assert grid == heatmap()


def test_a_map_has_the_bars_of_its_time_as_of_its_instant(market):
    at = market.now - timedelta(hours=6)
    grid = market.heatmap("BTC", "12h", as_of=at)
    stamps = grid.price["timestamp"]
    assert stamps[0] == grid.times[0] - (grid.times[1] - grid.times[0])
    assert grid.price["close"][-1] == grid.current_price
    assert grid.price == market.bars("BTC", start=int(stamps[0].astype("int64")), end=at, as_of=at)
    with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        far, left = client.heatmap("BTC", "12h", as_of=at), client.heatmap("BTC", "12h", as_of=at)
        assert pickle.loads(pickle.dumps(far)).price is None
        assert far.price == grid.price
    assert left.price is None

    async def brought(url):
        async with liqdata.AsyncClient(url) as client:
            stated, again = (await client.heatmap(["BTC", "ETH"], "12h", as_of=at))["BTC"], await client.heatmap("BTC")
            assert stated.price == grid.price
            assert "candles" in said(await asyncio.to_thread(again.plot, Figure().add_subplot()))
            return await client.heatmap("BTC", "12h", as_of=at)

    with liqdata.serve(market) as server:
        assert asyncio.run(brought(server.url)).price is None  # the client is closed
    start, end = grid.span
    check_bars(grid.price, "BTC", start, end)
    for coin, *span in (("ETH", start, end), ("BTC", start + 1, end), ("BTC", start, end - 1)):
        with pytest.raises(liqdata.UnexpectedReply, match="the service"):
            check_bars(grid.price, coin, *span)


def test_the_colour_scale_is_the_callers(ax):
    heatmap().plot(ax, cmap="magma", vmin=2e4, vmax=1e7, threshold=1e6)
    mesh = ax.collections[0]
    assert (mesh.norm.vmin, mesh.norm.vmax, mesh.cmap.name) == (2e4, 1e7, "magma")
    assert mesh.get_array().compressed().min() >= 1e6
    assert int(np.ma.count_masked(mesh.get_array())) == int((heatmap().matrix < 1e6).sum())
    assert "cells from 1M" in said(ax)
    assert colors.to_hex(ax.get_facecolor()) == colors.to_hex(mesh.cmap(0.0))


@pytest.mark.parametrize(
    "options,says",
    [
        ({"cmap": "nosuch"}, "cmap: 'nosuch' is not allowed; allowed: a colour map"),
        ({"vmin": 0}, "vmin: 0.0 is not allowed; allowed: USD above 0"),
        ({"vmax": float("nan")}, "vmax: nan is not allowed"),
        ({"threshold": "much"}, "threshold: 'much'"),
        ({"vmin": 5.0, "vmax": 5.0}, "vmin: 5.0 is not below vmax 5.0"),
        ({"levels": {"symbol": "ETH", "tiers": {}}}, "levels: the answer is for 'ETH', the map for 'BTC'"),
        ({"levels": {"symbol": "BTC"}}, r"levels: \{'symbol': 'BTC'\} is not allowed; allowed: the answer of levels"),
        ({"maxpain": 3}, "maxpain: 3 is not allowed"),
    ],
)
def test_an_undrawable_argument_is_refused_before_drawing(ax, options, says):
    with pytest.raises(liqdata.BadQuery, match=f"^{says}") as caught:
        heatmap().plot(ax, **options)
    assert caught.value.parameter == says.partition(":")[0]
    assert not ax.collections
    assert not ax.lines


@pytest.mark.parametrize("make", [heatmap, liqmap])
def test_levels_and_max_pain_are_marked_and_arrows_where_they_lie_beyond(ax, make):
    near, far = levels(tiers=(25, 50)), maxpain(far=0.4)
    make().plot(ax, levels=near, maxpain=far)
    places = {
        colors.to_hex(line.get_color()): [] for line in ax.lines if line.get_color() in (colours.LONG, colours.SHORT)
    }
    axis = "get_ydata" if make is heatmap else "get_xdata"
    for line in ax.lines:
        if line.get_color() in places and line.get_clip_on():  # the leaders of labels reach out of the axes
            places[line.get_color()].append(getattr(line, axis)()[0])
    view = ax.get_ylim() if make is heatmap else ax.get_xlim()
    stated = [(tier["longPrice"], tier["shortPrice"]) for tier in near["tiers"].values()]
    assert sorted(places[colours.LONG]) == sorted(one for one, _ in stated if view[0] <= one)
    assert sorted(places[colours.SHORT]) == sorted(one for _, one in stated if one <= view[1])
    words = said(ax)
    for arrow, usd in (("↓" if make is heatmap else "←", "27.0M"), ("↑" if make is heatmap else "→", "61.0M")):
        assert f"{arrow} max pain" in words
        assert usd in words


def test_rows_without_a_plot_name_those_with_one(market):
    with pytest.raises(liqdata.BadQuery, match=r"answer: rows of exchange, .* has no plot; allowed: .*cascades"):
        market.orders(limit=3).plot(Figure().add_subplot())
    with pytest.raises(liqdata.BadQuery, match="answer: a int has no plot"):
        plot.draw(3, Figure().add_subplot())


QUESTIONS = {
    "overview": {},
    "coins": {"limit": 3},
    "exchanges": {},
    "chart": {"symbol": "BTCUSDT"},
    "history": {"symbol": "BTC"},
    "heatmap": {},
    "liqmap": {},
    "levels": {},
    "maxpain": {},
    "cascades": {"symbol": "BTC", "min_usd": 1000},
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_answer_is_drawn_locally_and_served_with_the_simulated_label(market, client, name):
    assert {*QUESTIONS, "compare", "draw", "picture"} == set(plot.__all__)
    for source in (market, client):
        figure = plot.picture(getattr(source, name)(**QUESTIONS[name]), size=(8, 5), dpi=50)
        assert "simulated market" in said(figure)
        assert collisions(figure) == ([], [])


@pytest.mark.parametrize("source", ["market", "client"])
def test_answers_have_their_query(request, source):
    source = request.getfixturevalue(source)
    assert source.coins("1h", limit=2).meta["question"] == {"endpoint": "coins", "range": "1h", "limit": 2}
    stated = source.levels(["BTC", "ETH"])["ETH"]
    assert stated == dict(stated)
    assert stated.meta["question"] == {"endpoint": "levels", "symbol": "ETH"}
    assert stated.meta["simulated"]
    assert pickle.loads(pickle.dumps(stated)).meta == stated.meta


def test_an_answer_of_another_query_names_its_own_plot():
    market = liqdata.demo()
    answers = {name: getattr(market, name)("BTC") for name in ("heatmap", "liqmap", "levels", "maxpain")}
    answers["overview"] = market.overview()
    for kind in answers:
        draw = getattr(liqdata.plot, kind)
        for other, answer in answers.items():
            if kind == other:
                draw(answer, Figure().add_subplot())
                continue
            said = rf"the answer of {other}\(\) .*allowed: the answer of {kind}\(\)"
            with pytest.raises(liqdata.BadQuery, match=said):
                draw(answer, Figure().add_subplot())
