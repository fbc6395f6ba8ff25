"""Types of rows, answers and parameters, for annotations.

Exact amounts are ``decimal.Decimal``: ``OrderRow`` is ``OrderRow[Decimal]``. Rows of a client with ``decimals="float"``
are ``OrderRow[float]``. Times are integers, epoch milliseconds.

Examples
--------
>>> from liqdata.types import OrderRow
>>> def notional(row: OrderRow) -> float:
...     return float(row["price"] * row["qty"])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Literal, NotRequired, TypeAlias, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime, timedelta
    from decimal import Decimal

    from typing_extensions import TypeVar

    Amount = TypeVar("Amount", default=Decimal)
else:  # type variables can have defaults only since Python 3.13
    from typing import TypeVar

    Amount = TypeVar("Amount")

__all__ = [
    "ArchiveTable",
    "BarRow",
    "Bound",
    "BracketRow",
    "CascadeRow",
    "ChartRow",
    "ClientOptions",
    "Cluster",
    "ClusterRow",
    "CoinRow",
    "CollectorStatus",
    "Completeness",
    "CoverageRow",
    "Decimals",
    "ExchangeRow",
    "ExchangeState",
    "ExchangeStatus",
    "FindingRow",
    "GapRow",
    "Headline",
    "HeatmapRange",
    "HistoryGroup",
    "HistoryRow",
    "IngestRow",
    "Instant",
    "Instants",
    "Instrument",
    "InstrumentKind",
    "KnownBy",
    "LevelTier",
    "Levels",
    "LiquidationRow",
    "MapKind",
    "MapRange",
    "MapRow",
    "MapSide",
    "MapSource",
    "MapView",
    "MaxPain",
    "ModelNumber",
    "OpenInterestRow",
    "Opened",
    "OrderRow",
    "Overview",
    "Pain",
    "PositionRow",
    "PositionsStatus",
    "PriceKind",
    "Progress",
    "RawStatus",
    "Sampling",
    "SeenPositionRow",
    "Side",
    "Span",
    "TotalsRange",
    "TruthRow",
    "UndercountRow",
    "UndoRow",
    "Units",
    "View",
    "Window",
    "WindowTotals",
]

Instant: TypeAlias = "int | str | datetime"
"""An instant: epoch milliseconds, a datetime (naive ones are UTC) or ISO 8601 text."""

Bound: TypeAlias = "Instant | timedelta"
"""Start or end of a time range: an instant, or a time before now, as text such as ``"-7d"`` or a timedelta."""

Instants: TypeAlias = "Instant | Iterable[Instant]"
"""An instant, or several."""

Progress: TypeAlias = "bool | Callable[[int, int | None], object]"
"""Whether to show a progress bar, or a function of the number done and the total (``None`` if unknown)."""

Window: TypeAlias = Literal["1h", "4h", "12h", "24h", "1d"]
"""Rolling window of a realised total; ``1d`` is ``24h``."""

TotalsRange: TypeAlias = Literal["1h", "4h", "12h", "24h", "1d", "3d", "7d", "1w", "1M", "30d", "3M", "6M", "1y"]
"""Range of totals, rankings and coverage that ends now; ``1M`` is 30 days, ``3M`` 90, ``6M`` 180 and ``1y`` 365."""

Sampling: TypeAlias = Literal["complete", "latest", "largest_of_side", "latest_or_largest", "unknown"]
"""Which liquidations an exchange publishes: all of them, or only the latest or the largest one of each interval."""

HistoryGroup: TypeAlias = Literal["coin", "symbol", "exchange", "side"]
"""Grouping columns of liquidations over time."""

HeatmapRange: TypeAlias = Literal["12h", "24h", "1d", "3d", "7d", "1w", "1M", "30d", "3M", "6M", "1y", "all"]
"""Range of a heatmap: time before *now* in which the included positions were opened.

