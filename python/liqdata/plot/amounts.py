"""Format amounts, prices, durations and names for plots."""

from __future__ import annotations

from typing import Any

from matplotlib.ticker import FuncFormatter, MaxNLocator

from liqdata.text.printable import printable

__all__ = ["Apart", "brief", "dollars", "name", "price", "prices", "rounded", "short", "span"]

_NO_CENTS = 1000  # prices from this value on have no decimals
_PLAIN = 1e-3  # prices below this value are written with an exponent
_UNITS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))
_LONGEST = 26  # maximum number of characters of a name


def short(usd: float) -> str:
    """Format a round amount of money for an axis.

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
    """Format an amount of money with exactly three digits.

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
    """Format a price with up to five digits.

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
    r"""Format a name from outside: escape matplotlib's markup, and shorten a long name in the middle.

    Parameters
    ----------
    text : object
        The name.
    longest : int
        Maximum number of characters to show.

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
    return _escape_missing_glyphs(shown).replace("$", r"\$")


def _escape_missing_glyphs(text: str) -> str:
    """Replace characters without a glyph in the font by their code points."""
    from matplotlib import font_manager

    known: set[int] = set()
    if not text.isascii():
        path = font_manager.findfont(font_manager.FontProperties())
        known = set(font_manager.get_font(path).get_charmap())
    return "".join(
        one if one.isascii() or ord(one) in known else one.encode("unicode_escape").decode("ascii") for one in text
    )


def prices() -> FuncFormatter:
    """A formatter for prices on an axis."""
    return FuncFormatter(lambda value, _: price(value))


def dollars() -> FuncFormatter:
    """A formatter for money on an axis, without minus signs."""
    return FuncFormatter(lambda value, _: short(abs(value)))


def rounded(most: int) -> MaxNLocator:
    """A locator with at most ``most`` ticks, at round numbers."""
    return MaxNLocator(most, steps=[1, 2, 2.5, 5, 10])


class Apart(MaxNLocator):
    """Places ticks at round numbers, except near a value that has its own tick.

    Parameters
    ----------
    most : int
        Maximum number of ticks.
    value : float
        The value near which there are no ticks.
    points : float
        Minimum distance of a tick from the value, in points.
    """

    def __init__(self, most: int, value: float, points: float) -> None:
        super().__init__(most, steps=[1, 2, 2.5, 5, 10])
        self._value = value
        self._points = points

    def __call__(self) -> Any:
        """Return the ticks in the visible range."""
        ticks = super().__call__()
        axis: Any = self.axis
        low, high = axis.get_view_interval()
        box = axis.axes.get_window_extent()
        pixels = box.height if axis.axis_name == "y" else box.width
        dpi = axis.axes.figure.dpi
        reach = self._points * dpi / 72.0 * abs(high - low) / max(pixels, 1.0)
        return [tick for tick in ticks if abs(tick - self._value) > reach]


def span(millis: int) -> str:
    """Format a duration.

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
