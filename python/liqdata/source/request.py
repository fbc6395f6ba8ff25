"""A request: one question to a source, independent of who answers it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from liqdata import _core
from liqdata.calls.arguments import many, named_instant
from liqdata.errors import BadQuery

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .convert import Convert

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Request(Generic[A]):
    """A question to a source, and how its reply is converted.

    Attributes
    ----------
    endpoint : str
        Name of the endpoint, such as ``"heatmap"``.
    convert : callable
        Makes the caller's object from a reply.
    parameters : mapping of str to object
        Parameters as the native half takes them; ``"symbol"`` may be a sequence of symbols.
    as_of : optional
        The instant to answer as of, or several for endpoints that allow them.
    explain : object
        Whether the reply describes what an estimate is based on; checked when the request is sent.
    """

    endpoint: str
    convert: Convert[A]
    parameters: Mapping[str, object] = field(default_factory=dict)
    as_of: Any = None
    explain: object = False

    def __post_init__(self) -> None:
        # Iterators are read once, here.
        symbols, instants = many(self.parameters.get("symbol")), many(self.as_of)
        if symbols is not None:
            object.__setattr__(self, "parameters", {**self.parameters, "symbol": symbols})
        if instants is not None:
            object.__setattr__(self, "as_of", instants)

    @property
    def has_symbols(self) -> bool:
        """Whether the caller gave a sequence of symbols."""
        return isinstance(self.parameters.get("symbol"), list)

    @property
    def has_instants(self) -> bool:
        """Whether the caller gave several instants."""
        return isinstance(self.as_of, list)

    def question(self) -> _core.Question:
        """The checked question to the native half; ``BadQuery`` for a wrong parameter."""
        return _core.question(self.endpoint, **self.parameters)

    def about(self, symbol: object) -> dict[str, object]:
        """The parameters with one symbol."""
        return {**self.parameters, "symbol": symbol}

    def questions(self) -> dict[str, _core.Question]:
        """One checked question per distinct symbol, in the order given."""
        symbols: Any = self.parameters["symbol"]
        if not symbols:
            rest = {name: value for name, value in self.parameters.items() if name != "symbol"}
            _core.question(self.endpoint, **rest)  # checks the other parameters
        found: dict[str, _core.Question] = {}
        for symbol in symbols:
            question = _core.question(self.endpoint, **self.about(symbol))
            if symbol is None:  # alone it means all pairs, in a sequence it is a mistake
                msg = 'symbol: None stands among symbols; allowed: a trading pair such as "BTCUSDT"'
                raise BadQuery(msg, parameter="symbol")
            found.setdefault(symbol.strip().upper(), question)
        return found

    def instants(self) -> list[int]:
        """The several instants, in epoch milliseconds."""
        return [named_instant(one) for one in self.as_of]
