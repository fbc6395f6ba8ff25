"""What both estimates share: their unit, caveats and sources, equality and display."""

from __future__ import annotations

import html
import inspect
from dataclasses import fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from liqdata.calls.arguments import is_missing, millis_of
from liqdata.text.printable import printable
from liqdata.text.thumbnail import thumbnail

from .json_form import schema_of
from .units import OLD, as_served, open_interest_age

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    import numpy.typing as npt
    import xarray as xr
    from _typeshed import DataclassInstance

    from liqdata.types import Units, View

__all__ = ["Grid", "documented", "instants"]

T = TypeVar("T")

_FRESH = 15 * 60 * 1000  # how long an open-interest reading stays valid, in milliseconds


def _equal(left: object, right: object) -> bool:
    """Whether two field values are equal; NaN equals NaN and NaT equals NaT."""
    import numpy as np

    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        a, b = np.asarray(left), np.asarray(right)
        if a.shape != b.shape:
            return False
        same = a == b
        return bool(np.all(same | (is_missing(a) & is_missing(b))))
    return bool(left == right or (is_missing(left) and is_missing(right)))


# The inputs of an estimate, and the keys of their exchanges in `explain`.
_SOURCES = {"price": "priceExchanges", "volume": "volumeExchanges", "open interest": "openInterestExchanges"}


def _exchanges(exchanges: dict[str, int], whole: int) -> str:
    """List exchanges, most bars first, with the number of bars if it is not all ``whole`` bars."""
    most_first = sorted(exchanges.items(), key=lambda exchange: -exchange[1])
    return " + ".join(name if bars == whole else f"{name} ({bars} of {whole} bars)" for name, bars in most_first)


def documented(kind: type[T]) -> type[T]:
    """Add the declared members that the docstring of a map does not list to its parameters."""
    text = inspect.cleandoc(kind.__doc__ or "")
    meanings: dict[str, tuple[str, str]] = getattr(kind, "_meanings", {})
    missing = [
        f"{name} : {of}, optional\n    {meaning[0].upper()}{meaning[1:]}. Ignored by ``==``.\n"
        for name, (of, meaning) in meanings.items()
        if f"\n{name} : " not in text
    ]
    head, mark, rest = text.partition("\nExamples\n--------")
    kind.__doc__ = f"{head}{''.join(missing)}{mark}{rest}"
    return kind


