"""The parameters of an estimate: :class:`Model`.

A map assigns USD to cells (intervals of price). Its view says what a cell counts: all open interest (``exposure``), or
the part that is expected to be liquidated and reported (``expected``). Methods with ``model=`` accept a
:class:`Model`. The numbers 2 and 3 stand for the default parameters with the first and the second view.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

from . import _core
from .calls.traceback import public_methods
from .errors import BadQuery

__all__ = ["Model"]

_PARAMETERS = (
    "tiers",
    "weights",
    "mmr",
    "clocks",
    "entries",
    "grid",
    "phi0",
    "kappa0",
    "nu",
    "shares",
    "drift",
    "name",
)


@public_methods
class Model:
    """Parameters of an estimate, checked and versioned.

    A parameter that is left out has its default. ``docs/explanation/model.md`` lists parameters and defaults.

    Parameters
    ----------
    tiers : sequence of int, optional
        Leverages, ascending, 2 to 1000; at most 64. Whole numbers may be floats. Default: fourteen from 2 to 125.
    weights : sequence of float, optional
        Share of the open interest in each tier; the weights are scaled to the sum 1. Default: leverage to the power of
        -3/4, or equal weights if ``tiers`` is given.
    mmr : float or sequence of float, optional
        Maintenance margin rate of all tiers, or one rate per tier. A single rate is capped at ``1 / (2 * leverage)``.
        :func:`liqdata.margin.brackets` returns the rates that exchanges publish.
    clocks : sequence of (float, float), optional
        Speeds at which positions are closed: one pair per group of positions, its share of new positions and its
        turnover per day of average volume. The shares sum to 1.
    entries : int, optional
        Number of entry prices per bar, 1 to 255. Positions that open during a bar are spread over these prices.
    grid : float, optional
        Width of a cell in log price, 1e-5 to 0.1.
    phi0 : float, optional
        Share of the open interest crossed by the price that counts as liquidated if no liquidations are known, 0 to 1.
    kappa0 : float, optional
        USD liquidated and reported per USD crossed by the price, before the fit has data; 1e-6 to 1. Selects the
        expected view. Default: 0.21, or 0.11 once the open interest of Binance, Bybit and OKX has been read.
    nu : float, optional
        Weight of the Gamma prior in the fit, as a number of liquidations of mean size, 1e-3 to 1e6. For the differences
        between tiers the prior has ten times this weight. Selects the expected view.
    shares : Shares or sequence of mapping, optional
        Share of new positions that gets a liquidation price, 0 to 1: rows of ``exchange``, ``coin``, ``share`` and
        optionally ``side`` (``LONG`` or ``SHORT``; both by default), such as those of :func:`liqdata.fit_shares`. All
        others have the share 1; an empty sequence leaves all at 1. Default: the measured shares, of Hyperliquid.
    drift : (float, float), optional
        Moves of liquidation prices, because positions get or lose margin: the share of the slowest clock's positions
        that moves in a day, 0 to 1, and the standard deviation of the move of a day in log price, 0 to 0.1. Default:
        none.
    name : str, optional
        A label for your own use. It affects neither the estimate nor ``version``.

    Attributes
    ----------
    version : str
        A digest of all parameters that affect a map: two models with the same version give the same maps.
    view : {"exposed", "expected"}
        What a cell counts: USD of open interest, or, if ``kappa0`` or ``nu`` is given, USD expected to be
        liquidated and reported.

    Raises
    ------
    BadQuery
        If a parameter is not allowed; ``parameter`` names it.

    Examples
    --------
    >>> import liqdata
    >>> own = liqdata.Model(tiers=[10, 50], weights=[3, 1], name="two")
    >>> own.weights
    (0.75, 0.25)
    >>> with liqdata.demo() as market:
    ...     map = market.liqmap("BTC", model=own)
    >>> explain = map.meta["explain"]
    >>> liqdata.Model(**explain["model"]).version == explain["modelVersion"] == own.version
    True
    """

    __slots__ = (*_PARAMETERS, "_core", "_given", "version", "view")

    _core: _core.Specification
    _given: dict[str, Any]
    tiers: tuple[int, ...]
    weights: tuple[float, ...]
    mmr: float | tuple[float, ...] | None
    clocks: tuple[tuple[float, float], ...]
    entries: int
    grid: float
    phi0: float
    kappa0: float
    nu: float | None
    shares: tuple[dict[str, Any], ...] | None
    drift: tuple[float, float] | None
    name: str | None
    version: str
    view: str

    def __init__(
        self,
        *,
        tiers: Iterable[int] | None = None,
        weights: Iterable[float] | None = None,
        mmr: float | Iterable[float] | None = None,
        clocks: Iterable[tuple[float, float]] | None = None,
        entries: int | None = None,
        grid: float | None = None,
        phi0: float | None = None,
        kappa0: float | None = None,
        nu: float | None = None,
        shares: Iterable[Mapping[str, Any]] | None = None,
        drift: tuple[float, float] | None = None,
        name: str | None = None,
    ) -> None:
        given = {
            "tiers": tiers,
            "weights": weights,
            "mmr": mmr,
            "clocks": clocks,
            "entries": entries,
            "grid": grid,
            "phi0": phi0,
            "kappa0": kappa0,
            "nu": nu,
            "shares": _share_rows(shares),
            "drift": drift,
            "name": name,
        }
        self._be({key: _plain(key, value) for key, value in given.items() if value is not None})

    def _be(self, given: dict[str, Any]) -> None:
        core = _core.Specification(json.dumps(given, allow_nan=False))
        tiers, weights, clocks, entries, grid, phi0, kappa0 = core.resolved()
        mmr = given.get("mmr")
        found = {
            "_core": core,
            "_given": given,
            "tiers": tuple(int(tier) for tier in tiers),
            "weights": tuple(weights),
            "mmr": tuple(mmr) if isinstance(mmr, list) else mmr,
            "clocks": tuple(clocks),
            "entries": entries,
            "grid": grid,
            "phi0": phi0,
            "kappa0": kappa0,
            "nu": given.get("nu"),
            "shares": tuple(map(dict, given["shares"])) if "shares" in given else None,
            "drift": tuple(given["drift"]) if "drift" in given else None,
            "name": given.get("name"),
            "version": core.version(),
            "view": {2: "exposed", 3: "expected"}[core.view()],
        }
        for key, value in found.items():
            object.__setattr__(self, key, value)

    def __setattr__(self, key: str, value: object) -> None:
        """Refuse: a model is immutable."""
        msg = f"a Model does not change; make another one with {key}={value!r}"
        raise AttributeError(msg)

    def __delattr__(self, key: str) -> None:
        """Refuse: a model is immutable."""
        msg = f"a Model does not change; {key} stays"
        raise AttributeError(msg)

    def __repr__(self) -> str:
        """The call that creates this model, with its version."""
        given = ", ".join(f"{key}={value!r}" for key, value in self._given.items())
        return f"Model({given})  # version {self.version}, {self.view}"

    def __eq__(self, other: object) -> bool:
        """Whether both models have the same version, view and name."""
        if not isinstance(other, Model):
            return NotImplemented
        return (self.version, self.view, self.name) == (other.version, other.view, other.name)

    def __hash__(self) -> int:
        """Equal models have equal hashes."""
        return hash((self.version, self.view, self.name))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the given parameters."""
        return _again, (self._given,)


