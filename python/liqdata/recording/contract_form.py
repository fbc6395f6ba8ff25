"""Recorded maps in the form of the contract, which a server sends without knowing the service they came from."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from liqdata import _core
from liqdata.calls.arguments import millis_of
from liqdata.errors import LiqdataError
from liqdata.results.heatmap import Heatmap
from liqdata.results.map import LiquidationMap

from .sources import Question, decoded

if TYPE_CHECKING:
    from .sources import Served

VERSION = "contract"
"""The version of a stored map in the form of the contract; a map as served has none."""

SERVED = ("heatmap", "liqmap", "maxpain")
"""The kinds of maps that a server sends."""


class ContractForm(NamedTuple):
    """A map that a server can send."""

    facts: dict[str, Any]
    """``version`` of the stored row, and how the map is asked for: ``range``, ``exchange`` and ``model``."""
    body: str | None
    """The map as JSON; ``None`` if the reply as served has this form already."""


def contract_form(question: Question, served: Served, at: int) -> ContractForm | None:
    """The form of a map that a server can send.

    Parameters
    ----------
    question : Question
        What was asked.
    served : Served
        The reply as it was served.
    at : int
        The instant of the recording, epoch milliseconds.

    Returns
    -------
    ContractForm or None
        ``None`` if the map lacks what the contract requires, such as the price of a vendor that sends none.
    """
    asked = Question.stored({"kind": question.kind, "symbol": question.symbol, "params": question.params})
    arguments = dict(asked.arguments)
    if asked.kind not in SERVED or "source" in arguments:
        return None
    found = decoded(asked, served.body, served.about, at)
    converted = "vendor" in served.about
    exchange = arguments.get("exchange")
    facts = {
        "version": VERSION if converted else None,
        "range": getattr(found, "range", None),
        "exchange": None if exchange is None else exchange.lower(),
        "model": getattr(found, "model", None),
    }
    if not converted:
        return ContractForm(facts, None)
    try:
        body = json.dumps(members(found), allow_nan=False, separators=(",", ":"))
        _core.read_reply(asked.kind, body.encode())
    except (ValueError, LiqdataError):
        return None
    return ContractForm(facts, body)


def members(found: Any) -> dict[str, Any]:
    """The members of a reply of the contract, from a map or a ranking of one."""
    if isinstance(found, Mapping):
        return {"success": True, "data": {**found, "units": getattr(found, "units", "relative")}}
    members: dict[str, Any] = {
        "symbol": found.symbol,
        "range": found.range,
        "updatedAt": millis_of(found.updated_at),
        "currentPrice": found.current_price,
    }
    if isinstance(found, Heatmap):
        known = [[None if math.isnan(cell) else cell for cell in row] for row in found.matrix.tolist()]
        times = found.times.astype("datetime64[ms]").astype("int64").tolist()
        members |= {"model": found.model, "prices": found.prices.tolist(), "times": times, "matrix": known}
    elif isinstance(found, LiquidationMap):
        leverages = found.leverages.tolist()
        rows = zip(found.prices.tolist(), found.sides.tolist(), found.tiers.tolist(), found.total.tolist(), strict=True)
        bins = [
            {"price": price, "side": side, "tiers": dict(zip(map(str, leverages), tiers, strict=True)), "total": total}
            for price, side, tiers, total in rows
        ]
        members |= {"binWidth": found.bin_width, "leverages": leverages, "bins": bins}
    return {**members, "units": found.units}
