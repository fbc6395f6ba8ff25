"""The answers to one query as of many instants, computed while they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

A = TypeVar("A")

AT_ONCE = 16
"""Number of answers that are computed together and held while they are read."""


class Answers(Sequence[A], Generic[A]):
    """A sequence of answers, of which only the few that are being read are in memory.

    Iterating computes the answers in order, some at a time; each index computes its answer again.

    Parameters
    ----------
    count : int
        Number of answers.
    compute : callable
        Computes the answers with the indexes from its first argument on, before its second.
    """

    __slots__ = ("_compute", "_count")

    def __init__(self, count: int, compute: Callable[[int, int], list[A]]) -> None:
        self._count = count
        self._compute = compute

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> A: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[A]: ...
    def __getitem__(self, index: int | slice) -> A | Sequence[A]:
        places = range(self._count)[index]
        if isinstance(places, range):
            return [self[place] for place in places]
        return self._compute(places, places + 1)[0]

    def __iter__(self) -> Iterator[A]:
        for start in range(0, self._count, AT_ONCE):
            yield from self._compute(start, min(start + AT_ONCE, self._count))

    def __repr__(self) -> str:
        return f"Answers({self._count} instants)"


def answers(count: int, compute: Callable[[int, int], list[Any]]) -> Sequence[Any]:
    """The answers as a list if they are few, else as a sequence that computes them while they are read."""
    return compute(0, count) if count <= AT_ONCE else Answers(count, compute)
