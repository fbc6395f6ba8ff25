"""Numbers as pictures write them: money briefly, prices with the digits they have, and names of others as they are."""

from __future__ import annotations

from typing import Any

from matplotlib.ticker import FuncFormatter, MaxNLocator

from liqdata.text.printable import printable

__all__ = ["Apart", "brief", "dollars", "name", "price", "prices", "rounded", "short", "span"]

_NO_CENTS = 1000  # from this price on, cents say nothing
_PLAIN = 1e-3  # below this price, five digits need an exponent
_UNITS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))
_LONGEST = 26  # letters of a name that are shown


def short(usd: float) -> str:
    """Write a round amount of money briefly, as on an axis.

    Parameters
    ----------
    usd : float
        The amount.

    Returns
    -------
    str

    Examples
    --------
    >>> short(1_234_567.0), short(45_600), short(12.0), short(0), short(999_999)
    ('1.23M', '45.6k', '12', '0', '1M')
    """
    return _scaled(usd, lambda value: f"{value:.3g}")


def brief(usd: float) -> str:
    """Write an amount of money with three digits that say how exact it is.

    Parameters
    ----------
    usd : float
        The amount.

    Returns
    -------
    str

    Examples
    --------
    >>> brief(58_000_000.0), brief(1_234_567.0), brief(45.6), brief(999_999), brief(0), brief(0.0012345)
    ('58.0M', '1.23M', '45.6', '1.00M', '0', '0.00123')
    """
    return _scaled(usd, lambda value: f"{value:#.3g}".removesuffix(".") if value else "0")


def _scaled(usd: float, digits: Any) -> str:
    rounded = float(f"{usd:.3g}")
    for scale, unit in _UNITS:
        if abs(rounded) >= scale:
            return f"{digits(rounded / scale)}{unit}"
    return str(digits(rounded))


def price(value: float) -> str:
    """Write a price with the digits it needs.

    Parameters
    ----------
    value : float
        The price.

    Returns
    -------
    str

    Examples
    --------
    >>> price(60123.4), price(0.52345), price(7.8808e-6), price(0.0)
    ('60,123', '0.52345', '7.8808e-6', '0')
    """
    size = abs(value)
    if size >= _NO_CENTS:
        return f"{value:,.0f}"
    if size >= _PLAIN or not size:
        return f"{value:,.5g}"
    digits, power = f"{value:.4e}".split("e")
    return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"


def name(text: object, longest: int = _LONGEST) -> str:
    r"""Write a name that others gave: nothing in it steers matplotlib, and a long one is elided in its middle.

    Parameters
    ----------
    text : object
        The name.
    longest : int
        Letters that are shown.

    Returns
    -------
    str

    Examples
    --------
    >>> name("BTCUSDT"), name("$A$B"), name("a" * 40)
    ('BTCUSDT', '\\$A\\$B', 'aaaaaaaaaaaaa…aaaaaaaaaaaa')
    """
    shown = printable(str(text))
    if len(shown) > longest:
        shown = f"{shown[: longest // 2]}…{shown[1 - longest // 2 :]}"
    return _written(shown).replace("$", r"\$")


def _written(text: str) -> str:
    """Letters that the font lacks as their code points, which say more than a box does."""
    from matplotlib import font_manager

    known: set[int] = set()
    if not text.isascii():
        path = font_manager.findfont(font_manager.FontProperties())
        known = set(font_manager.get_font(path).get_charmap())
    return "".join(
        one if one.isascii() or ord(one) in known else one.encode("unicode_escape").decode("ascii") for one in text
    )


def prices() -> FuncFormatter:
    """Give what writes prices on an axis."""
    return FuncFormatter(lambda value, _: price(value))


def dollars() -> FuncFormatter:
    """Give what writes money on an axis, that of either direction without a sign."""
    return FuncFormatter(lambda value, _: short(abs(value)))


def rounded(most: int) -> MaxNLocator:
    """Give what puts at most so many ticks at round numbers."""
    return MaxNLocator(most, steps=[1, 2, 2.5, 5, 10])


class Apart(MaxNLocator):
    """Round ticks that keep away from one value, which has a tick of its own.

    Parameters
    ----------
    most : int
        How many ticks there may be.
    value : float
        What they keep away from.
    points : float
        How far, in points.
    """

    def __init__(self, most: int, value: float, points: float) -> None:
        super().__init__(most, steps=[1, 2, 2.5, 5, 10])
        self._value = value
        self._points = points

    def __call__(self) -> Any:
        """Give the ticks in view."""
        ticks = super().__call__()
        axis: Any = self.axis
        low, high = axis.get_view_interval()
        box = axis.axes.get_window_extent()
        pixels = box.height if axis.axis_name == "y" else box.width
        dpi = axis.axes.figure.dpi
        reach = self._points * dpi / 72.0 * abs(high - low) / max(pixels, 1.0)
        return [tick for tick in ticks if abs(tick - self._value) > reach]


def span(millis: int) -> str:
    """Write a length of time.

    Parameters
    ----------
    millis : int
        Milliseconds.

    Returns
    -------
    str

    Examples
    --------
    >>> span(300_000), span(14_400_000), span(86_400_000), span(1500)
    ('5 min', '4 h', '1 d', '1.5 s')
    """
    for length, unit in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min")):
        if millis and not millis % length:
            return f"{millis // length} {unit}"
    return f"{millis / 1000:g} s"
