"""The arrays and rows that callers get, made from replies of vendors."""

from __future__ import annotations

import itertools
import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from liqdata import _core
from liqdata.calls.arguments import datetime_of
from liqdata.errors import UnexpectedReply
from liqdata.results.heatmap import Heatmap
from liqdata.results.map import LiquidationMap
from liqdata.results.rows import Rows

from .reply import FACTORS, Node, parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from .reply import Reply

_DIGITS = 28
_QTY_DIGITS = 12
_QTY_PLACES = Decimal(1).scaleb(-_QTY_DIGITS)
_LARGE = 10**15
_MOST_CELLS = 2**23  # as for heatmaps of the contract that leave cells out: 64 MiB
_MOST_EXACT = Decimal(2**96)  # the largest decimal of the core
_KINDS = {
    **dict.fromkeys(("timestamp", "closes_at"), "time"),
    **dict.fromkeys(("coin", "symbol", "exchange", "side"), "text"),
    **dict.fromkeys(("cnt", "interval"), "int"),
    **dict.fromkeys(("open", "high", "low", "close", "volume", "volume_usd", "covered"), "float"),
    **dict.fromkeys(("open_interest_usd",), "float"),
}
ORDERS = ("exchange", "symbol", "side", "price", "qty", "value_usd", "timestamp")
HISTORY = ("timestamp", "coin", "symbol", "long_usd", "short_usd", "total_usd", "cnt", "largest_usd", "covered")
EXCHANGES = ("exchange", "long_usd", "short_usd", "total_usd", "cnt")
COINS = ("coin", "long_usd", "short_usd", "total_usd", "cnt")
BARS = ("symbol", "timestamp", "closes_at", "open", "high", "low", "close", "volume", "interval")
USD_BARS = ("symbol", "timestamp", "closes_at", "open", "high", "low", "close", "volume_usd", "interval")
EXCHANGE_BARS = ("symbol", "exchange", *BARS[1:])
BOTH_VOLUMES = (*EXCHANGE_BARS[:-1], "volume_usd", "interval")
OPEN_INTEREST = ("symbol", "exchange", "timestamp", "closes_at", "open_interest_usd")


def rows(columns: Sequence[str], made: Sequence[dict[str, Any]], meta: dict[str, Any]) -> Rows[Any]:
    """Rows with these columns; a value that a row lacks is missing."""
    return typed_rows(((name, _kind(columns, name)) for name in columns), made, meta)


def typed_rows(columns: Iterable[tuple[str, str]], made: Sequence[dict[str, Any]], meta: dict[str, Any]) -> Rows[Any]:
    """Rows with columns of these names and kinds."""
    state = [(name, *_column(kind, [row.get(name) for row in made])) for name, kind in columns]
    # The constructor that pickle uses takes columns.
    return Rows(_core.Table._restore(state, len(made)), meta=meta)  # noqa: SLF001


def history(made: Sequence[dict[str, Any]], meta: dict[str, Any]) -> Rows[Any]:
    """Totals by period; the coin is that of the symbol unless a row has it."""
    return rows(HISTORY, [{"coin": _core.coin(row["symbol"]), **row} for row in made], meta)


def within(made: Iterable[dict[str, Any]], first: int | None, last: int | None, now: int) -> list[dict[str, Any]]:
    """The rows from ``first`` on and before ``last``, whatever the service counts to a range.

    Of rows that say when they close, only those that closed by ``last`` and by now: an open candle is not finished.
    """
    low, high = -math.inf if first is None else first, math.inf if last is None else last
    end = min(high, now)
    return [row for row in made if low <= row["timestamp"] < high and row.get("closes_at", end) <= end]


def reading(symbol: str, exchange: str | None, start: int, step: int, usd: float) -> dict[str, Any]:
    """The open interest at the end of a period, which is when it is known."""
    at = start + step
    return {"symbol": symbol, "exchange": exchange, "timestamp": at, "closes_at": at, "open_interest_usd": usd}


def added_up(made: Iterable[dict[str, Any]], coin: str) -> list[dict[str, Any]]:
    """The totals of all markets of a coin by period, oldest first."""
    periods: dict[int, tuple[Decimal, Decimal]] = {}
    for row in made:
        long, short = periods.get(row["timestamp"], (Decimal(0), Decimal(0)))
        periods[row["timestamp"]] = (long + row["long_usd"], short + row["short_usd"])
    return [{"timestamp": at, "symbol": coin, **totals(*periods[at])} for at in sorted(periods)]


def page_of_orders(
    found: Sequence[dict[str, Any]], offset: int, limit: int, meta: dict[str, Any], *, is_cut: bool
) -> Rows[Any]:
    """A page of orders, which says whether there are more, found or not searched."""
    return rows(ORDERS, found[offset : offset + limit], {**meta, "more": is_cut or len(found) > offset + limit})


