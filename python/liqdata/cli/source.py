"""The source of answers: a service, an archive or a simulated market, and its options."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from liqdata.calls.progress import delayed_bar

from .command import flag, option
from .mistakes import refuse
from .words import Headers, Number, Place, Seconds

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    import click

__all__ = ["Source", "options", "seed", "taken"]

SECTION = "Source"


class Source(NamedTuple):
    """The source that the options of a command select."""

    url: str | None
    archive: str | Path | None
    demo: bool
    seed: int | None
    header: dict[str, str]
    timeout: float | None

    def opened(self) -> Any:
        """Open the client or the market, for use in ``with``."""
        from liqdata import Client, demo, open

        if self.demo:
            return demo(seed=self.seed or 0, progress=delayed_bar("demo", " bars"))
        if self.archive is not None:
            return open(self.archive)
        if not self.url and not os.environ.get("LIQDATA_BASE_URL"):
            refuse(
                "no source: give --url URL or --archive DIR, set LIQDATA_BASE_URL, "
                "or give --demo for a simulated market",
                "base_url",
            )
        given: dict[str, Any] = {} if self.timeout is None else {"timeout": self.timeout}
        return Client(self.url, headers=self.header or None, **given)

    def warn_if_static(self) -> None:
        """Print that a simulated market has no new data."""
        if self.demo:
            print(
                "simulated market: no new data arrives; in one of liqdata serve --demo --live they do: give its --url",
                file=sys.stderr,
                flush=True,
            )

    @property
    def here(self) -> bool:
        """Whether the source is a market in this process."""
        return self.demo or self.archive is not None


def options() -> list[click.Parameter]:
    """The options of every query."""
    return [
        option("--url", metavar="URL", help="Address of a service.  [$LIQDATA_BASE_URL]", section=SECTION),
        option(
            "--archive",
            type=Place(),
            metavar="DIR",
            help="An archive on this machine, or behind an address such as s3://bucket/prefix.",
            section=SECTION,
        ),
        flag("--demo", help="A simulated market in this process.", section=SECTION),
        seed(SECTION),
        option(
            "--header",
            type=Headers(),
            multiple=True,
            metavar="'NAME: VALUE'",
            help="Header of every request; repeatable. @FILE reads headers from a file, one per line, hidden from "
            "other users of the machine. $LIQDATA_TOKEN can hold a token.",
            section=SECTION,
        ),
        option(
            "--timeout",
            type=Seconds(),
            metavar="SECONDS",
            help="Time limit of one answer, including retries.  [default: 10]",
            section=SECTION,
        ),
    ]


def seed(section: str = "Options") -> click.Parameter:
    """The option ``--seed``."""
    return option(
        "--seed",
        type=Number(int, "a whole number from 0 to 2**64 - 1"),
        metavar="N",
        help="Seed of the simulated market.  [default: 0]",
        section=section,
    )


def taken(given: dict[str, Any]) -> Source:
    """Remove the options of :func:`options` from ``given``; refuse options that have no effect."""
    headers: dict[str, str] = {}
    for some in given.pop("header"):
        headers |= some
    source = Source(
        url=given.pop("url"),
        archive=given.pop("archive"),
        demo=given.pop("demo"),
        seed=given.pop("seed"),
        header=headers,
        timeout=given.pop("timeout"),
    )
    named = [
        name
        for name, there in (
            ("--url", source.url is not None),
            ("--archive", source.archive is not None),
            ("--demo", source.demo),
        )
        if there
    ]
    if len(named) > 1:
        refuse(f"source: {' and '.join(named)} are given; allowed: one of them", "source")
    if source.seed is not None and not source.demo:
        refuse("seed: selects a simulated market; add --demo", "seed")
    for name in ("header", "timeout"):
        if getattr(source, name) and source.here:
            refuse(f"{name}: a market in this process sends no requests; omit --{name}, or give --url", name)
    return source


class Origin(NamedTuple):
    """Source and instant of an answer, and whether it is simulated."""

    source: str
    as_of: datetime | None
    simulated: bool

    @property
    def when(self) -> str:
        """The instant of the answer as text."""
        return "nothing yet" if self.as_of is None else f"as of {self.as_of:%Y-%m-%d %H:%M:%S} UTC"


def origin_of(asked: Any, as_of: str | None) -> Origin:
    """The origin of the last answer of a client or a market."""
    from liqdata.calls.arguments import instant
    from liqdata.source.service import Service

    source = asked._source  # noqa: SLF001 - an answer that is a dict has no metadata
    origin = source.options.origin() if isinstance(source, Service) else source.origin(instant(as_of, "as_of"))
    return Origin(origin.source, origin.as_of, bool(origin.simulated))
