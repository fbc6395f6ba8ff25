"""Replies of vendors: JSON values that know their place, so that every error names the field."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any, NamedTuple, NoReturn

from liqdata import _core
from liqdata.errors import UnexpectedReply
from liqdata.text.printable import shortened

_NUMBER = re.compile(r"\s*-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?\s*", re.ASCII)
FACTORS = {"seconds": 1000, "milliseconds": 1}
AHEAD = 10 * 60 * 1000
"""How far an instant may be ahead of this machine's clock, in milliseconds, as in tables."""

_LARGEST = Decimal(10) ** 300
_PLACES = 300
_WHOLE = 2**63
_HIGHEST_LEVERAGE = 10_000
NOT_AHEAD = "an instant at most ten minutes ahead of this machine's clock"


class Get(NamedTuple):
    """A request to a vendor."""

    path: str
    query: dict[str, str]
    needs: str = ""
    """The plan that the vendor's documents name for this path."""
    weight: int = 1
    """How many requests this one counts as in the limit of the vendor."""


class Reply(NamedTuple):
    """A successful answer of a vendor."""

    status: int
    headers: dict[str, str]
    body: bytes
    answered_at: int
    """When the vendor answered, epoch milliseconds."""
    received_at: float = math.inf
    """The same instant by the clock of this machine; infinite for a stored reply, which was judged."""

    @property
    def latest(self) -> float:
        """The latest instant that is believed."""
        return self.received_at + AHEAD

    def json(self) -> Node:
        """The body as a JSON value."""
        return parsed(self.body, self.latest)


def parsed(body: bytes, latest: float = math.inf) -> Node:
    """Parse a body; ``latest`` is the latest instant that is believed.

    Raises
    ------
    UnexpectedReply
        If the body is not JSON.
    """
    try:
        return Node(json.loads(body, parse_float=Decimal, parse_constant=_no_number), "", latest)
    except (ValueError, RecursionError) as error:
        msg = f"the body is not JSON: {error}: {shortened(repr(body[:80]))}"
        raise UnexpectedReply(msg, path="") from None


def is_number(text: str) -> bool:
    """Whether a text is a number as in JSON."""
    return _NUMBER.fullmatch(text) is not None


def _no_number(word: str) -> NoReturn:
    msg = f"{word} is not a JSON number"
    raise ValueError(msg)


class Node:
    """A JSON value with its place in the reply, and the latest instant that is believed."""

    __slots__ = ("latest", "path", "value")

    def __init__(self, value: Any, path: str, latest: float = math.inf) -> None:
        self.value = value
        self.path = path
        self.latest = latest

    def wrong(self, allowed: str) -> UnexpectedReply:
        """The error for a value that is not ``allowed``."""
        try:
            what = shortened(json.dumps(self.value, default=str))[:80]
        except RecursionError:
            what = "a deeply nested value"
        return UnexpectedReply(f"{self.path or 'the body'}: {what} is not allowed; allowed: {allowed}", path=self.path)

    def _below(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def members(self) -> dict[str, Node]:
        """The members of an object."""
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        return {name: Node(value, self._below(name), self.latest) for name, value in self.value.items()}

    def optional(self, *names: str) -> Node | None:
        """The first member with one of these names; ``None`` if there is none, or if it is null."""
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        for name in names:
            if self.value.get(name) is not None:
                return Node(self.value[name], self._below(name), self.latest)
        return None

    def member(self, *names: str) -> Node:
        """The first member with one of these names."""
        found = self.optional(*names)
        if found is None:
            path = self._below(names[0])
            msg = f"{path}: is missing; allowed: an object with {' or '.join(names)}"
            raise UnexpectedReply(msg, path=path)
        return found

    def items(self, length: int | None = None) -> list[Node]:
        """The items of an array, of ``length`` if it is given."""
        if not isinstance(self.value, list):
            raise self.wrong("an array")
        if length is not None and len(self.value) < length:
            raise self.wrong(f"an array of {length} items")
        return [Node(value, f"{self.path}[{index}]", self.latest) for index, value in enumerate(self.value)]

    def plain(self) -> Any:
        """The value with floats for exact numbers."""
        return json.loads(json.dumps(self.value, default=float))

    def text(self) -> str:
        """A text that is not empty."""
        if not isinstance(self.value, str) or not self.value:
            raise self.wrong("a text")
        return self.value

    def decimal(self) -> Decimal:
        """A number or a text with a number, exactly."""
        value = self.value
        if (isinstance(value, str) and _NUMBER.fullmatch(value)) or (
            isinstance(value, int) and not isinstance(value, bool)
        ):
            value = Decimal(value)
        if not isinstance(value, Decimal) or abs(value) > _LARGEST or (value and value.adjusted() < -_PLACES):
            raise self.wrong("a number")
        return value

    def amount(self) -> Decimal:
        """A number from 0 on, exactly."""
        found = self.decimal()
        if found < 0:
            raise self.wrong("an amount from 0")
        return found

    def price(self) -> float:
        """A number above 0."""
        found = float(self.decimal())
        if found <= 0:
            raise self.wrong("a price above 0")
        return found

    def whole(self) -> int:
        """A whole number of 64 bits."""
        found = self.decimal()
        if found != found.to_integral_value() or not -_WHOLE <= found < _WHOLE:
            raise self.wrong("a whole number")
        return int(found)

    def leverage(self) -> int:
        """A leverage."""
        found = self.whole()
        if not 0 <= found <= _HIGHEST_LEVERAGE:
            raise self.wrong(f"a leverage up to {_HIGHEST_LEVERAGE}")
        return found

    def instant(self) -> int:
        """Epoch seconds or milliseconds, distinguished by size, as milliseconds."""
        found = self.whole()
        unit = _core.time_unit(found) if found > 0 else None
        if unit not in FACTORS:
            raise self.wrong("epoch seconds or milliseconds")
        return found * FACTORS[unit]

    def past(self) -> int:
        """As :meth:`instant`, but not ahead of this machine's clock."""
        found = self.instant()
        if found > self.latest:
            raise self.wrong(NOT_AHEAD)
        return found

    def truth(self) -> bool:
        """``true`` or ``false``."""
        if not isinstance(self.value, bool):
            raise self.wrong("true or false")
        return self.value

    def side(self) -> str:
        """``LONG`` or ``SHORT``, in any case."""
        found = self.text().upper()
        if found not in {"LONG", "SHORT"}:
            raise self.wrong("long or short")
        return found
