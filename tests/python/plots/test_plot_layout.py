"""Pictures of every answer in every size and layout: no word lies over another, none is cut off, by their boxes."""

import os
import warnings

import drawn
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.dates import date2num
from matplotlib.figure import Figure
from printed import collisions, words

from liqdata import plot
from liqdata.plot import amounts, clock, colours

LAYOUTS = [None, "tight", "constrained"]
CROWDED = [
    "coins-named",
    "chart",
    "history-groups",
    "heatmap-marks",
    "heatmap-tiny",
    "liqmap-marks",
    "levels",
    "maxpain",
]
SOAK = bool(os.environ.get("LIQDATA_SOAK"))


def each_in_turn(names, sizes):
    """Every picture in every size with its layout in the long form; in the short one each in the next of them."""
    if SOAK:
        return [(name, *size) for name in names for size in sizes]
    return [(name, *sizes[place % len(sizes)]) for place, name in enumerate(names)]


SINGLE = each_in_turn(drawn.ANSWERS, list(zip(drawn.SIZES, ["tight", None, "constrained"], strict=True)))


@pytest.mark.parametrize("name,size,layout", each_in_turn(CROWDED, [((4, 3), None), ((9, 6), "constrained")]), ids=str)
def test_texts_of_four_neighbouring_axes_do_not_overlap(name, size, layout):
    answer, options = drawn.ANSWERS[name]
    figure = Figure(figsize=size, layout=layout)
    for ax in figure.subplots(2, 2).flat:
        plot.draw(answer, ax, **options)
    assert collisions(figure) == ([], [])


@pytest.mark.parametrize("layout", [None, "constrained"])
@pytest.mark.parametrize("name", ["heatmap-marks", "liqmap", "coins-named"])
def test_a_subfigure_has_its_own_layout(name, layout):
    answer, options = drawn.ANSWERS[name]
    figure = Figure(figsize=(12, 5), layout=layout)
    for part in figure.subfigures(1, 2):
        plot.draw(answer, part.add_subplot(2, 1, 2), **options)
    assert collisions(figure) == ([], [])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_colour_bar_is_next_to_the_price_axis(layout):
    figure = Figure(figsize=(8, 5), layout=layout)
    ax = drawn.heatmap().plot(figure.add_subplot(), price=drawn.bars())
    figure.draw_without_rendering()
    renderer = figure._get_renderer()
    (bar,) = ax.child_axes
    prices = ax.yaxis.get_tightbbox(renderer)
    assert ax.get_window_extent().x1 < prices.x1 < bar.get_window_extent(renderer).x0
    assert bar.get_tightbbox(renderer).x1 <= figure.bbox.x1
    assert bar.get_window_extent(renderer).height > 0.9 * ax.get_window_extent().height


def test_the_current_price_has_a_tag_that_covers_no_other_label():
    figure = Figure(figsize=(4, 3))
    ax = drawn.heatmap(current_price=60_020.0).plot(figure.add_subplot())
    figure.draw_without_rendering()
    (tag,) = [label for label in ax.get_yticklabels(minor=True) if label.get_text()]
    assert tag.get_text() == "60,020"
    assert 60_000.0 not in ax.get_yticks()
    frame = tag.get_bbox_patch().get_window_extent(figure._get_renderer())
    assert not frame.overlaps(ax.yaxis.label.get_window_extent())


def test_days_of_may_have_their_month():
    figure = Figure(figsize=(8, 5))
    answer, options = drawn.ANSWERS["heatmap-month"]
    ax = answer.plot(figure.add_subplot(), **options)
    figure.draw_without_rendering()
    labels = [label.get_text() for label in ax.get_xticklabels() if label.get_text()]
    assert labels[0].endswith("May\n2026")
    assert all(label.split("\n")[0].partition(" ")[2] in {"May", "Jun"} for label in labels)
    assert not ax.xaxis.get_offset_text().get_text()