``1d`` is ``24h``, ``1w`` is ``7d`` and ``30d`` is ``1M``; ``3M`` is 90 days, ``6M`` 180, ``1y`` 365, and ``all`` starts
with the first bar.
"""

MapRange: TypeAlias = Literal["1d", "24h", "7d", "1w", "12h", "3d", "1M", "30d", "3M", "6M", "1y", "all"]
"""Range of a liquidation map, like :data:`HeatmapRange`."""

ModelNumber: TypeAlias = Literal[2, 3]
"""View of an estimate: 2 for USD of open interest, 3 for USD expected to be reported as liquidated."""

Side: TypeAlias = Literal["LONG", "SHORT"]
"""Side of the liquidated position."""

MapKind: TypeAlias = Literal["heatmap", "liqmap", "levels", "maxpain"]
"""Name of the method that returned an estimated map."""

ArchiveTable: TypeAlias = Literal["orders", "bars", "open_interest", "maps", "positions", "totals"]
"""A table of an archive."""

MapSource: TypeAlias = Literal["estimate", "positions"] | str  # noqa: PYI051 - the names are for completion
"""Source of a map: an estimate, observed positions (liquidation maps only), or the name of a recorded source."""

MapView: TypeAlias = Literal["modelled", "blended"]
"""Which positions of a map are exact: none, or those of accounts that are known."""

Opened: TypeAlias = Literal["ever", "range"]
"""Which positions an estimate counts: all that are open, or those that were opened within the range."""

MapSide: TypeAlias = Literal["long", "short"]
"""Side of the positions in a bin of a liquidation map; frames have :data:`Side`."""

View: TypeAlias = Literal["exposed", "expected", "measured"]
"""Meaning of the USD in a map: open interest, liquidations expected to be reported, or observed positions."""

Span: TypeAlias = Literal["reach", "all"]
"""Prices that a map shows: those of the range and those that the price is likely to reach, or all."""

Headline: TypeAlias = Literal["reach", "strongest"]
"""How the headline price of a side is chosen: by the USD that the price is likely to reach, or by USD alone."""

Units: TypeAlias = Literal["usd", "relative"]
"""Unit of the amounts of an answer: USD, or relative ones where open interest is unknown."""

Decimals: TypeAlias = Literal["decimal", "float"]
"""Type of exact amounts in frames: ``decimal.Decimal`` or ``float``."""

RowDecimals: TypeAlias = Literal["decimal", "float", "text"]
"""Type of exact amounts in dict rows: ``decimal.Decimal``, ``float``, or text with every digit."""

Completeness: TypeAlias = Literal["sampled", "complete", "unknown", "totals"]
"""Whether an exchange publishes every liquidation (``complete``) or only some of them (``sampled``).

``totals``: no orders are known, only totals of periods.
"""

KnownBy: TypeAlias = Literal["documented", "verified", "unknown"]
"""Evidence for the completeness: the documentation of the exchange, or a check of its sequence numbers."""

ExchangeState: TypeAlias = Literal["starting", "live", "degraded", "down", "stopped"]
"""State of the connections to an exchange."""

PriceKind: TypeAlias = Literal["avg_fill", "fill", "bankruptcy", "takeover", "order", "liquidation"]
"""Meaning of a price: average or single fill, bankruptcy price, price at which the exchange took over the position,
limit price of the order, or liquidation price."""

InstrumentKind: TypeAlias = Literal["linear", "inverse"]
"""Unit of the contract size: base units (``linear``), or USD (``inverse``)."""


class ClientOptions(TypedDict, total=False):
    """Options of a client other than its address and ``decimals``."""

    timeout: float
    connect_timeout: float
    retries: int
    rate_limit: float | None
    max_body: int
    headers: Mapping[str, str] | None
    proxy: str | None
    token: str | None


class WindowTotals(TypedDict):
    """Liquidated long, short and total USD, and the number of orders, in one window."""

    long_usd: float
    short_usd: float
    total_usd: float
    cnt: int


Overview = TypedDict(
    "Overview",
    {
        "1h": WindowTotals,
        "4h": WindowTotals,
        "12h": WindowTotals,
        "24h": WindowTotals,
        "3d": NotRequired[WindowTotals],
        "7d": NotRequired[WindowTotals],
        "1M": NotRequired[WindowTotals],
        "3M": NotRequired[WindowTotals],
        "6M": NotRequired[WindowTotals],
        "1y": NotRequired[WindowTotals],
        "period": NotRequired[WindowTotals],
    },
)
Overview.__doc__ = """Keys of the totals of time ranges, which are a :class:`liqdata.Record`.

