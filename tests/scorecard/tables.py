"""Tables of a page, and numbers as they stand in them."""

import math
import textwrap
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float, digits: int = 2) -> str:
    """Plain, with a true minus; a dash for what is not known."""
    if not math.isfinite(value):
        return "–"
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else f"{0:.{digits}f}"


def signed(value: float, digits: int = 2) -> str:
    return ("+" if value > 0 and float(f"{value:.{digits}f}") else "") + number(value, digits)


def usd(value: float) -> str:
    for size, word in ((1e9, "bn"), (1e6, "m"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {word}"
    return f"{value:.3g}"


def passed(*, truth: bool) -> str:
    return "pass" if truth else "**fail**"


def prose(text: str) -> str:
    """A paragraph, its lines filled."""
    return textwrap.fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False)
