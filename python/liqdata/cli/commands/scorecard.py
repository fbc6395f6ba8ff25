"""The command ``score``."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from liqdata.cli.command import Command, flag, option
from liqdata.cli.mistakes import lacking, refuse
from liqdata.cli.words import File, Number, Place, Text
from liqdata.files.atomic_write import atomic_write

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]


def command(name: str, sentence: str) -> Command:
    """Build the command ``score``."""
    parameters: list[click.Parameter] = [
        click.Argument(["archive"], type=Place(), metavar="DIR"),
        click.Argument(["in_place"], required=False, metavar="[SYMBOL]"),
        option("--symbol", metavar="COIN", help="Coin.  [default: BTC]"),
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


def _score(
    *,
    archive: str | Path,
    in_place: str | None,
    symbol: str | None,
    stored: bool,
    markdown: Path | None,
    png: Path | None,
    **options: Any,
) -> None:
    from liqdata import open, score
    from liqdata.calls.arguments import millis_of
    from liqdata.scoring import text

    if in_place and symbol and in_place.upper() != symbol.upper():
        refuse(f"symbol: {in_place!r} and --symbol {symbol!r} differ; allowed: one symbol, given either way", "symbol")
    coin = (in_place or symbol or "BTC").upper()
    if png is not None and find_spec("matplotlib") is None:
        lacking("--png", "matplotlib", "plot")
    with open(archive) as market:
        card = score(
            market.maps(coin) if stored else market,
            market,
            bars=market.bars(coin),
            symbol=coin,
            progress=find_spec("tqdm") is not None,
            **{name: value for name, value in options.items() if value is not None},
        )
        gaps = market.gaps(millis_of(card.meta["start"]), millis_of(card.meta["end"]))
    print(card)
    print("paths and nulls:", *text.lines(card.references()), sep="\n")
    if len(gaps):
        print(f"{len(gaps)} gaps in this time: realised amounts there are a lower bound")
    if markdown is not None:
        with atomic_write(markdown) as unfinished:
            unfinished.write_text(card.to_markdown(), encoding="utf-8")
        print(f"wrote {markdown}", file=sys.stderr)
    if png is not None:
        from liqdata.scoring import picture

        with atomic_write(png) as unfinished:
            picture.picture(card).savefig(unfinished, format="png")
        print(f"wrote {png}", file=sys.stderr)