``range=`` adds one of the ranges that are longer than 24 hours, and ``start=`` or ``end=`` adds ``period``. Another
service may omit windows; check with ``"1h" in answer``."""


class CoinRow(TypedDict):
    """One row of the coin ranking."""

    coin: str
    long_usd: float
    short_usd: float
    total_usd: float
    cnt: int


class ExchangeRow(TypedDict, Generic[Amount]):
    """One row of the exchange totals."""

    exchange: str
    long_usd: Amount
    short_usd: Amount
    total_usd: Amount
    cnt: int


class OrderRow(TypedDict, Generic[Amount]):
    """One liquidation order; ``qty`` in base units, ``timestamp`` in epoch milliseconds.

    ``group_id`` is present only with ``groups=True``.
    """

    exchange: str
    symbol: str
    side: Side
    price: Amount
    qty: Amount
    value_usd: Amount
    timestamp: int
    group_id: NotRequired[str | None]


class ChartRow(TypedDict, Generic[Amount]):
    """USD liquidated on one side in one UTC hour; ``hour`` is its start in epoch milliseconds."""

    hour: int
    side: Side
    total_usd: Amount


class LevelTier(TypedDict):
    """The strongest price level of one leverage tier on each side; intensities are 0 to 1."""

    longPrice: float
    longIntensity: float
    shortPrice: float
    shortIntensity: float


class Levels(TypedDict):
    """Keys of the strongest liquidation levels of a coin, which are a :class:`liqdata.Record`.

    The keys of ``tiers`` are leverages as text.
    """

    symbol: str
    price: float
    updatedAt: int
    tiers: dict[str, LevelTier]


class Cluster(TypedDict):
    """One liquidation level; ``distPct`` is its signed distance from the current price in percent."""

    price: float
    usd: float
    distPct: float


class Pain(TypedDict):
    """The strongest liquidation level on each side in one range, and the totals."""

    long: Cluster
    short: Cluster
    totalLong: float
    totalShort: float


class MaxPain(TypedDict):
    """Keys of the max pain of a coin over one day (``d1``) and seven days (``d7``), which is a :class:`liqdata.Record`.

    A service other than liqdata may omit one of them; check with ``"d1" in answer``.
    """

    symbol: str
    price: float
    updatedAt: int
    d1: Pain
    d7: Pain


class CoverageRow(TypedDict):
    """Coverage of one exchange in a window; ``None`` marks values that were not measured."""

    exchange: str
    connected_share: float | None
    completeness: Completeness
    known_by: KnownBy
    last_event: int | None
    gaps: int
    cnt: int
    topics: int | None
    topics_covered: int | None
    recovered: int | None
    rejected: int | None
    unpriced: int | None
    quarantined: int | None
    unjudged: int | None
    holes: int | None
    numbered: int | None
    clock_ahead: int | None
    compared_usd: float | None
    exchange_usd: float | None
    open_interest_outliers: int | None
    bar_outliers: int | None


class HistoryRow(TypedDict, Generic[Amount]):
    """Liquidations of one period and group; amounts are ``None`` where nothing is known of the period.

    ``covered`` is the covered share of the period.
    """

    timestamp: int
    coin: NotRequired[str]
    symbol: NotRequired[str]
    exchange: NotRequired[str]
    side: NotRequired[Side]
    long_usd: Amount | None
    short_usd: Amount | None
    total_usd: Amount | None
    cnt: int | None
    largest_usd: Amount | None
    covered: float | None


class CascadeRow(TypedDict, Generic[Amount]):
    """Orders of one coin and side in quick succession; unknown values are ``None``."""

    start: int
    end: int
    coin: str
    side: Side
    usd: Amount
    cnt: int
    exchanges: int
    largest_usd: Amount
    price_before: float | None
    price_after: float | None
    change_1m: float | None
    change_5m: float | None
    change_1h: float | None
    percentile_7d: float | None


class UndercountRow(TypedDict, Generic[Amount]):
    """Published and estimated USD of one exchange; the estimates are ``None`` if none is possible."""

    exchange: str
    sampling: Sampling
    observed_usd: Amount
    estimated_usd: float | None
    low_usd: float | None
    high_usd: float | None
    method: str


class PositionRow(TypedDict):
    """One open position of a simulated market; ``qty`` in base units."""

    symbol: str
    side: Side
    leverage: float
    entry_price: float
    liquidation_price: float
    qty: float


class SeenPositionRow(TypedDict, Generic[Amount]):
    """One observed position of an account; unknown values are ``None``."""

    exchange: str
    account: str
    coin: str
    side: Side
    qty: Amount
    entry_price: Amount | None
    leverage: float | None
    margin_mode: str | None
    liquidation_price: Amount | None
    value_usd: Amount
    observed_at: int


class TruthRow(TypedDict):
    """Score of the map of a coin and side against known positions (:func:`liqdata.score_truth`)."""

    symbol: str
    side: Side
    overlap: float
    rank_correlation: float
    ratio_1pct: float
    ratio_2pct: float
    ratio_5pct: float
    ratio_10pct: float


class ShareRow(TypedDict):
    """Liquidatable share of an exchange, coin and side (:func:`liqdata.fit_shares`)."""

    exchange: str
    coin: str
    side: Side
    share: float
    lower: float
    upper: float
    days: int
    start: int
    end: int
    realised_usd: float
    crossed_usd: float
    ratio: float


class ClusterRow(TypedDict):
    """One cluster of a liquidation map; amounts are in the units of the map."""

    side: Side
    low_price: float
    high_price: float
    peak_price: float
    distance_pct: float
    amount: float
    side_share: float
    low_amount: float | None
    high_amount: float | None


class BarRow(TypedDict):
    """One price bar of a coin; ``timestamp`` is its open, ``closes_at`` its close."""

    symbol: str
    timestamp: int
    closes_at: int
    open: float
    high: float
    low: float
    close: float
    volume: float
    interval: int


class OpenInterestRow(TypedDict):
    """One open-interest reading of a coin in base units, one side.

    ``exchange`` is ``None`` for a total.
    """

    symbol: str
    exchange: str | None
    timestamp: int
    open_interest: float


class MapRow(TypedDict):
    """One estimated map as the server sent it.

    ``timestamp`` is the close of its last bar, ``explain`` is JSON text.

    ``version`` is the :attr:`liqdata.Model.version` of its model, ``None`` if not stored.
    """

    kind: MapKind
    symbol: str
    params: str
    timestamp: int
    computed_at: int
    reply: str
    explain: str | None
    version: str | None


class BracketRow(TypedDict):
    """One bracket of an exchange's maintenance margins; ``as_of`` in epoch milliseconds."""

    exchange: str
    symbol: str
    tier: int
    notional_cap_usd: float | None
    maintenance_margin: float
    max_leverage: float
    deduction_usd: float
    as_of: int
    source: str