def _kind(columns: Sequence[str], name: str) -> str:
    # The totals of coins are floats, as in all rankings of coins.
    return _KINDS.get(name, "float" if columns is COINS else "decimal")


def _column(kind: str, cells: list[Any]) -> tuple[str, Any, list[bool] | None]:
    """The kind, the cells and the presence of a column, as a pickled table has them."""
    present = [cell is not None for cell in cells]
    given = None if all(present) else present
    if kind == "text":
        names = list(dict.fromkeys(cell for cell in cells if cell is not None)) or [""]
        codes = {name: code for code, name in enumerate(names)}
        return kind, ([codes.get(cell, 0) for cell in cells], names), given
    if kind == "decimal":
        return kind, [exact(cell) if cell is not None else "0" for cell in cells], given
    empty = 0.0 if kind == "float" else 0
    return kind, [empty if cell is None else (float(cell) if kind == "float" else int(cell)) for cell in cells], given


def exact(amount: Decimal) -> str:
    """An amount as text with at most 28 digits.

    Raises
    ------
    UnexpectedReply
        For an amount beyond the decimals of the core.
    """
    if abs(amount) >= _MOST_EXACT:
        msg = f"the amount {amount:.6g} is not allowed; allowed: amounts below {_MOST_EXACT:.6g}"
        raise UnexpectedReply(msg, path="")
    text = format(amount, "f")
    digits = len(text.replace(".", "").replace("-", "").lstrip("0"))
    if digits > _DIGITS:
        whole = len(text.partition(".")[0].lstrip("-0"))
        text = (
            format(round(amount, _DIGITS - whole), "f") if whole < _DIGITS else format(amount.to_integral_value(), "f")
        )
    return text


def quotient(value: Decimal, price: Decimal) -> Decimal:
    """The quantity of an order, with 12 decimal places if it has that many digits."""
    found = value / price
    return (found.quantize(_QTY_PLACES) if found.adjusted() < _DIGITS - _QTY_DIGITS else found).normalize()


def totals(long: Decimal, short: Decimal) -> dict[str, Decimal]:
    """The amounts of one row."""
    return {"long_usd": long, "short_usd": short, "total_usd": long + short}


def heatmap(
    reply: Reply,
    *,
    names: Mapping[str, tuple[str, ...]],
    root: Sequence[str],
    symbol: str,
    range: str,
    model: int,
    candles: bool,
    meta: dict[str, Any],
    unwrap: Any,
) -> Heatmap:
    """A heatmap from sparse cells ``[column, row, amount]``, a price axis and a time axis.

    The axes stay as they are sent: prices may have unequal steps. A cell that is not sent is 0.

    Parameters
    ----------
    reply : Reply
        The answer of the vendor.
    names : dict
        The names of the members ``cells``, ``prices``, ``times`` and ``updated``.
    root : sequence of str
        The members from the data of the reply to the object that has these members.
    symbol, range, model
        Of the heatmap.
    candles : bool
        Whether the time axis consists of candles, which become :attr:`liqdata.Heatmap.price`.
    meta : dict
        The ``meta`` of the heatmap.
    unwrap : callable
        Checks the envelope of the reply and returns its data.

    Raises
    ------
    UnexpectedReply
        For a reply of another shape; it names the field.
    """
    import numpy as np

    sent, name = _cells(reply, names["cells"])
    if sent is None:
        unwrap(reply.json())  # a refusal has no cells
    body, columns, levels, amounts = sent or (reply.body, *[np.empty(0, np.uint32)] * 2, np.empty(0))
    data = unwrap(parsed(body, reply.latest))
    for step in root:
        data = data.member(step)
    if sent is None:
        data.member(*names["cells"]).items()
    where = f"{data.path}.{name}" if data.path else name
    spelling = names["cells"].index(name)
    # An error names the field as this reply would spell it.
    axes = (names[part][spelling:] + names[part][:spelling] for part in ("prices", "times"))
    prices_axis, axis = (data.member(*spellings) for spellings in axes)
    lengths = [len(one.value) if isinstance(one.value, list) else 0 for one in (prices_axis, axis)]
    bounded(lengths[0], lengths[1], data.path)
    prices = prices_of(prices_axis)
    bars, price = None, math.nan
    if candles:
        bars, starts, price = _candles(axis, symbol)
    else:
        starts = ascending(axis)
    grid, good = _core.scattered(columns, levels, amounts, (prices.size, len(starts)))
    if grid is None:
        cell = [int(columns[good]), int(levels[good])]
        outside = cell[0] >= len(starts) or cell[1] >= prices.size
        path = f"{where}[{good}]"
        what = f"is outside the grid of {len(starts)} columns and {prices.size} prices" if outside else "is given twice"
        msg = f"{path}: the cell of column {cell[0]} and price {cell[1]} {what}"
        raise UnexpectedReply(msg, path=path)
    updated = data.optional(*names["updated"])
    return Heatmap(
        symbol=symbol,
        range=range,
        model=model,
        updated_at=datetime_of(reply.answered_at if updated is None else updated.past()),
        current_price=price,
        prices=prices,
        times=np.array(column_ends(starts), dtype="datetime64[ms]"),
        matrix=grid,
        meta={**meta, "columns": AS_SENT if len(starts) == 1 else ENDS},
        bars=bars,
    )


