"""The small picture above the table of a heatmap or a liquidation map in a notebook."""

from __future__ import annotations

import base64
import html
import io
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from liqdata.results.grid import Grid

__all__ = ["thumbnail"]

_COLUMNS, _ROWS = 36, 24
"""Most columns and rows of the picture without matplotlib, which shows the largest amount of neighbours."""


def thumbnail(grid: Grid, title: str) -> str:
    """The picture as HTML: a PNG by matplotlib if it is installed, otherwise an SVG.

    Parameters
    ----------
    grid : Heatmap or LiquidationMap
        The map.
    title : str
        What the picture is, for readers who do not see it.

    Returns
    -------
    str
        Empty for a map without prices or times.
    """
    cells = _cells(grid)
    if not cells.size:
        return ""
    if find_spec("matplotlib") is None:
        return _svg(cells, title)
    from liqdata import plot

    # Bars of a service are not asked for: a repr sends nothing.
    far = getattr(getattr(grid, "bars", None), "far", False)
    price: dict[str, Any] = {"price": False} if far else {}
    file = io.BytesIO()
    plot.picture(grid, size=(6.4, 3.4), dpi=80, **price).savefig(file, format="png")
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return f"<img alt='{html.escape(title, quote=True)}' src='data:image/png;base64,{data}'/>"


def _cells(grid: Grid) -> Any:
    import numpy as np

    shown: Any = grid
    return np.nan_to_num(shown.matrix if hasattr(grid, "matrix") else shown.total[:, None])


def _svg(cells: Any, title: str) -> str:
    """Rectangles of the strongest cells, the highest price at the top."""
    import numpy as np

    rows, columns = (min(most, have) for most, have in zip((_ROWS, _COLUMNS), cells.shape, strict=True))
    above, left = (
        np.linspace(0, have, many, endpoint=False).astype(int)
        for have, many in zip(cells.shape, (rows, columns), strict=True)
    )
    small = np.maximum.reduceat(np.maximum.reduceat(cells, above, axis=0), left, axis=1)
    top = float(small.max()) or 1.0
    width, height = 480 / columns, 240 / rows
    drawn = "".join(
        f"<rect x='{c * width:.1f}' y='{(rows - 1 - r) * height:.1f}' width='{width:.1f}' height='{height:.1f}'"
        f" fill='#fde725' fill-opacity='{small[r, c] / top:.2f}'/>"
        for r, c in zip(*np.nonzero(small > 0.05 * top), strict=True)
    )
    words = html.escape(title)
    return (
        f"<svg role='img' width='480' height='260' viewBox='0 0 480 260'><title>{words}</title>"
        f"<rect width='480' height='240' fill='#440154'/>{drawn}<text y='255' font-size='12'>{words}</text></svg>"
    )
