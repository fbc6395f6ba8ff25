"""A request: one query with its parameters, independent of the source that answers it."""

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
    """A query to a source, and how its reply is converted.

    Attributes
    ----------
    endpoint : str
        Name of the endpoint, such as ``"heatmap"``.
    convert : callable
        Converts a reply to the object that the caller gets.
    parameters : mapping of str to object
        Parameters for the Rust core; ``"symbol"`` may be a sequence of symbols.
    as_of : optional
        The instant as of which to answer, or several instants if the endpoint allows them.
    explain : object
        Whether the reply describes the inputs of an estimate; checked when the request is sent.
    """

    endpoint: str
    convert: Convert[A]
    parameters: Mapping[str, object] = field(default_factory=dict)
    as_of: Any = None
    explain: object = False

    def __post_init__(self) -> None:
        # Convert iterators to lists here, because they can be read only once.
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
        """The checked query for the Rust core; raise ``BadQuery`` for a wrong parameter."""
        return _core.question(self.endpoint, **self.parameters)

    def about(self, symbol: object) -> dict[str, object]:
        """The parameters, with ``symbol`` in place of the sequence of symbols."""
        return {**self.parameters, "symbol": symbol}

    def questions(self) -> dict[str, _core.Question]:
        """One checked query per distinct symbol, in the given order."""
        symbols: Any = self.parameters["symbol"]
        if not symbols:
            rest = {name: value for name, value in self.parameters.items() if name != "symbol"}
            _core.question(self.endpoint, **rest)  # checks the other parameters
        found: dict[str, _core.Question] = {}
        for symbol in symbols:
            question = _core.question(self.endpoint, **self.about(symbol))
            if symbol is None:  # as the only symbol, None means all pairs; in a sequence it is a mistake
                msg = 'symbol: None is given among the symbols; allowed: a trading pair such as "BTCUSDT"'
                raise BadQuery(msg, parameter="symbol")
            found.setdefault(symbol.strip().upper(), question)
        return found

    def instants(self) -> list[int]:
        """The given instants in epoch milliseconds, if there are several."""
        return [named_instant(one) for one in self.as_of]