def _again(given: Mapping[str, Any]) -> Model:
    return Model(**given)


def _share_rows(shares: object) -> object:
    """Convert rows of shares to what the core reads: exchange, coin, side and share."""
    if not isinstance(shares, Iterable) or isinstance(shares, (str, bytes, Mapping)):
        return shares
    allowed = _core.Specification.allowed("shares")
    rows = []
    for place, row in enumerate(shares):
        if not isinstance(row, Mapping) or not {"exchange", "coin", "share"} <= set(row):
            raise BadQuery(f"shares: row {place}, {row!r}, is not allowed; allowed: {allowed}", parameter="shares")
        share = row["share"]
        if isinstance(share, bool) or not isinstance(share, Real) or not math.isfinite(share):
            msg = f"shares: row {place}, the share {share!r} is not allowed; allowed: {allowed}"
            raise BadQuery(msg, parameter="shares")
        found = {"exchange": str(row["exchange"]).lower(), "coin": _core.coin(str(row["coin"])), "share": float(share)}
        rows.append(found if row.get("side") is None else {**found, "side": str(row["side"]).upper()})
    return rows


def _plain(key: str, value: object) -> object:
    """Convert a parameter to JSON types; numpy scalars and arrays are allowed."""
    if key == "shares" and isinstance(value, list):
        return value
    if isinstance(value, str):
        if key == "name":
            return value
    elif isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    elif isinstance(value, Real) and not isinstance(value, bool):
        if math.isfinite(value):
            return float(value)
        msg = f"{key}: {value!r} is not finite; allowed: {_core.Specification.allowed(key)}"
        raise BadQuery(msg, parameter=key)
    elif isinstance(value, Iterable) and not isinstance(value, (bytes, Mapping)):
        return [_plain(key, one) for one in value]
    msg = f"{key}: {value!r} is of type {type(value).__name__}; allowed: {_core.Specification.allowed(key)}"
    raise BadQuery(msg, parameter=key)


def native(model: object) -> object:
    """Convert a ``model=`` argument to the type of the Rust core."""
    return model._core if isinstance(model, Model) else model  # noqa: SLF001 - its own module
