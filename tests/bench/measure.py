"""Clocks: peers take turns in random order round by round, and every ratio is taken within its round."""

import gc
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from cases import Case
from peers import Awaited, Stack

LEAST_ROUNDS = 3
MEBI = 2**20
# So many times its processor time and a stack's wall time says more of what it waited for.
FAR = 2
MARK = "‡"
NOTE = (
    f"{MARK} The peer's wall time is more than {FAR} times its processor time, ours is not: the machine was disturbed "
    "or the peer waited; read the CPU time.\n"
)


@dataclass
class Result:
    """Samples of one case: wall and CPU seconds of a call by stack, in the order of the rounds."""

    title: str
    wall: dict[str, list[float]] = field(default_factory=dict)
    cpu: dict[str, list[float]] = field(default_factory=dict)
    ruled: bool = True
    # What floors know it by.
    key: str = ""

    def median(self, name: str) -> float:
        return statistics.median(self.wall[name])

    def busy(self, name: str) -> float:
        return statistics.median(self.cpu[name])

    def ratio(self, name: str, ours: str = "liqdata", *, busy: bool = False) -> float:
        """How many times as long as ours a stack takes: the median of the rounds' ratios."""
        taken = self.cpu if busy else self.wall
        return statistics.median(a / b for a, b in zip(taken[name], taken[ours], strict=True))

    def mark(self, name: str, ours: str = "liqdata") -> str:
        """The mark of a stack with a wall time far above its processor time, unlike ours."""
        theirs, own = (self.median(one) > FAR * self.busy(one) for one in (name, ours))
        return f" {MARK}" if theirs and not own else ""

    def rounds(self) -> int:
        return len(next(iter(self.wall.values())))


def noted(table: str) -> str:
    """A table, and below it what the mark means if it is there."""
    return f"{table}\n{NOTE}" if MARK in table else table


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Turn(Protocol):
    """Whoever has turns: a stack, or another way to do the work."""

    @property
    def name(self) -> str: ...


def sample(stack: Turn, work: Callable[[], Any], inner: int) -> tuple[float, float]:
    """Wall and CPU seconds of one of ``inner`` calls."""
    if isinstance(stack, Awaited):

        async def timed() -> tuple[float, float]:
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(inner):
                await work()
            return time.perf_counter() - wall, time.process_time() - cpu

        wall, cpu = stack.loop.run_until_complete(timed())
    else:
        start, busy = time.perf_counter(), time.process_time()
        for _ in range(inner):
            work()
        wall, cpu = time.perf_counter() - start, time.process_time() - busy
    return wall / inner, cpu / inner


def value(stack: Stack, work: Callable[[], Any]) -> Any:
    return stack.loop.run_until_complete(work()) if isinstance(stack, Awaited) else work()


def check(case: Case, stacks: Sequence[Stack]) -> None:
    """Every stack's answer equals ours, once, before any clock runs."""
    ours = value(stacks[0], lambda: stacks[0].once(case))
    for stack in stacks[1:]:
        theirs = value(stack, lambda stack=stack: stack.once(case))
        good = same_of_ours(ours, theirs) if stack.name == "liqdata async" else case.same(ours, theirs)
        if not good:
            msg = f"{stack.name} does not give what liqdata gives: {case.title}"
            raise SystemExit(msg)


def same_of_ours(blocking: Any, awaited: Any) -> bool:
    if hasattr(blocking, "equals"):
        return bool(blocking.equals(awaited))
    return bool(blocking == awaited)


def rounds(
    title: str,
    works: Mapping[Any, Callable[[], Any]],
    *,
    key: str = "",
    inner: int,
    most: int,
    seconds: float,
    order: random.Random,
    ruled: bool = True,
    warm: bool = True,
) -> Result:
    """Rounds in which every stack has its turn, until there are ``most`` or the time is up.

    With ``warm`` each has one turn before them that does not count.
    """
    result = Result(title, {stack.name: [] for stack in works}, {stack.name: [] for stack in works}, ruled, key)
    end = time.perf_counter() + seconds
    turns = list(works.items())
    with no_garbage_collection():
        for stack, work in turns if warm else ():
            sample(stack, work, 1)
        while result.rounds() < most and (result.rounds() < LEAST_ROUNDS or time.perf_counter() < end):
            order.shuffle(turns)
            for stack, work in turns:
                wall, cpu = sample(stack, work, inner)
                result.wall[stack.name].append(wall)
                result.cpu[stack.name].append(cpu)
            gc.collect()
    return result


def timings(work: Callable[[], Any], *, most: int, seconds: float) -> list[float]:
    """Wall seconds of each call, the first one apart."""
    work()
    taken: list[float] = []
    end = time.perf_counter() + seconds
    with no_garbage_collection():
        while len(taken) < most and (len(taken) < LEAST_ROUNDS or time.perf_counter() < end):
            start = time.perf_counter()
            work()
            taken.append(time.perf_counter() - start)
    return taken


def fresh(*arguments: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def import_seconds(modules: str) -> float:
    """CPU seconds of an import in a fresh interpreter."""
    code = f"import time; start = time.process_time(); import {modules}; print(time.process_time() - start)"
    return float(fresh("-c", code))


def status(key: str) -> int:
    """A size out of this process's status, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":"))


def peak_growth(work: Callable[[], Any]) -> int:
    """How far the peak of resident memory rises above what was resident before."""
    gc.collect()
    # Resets the peak to what is resident now.
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before = status("VmRSS")
    result = work()
    grown = status("VmHWM") - before
    del result
    return grown