@pytest.mark.parametrize(
    "start,end,first,last",
    [
        ("2026-06-10T00:00", "2026-06-11T00:00", "00:00\n10 Jun", "00:00\n11 Jun"),
        ("2026-06-10T23:58", "2026-06-11T00:03", "23:58\n10 Jun", "00:03"),
        ("2025-12-20", "2026-01-10", "22 Dec\n2025", "5 Jan\n2026"),
        ("2024-03-05", "2026-06-11", "Jul\n2024", "Jan\n2026"),
        ("1990-01-01", "2026-06-11", "1990", "2020"),
    ],
)
def test_ticks_have_the_changing_part_above_and_the_rest_below(start, end, first, last):
    ticks = clock.Ticks(7).tick_values(*date2num(np.array([start, end], dtype="datetime64[m]")))
    labels = clock.Labels().format_ticks(ticks)
    assert 2 <= len(labels) <= 7
    assert (labels[0], labels[-1]) == (first, last)


def test_a_month_of_prices_is_drawn_in_bars_that_can_be_seen():
    figure = Figure(figsize=(8, 5))
    answer, options = drawn.ANSWERS["heatmap-month"]
    bars = options["price"]
    ax = answer.plot(figure.add_subplot(), **options)
    wicks = next(lines for lines in ax.collections if lines.get_label() == "price").get_segments()
    assert 60 < len(wicks) <= 160
    assert min(wick[:, 1].min() for wick in wicks) == bars["low"].min()
    assert max(wick[:, 1].max() for wick in wicks) == bars["high"].max()
    assert "6 h candles" in " ".join(text for text, _ in words(figure))


def test_periods_that_are_joined_add_up_to_the_same():
    rows = drawn.history(30 * 288)
    ax = plot.history(rows, Figure(figsize=(8, 5)).add_subplot())
    heights = np.array([bar.get_height() for bar in ax.patches])
    assert len(heights) < 2 * 220
    assert heights[heights > 0].sum() == pytest.approx(rows["short_usd"].sum())
    assert -heights[heights < 0].sum() == pytest.approx(rows["long_usd"].sum())


def test_a_ranking_sums_the_rows_that_do_not_fit():
    figure = Figure(figsize=(8, 5))
    rows = drawn.ranking("coin", drawn.MANY)
    ax = rows.plot(figure.add_subplot())
    shown = len(ax.get_yticklabels())
    rest = rows["total_usd"][shown:].sum()
    assert 10 < shown < 200
    assert f"{shown} of 200 coins, the others {amounts.brief(rest)}" in " ".join(text for text, _ in words(figure))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_axes_of_the_caller_are_not_moved(layout):
    figure = Figure(figsize=(8, 5), layout=layout)
    ax = figure.add_axes((0.3, 0.3, 0.4, 0.4))
    with warnings.catch_warnings():
        if layout:  # matplotlib's own word on any axes that stand in no grid
            warnings.simplefilter("ignore")
        drawn.chart().plot(ax)
        figure.draw_without_rendering()
    assert ax.get_position().bounds == pytest.approx((0.3, 0.3, 0.4, 0.4))
    figure = Figure(figsize=(8, 5))
    figure.subplots_adjust(left=0.4)
    ax = drawn.chart().plot(figure.add_subplot())
    figure.draw_without_rendering()
    assert ax.get_position().x0 == pytest.approx(0.4)


def test_pictures_on_given_axes_leave_pyplot_alone():
    plt.switch_backend("agg")
    plt.close("all")
    for answer, options in (drawn.ANSWERS[name] for name in ("overview", "heatmap", "liqmap", "cascades", "maxpain")):
        plot.draw(answer, Figure().add_subplot(), **options)
        plot.picture(answer, **options)
    assert plt.get_fignums() == []


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_texts_contrast_with_the_background_of_the_style(style):
    plt.switch_backend("agg")
    with plt.style.context(style):
        figure = drawn.chart().plot().figure
        figure.draw_without_rendering()
        try:
            (ax,) = figure.axes
            paper = figure.get_facecolor()
            shown = [ax.yaxis.label.get_color(), ax.texts[0].get_color(), ax._left_title.get_color()]
            assert all(contrast(colour, paper) > 4.5 for colour in shown)
            assert all(contrast(colour, paper) >= 3.0 for colour in (colours.LONG, colours.SHORT, colours.NOW))
        finally:
            plt.close(figure)


