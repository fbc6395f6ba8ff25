"""The pictures that plotly draws: what is in them, read from the figures."""

import numpy as np
import pytest
from drawn import levels, liqmap, maxpain
from matplotlib.figure import Figure

import liqdata
from liqdata import BadQuery, plot


def test_a_heatmap_has_all_cells_candles_and_labels_outside_the_map(market):
    grid = market.heatmap("BTC", "24h")
    figure = grid.plot(backend="plotly", levels=market.levels("BTC"), maxpain=market.maxpain("BTC"))
    cells, candles = figure.data
    assert np.array_equal(np.nan_to_num(cells.customdata), grid.matrix)
    assert cells.z[np.isfinite(cells.z)].max() == np.log10(grid.matrix.max())
    assert candles.type == "candlestick"
    assert candles.close[-1] == grid.current_price
    assert "estimate, simulated market" in figure.layout.title.text
    labels = [each for each in figure.layout.annotations if each.xanchor == "right"]
    assert labels
    assert all(each.x < 0 for each in labels)
    heights = sorted(each.y for each in labels)
    assert min(np.diff(heights)) > 0.04, "labels do not overlap"


def test_a_map_has_a_bar_for_each_side_and_leverage_and_sums_to_its_totals(market):
    grid = market.liqmap("BTC", "7d")
    figure = plot.liqmap(grid, backend="plotly")
    bars = [trace for trace in figure.data if trace.type == "bar"]
    assert len(bars) == 2 * len(grid.leverages)
    assert len({trace.marker.color for trace in bars}) == len(bars), "sides and leverages have colours of their own"
    assert sum(float(trace.y.sum()) for trace in bars) == pytest.approx(float(np.nansum(grid.total)))


def test_the_stacked_bars_of_a_history_add_up(market):
    rows = market.history("BTC", interval="1h", by="exchange")
    figure = rows.plot(backend="plotly")
    assert sum(float(np.sum(trace.y)) for trace in figure.data) == pytest.approx(float(np.nansum(rows["total_usd"])))
    assert len({len(trace.x) for trace in figure.data}) == 1, "plotly stacks bars at equal places alone"


@pytest.mark.parametrize(
    "options,says",
    [
        ({"backend": "bokeh"}, "backend: 'bokeh' is not allowed; allowed: 'matplotlib', 'plotly'"),
        ({"backend": "plotly", "ax": Figure().add_subplot()}, "ax: plotly draws no matplotlib axes"),
    ],
)
def test_a_wrong_backend_is_refused(options, says):
    with pytest.raises(BadQuery, match=says):
        liqmap().plot(**options)


def test_a_second_plot_on_the_same_axes_is_refused_and_names_compare():
    ax = Figure(figsize=(8, 5)).add_subplot()
    liqmap().plot(ax)
    with pytest.raises(BadQuery, match=r"ax: it already has a plot of liqdata.*liqdata\.plot\.compare"):
        liqmap().plot(ax)
    ax.clear()
    liqmap().plot(ax)


def test_maps_are_compared_as_outlines_with_one_title(market):
    maps = {name: market.liqmap("BTC", name) for name in ("1d", "7d")}
    ax = plot.compare(maps, Figure(figsize=(8, 5)).add_subplot())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1d", "7d"]
    assert ax.get_title(loc="left") == "BTC liquidation maps · estimate, simulated market"
    with pytest.raises(BadQuery, match="maps: they have different coins: BTC, ETH"):
        plot.compare({"a": market.liqmap("BTC"), "b": market.liqmap("ETH")})


def test_a_far_level_leaves_room_for_the_near_ones():
    answer = levels()
    price = answer["price"]
    answer["tiers"]["10"] = {**answer["tiers"]["10"], "shortPrice": price * 4}
    ax = plot.levels(answer, Figure(figsize=(8, 5)).add_subplot())
    assert ax.get_ylim()[1] < price * 1.3
    assert "arrows: farther away" in " ".join(
        text.get_text() for text in ax.findobj(lambda one: hasattr(one, "get_text"))
    )
    plot.maxpain(maxpain(), Figure(figsize=(8, 5)).add_subplot())


def test_the_colours_of_groups_are_not_those_of_the_sides():
    from matplotlib.colors import to_rgb

    for colour in plot.colours.GROUPS:
        for side in (plot.colours.LONG, plot.colours.SHORT):
            assert np.abs(np.subtract(to_rgb(colour), to_rgb(side))).sum() > 0.35, (colour, side)
    assert liqdata.plot.__all__.count("compare") == 1
