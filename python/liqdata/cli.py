"""The command line, a thin face over the package.

Exit codes: 0 done, 1 no (or no good) answer, 2 a question outside the contract, 130 interrupted.
"""

from __future__ import annotations

import argparse
import codecs
import contextlib
import csv
import io
import json
import math
import os
import signal
import sys
import threading
from dataclasses import asdict
from datetime import UTC, datetime
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from . import screen
from ._logs import heard
from ._printable import printable
from ._table import endpoints
from .errors import BadQuery, LiqdataError, NoAnswer
from .grids import Heatmap, LiquidationMap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .rows import Rows
    from .types import CoverageRow

__all__ = ["main"]

FAILED = 1
USAGE = 2
INTERRUPTED = 130

# The endpoints that tell what happened; rows of history say it themselves.
REALISED = frozenset({"overview", "coins", "exchanges", "largest", "orders", "chart"})
# The endpoints that answer in pictures.
PICTURES = frozenset({"heatmap", "liqmap"})

# What is written for the signs of the tables where the output cannot hold them; each as wide as the sign.
SIGNS = {"×": "x", "·": "|", "–": "-", "…": "~"}
# The ways of Python's own to end in a traceback, one of them in the locale C.
STRICT = frozenset({"strict", "surrogateescape"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, optional
        Its arguments; those of the process by default.

    Returns
    -------
    int
        The exit code.
    """
    arguments = _parser().parse_args(argv)
    with _encodable(), heard(getattr(arguments, "log_format", "text")):
        return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    try:
        arguments.run(arguments)
        sys.stdout.flush()
    except BadQuery as error:
        return _complain(error, USAGE)
    except BrokenPipeError:
        # The reader has seen enough; what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except (LiqdataError, OSError) as error:
        return _complain(error, FAILED)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


@contextlib.contextmanager
def _encodable() -> Iterator[None]:
    """Write what the output's encoding lacks as a like sign or an escape, unless the user chose another way."""
    out = sys.stdout
    if not isinstance(out, io.TextIOWrapper) or out.errors not in STRICT:
        yield
        return
    before = out.errors
    codecs.register_error("liqdata", _like)
    out.reconfigure(errors="liqdata")
    try:
        yield
    finally:
        # This flushes: what a broken output says then has been said already.
        with contextlib.suppress(OSError, ValueError):
            out.reconfigure(errors=before)


def _like(error: UnicodeError) -> tuple[str, int]:
    """Spell what cannot be encoded, for :func:`codecs.register_error`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(SIGNS.get(sign) or sign.encode("ascii", "backslashreplace").decode() for sign in lacking), error.end


def _parser() -> argparse.ArgumentParser:
    from . import __version__

    parser = argparse.ArgumentParser(
        prog="liqdata",
        description="Crypto liquidation data: totals, orders, and open estimates of where the next ones wait.",
        epilog="Without --url, --archive or --demo a question goes to $LIQDATA_BASE_URL.",
    )
    parser.add_argument("--version", action="version", version=f"liqdata {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")

    command = _command(commands, "demo", "a simulated market, served and asked all ten; writes two pictures", _demo)
    command.add_argument("--out", type=Path, default=Path(), metavar="DIR", help="folder of the pictures (here)")
    _seed(command)

    command = _command(commands, "serve", "put a market behind the HTTP contract until Ctrl-C", _serve)
    source = command.add_mutually_exclusive_group()
    source.add_argument(
        "archive", nargs="?", type=_place, metavar="DIR", help="an archive, as it grows, or the address of one"
    )
    source.add_argument("--demo", action="store_true", help="a simulated market")
    _seed(command)
    command.add_argument(
        "--collect", action="store_true", help="fill the archive meanwhile, as the command collect does"
    )
    _collected(command)
    _served(command)

    command = _command(commands, "token", "make a token for a server: the token, and the line of its file", _token)
    command.add_argument("name", nargs="?", default="", metavar="NAME", help="whose it is; noted behind the digest")

    command = _command(commands, "collect", "listen to the exchanges and keep what they tell, until Ctrl-C", _collect)
    command.add_argument("archive", type=Path, metavar="DIR", help="folder of the archive; made where it is missing")
    command.add_argument("--once", action="store_true", help="ask for the past and end")
    _collected(command)

    _scored(commands)

    _exported(commands)

    command = _command(commands, "verify", "hold an archive against what was written", _verify)
    command.add_argument("archive", type=Path, metavar="DIR", help="folder of the archive")
    command.add_argument(
        "--repair", action="store_true", help="set aside what is damaged, and record what is missing as gaps"
    )
    command.add_argument("--json", action="store_true", help="print JSON")

    for name, endpoint in endpoints().items():
        if endpoint.reply == "events":
            continue
        command = _command(commands, name, endpoint.meaning, _question)
        names = tuple(parameter.name for parameter in endpoint.parameters)
        command.set_defaults(endpoint=name, parameters=names)
        for parameter in endpoint.parameters:
            default, meaning = parameter.default, parameter.meaning
            # Whether a symbol was given by name matters where one is given in place.
            command.add_argument(
                f"--{parameter.name}",
                type={"int": int, "float": float}.get(parameter.type, str),
                default=None if parameter.name == "symbol" else default,
                help=meaning if default is None else f"{meaning} ({default})",
            )
        if "symbol" in names:
            command.add_argument("in_place", nargs="?", metavar="symbol", help="the same, for short")
        source = command.add_mutually_exclusive_group()
        source.add_argument("--url", help="address of a service ($LIQDATA_BASE_URL)")
        source.add_argument(
            "--archive", type=_place, metavar="DIR", help="ask an archive on this machine, or behind an address"
        )
        source.add_argument("--demo", action="store_true", help="ask a simulated market in this process")
        _seed(command)
        output = command.add_mutually_exclusive_group()
        output.add_argument("--json", action="store_true", help="print JSON, exact amounts as text")
        if endpoint.reply == "rows":
            output.add_argument("--csv", action="store_true", help="print CSV")
            output.add_argument("--parquet", type=Path, metavar="FILE", help="write Parquet (pyarrow or polars)")
        if name in PICTURES:
            output.add_argument("--png", type=Path, metavar="FILE", help="write a picture (matplotlib)")
    return parser


def _exported(commands: Any) -> None:
    command = _command(commands, "export", "bring the closed days of an archive to object storage", _export)
    command.add_argument("archive", type=Path, metavar="DIR", help="folder of the archive")
    command.add_argument("url", metavar="URL", help="address that is this archive's alone, such as s3://bucket/prefix")
    command.add_argument("--start", help="only days from the one that begins at this instant")
    command.add_argument("--end", help="only days before the one that begins at this instant")
    command.add_argument(
        "--tables",
        default="orders,bars,open_interest",
        metavar="NAMES",
        help="what to export, maps among it (orders,bars,open_interest)",
    )
    command.add_argument("--json", action="store_true", help="print JSON")


def _scored(commands: Any) -> None:
    command = _command(commands, "score", "hold the estimate of an archive against what was liquidated", _score)
    command.add_argument("archive", type=_place, metavar="DIR", help="an archive with orders and bars, or its address")
    command.add_argument("in_place", nargs="?", default="BTC", metavar="symbol", help="coin (BTC)")
    command.add_argument("--period", default="1h", help="length of the periods that are scored (1h)")
    command.add_argument("--start", help="only periods from this instant on; what lies before is learnt from")
    command.add_argument("--end", help="only periods that end by this instant")
    command.add_argument(
        "--reference", default="adaptive", help="path to score over: adaptive, strong or weak (adaptive)"
    )
    command.add_argument(
        "--kept", action="store_true", help="the maps as they were served, instead of as computed anew"
    )
    command.add_argument("--seed", type=int, default=0, help="of the resamples (0)")
    command.add_argument("--markdown", type=Path, metavar="FILE", help="write all tables as Markdown")
    command.add_argument("--png", type=Path, metavar="FILE", help="write a picture (matplotlib)")


def _place(text: str) -> str | Path:
    """Give the folder of an archive, or the address of one as it is."""
    return text if "://" in text else Path(text)


def _command(
    commands: Any, name: str, sentence: str, run: Callable[[argparse.Namespace], None]
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=sentence, description=f"{sentence[0].upper()}{sentence[1:]}."
    )
    command.set_defaults(run=run)
    return command


def _seed(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seed", type=int, default=0, help="which simulated market (0)")


def _served(command: argparse.ArgumentParser) -> None:
    """The options of a server; those that are left out come from its file."""
    command.add_argument("--host", help="address to listen on (127.0.0.1)")
    command.add_argument("--port", type=int, help="port to listen on (0: any free one)")
    command.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="how log records are written (text)"
    )
    command.add_argument(
        "--config", type=Path, metavar="FILE", help="these options as TOML, under their names; the command line wins"
    )
    command.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="digests of the tokens that open it, as `liqdata token` prints them",
    )
    command.add_argument(
        "--public", action="store_true", default=None, help="everybody who can reach it may ask, without a token"
    )
    command.add_argument("--access-log", action="store_true", default=None, help="log each answer on standard error")
    command.add_argument("--certificate", type=Path, metavar="FILE", help="certificate chain in PEM: speak TLS")
    command.add_argument("--key", type=Path, metavar="FILE", help="its private key in PEM")
    command.add_argument(
        "--allow-host",
        action="append",
        metavar="NAME",
        help="a name it answers to beside its addresses; again for more",
    )
    command.add_argument(
        "--origin", action="append", metavar="ORIGIN", help="an origin whose pages may read its answers; again for more"
    )
    command.add_argument(
        "--limit", action="append", metavar="NAME=VALUE", help="what one client can cost the others; again for more"
    )
    command.add_argument(
        "--trusted-proxy",
        action="append",
        metavar="ADDRESS",
        help="a proxy whose X-Forwarded-For counts; again for more",
    )


def _collected(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--venues", default="", metavar="NAMES", help="exchanges to collect, such as binance,bybit (all)"
    )
    command.add_argument(
        "--symbols", default="", metavar="COINS", help="coins to collect, such as BTC,ETH (all orders)"
    )
    command.add_argument("--settings", type=Path, metavar="FILE", help="hosts, paths and times of collecting, as TOML")


def _demo(arguments: argparse.Namespace) -> None:
    from .tour import tour

    tour(arguments.out, seed=arguments.seed)


def _serve(arguments: argparse.Namespace) -> None:
    from . import demo, open, serve
    from ._serving import options

    _check_served(arguments)
    if arguments.collect:
        from ._collect import serve as collect_and_serve

        collect_and_serve(arguments.archive, **_plan(arguments), served=options(arguments))
        return
    served = options(arguments)  # refused before a market is made
    enough = threading.Event()
    # Set before anything is announced, so that no signal falls between; put back for a second Ctrl-C while closing.
    before = {number: signal.signal(number, lambda *_: enough.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        made = demo(seed=arguments.seed) if arguments.archive is None else open(arguments.archive)
        with made as market, serve(market, **served) as server:
            print(server.url, flush=True)
            what = "a simulated market" if arguments.archive is None else f"the archive {arguments.archive}"
            print(f"{what}; Ctrl-C ends it", file=sys.stderr, flush=True)
            enough.wait()
            for number, handler in before.items():
                signal.signal(number, handler)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _token(arguments: argparse.Namespace) -> None:
    from ._serving import token

    made, line = token(arguments.name)
    print(made)
    print(f"the line for the server's --token-file:\n{line}", file=sys.stderr)


def _check_served(arguments: argparse.Namespace) -> None:
    """Refuse what cannot be served, and options that would be passed over."""
    if arguments.collect and isinstance(arguments.archive, str):
        message = f"--collect: {arguments.archive!r} is an address; allowed: the folder of an archive on this machine"
        raise BadQuery(message, parameter="collect")
    if arguments.collect and arguments.archive is None:
        what = "a simulated market is not collected" if arguments.demo else "nothing to collect into"
        message = f"--collect: {what}; name the folder of an archive: liqdata serve DIR --collect"
        raise BadQuery(message, parameter="collect")
    if arguments.archive is None and not arguments.demo:
        message = "nothing to serve: name the folder of an archive, or say --demo for a simulated market"
        raise BadQuery(message, parameter="archive")
    for option in ("venues", "symbols", "settings"):
        if getattr(arguments, option) and not arguments.collect:
            message = f"--{option}: says what to collect; say --collect, too"
            raise BadQuery(message, parameter=option)


def _collect(arguments: argparse.Namespace) -> None:
    from ._collect import collect

    collect(arguments.archive, **_plan(arguments), once=arguments.once)


def _score(arguments: argparse.Namespace) -> None:
    from . import open, score
    from ._inputs import millis_of
    from .scoring import text

    symbol = arguments.in_place.upper()
    with open(arguments.archive) as market:
        # Orders reach further than dicts of them would fit.
        realised = market.iter_orders()._rest()  # noqa: SLF001 - the same rows without a frame library
        card = score(
            market.maps(symbol) if arguments.kept else market,
            realised,
            bars=market.bars(symbol),
            symbol=symbol,
            period=arguments.period,
            start=arguments.start,
            end=arguments.end,
            reference=arguments.reference,
            seed=arguments.seed,
            progress=find_spec("tqdm") is not None,
        )
        gaps = market.gaps(millis_of(card.meta["start"]), millis_of(card.meta["end"]))
    print(card)
    print("paths and nulls:", *text.lines(card.references()), sep="\n")
    if len(gaps):
        print(f"{len(gaps)} stretches of this time were missed in part: what was realised then is a lower bound")
    if arguments.markdown is not None:
        arguments.markdown.write_text(card.to_markdown(), encoding="utf-8")
        print(f"wrote {arguments.markdown}", file=sys.stderr)
    if arguments.png is not None:
        if find_spec("matplotlib") is None:
            _lacking("--png", "matplotlib", "plot")
        from .scoring import picture

        picture.picture(card).savefig(arguments.png, format="png")
        print(f"wrote {arguments.png}", file=sys.stderr)


def _export(arguments: argparse.Namespace) -> None:
    from . import open

    with open(arguments.archive) as market:
        done = market.export(
            arguments.url,
            start=arguments.start,
            end=arguments.end,
            tables=cast("Any", _names(arguments.tables, "tables")),
            progress=find_spec("tqdm") is not None,
        )
    if arguments.json:
        print(json.dumps({**asdict(done), "until": done.until.isoformat()}, indent=2))
        return
    print(f"{printable(done.url)} has {done.files} files of days until {done.until:%Y-%m-%d}: {done.rows} rows")
    print(f"{done.sent} of them are new: {done.sent_bytes} bytes")
    if done.journaled:
        print(f"{done.journaled} rows lie in no file yet; they went along in the journal", file=sys.stderr)


def _verify(arguments: argparse.Namespace) -> None:
    from . import verify

    found = verify(arguments.archive, repair=arguments.repair, progress=find_spec("tqdm") is not None)
    if arguments.json:
        print(json.dumps(list(found), indent=2))
    elif len(found):
        for row in found:
            done = ", out of use and on record as missing" if row["repaired"] else ""
            print(f"{printable(row['file'])}: {row['problem']}{done}: {printable(row['detail'])}")
    else:
        print(f"{printable(str(arguments.archive))} is as it was written")
    if any(row["problem"] != "unexpected" and not row["repaired"] for row in found):
        sys.exit(1)


def _plan(arguments: argparse.Namespace) -> dict[str, Any]:
    """What is to be collected."""
    return {
        "venues": _names(arguments.venues, "venues"),
        "coins": _names(arguments.symbols, "symbols"),
        "settings": _settings(arguments.settings) if arguments.settings else "",
    }


def _settings(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadQuery(
            f"settings: {file} is not UTF-8 from byte {error.start}; allowed: TOML in UTF-8", parameter="settings"
        ) from None


def _names(text: str, option: str) -> list[str]:
    """Split names at commas and blanks; an option that was given must name something, or all would be meant."""
    names = text.replace(",", " ").split()
    if text and not names:
        raise BadQuery(f"{option}: {text!r} names nothing; leave it out to mean all", parameter=option)
    return names


def _symbol(arguments: argparse.Namespace) -> str | None:
    """Give the symbol that is asked for, in place or by name; both only if they are the same."""
    given = [text for text in (arguments.in_place, arguments.symbol) if text is not None]
    if len({text.upper() for text in given}) > 1:
        message = f"symbol: {given[0]!r} and --symbol {given[1]!r} differ; allowed: one symbol, given either way"
        raise BadQuery(message, parameter="symbol")
    known = {parameter.name: parameter.default for parameter in endpoints()[arguments.endpoint].parameters}
    return given[0] if given else cast("str | None", known["symbol"])


def _question(arguments: argparse.Namespace) -> None:
    if "symbol" in arguments.parameters:
        arguments.symbol = _symbol(arguments)
    with _source(arguments) as source:
        ask = getattr(source, arguments.endpoint)
        answer = ask(**{name: getattr(arguments, name) for name in arguments.parameters})
        # Only a market in this process knows the price beside the estimate.
        here = arguments.demo or arguments.archive is not None
        price = source.bars(answer.symbol, **_window(answer)) if here and isinstance(answer, Heatmap) else None
        kept = arguments.archive is not None and arguments.endpoint in REALISED
        covered = source.coverage(getattr(arguments, "range", "24h")) if kept else None
    _print(arguments, answer, price)
    if arguments.demo:
        print("simulated market", file=sys.stderr)
    if covered is not None:
        _covered(covered, getattr(arguments, "range", "24h"))


def _covered(venues: Rows[CoverageRow], range: str) -> None:
    """Say beside realised numbers who was listened to; where nobody was, they tell nothing."""
    heard = [(venue["exchange"], venue["connected_share"] or 0.0) for venue in venues]
    if not any(share for _, share in heard):
        message = f"no record that anybody was listened to in the last {range}: these numbers tell nothing"
        raise NoAnswer(message)
    told = ", ".join(f"{exchange} {_share(share)}" for exchange, share in sorted(heard))
    print(f"listened to in the last {range}: {told}", file=sys.stderr)


def _share(share: float) -> str:
    """Give a share in percent; only what is whole is called so."""
    return "100 %" if share == 1 else f"{min(share * 100, 99.9):.1f} %"


def _window(answer: Heatmap) -> dict[str, Any]:
    """Give the stretch of time that a heatmap shows: an archive may hold years."""
    return {} if not len(answer.times) else {"start": int(answer.times[0].astype("int64"))}


def _source(arguments: argparse.Namespace) -> Any:
    from . import Client, demo, open

    if arguments.demo:
        return demo(seed=arguments.seed)
    if arguments.archive is not None:
        return open(arguments.archive)
    if not arguments.url and not os.environ.get("LIQDATA_BASE_URL"):
        message = (
            "no service to ask: say --url URL or --archive DIR, set LIQDATA_BASE_URL, "
            "or say --demo for a simulated market"
        )
        raise BadQuery(message, parameter="base_url")
    return Client(arguments.url)


def _print(arguments: argparse.Namespace, answer: Any, price: Any) -> None:
    name = arguments.endpoint
    if arguments.json:
        # JSON escapes controls, and all that is not ASCII with them: nothing in it steers a terminal.
        json.dump(_plain(answer), sys.stdout, default=_exact, allow_nan=False)
        print()
    elif getattr(arguments, "csv", False):
        _csv(answer, answer.columns)
    elif getattr(arguments, "parquet", None):
        _parquet(answer, arguments.parquet)
        print(f"wrote {arguments.parquet}", file=sys.stderr)
    elif getattr(arguments, "png", None):
        if find_spec("matplotlib") is None:
            _lacking("--png", "matplotlib", "plot")
        from . import plot

        plot.picture(answer, price=price).savefig(arguments.png, format="png")
        print(f"wrote {arguments.png}", file=sys.stderr)
    else:
        note = screen.label(name, answer)
        given = (getattr(arguments, key, None) for key in ("symbol", "exchange", "range"))
        title = " ".join([name, *(word for word in given if word)])
        screen.show(title, screen.records(name, answer), note=f"{note} · simulated" if arguments.demo else note)


def _plain(answer: Any) -> Any:
    """Give an answer as JSON spells it: the contract's object for a grid, rows as a list."""
    if isinstance(answer, Heatmap):
        return {
            "symbol": answer.symbol,
            "range": answer.range,
            "model": answer.model,
            "updatedAt": _millis(answer.updated_at),
            "currentPrice": answer.current_price,
            "prices": answer.prices.tolist(),
            "times": answer.times.astype("datetime64[ms]").astype("int64").tolist(),
            "matrix": [[None if math.isnan(cell) else cell for cell in row] for row in answer.matrix.tolist()],
        }
    if isinstance(answer, LiquidationMap):
        names = [str(leverage) for leverage in answer.leverages.tolist()]
        return {
            "symbol": answer.symbol,
            "range": answer.range,
            "updatedAt": _millis(answer.updated_at),
            "currentPrice": answer.current_price,
            "binWidth": answer.bin_width,
            "leverages": answer.leverages.tolist(),
            "bins": [
                {"price": price, "side": side, "tiers": dict(zip(names, usd, strict=True)), "total": total}
                for price, side, usd, total in zip(
                    answer.prices.tolist(),
                    answer.sides.tolist(),
                    answer.tiers.tolist(),
                    answer.total.tolist(),
                    strict=True,
                )
            ],
        }
    return answer if isinstance(answer, dict) else list(answer)


def _millis(when: datetime) -> int:
    since = when - datetime(1970, 1, 1, tzinfo=UTC)
    return since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000


def _exact(value: object) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}"
    message = f"{type(value).__name__} has no JSON form"
    raise TypeError(message)


def _csv(rows: Any, names: Sequence[str]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(names)
    # Whoever reads a file or a pipe gets the text as it came.
    seen = printable if sys.stdout.isatty() else str
    for row in rows:
        writer.writerow([_field(row[name], seen) for name in names])


def _field(value: object, seen: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return seen(value)
    return f"{value:f}" if isinstance(value, Decimal) else value


def _parquet(rows: Any, file: Path) -> None:
    if find_spec("pyarrow") is not None:
        from pyarrow import parquet

        parquet.write_table(rows.to_arrow(), file)
    elif find_spec("polars") is not None:
        rows.to_polars().write_parquet(file)
    else:
        _lacking("--parquet", "pyarrow or polars", "arrow")


def _lacking(option: str, library: str, extra: str) -> NoReturn:
    sys.exit(f'liqdata: {option} needs {library}: pip install "liqdata[{extra}]"')


def _complain(error: Exception, code: int) -> int:
    # Errors of other libraries come here, too.
    print(f"liqdata: {printable(str(error))}", file=sys.stderr)
    for note in getattr(error, "__notes__", ()):
        print(f"  {printable(note)}", file=sys.stderr)
    return code