def bounded(rows: int, columns: int, path: str) -> None:
    """Check the size of a grid before it is allocated.

    Raises
    ------
    UnexpectedReply
        For a grid that is larger than any heatmap.
    """
    if rows * columns > _MOST_CELLS:
        msg = f"{path or 'the body'}: has a grid of {rows} × {columns}; allowed: at most {_MOST_CELLS} cells"
        raise UnexpectedReply(msg, path=path)


def _cells(reply: Reply, names: tuple[str, ...]) -> tuple[Any, str]:
    """The sparse cells under the first of these names that the body has."""
    for name in names:
        try:
            found = _core.sparse(reply.body, name)
        except UnexpectedReply as error:
            # The path starts at the member.
            try:
                above = _place(reply.json(), name) or name
            except RecursionError:
                above = name
            path = above + str(error.path).removeprefix(name)
            raise UnexpectedReply(str(error).replace(str(error.path), path, 1), path=path) from None
        if found is not None:
            return found, name
    return None, names[0]


def _place(node: Node, name: str) -> str | None:
    """The path of the first array with this name."""
    if isinstance(node.value, dict):
        inner = node.members()
        if isinstance(node.value.get(name), list):
            # An array of the same name may come earlier, below a member before it.
            before = itertools.takewhile(lambda key: key != name, inner)
            return next(filter(None, (_place(inner[key], name) for key in before)), inner[name].path)
        parts = list(inner.values())
    else:
        parts = node.items() if isinstance(node.value, list) else []
    return next(filter(None, (_place(part, name) for part in parts)), None)


def prices_of(axis: Node) -> npt.NDArray[np.float64]:
    """A price axis: above 0, ascending."""
    import numpy as np

    values = axis.value
    if not isinstance(values, list) or not values:
        raise axis.wrong("an array of at least one price")
    if all(type(value) in {int, Decimal} and 0 < value < _LARGE for value in values):
        found = np.array(list(map(float, values)))
    else:
        found = np.array([item.price() for item in axis.items()])
    steps = np.flatnonzero(np.diff(found) <= 0)
    if steps.size:
        raise axis.items()[int(steps[0]) + 1].wrong(f"a price above the one before it, {found[steps[0]]:.12g}")
    return found


def ascending(axis: Node) -> list[int]:
    """A time axis: instants in ascending order, at least one."""
    items = axis.items()
    if not items:
        raise axis.wrong("at least one instant")
    found = [item.past() for item in items]
    for before, after, item in zip(found, found[1:], items[1:], strict=False):
        if after <= before:
            raise item.wrong("an instant after the one before it")
    return found


def _candles(axis: Node, symbol: str) -> tuple[Callable[[], Rows[Any]], list[int], float]:
    """The bars of a time axis that consists of candles, read on first use; their opens; the close of the last one."""
    import numpy as np

    cells = _fast_candles(axis)
    if cells is None:
        items = [item.items(6) for item in axis.items()]
        starts = ascending(Node([item[0].value for item in items], axis.path, axis.latest))
        cells = np.array([(at, *_parts(item)) for at, item in zip(starts, items, strict=True)])
    else:
        starts = cells[:, 0].astype("int64").tolist()

    def bars() -> Rows[Any]:
        periods = zip(starts, steps(starts), cells[:, 1:].tolist(), strict=True)
        return rows(USD_BARS, [bar(symbol, at, step, *one[:4], volume_usd=one[4]) for at, step, one in periods], {})

    return bars, starts, float(cells[-1, 4])


def _parts(candle: Sequence[Node]) -> tuple[float, ...]:
    return (*(part.price() for part in candle[1:5]), float(candle[5].amount()))


_DIGITS_ONLY = re.compile(r"[0-9.]+")
_PARTS = 6  # of a candle


