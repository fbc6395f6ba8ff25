"""The tools: their arguments, and the rows that each one returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from liqdata.errors import BadQuery

from . import schema
from .schema import argument, arguments, column, columns_of
from .texts import NOTE_COLUMNS, SCORES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["TOOLS", "AgentTool", "Found"]

_COLUMNS_OF_LEVELS = [
    column("range", "text", "d1 or d7, of max pain; null for levels."),
    column("leverage", "int", "Leverage tier, of levels; null for max pain."),
    column("side", "text", "Side of the positions: LONG or SHORT."),
    column("price", "float", "The headline price", "USD"),
    column("distance_pct", "float", "Signed distance from the current price, in percent of the price"),
    column("amount", "float", "Sum from `low_price` to `high_price`, of max pain, in `units` of the reply"),
    column("low_price", "float", "Lower end of `amount`", "USD"),
    column("high_price", "float", "Upper end of `amount`", "USD"),
    column("reach", "float", "Chance that the price comes there within the range, 0 to 1, of max pain"),
    column("strongest_price", "float", "The largest single bin of the side at any distance, of max pain", "USD"),
    column("strongest_amount", "float", "Amount of this one bin, in `units` of the reply"),
    column("strongest_reach", "float", "Chance that the price comes to it within the range, 0 to 1"),
    column("intensity", "float", "Share of the largest level, 0 to 1, of levels"),
]
_OVERVIEW = [column("window", "text", "Rolling window up to now."), *columns_of("coins")[1:]]
_RANKINGS = ("coins", "exchanges", "largest")
_COVERAGE = ("exchanges", "gaps")


class Found(NamedTuple):
    """Rows from the requested offset on, and whether more exist."""

    rows: Sequence[Mapping[str, Any]]
    more: bool
    columns: Sequence[Mapping[str, Any]]
    of: Any = None
    """The answer with `meta`, `units` and, for estimates, the price."""
    reachable: int | None = None
    """The offset from which on a source has no rows to give, even if they exist."""
    total: int | None = None
    """The number of all rows, if it is known."""


class AgentTool(NamedTuple):
    """A tool: its name, description, arguments, columns, and the function that finds its rows."""

    name: str
    description: str
    kind: Literal["realised", "estimate", "measured"]
    arguments: dict[str, dict[str, Any]]
    columns: tuple[Sequence[Mapping[str, Any]], ...]
    find: Callable[[Any, dict[str, Any], int, int], Found]

    @property
    def input_schema(self) -> dict[str, Any]:
        """The schema of the arguments."""
        optional = {name: schema.nullable(wanted) for name, wanted in self.arguments.items()}
        return {"type": "object", "properties": optional, "additionalProperties": False}

    @property
    def output_schema(self) -> dict[str, Any]:
        """The schema of the reply."""
        return schema.output(schema.rows_schema(self.columns), self.kind)

    @property
    def meanings(self) -> dict[str, str]:
        """The meaning and unit of each column."""
        found = {}
        for each in (each for columns in self.columns for each in columns):
            unit = f" ({each['unit']})" if each["unit"] else ""
            found[each["name"]] = f"{each['meaning'].rstrip('.')}{unit}."
        return found


def _part(rows: Any, columns: Sequence[Mapping[str, Any]], offset: int, count: int, *, of: Any = None) -> Found:
    """A page of rows that were all computed."""
    chosen = [rows[place] for place in range(offset, min(offset + count, len(rows)))]
    return Found(chosen, len(rows) > offset + count, columns, rows if of is None else of, total=len(rows))


def _coverage(of: Any, given: dict[str, Any], offset: int, count: int) -> Found:
    rows = _one_of("rows", given.pop("rows", "exchanges"), _COVERAGE)
    if rows == "exchanges":
        _only_with(given, "rows", rows, "gaps", ("start", "end"))
        return _part(of.coverage(**given), columns_of("coverage"), offset, count)
    _only_with(given, "rows", rows, "exchanges", ("range",))
    return _part(of.gaps(**given), columns_of("gaps"), offset, count)


def _overview(of: Any, given: dict[str, Any], offset: int, count: int) -> Found:
    found = of.overview(**given)
    return _part([{"window": name, **totals} for name, totals in found.items()], _OVERVIEW, offset, count, of=found)


def _rankings(of: Any, given: dict[str, Any], offset: int, count: int) -> Found:
    kind = _one_of("kind", given.pop("kind", "coins"), _RANKINGS)
    if kind != "largest":
        _only_with(given, "kind", kind, "largest", ("symbol", "exchange", "min_usd"))
    if kind == "exchanges":
        return _part(of.exchanges(**given), columns_of(kind), offset, count)
    # One row more than shown says whether the reply is truncated, so the last row of the source is not shown.
    most = {"coins": 200, "largest": 1000}[kind]
    last = min(offset + count, most - 1)
    rows = getattr(of, kind)(limit=last + 1, **given)
    return _part(rows, columns_of(kind), offset, last - offset)._replace(reachable=most - 1, total=None)


def _orders(of: Any, given: dict[str, Any], offset: int, count: int) -> Found:
    rows = of.orders(limit=count + 1, offset=offset, **given)
    return _part(rows, columns_of("orders"), 0, count)._replace(total=None)


def _whole(endpoint: str) -> Callable[[Any, dict[str, Any], int, int], Found]:
    def find(of: Any, given: dict[str, Any], offset: int, count: int) -> Found:
        return _part(getattr(of, endpoint)(**given), columns_of(endpoint), offset, count)

    return find


def _clusters(of: Any, given: dict[str, Any], offset: int, count: int) -> Found:
    found = of.liqmap(explain=True, **given)
    return _part(found.clusters(), schema.cluster_columns(), offset, count, of=found)


def _levels(of: Any, given: dict[str, Any], offset: int, count: int) -> Found:
    pain = of.maxpain(explain=True, **given)
    rows: list[dict[str, Any]] = [
        {
            "range": span,
            "side": side.upper(),
            "price": pain[span][side]["price"],
            "distance_pct": pain[span][side]["distPct"],
            "amount": pain[span][side]["usd"],
            **_why(pain, span, side),
        }
        for span in ("d1", "d7")
        for side in ("long", "short")
        if pain[span].get(side) is not None
    ]
    levels = of.levels(**given)
    for leverage, tier in levels["tiers"].items():
        for side in ("long", "short"):
            price = tier.get(f"{side}Price")
            if price is not None:
                rows.append(
                    {
                        "leverage": leverage,
                        "side": side.upper(),
                        "price": price,
                        "distance_pct": 100 * (price / levels["price"] - 1),
                        "intensity": tier[f"{side}Intensity"],
                    }
                )
    return _part(rows, _COLUMNS_OF_LEVELS, offset, count, of=pain)


def _why(pain: Any, span: str, side: str) -> dict[str, float]:
    """Why a headline of max pain is where it is, if the service explains it."""
    explain = pain.meta.get("explain") or {}
    if "strongest" not in explain:
        return {}
    price, half = pain[span][side]["price"], explain["halfWidth"]
    strongest = explain["strongest"][span][side]
    return {
        "low_price": price - half,
        "high_price": price + half,
        "reach": explain["reach"][span][side],
        **{
            f"strongest_{name}": strongest[key]
            for name, key in (("price", "price"), ("amount", "usd"), ("reach", "reach"))
        },
    }


def _score_note(of: Any, given: dict[str, Any], offset: int, count: int) -> Found:
    del of, given
    names = [each["name"] for each in NOTE_COLUMNS]
    return _part([dict(zip(names, row, strict=True)) for row in SCORES], NOTE_COLUMNS, offset, count, of=())


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        msg = f"{name}: {value!r} is not allowed; allowed: {', '.join(map(repr, allowed))}"
        raise BadQuery(msg, parameter=name)
    return value


def _only_with(given: dict[str, Any], choice: str, chosen: str, other: str, names: tuple[str, ...]) -> None:
    """Refuse arguments that have no effect with the chosen rows."""
    for name in names:
        if name in given:
            msg = f"{name}: has no effect with {choice}={chosen!r}; allowed: with {choice}={other!r}"
            raise BadQuery(msg, parameter=name)


def _tool(  # noqa: PLR0917 - a row of the table below
    name: str,
    description: str,
    kind: Literal["realised", "estimate", "measured"],
    given: dict[str, dict[str, Any]],
    columns: Iterable[Sequence[Mapping[str, Any]]],
    find: Callable[[Any, dict[str, Any], int, int], Found],
) -> AgentTool:
    as_of = {} if name == "score_note" else {"as_of": schema.AS_OF}
    return AgentTool(name, description, kind, {**given, **as_of, **schema.paging()}, tuple(columns), find)


TOOLS = {
    tool.name: tool
    for tool in (
        _tool(
            "coverage",
            "Call this first. Which exchanges were recorded, for which share of a window, and which gaps are known. "
            "Outside the coverage a zero means unknown.",
            "realised",
            {
                "rows": argument("string", "a row per exchange, or per known gap", enum=[*_COVERAGE]),
                **arguments("coverage", ("range",)),
                **arguments("gaps", ("start", "end")),
            },
            (columns_of("coverage"), columns_of("gaps")),
            _coverage,
        ),
        _tool(
            "overview",
            "Liquidated USD of longs and shorts over the last 1, 4, 12 and 24 hours, of all coins.",
            "realised",
            {},
            (_OVERVIEW,),
            _overview,
        ),
        _tool(
            "rankings",
            "Coins or exchanges by liquidated USD, or the largest single liquidation orders, within a window.",
            "realised",
            {
                "kind": argument("string", "what is ranked", enum=[*_RANKINGS], default="coins"),
                **arguments("largest", ("range", "symbol", "exchange", "min_usd")),
            },
            map(columns_of, _RANKINGS),
            _rankings,
        ),
        _tool(
            "orders",
            "Single liquidation orders, newest first.",
            "realised",
            arguments("orders", ("symbol", "exchange", "min_usd", "start", "end")),
            (columns_of("orders"),),
            _orders,
        ),
        _tool(
            "history",
            "Liquidated USD by period, oldest first. `covered` is the recorded share of a period.",
            "realised",
            arguments("history", ("symbol", "interval", "by", "start", "end", "exchange", "min_usd")),
            (columns_of("history"),),
            _whole("history"),
        ),
        _tool(
            "cascades",
            "Liquidation cascades: orders of one coin and side in quick succession, with the price before and after.",
            "realised",
            arguments("cascades", ("symbol", "gap", "min_usd", "start", "end")),
            (columns_of("cascades"),),
            _whole("cascades"),
        ),
        _tool(
            "estimate_clusters",
            "Where liquidations would wait, by a model: the largest clusters of the liquidation map of a coin, with "
            "bounds, amount and distance. An estimate, not a forecast; call score_note for how sure it is.",
            "estimate",
            arguments("liqmap", ("symbol", "range", "model", "exchange", "opened")),
            (schema.cluster_columns(),),
            _clusters,
        ),
        _tool(
            "levels_maxpain",
            "The headline prices of the estimate of a coin: max pain of a day and a week, and levels by leverage. Max "
            "pain is the price with the largest product of `reach` and `amount`.",
            "estimate",
            arguments("maxpain", ("symbol", "model", "headline")),
            (_COLUMNS_OF_LEVELS,),
            _levels,
        ),
        _tool(
            "score_note",
            "How well the estimate did against what happened, including failures. The same for every source.",
            "measured",
            {},
            (NOTE_COLUMNS,),
            _score_note,
        ),
    )
}
