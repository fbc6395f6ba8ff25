"""The command ``mcp``: a read-only server for agents on standard input and output."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from importlib.util import find_spec
from typing import Any, Self

import click

from liqdata.agents.greeting import greeted
from liqdata.calls.arguments import archive_folder
from liqdata.cli.command import Command, flag, option
from liqdata.cli.mistakes import lacking, refuse
from liqdata.cli.source import Source, seed
from liqdata.cli.words import Place, Seconds

__all__ = ["command"]


def command(name: str, sentence: str) -> Command:
    """Build the command ``mcp``."""
    made = Command(
        name,
        sentence,
        _serve,
        [
            click.Argument(["archive"], type=Place(), required=False, metavar="[DIR]"),
            option("--url", metavar="URL", help="Address of a service; its token is in $LIQDATA_TOKEN."),
            flag("--demo", help="A simulated market."),
            seed(),
            option(
                "--timeout",
                type=Seconds(),
                metavar="SECONDS",
                help="Time limit of one answer of a service, including retries.  [default: 10]",
            ),
        ],
    )
    made.epilog = (
        'Needs the extra mcp: pip install "liqdata[mcp]". An agent starts this command and calls its nine read-only '
        "tools; only messages of the protocol go to standard output."
    )
    return made


def _serve(**given: Any) -> None:
    source = Source(header={}, **given)
    named = {"an archive": source.archive is not None, "--url": source.url is not None, "--demo": source.demo}
    chosen = [name for name, there in named.items() if there]
    if len(chosen) != 1:
        what = " and ".join(chosen) + " are given" if chosen else "nothing to answer from"
        refuse(f"source: {what}; allowed: one of DIR, --url URL and --demo", "source")
    if source.seed is not None and not source.demo:
        refuse("seed: selects a simulated market; add --demo", "seed")
    if source.timeout is not None and source.here:
        refuse("timeout: a market in this process sends no requests; omit --timeout, or give --url", "timeout")
    if find_spec("mcp") is None:
        lacking("mcp", "the MCP SDK", "mcp")
    if source.archive is not None and "://" not in str(source.archive):
        archive_folder(source.archive)
    with Later(source) as of:
        _run(of, open_world=not source.here)


class Later:
    """A source that a thread opens while the server already answers; agents wait only seconds for a server.

    Parameters
    ----------
    source : Source
        What to open.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._opened: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._open, name="liqdata-source", daemon=True)

    def _open(self) -> None:
        try:
            self._opened = self._source.opened()
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits for the source
            self._error = error

    def __call__(self) -> Any:
        """Wait until the source is open.

        Raises
        ------
        LiqdataError
            If it cannot be opened.
        """
        self._thread.join()
        if self._error is not None:
            raise self._error.with_traceback(None)
        return self._opened

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self().close()


def _run(of: Later, *, open_world: bool) -> None:
    # A thread waits for standard input, which nothing can interrupt: let Ctrl-C end the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with contextlib.suppress(BrokenPipeError), greeted():
        try:
            from liqdata.agents.server import agent_server
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] == "liqdata":
                raise
            lacking("mcp", "the MCP SDK", "mcp")
        try:
            agent_server(of, open_world=open_world).run("stdio")
        except ExceptionGroup as group:
            # The SDK runs in a task group, which wraps the error of a client that went away.
            gone, other = group.split(BrokenPipeError)
            if other is not None or gone is None:
                raise
            sys.stderr.flush()