def _fast_candles(axis: Node) -> npt.NDArray[np.float64] | None:
    """Candles of plain numbers in order, with opens in milliseconds; ``None`` for all others."""
    import numpy as np

    if not isinstance(axis.value, list):
        return None
    texts: list[str] = []
    for candle in axis.value:
        if not isinstance(candle, list) or len(candle) < _PARTS:
            return None
        texts += map(str, candle[:_PARTS])
    if not _DIGITS_ONLY.fullmatch("".join(texts)):
        return None
    try:
        cells = np.array(list(map(float, texts))).reshape(-1, _PARTS)
    except ValueError:
        return None
    opens = cells[:, 0]
    good = (cells[:, 1:5] > 0).all() and (np.diff(opens) > 0).all() and (opens == np.floor(opens)).all()
    unit = _core.time_unit(int(opens[0])) if good else None
    if unit not in FACTORS or _core.time_unit(int(opens[-1])) != unit:
        return None
    cells[:, 0] *= FACTORS[unit]
    return cells if opens[-1] <= axis.latest else None


def steps(starts: Sequence[int]) -> list[int]:
    """The length of each period: until the next one; the last is as long as the one before it, or an hour if alone."""
    found = [after - before for before, after in itertools.pairwise(starts)]
    return [*found, found[-1] if found else 60 * 60 * 1000]


ENDS = "times are ends of columns; the service sends starts"
AS_SENT = "times are as sent; the length of a column is unknown"


def column_ends(starts: Sequence[int]) -> list[int]:
    """The end of each column: the start of the next one. The start of a column that is alone stays as it is."""
    if len(starts) == 1:
        return list(starts)
    return [start + step for start, step in zip(starts, steps(starts), strict=True)]


def bar(symbol: str, start: int, step: int, *prices: float, **volume: float) -> dict[str, Any]:
    """A bar of a coin."""
    parts = dict(zip(("open", "high", "low", "close"), prices, strict=True))
    return {"symbol": symbol, "timestamp": start, "closes_at": start + step, "interval": step, **parts, **volume}


class Levels:
    """The levels of a liquidation map, added up by price and leverage."""

    def __init__(self) -> None:
        self.cells: dict[tuple[float, str], dict[int | None, Decimal]] = {}
        self.by_exchange: dict[str, dict[float, Decimal]] = {}

    def add(
        self, price: float, amount: Decimal, leverage: int | None, side: str = "", exchange: str | None = None
    ) -> None:
        """Add a level; an empty side is decided by the price of the map."""
        tiers = self.cells.setdefault((price, side), {})
        tiers[leverage] = tiers.get(leverage, Decimal(0)) + amount
        if exchange is not None:
            mine = self.by_exchange.setdefault(exchange, {})
            mine[price] = mine.get(price, Decimal(0)) + amount

    def map(self, *, symbol: str, range: str, updated_at: int, price: float, meta: dict[str, Any]) -> LiquidationMap:
        """The map. A price that is NaN leaves the sides unknown."""
        import numpy as np

        keys = sorted(self.cells)
        leverages = sorted({leverage for tiers in self.cells.values() for leverage in tiers if leverage is not None})
        bounded(len(keys), max(len(leverages), len(self.by_exchange)), "data")
        prices = np.array([key[0] for key in keys], dtype=np.float64)
        below = ["unknown" if math.isnan(price) else "long" if key[0] < price else "short" for key in keys]
        sides = [key[1] or side for key, side in zip(keys, below, strict=True)]
        tiers = [[float(self.cells[key].get(leverage, 0)) for leverage in leverages] for key in keys]
        meta = dict(meta)
        if self.by_exchange:
            meta["exchanges"] = {
                name: np.array([float(mine.get(key[0], 0)) for key in keys]) for name, mine in self.by_exchange.items()
            }
        return LiquidationMap(
            symbol=symbol,
            range=range,
            updated_at=datetime_of(updated_at),
            current_price=price,
            bin_width=_width(prices),
            leverages=np.array(leverages, dtype=np.int64),
            prices=prices,
            sides=np.array(sides, dtype=np.str_),
            tiers=np.array(tiers, dtype=np.float64).reshape(len(keys), len(leverages)),
            total=np.array([float(sum(self.cells[key].values(), Decimal(0))) for key in keys], dtype=np.float64),
            meta=meta,
        )


def _width(prices: npt.NDArray[np.float64]) -> float:
    """The width of a bin: the step of the prices; NaN if the steps differ."""
    import numpy as np

    found = np.diff(np.unique(prices))
    if found.size == 0 or not np.allclose(found, found[0], rtol=1e-6, atol=0.0):
        return math.nan
    return float(found[0])


def largest_first(made: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of totals, largest first."""
    return sorted(made, key=lambda row: -row["total_usd"])