class Grid:
    """Equality and display of both grids."""

    _arrays: ClassVar[tuple[str, ...]]

    if TYPE_CHECKING:
        symbol: str
        range: str
        updated_at: datetime
        current_price: float
        meta: dict[str, Any]

        @property
        def _unit(self) -> str: ...

        def to_dict(self) -> dict[str, Any]:
            """The members of a reply."""
            ...

    @property
    def simulated(self) -> bool:
        """Whether the market is simulated."""
        return bool(self.meta.get("simulated", False))

    @property
    def units(self) -> Units:
        """``"usd"``, or ``"relative"``: without open interest, amounts are comparable only inside one map."""
        explain = self.meta.get("explain") or {}
        relative = explain.get("openInterestScale") == "relative"
        return cast("Units", self.meta.get("units") or ("relative" if relative else "usd"))

    @property
    def view(self) -> View | None:
        """What the amounts count.

        ``"exposed"``: open interest that a price move would liquidate (model 2). ``"expected"``: liquidations that
        exchanges are expected to report (model 3). ``"measured"``: observed positions. ``None`` if the service does not
        say it.
        """
        return cast("View | None", self.meta.get("view"))

    @property
    def _relative(self) -> bool:
        """Whether open interest is unknown and a multiple of the volume replaces it."""
        return self.units == "relative"

    def _dated(self, unit: str) -> str:
        """The unit, followed by the age of the open interest if it is more than a day."""
        age = open_interest_age(self.meta)
        return unit if age is None else f"{unit}, {age}"

    @property
    def _caveats(self) -> str:
        """Remarks on the data: old or partial open interest, outliers, a simulated market."""
        explain = self.meta.get("explain", {})
        age = explain.get("openInterestAgeMs")
        words = [served] if (served := as_served(self.meta)) else []
        if age is not None and _FRESH < age <= OLD and not self._relative:
            words.append(f"open interest {timedelta(milliseconds=age)} old")
        if partial := explain.get("openInterestPartialBars"):
            words.append(f"open interest lacks an exchange in {partial} of {explain['bars']} bars")
        if outliers := explain.get("openInterestOutliers", 0) + explain.get("barOutliers", 0):
            words.append(f"without {outliers} outlier{'' if outliers == 1 else 's'}")
        for exchange, factor in explain.get("openInterestFactors", {}).items():
            words.append(f"open interest of {exchange} at two levels, a factor of {factor:.3g} apart")
        if explain.get("openInterestUnjudged") or explain.get("barsUnjudged"):
            words.append("newest rows in doubt")
        if damaged := explain.get("damaged"):
            files = "file" if len(damaged) == 1 else "files"
            words.append(f"without {len(damaged)} damaged {files} of its time")
        words += [label for label in ("simulated", "replayed") if self.meta.get(label)]
        return "".join(f", {word}" for word in words)

    @property
    def _sources(self) -> list[tuple[str, str]]:
        """The exchanges that provide price, volume and open interest, if known."""
        explain = self.meta.get("explain", {})
        return [
            (what, _exchanges(explain[name], explain["bars"])) for what, name in _SOURCES.items() if explain.get(name)
        ]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine = ["units", *(one.name for one in fields(cast("DataclassInstance", self)) if one.compare)]
        return all(_equal(getattr(self, name), getattr(other, name)) for name in mine)

    __hash__ = None  # type: ignore[assignment]  # compared by value, so not hashable

    def _head(self) -> list[tuple[str, str]]:
        """Names and values of the most important properties."""
        return [
            ("symbol", self.symbol),
            ("range", self.range),
            ("updated_at", _instant(self.updated_at)),
            ("current_price", f"{self.current_price:,.8g}"),
            *((name, _shape(getattr(self, name))) for name in self._arrays),
            ("units", self._unit),
        ]

    def __repr__(self) -> str:
        head = ", ".join(f"{name}={value}" for name, value in self._head() if name != "units")
        sources = "".join(f", {what} of {exchanges}" for what, exchanges in self._sources)
        return printable(f"{type(self).__name__}({head}; {self._unit}{self._caveats}{sources})")

    def _repr_html_(self) -> str:
        title = f"{type(self).__name__}{' (simulated market)' if self.simulated else ''}"
        caveats = [("note", self._caveats.removeprefix(", "))] if self._caveats else []
        known = [(name, str(self.meta[name])) for name in ("source", "as_of", "age") if self.meta.get(name) is not None]
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(printable(value))}</td></tr>"
            for name, value in self._head() + caveats + self._sources + known
        )
        model = self.meta.get("model", getattr(self, "model", None))
        numbered = f", model {model}" if isinstance(model, int) and model else ""
        words = f"{self.symbol} {self.range}{numbered}, {self._unit}, {_instant(self.updated_at)}"
        picture = thumbnail(self, printable(words))
        return f"{picture}<table><caption>{html.escape(title)}</caption><tbody>{cells}</tbody></table>"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """The schema of pydantic: an estimate is checked by its class and written as ``to_dict``."""
        return schema_of(cls, cls.to_dict)

    def _members(self) -> dict[str, Any]:
        """The members of a reply that both grids have."""
        return {
            "symbol": self.symbol,
            "range": self.range,
            "updatedAt": millis_of(self.updated_at),
            "currentPrice": self.current_price,
            "units": self.units,
            "view": self.view,
            "simulated": self.simulated,
        }

    def _attributes(self) -> dict[str, Any]:
        """The attributes of an xarray object."""
        return {
            "symbol": self.symbol,
            "range": self.range,
            "units": self._unit,
            "updated_at": _instant(self.updated_at),
            "current_price": self.current_price,
            "tz": "UTC",
            "simulated": int(self.simulated),
        }


def instants(times: npt.NDArray[np.datetime64], *dims: str) -> xr.Variable:
    """Times for xarray.

    The unit in which they are stored does not depend on the times, so that files and Zarr stores can be appended to.
    """
    import xarray as xr

    encoding = {"units": "milliseconds since 1970-01-01", "calendar": "proleptic_gregorian", "dtype": "int64"}
    return xr.Variable(dims, times.astype("datetime64[ms]"), encoding=encoding)


def _instant(when: datetime) -> str:
    return when.isoformat(timespec="auto").replace("+00:00", "Z")


def _shape(array: npt.NDArray[Any]) -> str:
    return "×".join(map(str, array.shape))