def contrast(one, other):
    """Of two colours, as WCAG measures it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    return linear(colour) @ (0.2126, 0.7152, 0.0722)


def linear(colour):
    channels = np.array(to_rgb(colour))
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


# What the eye makes of linear red, green and blue where one kind of cone is missing (Machado and others, 2009).
BLIND = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


@pytest.mark.parametrize("kind", BLIND)
def test_longs_and_shorts_differ_for_every_kind_of_colour_vision(kind):
    seen = [np.clip(np.array(BLIND[kind]) @ linear(colour), 0, 1) for colour in (colours.LONG, colours.SHORT)]
    assert np.abs(seen[0] - seen[1]).max() > 0.25


def over(colour, share, background):
    """The colour that is seen of a transparent one."""
    return tuple(
        share * one + (1.0 - share) * other for one, other in zip(to_rgb(colour), to_rgb(background), strict=True)
    )


def strokes(ax):
    """What is drawn on axes to be read: its colours, and what of them is seen."""
    for line in ax.lines:
        yield line.get_color(), 1.0 if line.get_alpha() is None else line.get_alpha()
    for drawn_there in (*ax.collections, *ax.patches):
        whole = np.atleast_2d(drawn_there.get_facecolor())
        edges = np.atleast_2d(drawn_there.get_edgecolor())
        for red, green, blue, alpha in whole if len(whole) and whole[0][3] > 0 else edges:
            # What is fainter is ground: the area below a curve, a share without coverage.
            if alpha > 0.3:
                yield (red, green, blue), alpha


def readable(ax):
    """The words of axes, ticks included."""
    texts = [*ax.texts, ax.title, ax._left_title, ax._right_title, ax.xaxis.label, ax.yaxis.label]
    texts += [*ax.get_xticklabels(), *ax.get_yticklabels()]
    legend = ax.get_legend()
    return [text for text in texts + (legend.get_texts() if legend else []) if text.get_visible() and text.get_text()]


@pytest.mark.parametrize("name,size,layout", SINGLE, ids=str)
def test_a_single_plot_has_no_texts_over_each_other_or_cut_and_contrasts_with_a_dark_background(name, size, layout):
    answer, options = drawn.ANSWERS[name]
    with plt.style.context("dark_background"):
        figure = Figure(figsize=size, layout=layout)
        ax = figure.add_subplot()
        assert plot.draw(answer, ax, **options) is ax
        assert collisions(figure) == ([], [])
        paper = figure.get_facecolor()
        for ax in figure.axes:
            for text in readable(ax):
                behind = text.get_bbox_patch()
                background = paper if behind is None else over(behind.get_facecolor(), behind.get_alpha() or 1.0, paper)
                assert contrast(text.get_color(), background) >= 3.0, (text.get_text(), text.get_color())
            if name.startswith("heatmap"):
                continue
            for colour, alpha in strokes(ax):
                seen = over(colour, alpha, paper)
                assert contrast(seen, paper) >= 3.0, (colour, alpha)


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("count", [1, 2, 4, 10])
@pytest.mark.parametrize("side", [colours.LONG, colours.SHORT])
def test_the_strongest_leverage_stands_out_most_and_the_weakest_can_be_seen(style, count, side):
    with plt.style.context(style):
        ax = Figure().add_subplot()
        shades = [contrast(shade, ax.get_facecolor()) for shade in colours.tiers(count, side, ax)]
        assert shades == sorted(shades)
        assert len(set(shades)) == count
        assert shades[0] >= 3.0


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_bars_have_the_colours_of_the_legend(style):
    with plt.style.context(style):
        figure = Figure(figsize=(8, 5), dpi=100)
        ax = figure.add_subplot()
        grid = drawn.liqmap()
        plot.liqmap(grid, ax=ax)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        picture = np.asarray(canvas.buffer_rgba(), dtype=float)[:, :, :3]
        low, high = ax.get_xlim()
        shades = [colours.tiers(len(grid.leverages), side, ax) for side in (colours.LONG, colours.SHORT)]
        for place, bars in enumerate(ax.collections):
            for of_side, shade in enumerate(shade[place] for shade in shades):
                mine = (grid.sides == "short") == bool(of_side)
                corners = [path.vertices for path, ours in zip(bars.get_paths(), mine, strict=True) if ours]
                corners = [corner for corner in corners if low < corner[:, 0].mean() < high]
                sides = np.array([np.ptp(ax.transData.transform(corner), axis=0) for corner in corners])
                alike = (np.abs(picture - 255 * np.array(to_rgb(shade))) <= 1).all(axis=2)
                # What the lines and the edges of bars take is little.
                assert alike.sum() > 0.75 * sides.prod(axis=1).sum(), shade
