"""Who is asked: a service, an archive or a simulated market, and the options that say so."""

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

SECTION = "Who is asked"


class Source(NamedTuple):
    """What the options say of who is asked."""

    url: str | None
    archive: str | Path | None
    demo: bool
    seed: int | None
    header: dict[str, str]
    timeout: float | None

    def opened(self) -> Any:
        """The client or the market; use it in ``with``."""
        from liqdata import Client, demo, open

        if self.demo:
            return demo(seed=self.seed or 0, progress=delayed_bar("demo", " bars"))
        if self.archive is not None:
            return open(self.archive)
        if not self.url and not os.environ.get("LIQDATA_BASE_URL"):
            refuse(
                "no service to ask: say --url URL or --archive DIR, set LIQDATA_BASE_URL, "
                "or say --demo for a simulated market",
                "base_url",
            )
        given: dict[str, Any] = {} if self.timeout is None else {"timeout": self.timeout}
        return Client(self.url, headers=self.header or None, **given)

    def say_of_standstill(self) -> None:
        """Tell whoever waits for what comes that nothing does, where that is so."""
        if self.demo:
            print("simulated market: nothing arrives in it", file=sys.stderr, flush=True)

    @property
    def here(self) -> bool:
        """Whether a market in this process is asked."""
        return self.demo or self.archive is not None


def options() -> list[click.Parameter]:
    """The options of every question."""
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
            help="Sent with every request; again for more. @FILE reads them from a file, one a line, where no other "
            "user of the machine sees them. A token may stand in $LIQDATA_TOKEN.",
            section=SECTION,
        ),
        option(
            "--timeout",
            type=Seconds(),
            metavar="SECONDS",
            help="Deadline of one answer, retries included.  [default: 10]",
            section=SECTION,
        ),
    ]


def seed(section: str = "Options") -> click.Parameter:
    """Which simulated market."""
    return option(
        "--seed",
        type=Number(int, "a whole number from 0 to 2**64 - 1"),
        metavar="N",
        help="Which simulated market.  [default: 0]",
        section=section,
    )


def taken(given: dict[str, Any]) -> Source:
    """Take the options of :func:`options` out of what was given, and refuse those that would be passed over."""
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
        refuse("seed: says which simulated market; say --demo, too", "seed")
    for name in ("header", "timeout"):
        if getattr(source, name) and source.here:
            refuse(f"{name}: nothing is sent to a market in this process; leave --{name} out, or say --url", name)
    return source


class Told(NamedTuple):
    """Where an answer came from."""

    source: str
    as_of: datetime | None
    simulated: bool

    @property
    def when(self) -> str:
        """When it is known as of, in a few words."""
        return "nothing yet" if self.as_of is None else f"as of {self.as_of:%Y-%m-%d %H:%M:%S} UTC"


def told(asked: Any, as_of: str | None) -> Told:
    """Where the last answer of a client or a market came from."""
    from liqdata.calls.arguments import instant
    from liqdata.source.service import Service

    source = asked._source  # noqa: SLF001 - an answer that is a dict has no other meta
    origin = source.options.origin() if isinstance(source, Service) else source.origin(instant(as_of, "as_of"))
    return Told(origin.source, origin.as_of, bool(origin.simulated))
