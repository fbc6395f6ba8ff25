"""Convert answers to tables: lines, headings, units and rounded values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from liqdata.endpoints.contract import endpoints
from liqdata.text.printable import printable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from liqdata.cli.asked import Asked
    from liqdata.cli.source import Origin
    from liqdata.results.heatmap import Heatmap
    from liqdata.results.map import LiquidationMap

__all__ = ["Records", "Sheet", "amount", "cell", "label", "made", "records", "several", "sheet"]

Records: TypeAlias = Sequence[Mapping[str, Any]]
"""The lines of a table: a mapping from column names to values per line, all with the same keys."""

GRID_LINES = 10
"""Number of lines in the summary of a grid."""

MAX_LINES = 200
"""Maximum number of lines for a query without ``limit``; a longer table shows only its first and last lines."""

_NO_SMALL_DIGITS = 100  # numbers from this value on have two decimals
_THOUSAND = 1000
_TIMES = frozenset(
    {"timestamp", "closes_at", "hour", "last_event", "received_at", "computed_at", "observed_at", "recovered_at"}
    | {"start", "end"}
)
_DOCUMENTS = frozenset({"reply", "explain"})
_SHARES = frozenset({"covered", "connected_share", "percentile_7d"})
_CHANGES = frozenset({"change_1m", "change_5m", "change_1h"})
_UNITS = {"quote currency": "quote", "base units": "base"}
_BY_NAME = (
    {"distPct": "%"}
    | dict.fromkeys(("qty", "volume", "open_interest"), "base")
    | dict.fromkeys(("price", "longPrice", "shortPrice", "open", "high", "low", "close"), "USD")
)


class Sheet(NamedTuple):
    """A table ready to print: title, notes, heading and unit of each column, and cells."""

    title: str
    notes: list[str]
    header: list[tuple[str, str]]
    cells: list[list[str]]
    numeric: list[bool]


def sheet(asked: Asked, answer: Any, origin: Origin) -> Sheet:
    """Convert an answer to a table.

    Parameters
    ----------
    asked : Asked
        The query.
    answer
        The return value of the method.
    origin : Origin
        Source and instant of the answer.

    Returns
    -------
    Sheet
    """
    source = str(asked.source.archive) if asked.source.archive is not None else origin.source
    notes = [*label(asked.name, answer), source, origin.when]
    endpoint = endpoints().get(asked.name)
    units = {} if endpoint is None else {column["name"]: str(column["unit"]) for column in endpoint.columns}
    lines = records(asked.name, answer)
    limited = endpoint is not None and "limit" in {parameter.name for parameter in endpoint.parameters}
    elided = len(lines) > MAX_LINES and not limited
    if elided:
        notes[1:1] = [f"the first and the last {MAX_LINES // 2}", "all with --csv, --json or --parquet"]
        lines = [*lines[: MAX_LINES // 2], *lines[-MAX_LINES // 2 :]]
    columns: list[str] | None = getattr(answer, "columns", None)
    if origin.simulated and not source.startswith("simulated"):
        notes.append("simulated")
    found = made(asked.title, lines, notes=notes, columns=None if lines else columns, units=units)
    if elided:
        found.cells.insert(MAX_LINES // 2, ["…"] * len(found.header))
    if not _is_relative(answer):
        return found
    # If the open interest is unknown, the amounts are in relative units, not in USD.
    return found._replace(
        header=[(name, "rel." if name != "price" and unit == "USD" else unit) for name, unit in found.header]
    )


def made(
    title: str,
    lines: Records,
    *,
    notes: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
) -> Sheet:
    """Build a table from lines.

    Parameters
    ----------
    title : str
        The title above the table.
    lines : sequence of mapping
        The lines; the keys of the first line are the column names.
    notes : sequence of str
        Notes after the title.
    columns : sequence of str, optional
        The column names if there are no lines.
    units : mapping, optional
        Units by column name; not needed for names that imply a unit, such as ``long_usd``.

    Returns
    -------
    Sheet
    """
    names = list(lines[0]) if lines else list(columns or ())
    return Sheet(
        printable(title),
        [printable(note) for note in notes],
        [heading(name, (units or {}).get(name, "")) for name in names],
        [[cell(name, line[name]) for name in names] for line in lines],
        [all(not isinstance(line[name], str) for line in lines) for name in names],
    )


def heading(name: str, unit: str = "") -> tuple[str, str]:
    """The heading of a column and its unit.

    Examples
    --------
    >>> heading("long_usd"), heading("qty", "base units"), heading("timestamp")
    (('long', 'USD'), ('qty', 'base'), ('timestamp', 'UTC'))
    """
    if name.endswith("_usd"):
        return printable(name.removesuffix("_usd")), "USD"
    if name in _TIMES:
        return name, "UTC"
    if name in _SHARES | _CHANGES:
        return name.removesuffix("_share"), "%"
    return printable(name), _UNITS.get(unit, unit) or _BY_NAME.get(name, "")


def records(name: str, answer: Any) -> Records:
    """Summarise an answer as lines.

    Parameters
    ----------
    name : str
        The endpoint of the answer.
    answer
        The return value of the method.

    Returns
    -------
    sequence of mapping
        All rows unchanged; the strongest levels of a grid; or one line per window, tier or range of a dict.
    """
    from liqdata.results.heatmap import Heatmap
    from liqdata.results.map import LiquidationMap

    if isinstance(answer, Heatmap):
        return _levels(answer)
    if isinstance(answer, LiquidationMap):
        return _bins(answer)
    shaped = _SHAPES.get(name)
    rows: Records = answer if shaped is None else shaped(answer)
    return rows


def label(name: str, answer: Any) -> list[str]:  # noqa: PLR0911 - one per kind of answer
    """Describe the lines of :func:`records` in short notes.

    Parameters
    ----------
    name : str
        The endpoint of the answer.
    answer
        The return value of the method.

    Returns
    -------
    list of str
    """
    from liqdata.results.heatmap import Heatmap
    from liqdata.results.map import LiquidationMap
    from liqdata.results.units import as_served, open_interest_age, unit_in_words

    served = as_served(getattr(answer, "meta", {}))
    what_it_is = "estimate" if served is None else f"{served},"
    exact = (getattr(answer, "meta", None) or {}).get("exact_share")
    known = [] if exact is None else [f"{exact:.1%} known positions"]
    if isinstance(answer, Heatmap):
        size = "×".join(map(str, answer.matrix.shape))
        return [f"{size} cells", "the last column near the price", f"{what_it_is} in {unit_in_words(answer)}", *known]
    if isinstance(answer, LiquidationMap):
        what = [f"{len(answer.prices)} bins", "those nearest to the price"]
        if answer.meta.get("view") != "measured":
            return [*what, f"{what_it_is} in {unit_in_words(answer)}", *known]
        unplaced = answer.meta["measured"]["unplaced_usd"]
        without = [f"{amount(unplaced)} without a price of liquidation"] if unplaced else []
        return [*what, f"measured, in {unit_in_words(answer)}", _seen(answer.meta["seen_share"]), *without]
    if (answers := several(answer)) is not None:
        at = ", ".join(f"{symbol} {cell('price', one['price'])}" for symbol, one in answers.items())
        return [f"at {at}", "estimate"]
    if name in {"levels", "maxpain"}:
        age = open_interest_age(answer.meta)
        return [f"at {cell('price', answer['price'])}", served or "estimate", *([] if age is None else [age])]
    kind = "window" if name == "overview" else "row"
    counted = [f"{len(answer):,} {kind}{'' if len(answer) == 1 else 's'}"]
    if name == "positions" and answer.meta["snapshot"] is not None:
        return [*counted, f"seen by {answer.meta['snapshot']:%Y-%m-%d %H:%M:%S}", _seen(answer.meta["seen_share"])]
    return counted


def _is_relative(answer: Any) -> bool:
    """Whether the amounts of an estimate are in relative units, such as those of a vendor."""
    if (answers := several(answer)) is not None:
        return any(map(_is_relative, answers.values()))
    explain = (getattr(answer, "meta", None) or {}).get("explain") or {}
    return explain.get("openInterestScale") == "relative" or getattr(answer, "units", None) == "relative"


def cell(name: str, value: Any) -> str:
    """Format one value.

    Parameters
    ----------
    name : str
        Name of its column.
    value
        The value.

    Returns
    -------
    str

    Examples
    --------
    >>> cell("value_usd", Decimal("15703.861")), cell("qty", Decimal("0.190")), cell("hour", 1781136000000)
    ('15.7k', '0.190', '2026-06-11 00:00:00')
    """
    if value is None:
        return "–"
    for belongs, written in _KINDS:
        if belongs(name) and not (isinstance(value, str) and written is not _size):
            return written(value)
    if isinstance(value, str | bool):
        return printable(str(value))
    if isinstance(value, Decimal):
        return f"{value:,f}"
    if isinstance(value, float):
        return f"{value:,.2f}" if abs(value) >= _NO_SMALL_DIGITS else f"{value:,.5g}"
    return f"{value:,}"


def amount(usd: Decimal | float) -> str:
    """Format an amount of USD with three digits and a letter: k, M, B or T.

    Parameters
    ----------
    usd : Decimal or float
        The amount.

    Returns
    -------
    str
        At most seven characters for amounts below a quadrillion; amounts below a thousand have cents.

    Examples
    --------
    >>> amount(57_986_422.35), amount(999_999), amount(734.2), amount(0), amount(-1_250_000), amount(0.001)
    ('58.0M', '1.00M', '734.20', '0', '-1.25M', '<0.01')
    """
    size = abs(float(usd))
    sign = "-" if usd < 0 else ""
    if size == 0:
        return "0"
    if f"{size:.2f}" == "0.00":
        return f"{sign}<0.01"
    if size < 999.995:  # noqa: PLR2004 - larger values round to a thousand
        return f"{sign}{size:.2f}"
    for letter in "kMBT":
        size /= _THOUSAND
        if size < 999.5 or letter == "T":  # noqa: PLR2004 - likewise
            digits = 2 if size < 9.995 else 1 if size < 99.95 else 0  # noqa: PLR2004 - three digits in all
            return f"{sign}{size:,.{digits}f}{letter}"
    raise AssertionError(usd)


def share(part: float) -> str:
    """Format a share in percent; only exactly 1 is shown as 100.

    Examples
    --------
    >>> share(1), share(0.99996), share(0.5)
    ('100', '99.9', '50.0')
    """
    return "100" if part == 1 else f"{min(part * 100, 99.9):.1f}"


def _seen(part: float | Mapping[str, float | None] | None) -> str:
    """Describe the share of open interest that the observed positions cover."""
    if isinstance(part, Mapping):
        each = ", ".join(f"{exchange} {'?' if one is None else share(one) + ' %'}" for exchange, one in part.items())
        return f"of open interest: {each}"
    return "of an unknown share of open interest" if part is None else f"{share(part)} % of open interest"


def _overview(answer: Any) -> Records:
    return [{"window": window, **totals} for window, totals in answer.items()]


def several(answer: Any) -> dict[str, Any] | None:
    """The answers about several symbols, by symbol; ``None`` for one answer."""
    from liqdata.results.record import Record

    return answer if isinstance(answer, dict) and not isinstance(answer, Record) else None


def _by_symbol(shaped: Callable[[Any], Records], answers: Mapping[str, Any]) -> Records:
    return [{"symbol": symbol, **line} for symbol, answer in answers.items() for line in shaped(answer)]


def _tiers(answer: Any) -> Records:
    if (answers := several(answer)) is not None:
        return _by_symbol(_tiers, answers)
    return [{"leverage": int(tier), **level} for tier, level in answer["tiers"].items()]


def _pains(answer: Any) -> Records:
    if (answers := several(answer)) is not None:
        return _by_symbol(_pains, answers)
    return [
        {"range": span, "side": side.upper(), **answer[key][side], "total_usd": answer[key][total]}
        for key, span in (("d1", "1d"), ("d7", "7d"))
        if key in answer
        for side, total in (("long", "totalLong"), ("short", "totalShort"))
    ]


_SHAPES: dict[str, Callable[[Any], Records]] = {"overview": _overview, "levels": _tiers, "maxpain": _pains}


def _time(millis: int) -> str:
    return datetime.fromtimestamp(millis / _THOUSAND, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _change(part: float) -> str:
    return f"{100 * part:+.2f}"


def _size(document: str) -> str:
    """Format a document as its size in bytes."""
    return f"{len(document.encode()):,} B"


def _span(millis: int) -> str:
    """Format a duration such as ``5m``."""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000)):
        if millis % size == 0:
            return f"{millis // size}{unit}"
    return f"{millis:,}ms"


def _usd(name: str) -> bool:
    return name == "usd" or name.endswith("_usd")


_KINDS: tuple[tuple[Callable[[str], bool], Callable[[Any], str]], ...] = (
    (_TIMES.__contains__, _time),
    (_usd, amount),
    (_SHARES.__contains__, share),
    (_CHANGES.__contains__, _change),
    ("leverage".__eq__, "{:g}×".format),
    ("interval".__eq__, _span),
    (_DOCUMENTS.__contains__, _size),
)


def _levels(grid: Heatmap) -> Records:
    """The prices nearest to the current price that have an amount in the last column, highest first."""
    import numpy as np

    if not grid.matrix.size:
        return []
    column = np.nan_to_num(grid.matrix[:, -1])
    filled = np.flatnonzero(column > 0)
    return [
        {
            "price": float(grid.prices[i]),
            "distPct": 100.0 * (float(grid.prices[i]) / grid.current_price - 1.0),
            "usd": float(column[i]),
        }
        for i in _nearest(grid, filled)
    ]


def _nearest(grid: Heatmap | LiquidationMap, places: npt.NDArray[np.intp]) -> list[int]:
    """The places nearest to the current price, half of them on each side, highest price first."""
    import numpy as np

    half = GRID_LINES // 2
    below = places[grid.prices[places] < grid.current_price]
    above = places[grid.prices[places] >= grid.current_price]
    chosen = np.concatenate(
        [below[np.argsort(-grid.prices[below])][:half], above[np.argsort(grid.prices[above])][:half]]
    )
    found: list[int] = chosen[np.argsort(-grid.prices[chosen])].tolist()
    return found


def _bins(grid: LiquidationMap) -> Records:
    """The bins nearest to the current price, highest first."""
    import numpy as np

    return [
        {
            "price": float(grid.prices[i]),
            "side": str(grid.sides[i]).upper(),
            **{
                f"{leverage}×_usd": float(usd)
                for leverage, usd in zip(grid.leverages.tolist(), grid.tiers[i], strict=True)
            },
            "total_usd": float(grid.total[i]),
        }
        for i in _nearest(grid, np.arange(grid.prices.size))
    ]
