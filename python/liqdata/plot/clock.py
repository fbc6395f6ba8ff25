"""UTC time axis: ticks show the time, and the date where it changes from tick to tick."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from matplotlib.dates import date2num, num2date
from matplotlib.ticker import Formatter, Locator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["clock"]

_MINUTES = (1, 2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720)
_DAYS = (1, 2, 7, 14)
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120)
_DAY = 24 * 60
_MONTH = 30.4
_MONDAY = float(date2num(datetime(1970, 1, 5, tzinfo=UTC)))  # type: ignore[no-untyped-call]  # matplotlib's


class Ticks(Locator):
    """Places ticks at whole minutes, hours, days, weeks from Monday, or months.

    Parameters
    ----------
    most : int
        Maximum number of ticks.
    """

    def __init__(self, most: int) -> None:
        self._most = most

    def __call__(self) -> Any:
        """Return the ticks in the visible range."""
        axis: Any = self.axis
        return self.tick_values(*axis.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the ticks between two dates, in days since 1970."""
        low, high = sorted((vmin, vmax))
        for minutes in _MINUTES:
            if (found := _even(low, high, minutes / _DAY, 0.0)) and len(found) <= self._most:
                return found
        for days in _DAYS:
            if (found := _even(low, high, float(days), _MONDAY)) and len(found) <= self._most:
                return found
        for months in _MONTHS:
            if len(found := _months(low, high, months)) <= self._most:
                return found
        return [low, high]


def _even(low: float, high: float, step: float, origin: float) -> list[float]:
    if (high - low) / step > 1000:  # noqa: PLR2004 - far more than any axis has room for
        return []
    first = -(-(low - origin - 1e-6 * step) // step)
    found = []
    while (at := origin + first * step) <= high + 1e-6 * step:
        found.append(at)
        first += 1
    return found


def _months(low: float, high: float, step: int) -> list[float]:
    if (high - low) / (step * _MONTH) > 1000:  # noqa: PLR2004 - as above
        return [low, high]
    start = num2date(low, tz=UTC)  # type: ignore[no-untyped-call]  # matplotlib's
    month = (start.year * 12 + start.month - 1) // step * step
    found: list[float] = []
    while True:
        if not 12 <= month < 9999 * 12:  # noqa: PLR2004 - the range of datetime
            return found
        at = float(date2num(datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC)))  # type: ignore[no-untyped-call]
        if at > high:
            return found
        if at >= low:
            found.append(at)
        month += step


class Labels(Formatter):
    """Formats ticks in two lines.

    The first line is the time, day or month. The second line is the date or year, if it differs from the previous tick.
    """

    def __call__(self, x: float, pos: int | None = None) -> str:  # noqa: ARG002 - signature required by matplotlib
        """Format one instant, such as the one under the mouse pointer."""
        return f"{_instant(x):%Y-%m-%d %H:%M} UTC"

    def format_ticks(self, values: Any) -> list[str]:
        """Format all ticks."""
        instants = [_instant(value) for value in values]
        if any((one.hour, one.minute) != (0, 0) for one in instants):
            pairs = [(f"{one:%H:%M}", f"{one.day} {one:%b}") for one in instants]
        elif any(one.day != 1 for one in instants):
            pairs = [(f"{one.day} {one:%b}", f"{one:%Y}") for one in instants]
        elif any(one.month != 1 for one in instants):
            pairs = [(f"{one:%b}", f"{one:%Y}") for one in instants]
        else:
            return [f"{one:%Y}" for one in instants]
        before = None
        written = []
        for upper, lower in pairs:
            written.append(upper if lower == before else f"{upper}\n{lower}")
            before = lower
        return written


def _instant(value: float) -> datetime:
    """Round to the minute, because dates as floats are off by microseconds."""
    found: datetime = num2date(value, tz=UTC)  # type: ignore[no-untyped-call]  # matplotlib's
    return (found + timedelta(seconds=30)).replace(second=0, microsecond=0)


def clock(ax: Axes, most: int) -> None:
    """Label the horizontal axis with UTC times, independent of the time zone of matplotlib."""
    ax.xaxis.set_major_locator(Ticks(most))
    ax.xaxis.set_major_formatter(Labels())