class FindingRow(TypedDict):
    """A damaged, missing or unexpected file of an archive."""

    file: str
    holds: str
    problem: Literal["damaged", "missing", "unexpected"]
    detail: str
    rows: int | None
    first: int | None
    last: int | None
    repaired: bool


class IngestRow(TypedDict):
    """An ingest and the number of rows that it stored.

    ``files`` is text with one line per file.
    """

    id: str
    source: str | None
    files: str
    first: int | None
    last: int | None
    received_at: int
    orders: int
    bars: int
    open_interest: int
    positions: int
    totals: int
    undone: int | None


class UndoRow(TypedDict):
    """The undone ingest, or an ingest to run again.

    An ingest to run again repeated ``run_again`` rows of the undone one.
    """

    id: str
    source: str | None
    files: str
    rows: int
    undone: int | None
    run_again: int


class GapRow(TypedDict):
    """An interval in which orders of an exchange may be missing, and its backfill.

    ``holds`` is ``None`` if orders are missing. It is ``"bars"``, ``"open_interest"``, ``"positions"`` or ``"maps"`` if
    damage to a file removed rows of that table.
    """

    exchange: str
    start: int
    end: int
    reason: str
    topic: str | None
    state: str
    recovered_at: int | None
    recovered: int | None
    holds: str | None


class LiquidationRow(TypedDict):
    """One decoded liquidation; ``qty`` and ``value_usd`` are ``None`` if the contract's multiplier is unknown."""

    exchange: str
    symbol: str
    coin: str
    side: Side
    price: Decimal
    price_kind: PriceKind
    qty: Decimal | None
    value_usd: Decimal | None
    timestamp: int | None
    received_at: int | None
    native_id: str
    sampled: bool
    dedupe_key: str
    group_id: str | None


class Instrument(TypedDict):
    """One market of an exchange; ``contract_size`` is an exact decimal as text, in base units or USD."""

    base: str
    quote: str
    kind: InstrumentKind
    contract_size: str


class ExchangeStatus(TypedDict):
    """Status of one exchange; counts begin when the collector starts, times are epoch ms."""

    exchange: str
    state: ExchangeState
    events_per_minute: int
    events: int
    last_event: int | None
    lag: int | None
    clock_ahead: int | None
    last_received: int | None
    gaps: int
    last_gap: str | None
    connections: int
    reachable: bool | None
    connect_error: str | None
    sockets: int
    sockets_wanted: int
    rejected: int
    repeated: int
    unasked: int
    pending: int
    unpriced: int
    suspect: int
    quarantined: int
    unjudged: int
    holes: int
    numbered: int
    connected_share: float | None
    completeness: Completeness | None
    known_by: KnownBy | None
    recovered: int | None
    lost: int
    markets_as_of: int | None
    topics: int
    uncovered: list[str]
    uncovered_count: int
    bars: int
    open_interest: int
    asked: int
    to_ask: int
    trouble: str | None
    troubles: int


class RawStatus(TypedDict):
    """Status of the stored frames: ``bytes`` on disk, and ``dropped`` frames that could not be stored."""

    frames: int
    dropped: int
    bytes: int
    trouble: str | None


class PositionsStatus(TypedDict):
    """Status of position snapshots; counts begin when the collector starts."""

    live: bool
    accounts: int
    missing: int
    positions: int
    snapshots: int
    last_snapshot: int | None
    refused: int
    trouble: str | None


class CollectorStatus(TypedDict):
    """Status of a collector; counts include only new rows that are durable."""

    at: int
    since: int
    exchanges: list[ExchangeStatus]
    orders: int
    bars: int
    open_interest: int
    repeated: int
    waiting: int
    log_bytes: int
    trouble: str | None
    raw: RawStatus
    filled: bool
    positions: NotRequired[PositionsStatus]
    maps: NotRequired[int]
    maps_lost: NotRequired[int]
