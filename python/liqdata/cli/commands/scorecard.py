"""The commands ``score`` and ``league``."""

from __future__ import annotations

import contextlib
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from liqdata.cli.command import Command, flag, option
from liqdata.cli.mistakes import lacking, refuse
from liqdata.cli.words import File, Folder, Names, Number, Place, Text
from liqdata.files.atomic_write import atomic_write
from liqdata.text.printable import printable

if TYPE_CHECKING:
    from pathlib import Path

    from liqdata.scoring.card import Scorecard

__all__ = ["command"]


def command(name: str, sentence: str) -> Command:
    """Build the command ``score`` or ``league``."""
    if name == "league":
        return _league_command(name, sentence)
    parameters: list[click.Parameter] = [
        click.Argument(["archive"], type=Place(), metavar="DIR"),
        click.Argument(["in_place"], required=False, metavar="[SYMBOL]"),
        option("--symbol", metavar="COIN", help="Coin.  [default: BTC]"),
        option("--coins", type=Names(), metavar="COINS", help="Several coins, such as BTC,ETH; `all` for every coin."),
        option("--dask", metavar="ADDRESS", help="Compute on this Dask cluster, such as tcp://10.0.0.1:8786."),
        option("--period", metavar="SPAN", help="Length of a scored period.  [default: 1h]"),
        option("--start", metavar="WHEN", help="Only periods from this instant on; earlier data is used to fit."),
        option("--end", metavar="WHEN", help="Only periods that end by this instant."),
        option(
            "--reference",
            type=Text(("adaptive", "strong", "weak")),
            metavar="PATH",
            help="Path to score over: adaptive, strong or weak.  [default: adaptive]",
        ),
        flag("--kept", "stored", help="Score the stored maps as they were served; compute none."),
        option("--seed", type=Number(int, "a whole number"), metavar="N", help="Seed of the resampling.  [default: 0]"),
        option("--markdown", type=File(), metavar="FILE", help="Write all tables as Markdown."),
        option("--png", type=File(), metavar="FILE", help="Write a picture (matplotlib)."),
    ]
    made = Command(name, sentence, _score, parameters)
    made.epilog = "DIR is an archive with orders and bars, or its address."
    return made


def _league_command(name: str, sentence: str) -> Command:
    parameters: list[click.Parameter] = [
        click.Argument(["archive"], type=Folder(), metavar="DIR"),
        option("--out", type=Folder(), metavar="FOLDER", required=True, help="Folder of the league and its page."),
        option("--coins", type=Names(), metavar="COINS", help="Coins, such as BTC,ETH.  [default: BTC]"),
        option(
            "--sources",
            type=Names(("estimate", "served")),
            metavar="NAMES",
            help="Recorded sources, such as coinglass; estimate; served.  [default: all]",
        ),
        option("--range", metavar="RANGE", help="Only maps of this range, such as 7d.  [default: all]"),
        option("--period", metavar="SPAN", help="Length of a scored period.  [default: 1h]"),
        flag("--commit-only", help="Verify the chain and commit; do not score."),
    ]
    made = Command(name, sentence, _league, parameters)
    made.epilog = (
        "DIR is an archive with orders, bars and recorded maps. Run it once in each period, shortly before its end: it "
        "commits maps for the next one, and FOLDER/index.html has the scores of those that have ended."
    )
    return made


def _league(*, archive: Path, out: Path, **given: Any) -> None:
    from liqdata import league

    found = league(archive, out, **{name: value for name, value in given.items() if value is not None})
    print(found)
    for note in found.notes:
        print(printable(note), file=sys.stderr)
    if not given["commit_only"]:
        print(f"wrote {printable(found.page)}", file=sys.stderr)


def _score(
    *,
    archive: str | Path,
    in_place: str | None,
    symbol: str | None,
    coins: list[str] | None,
    dask: str | None,
    stored: bool,
    markdown: Path | None,
    png: Path | None,
    **options: Any,
) -> None:
    if coins is not None and (in_place or symbol):
        refuse("coins: a symbol is given, too; allowed: either --coins or a symbol", "coins")
    if in_place and symbol and in_place.upper() != symbol.upper():
        refuse(f"symbol: {in_place!r} and --symbol {symbol!r} differ; allowed: one symbol, given either way", "symbol")
    if png is not None and coins is not None:
        refuse("png: several coins need several pictures; allowed: --png with one symbol", "png")
    if png is not None and find_spec("matplotlib") is None:
        lacking("--png", "matplotlib", "plot")
    given = {name: value for name, value in options.items() if value is not None}
    if coins is None and dask is None:
        cards, gaps = _here(archive, (in_place or symbol or "BTC").upper(), stored=stored, options=given)
    else:
        named = coins or [in_place or symbol or "BTC"]
        cards, gaps = _on_cluster(archive, named, dask, {"stored": stored, **given})
    for coin, card in cards.items():
        _print(card, gaps.get(coin, 0))
    if markdown is not None:
        with atomic_write(markdown) as unfinished:
            unfinished.write_text("\n".join(card.to_markdown() for card in cards.values()), encoding="utf-8")
        print(f"wrote {markdown}", file=sys.stderr)
    if png is not None:
        from liqdata.scoring import picture

        with atomic_write(png) as unfinished:
            picture.picture(next(iter(cards.values()))).savefig(unfinished, format="png")
        print(f"wrote {png}", file=sys.stderr)


def _here(
    archive: str | Path, coin: str, *, stored: bool, options: dict[str, Any]
) -> tuple[dict[str, Scorecard], dict[str, int]]:
    """The card of a coin, and the number of gaps in its time."""
    from liqdata import open, score
    from liqdata.calls.arguments import millis_of

    with open(archive) as market:
        card = score(
            market.maps(coin) if stored else market,
            market,
            bars=market.bars(coin),
            symbol=coin,
            progress=find_spec("tqdm") is not None,
            **options,
        )
        gaps = market.gaps(millis_of(card.meta["start"]), millis_of(card.meta["end"]))
    return {coin: card}, {coin: len(gaps)}


def _on_cluster(
    archive: str | Path, coins: list[str], dask: str | None, options: dict[str, Any]
) -> tuple[dict[str, Scorecard], dict[str, int]]:
    """The cards of several coins; without a cluster they are computed in this process."""
    from liqdata import open
    from liqdata.calls.arguments import millis_of
    from liqdata.cloud.objects import is_address
    from liqdata.distributed import score

    every = [coin.lower() for coin in coins] == ["all"]
    with contextlib.ExitStack() as stack:
        client = None
        if dask is not None:
            if find_spec("distributed") is None:
                lacking("--dask", "distributed", "dask")
            client = stack.enter_context(_client(dask))
        cards = score(archive, None if every else coins, client=client, **options)
    if not cards:
        refuse("coins: no coin of the archive has enough data to be scored; allowed: a longer archive", "coins")
    if is_address(archive):  # which this process need not download
        return cards, {}
    with open(archive) as market:
        spans = {coin: (millis_of(card.meta["start"]), millis_of(card.meta["end"])) for coin, card in cards.items()}
        return cards, {coin: len(market.gaps(*span)) for coin, span in spans.items()}


def _client(address: str) -> Any:
    from importlib import import_module

    try:
        return import_module("distributed").Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        refuse(f"dask: {address!r} does not answer ({error}); allowed: the address of a scheduler", "dask")


def _print(card: Scorecard, gaps: int) -> None:
    from liqdata.scoring import text

    print(card)
    print("paths and nulls:", *text.lines(card.references()), sep="\n")
    if gaps:
        print(f"{gaps} gaps in this time: realised amounts there are a lower bound")
