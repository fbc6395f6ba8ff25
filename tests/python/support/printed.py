"""Where the words of a drawn figure stand, in pixels: what lies over what, and what is cut off at the edge."""

import itertools

from matplotlib.axes import Axes
from matplotlib.text import Text


def words(figure):
    """Each visible text of a figure that has been drawn, with the box its letters take, a tag's with its frame."""
    figure.draw_without_rendering()
    renderer = figure._get_renderer()
    # Ticks outside the view stay with their axis and are not drawn.
    unseen = {
        label
        for axes in figure.findobj(Axes)
        for axis in (axes.xaxis, axes.yaxis)
        for tick in {*axis.majorTicks, *axis.minorTicks} - set(axis._update_ticks() if axis.get_visible() else ())
        for label in (tick.label1, tick.label2)
    }
    found = []
    for text in figure.findobj(Text):
        if text in unseen or not text.get_visible() or not text.get_text().strip():
            continue
        patch = text.get_bbox_patch()
        box = text.get_window_extent(renderer) if patch is None else patch.get_window_extent(renderer)
        found.append((text.get_text(), box))
    return found


def collisions(figure, slack=0.5):
    """Pairs of texts that lie over each other, and texts that reach out of the figure."""
    found = words(figure)
    over = [
        (one, other)
        for (one, a), (other, b) in itertools.combinations(found, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > slack and min(a.y1, b.y1) - max(a.y0, b.y0) > slack
    ]
    edge = figure.bbox
    cut = [
        one
        for one, box in found
        if box.x0 < edge.x0 - slack or box.y0 < edge.y0 - slack or box.x1 > edge.x1 + slack or box.y1 > edge.y1 + slack
    ]
    return over, cut
