"""The sections of ``docs/explanation/scorecard.md``."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import measured as positions
import numpy as np
import pandas as pd
import realised as liquidations
import simulated
from simulated import MODEL
from tables import number, passed, prose, signed, table, usd

import liqdata
from liqdata import _core

VERSIONS = {
    MODEL: ("the model, `Model()`", simulated.MODELS[MODEL].version),
    "expected": (
        "the model, expected view, `Model(kappa0=0.21)`, fitted if liquidations are known",
        liquidations.EXPECTED.version,
    ),
    "served": ("answered as model 2", _core.model_version(2)),
    "served expected": ("answered as model 3", _core.model_version(3)),
}

OTHERS = {"pool": "pool of these 5"}

Gate = tuple[str, str, str, str]
"""Name of the gate, target, result, and pass or fail."""

_SCORED = ("overlap", "rank correlation", "1 %", "2 %", "5 %", "10 %")


def head() -> str:
    text = prose(
        """This page has the measured scores of the estimate, including its failures. `make scorecard` writes it and
        always gives the same result. [Scoring](scoring.md) has the formulas, [the model](model.md) describes what is
        scored, and [the simulation](simulation.md) describes the simulated markets. Each section states whether its
        data are **simulated** or recorded, with dates."""
    )
    rows = [(said, f"`{version}`") for said, version in VERSIONS.values()]
    return f"# Scorecard\n\n{text}\n\n{table(('model', '`Model.version`'), rows)}"


def gates(found: list[Gate]) -> str:
    text = prose(
        """Further gates use a recorded series of realised liquidations, which is not part of this repository:
        information of at least .29 | .50 nats for the frozen map alone (1 h | 30 m), at least .022 | .030 for the
        refreshed map added to the adaptive path, nulls at most .01, calibration .95 to 1.05. [The
        model](model.md#what-has-been-measured) has the results."""
    )
    return f"## Gates\n\n{table(('', 'target', 'result', ''), found)}\n\n{text}"


def with_section(text: str, section: str, gated: list[Gate]) -> str:
    """Replaces one section of a page and its gates."""
    heading = section.partition("\n")[0]
    head, *sections = text.rstrip("\n").split("\n\n## ")
    at = [f"## {one}".partition("\n")[0] for one in sections].index(heading)
    sections[at] = section.removeprefix("## ")
    lines = "\n\n## ".join([head, *sections]).split("\n")
    for gate in gated:
        row = f"| {' | '.join(gate)} |"
        lines = [row if line.startswith(f"| {gate[0]} |") else line for line in lines]
    return "\n".join(lines) + "\n"


def dated(text: str, before: str) -> str:
    """Adds the day of the measurement, or that of the page before where nothing else differs."""
    line = re.compile(r"Measured on \d{4}-\d\d-\d\d\.\n\n")
    text = line.sub("", text)
    found = line.search(before)
    today = f"Measured on {datetime.now(UTC):%Y-%m-%d}.\n\n"
    same = found is not None and line.sub("", before) == text
    return text.replace("## Gates\n", f"{found[0] if found is not None and same else today}## Gates\n", 1)


def _cells(frame: pd.DataFrame) -> list[str]:
    found = simulated.pooled(frame)
    ratios = [f"{number(found[f'ratio_{near}pct'])} ({number(found[f'median_{near}pct'])})" for near in simulated.NEAR]
    return [number(found["overlap"]), number(found["rank_correlation"]), *ratios]


def _seeds(frame: pd.DataFrame) -> str:
    count = frame["seed"].nunique()
    return "seed 0" if count == 1 else f"seeds 0 to {count - 1}"


def as_it_is(found: dict[str, pd.DataFrame], distances: list[float], gated: list[Gate]) -> str:
    means = simulated.pooled(found[MODEL])
    spread = found[MODEL]["ratio_5pct"].quantile([0.1, 0.9])
    far = max(distances)
    gated.append(("simulated: distance of the level 10, in sigma_R", "≤ 2", number(far), passed(truth=far <= 2)))
    for what, name, low, high in (
        ("simulated: overlap with the true positions", "overlap", 0.73, 1.0),
        ("simulated: USD within 5 % over the true ones", "ratio_5pct", 0.7, 1.5),
    ):
        wanted = f"≥ {low}" if high == 1.0 else f"{low} to {high}"
        gated.append((what, wanted, number(means[name]), passed(truth=low <= means[name] <= high)))
    intro = prose(
        f"""Simulated: the seven-day map of `liqdata.demo(seed=)`, {_seeds(found[MODEL])}, {", ".join(simulated.COINS)},
        both sides, by `liqdata.score_truth`. Overlap and rank correlation are means. The other columns are USD of the
        map over true USD within this distance of the price: the ratio of sums over all markets and, in brackets, the
        median of the single ratios."""
    )
    text = prose(
        f"""For single coins and sides, the ratio within 5 % lies between {number(spread[0.1])} and
        {number(spread[0.9])} in eight of ten cases. Within 1 % of the price, where few positions are, the map shows
        {number(means["ratio_1pct"])} times the true USD. The expected view counts USD that are liquidated and
        reported, so it has no score here."""
    )
    baselines = [name for name in found if name not in {*simulated.MODELS, *OTHERS}]
    overlaps = {name: found[name]["overlap"].mean() for name in baselines}
    baseline_text = prose(
        f"""The [baselines](scoring.md#baselines) are scored at the end of the market, after 30 days. The template has
        an arbitrary scale and therefore no ratios. The largest overlap of a baseline is
        {number(max(overlaps.values(), default=0.0))}, compared with {number(means["overlap"])} of the model. The pool
        is a weighted sum of the model's map and the baselines' maps, with weights fitted to the published orders of
        each 15 minutes; so its USD are published USD."""
    )
    rows = []
    for name, frame in found.items():
        said = VERSIONS[name][0] if name in VERSIONS else OTHERS.get(name, f"baseline: {name}")
        cells = _cells(frame)
        rows.append((said, *(cells if name != "template" else [*cells[:2], *["–"] * (len(cells) - 2)])))
    parts = [intro, table(("", *_SCORED), rows), text, *([baseline_text] if overlaps else [])]
    return "\n\n".join(["## Against the true positions of simulated markets", *parts])


def seen_badly(found: pd.DataFrame) -> str:
    text = prose(
        f"""Simulated: the same markets ({_seeds(found)}) with worse input data. The map is compared with all true
        positions. With open interest of some exchanges the map covers those only. Without open interest it shows a
        multiple of the volume, which is not USD. A reading older than 15 minutes is not summed. So an hour without one
        exchange hardly matters, but reading one exchange after the other gives only a part of the USD. A sampled or
        missing feed of liquidations has no effect here, because liquidations affect the expected view only."""
    )
    rows = [(quality, *_cells(found[found["quality"] == quality])) for quality in simulated.QUALITIES]
    return f"## By the quality of the data\n\n{text}\n\n{table(('', *_SCORED), rows)}"


def _by_habits(found: pd.DataFrame, model: str) -> pd.DataFrame:
    of_model = found[found["model"] == model].groupby("habits", sort=False)
    return pd.DataFrame({habits: simulated.pooled(frame) for habits, frame in of_model}).T


def of_habits(found: pd.DataFrame) -> str:
    rows = []
    for habits in simulated.HABITS:
        mine = found[found["habits"] == habits]
        own = mine[mine["model"] == MODEL]
        scores = simulated.pooled(own)
        cells = [
            number(mine["leverage"].mean(), 1),
            number(100 * mine["within_6"].mean(), 0),
            *(number(scores[name]) for name in ("overlap", "rank_correlation", "ratio_5pct", "ratio_10pct")),
        ]
        rows.append((habits, *cells))
    ratios = _by_habits(found, MODEL)["ratio_5pct"]
    failing = [f"{name} ({number(ratio)})" for name, ratio in ratios.items() if not 0.7 <= round(ratio, 2) <= 1.5]
    intro = prose(
        f"""The model must not fit one simulation only. Simulated: markets of traders with [other leverages, holding
        times and margins](simulation.md#other-habits), {_seeds(found)}, without refitting. The first two columns
        describe BTC in that market: the mean leverage by quantity, and the share of USD within 6 % of the price, in per
        cent of those within {simulated.REACH} %. The other columns are scores of the model."""
    )
    if failing:
        text = (
            f"The ratio within 5 % is outside .7 to 1.5 in {len(failing)} of {len(ratios)} markets: "
            f"{'; '.join(failing)}. The scale of the model fits the usual habits; other habits shift it by this much."
        )
    else:
        text = f"The ratio within 5 % is within .7 to 1.5 in all {len(ratios)} markets."
    chosen = {"k^(−3/4), the model": MODEL, **{name: name for name in simulated.OTHERS}}
    weightings = []
    for said, name in chosen.items():
        means = _by_habits(found, name)
        ratio = means["ratio_5pct"]
        weightings.append(
            (
                said,
                *(number(means.loc["usual", column]) for column in ("overlap", "ratio_5pct")),
                *(number(value) for value in (means["overlap"].mean(), means["overlap"].min())),
                f"{number(ratio.min())} to {number(ratio.max())}",
                str(int(ratio.round(2).between(0.7, 1.5).sum())),
            )
        )
    asked = prose(
        f"""The next table compares other weights of the leverages. For the usual market it gives the overlap and the
        ratio of map USD to true USD within 5 % of the current price. For all {len(ratios)} markets it gives the mean
        and the smallest overlap, the range of the ratio, and the number of markets in which the ratio lies within .7
        to 1.5."""
    )
    heads = ("", "usual: overlap", "5 %", "all: overlap", "least", "5 %", "within")
    columns = ("", "leverage", "within 6 %", "overlap", "rank", "5 %", "10 %")
    return "\n\n".join(
        ["## Of traders with other habits", intro, table(columns, rows), prose(text), asked, table(heads, weightings)]
    )


def measured(shares: pd.DataFrame, meta: dict[str, Any], gated: list[Gate]) -> str:
    loaded = (shares["coin"] == positions.GATED_COIN) & shares["distance"].isin(positions.GATED)
    inside = shares["model"].between(shares["low"], shares["high"])
    count, hits = int(loaded.sum()), int((loaded & inside).sum())
    gated.append(
        (
            "recorded: Hyperliquid, BTC, shares within 5, 10, 30 % inside the interval",
            f"{count} of {count}",
            f"{hits} of {count}",
            passed(truth=hits == count),
        )
    )
    rows = []
    for (coin, distance), both in shares.groupby(["coin", "distance"], sort=False):
        cells = []
        for side in positions.SIDES:
            row = both[both["side"] == side].iloc[0]
            cells += [
                f"{_percent(row['measured'])} [{_percent(row['low'])}, {_percent(row['high'])}]",
                _percent(row["model"]),
            ]
        rows.append((f"{coin}, {100 * distance:.0f} %", *cells))
    intro = prose(
        f"""Recorded: {meta["snapshots"]} snapshots of the positions of {meta["accounts"]:,} accounts on Hyperliquid
        from {meta["start"]:%Y-%m-%d} to {meta["end"]:%Y-%m-%d}: the accounts with the highest profits and the largest
        positions. For BTC they have 11 % of the exchange's long and 19 % of its short open interest. *Measured* is the
        share of a side's USD with a liquidation price within the distance, in per cent, with a 95 % interval over
        resampled accounts. *The model* is the share of open interest that the seven-day map has within the distance.
        Positions without a liquidation price count in the total. The map of BTC uses Binance's open interest and bars
        of 15 minutes. The maps of ETH and SOL use Hyperliquid's open interest and Binance's hourly bars, so they have
        the measured [shares](model.md#liquidatable-shares) of that exchange."""
    )
    others = shares[(shares["coin"] != positions.GATED_COIN) & (shares["distance"] == positions.GATED[0])]
    factors = [f"{number(row.model / row.measured, 1)} times ({row.coin}, {row.side})" for row in others.itertuples()]
    text = prose(
        f"""**For BTC the map agrees with so small a sample of accounts.** Within 5 % of the price the map has
        {", ".join(factors)} the measured share. These accounts are a selection: the [liquidations of all
        accounts](#against-daily-liquidations-on-hyperliquid) give the shares of the map. Farther away than the price
        goes in a day nothing says whether the map or the sample is nearer to the truth."""
    )
    columns = ("", "long, measured", "the model", "short, measured", "the model")
    return "\n\n".join(["## Against measured positions", intro, table(columns, rows), text])


CENSUS = "## Against every position of an exchange"


def census(found: pd.DataFrame, meta: dict[str, Any]) -> str:
    """The section on a census, numbers only."""
    rows = []
    for _, row in found.iterrows():
        ratios = [number(row[f"ratio_{near}pct"]) for near in simulated.NEAR]
        counts = [f"{row['positions']:,}", f"{row['accounts']:,}", _percent(row["without_price"])]
        scores = [number(row["overlap"]), number(row["rank_correlation"]), *ratios]
        rows.append((f"{row['symbol']}, {row['side'].lower()}", *counts, *scores))
    shares = [f"{number(share, 3)} ({coin})" for coin, share in meta["seen_share"].items()]
    intro = prose(
        f"""Recorded: all open positions on Hyperliquid at {meta["instant"]:%Y-%m-%d %H:%M} UTC, from the file that
        `$LIQDATA_CENSUS` names, by `liqdata.score_truth(market, exchange="hyperliquid")`. Share of open interest in the
        file: {", ".join(shares)}. Refused rows: {meta["refused"]:,}. *No price* is the percentage of USD that no price
        liquidates. The other columns are as for simulated markets."""
    )
    return "\n\n".join([CENSUS, intro, table(("", "positions", "accounts", "no price", *_SCORED), rows)])


def without_census() -> str:
    return f"{CENSUS}\n\nNo census was given (`$LIQDATA_CENSUS`) when this page was written."


def _percent(share: float) -> str:
    return number(100 * share, 1)


def realised(card: liqdata.scoring.Scorecard, expected: liqdata.scoring.Scorecard) -> str:
    rows, nulls = [], []
    for row in (*card.rows(), *expected.rows(), *card.references()):
        if row["side"] != "both" or not row["n"]:
            continue
        if row["map"].startswith(MODEL) and ": " in row["map"]:
            nulls.append(row["dig"])
            continue
        gains = [
            f"{signed(row[gain], 3)} [{signed(row[f'{gain}_low'], 3)}, {signed(row[f'{gain}_high'], 3)}]"
            for gain in ("ig", "dig")
        ]
        cells = [number(row[name]) for name in ("spearman", "top10", "calibration")]
        rows.append((f"{row['map']}, {row['state']}", *gains, *cells))
    meta = card.meta
    intro = prose(
        f"""Simulated liquidations, recorded prices: {liquidations.TRADERS:,} traders enter where and when BTC was
        traded ({meta["start"]:%Y-%m-%d} to {meta["end"]:%Y-%m-%d}, {meta["periods"]:,} hours), with leverages, sizes
        and holding times that differ from the estimate and the demo, and are liquidated when the bars reach their
        price. The table is the result of `liqdata.score`. It shows what the scorer can measure, not skill on real
        liquidations."""
    )
    weeks = [row for row in expected.kappa() if row["side"] == "both" and row["state"] == "frozen"]
    own = sum(row["swept_usd"] for row in weeks) / sum(row["realised_usd"] for row in weeks)
    text = prose(
        f"""The {len(nulls)} nulls (older maps, the mean shape, the other side) gain at most {signed(max(nulls), 3)}
        over the adaptive path. The fitted model estimates each day, from the past alone, the share of each tier
        that is liquidated and reported. Its predicted USD are {own:.3f} of the realised USD, without rescaling by the
        scorer."""
    )
    columns = ("", "alone", "over the adaptive path", "Spearman", "top 10 %", "calibration")
    return f"## Against simulated liquidations on recorded bars\n\n{intro}\n\n{table(columns, rows)}\n\n{text}"


def by_day(found: pd.DataFrame, gated: list[Gate]) -> str:
    ones = liquidations.ONES
    rows = []
    for coin, of_coin in found.groupby("coin", sort=False):
        for name, column in (("distance of the price move", "moved"), (ones, ones)):
            cells = []
            for side in positions.SIDES:
                mine = of_coin[of_coin["side"] == side]
                low, high = _resampled(mine[column].to_numpy(), mine["realised"].to_numpy())
                cells.append(f"{number(_rank(mine[column], mine['realised']))} [{number(low)}, {number(high)}]")
            ratios = ["–"] * 3 if column == "moved" else [_over_crossed(of_coin, column, sides) for sides in _SIDES]
            rows.append((f"{coin}, {name}", *cells, *ratios))
    days = found["day"].nunique()
    intro = prose(
        f"""Recorded: USD liquidated on Hyperliquid per day, {days} days from {found["day"].min():%Y-%m-%d} to
        {found["day"].max():%Y-%m-%d} (public domain), compared with the USD that the price crossed in the map of all
        open positions at the start of the day. The map uses Hyperliquid's own open interest and hourly bars of Binance,
        here with all [liquidatable shares](model.md#liquidatable-shares) at 1. Columns: rank correlation over days with
        a 95 % interval over resampled days, and liquidated over crossed USD, with such an interval for both sides."""
    )
    text = prose(
        f"""{days} days are few: the price move alone ranks them as well. Hyperliquid publishes every liquidation, so
        the other crossed positions had been closed, had got more margin, or shared the margin of other positions. The
        scorer needs 200 periods, so it cannot score two months of daily totals."""
    )
    columns = ("", "long", "short", "over crossed", "longs", "shorts")
    parts = [intro, table(columns, rows), text, *_later_days(found, gated)]
    return "\n\n".join(["## Against daily liquidations on Hyperliquid", *parts])


def _later_days(found: pd.DataFrame, gated: list[Gate]) -> list[str]:
    """Liquidated over crossed USD with the measured shares, on days after those of the shares."""
    later = found[found["day"] >= liquidations.LATER]
    counts = later.groupby("day")["coin"].nunique()
    later = later[later["day"].isin(counts.index[counts == later["coin"].nunique()])]
    rows, ratios = [], {}
    for name in (liquidations.ONES, MODEL):
        sums = later.groupby(["coin", "side"])[["realised", name]].sum()
        by_side = sums["realised"] / sums[name]
        both = sums.groupby("coin").sum()
        of_coin = both["realised"] / both[name]
        ratios[name] = {
            "ETH over BTC": of_coin["ETH"] / of_coin["BTC"],
            "SOL over BTC": of_coin["SOL"] / of_coin["BTC"],
            "BTC, shorts over longs": by_side["BTC", "short"] / by_side["BTC", "long"],
        }
        rows.append((name, *(number(ratio) for ratio in ratios[name].values())))
    for what, ratio in ratios[MODEL].items():
        low, high = (0.6, 1.6) if "shorts" in what else (0.7, 1.4)
        gate = f"recorded: liquidated over crossed USD on Hyperliquid, {what}"
        gated.append((gate, f"{low} to {high}", number(ratio), passed(truth=low <= ratio <= high)))
    text = prose(
        f"""The measured shares come from days before {liquidations.LATER}. On the {later["day"].nunique()} days from
        then on that have all three coins, liquidated over crossed USD should be the same for all coins and both
        sides, so these ratios should be 1. They are
        few days: another quarter with a ratio outside .5 to 2 would prove the shares wrong."""
    )
    return [text, table(("", *ratios[MODEL]), rows)]


_SIDES = (("long", "short"), ("long",), ("short",))


def _over_crossed(found: pd.DataFrame, crossed: str, sides: tuple[str, ...]) -> str:
    """Liquidated over crossed USD; with an interval for both sides."""
    by_day = found[found["side"].isin(sides)].groupby("day")[["realised", crossed]].sum().to_numpy()
    ratio = by_day[:, 0].sum() / by_day[:, 1].sum()
    if len(sides) == 1:
        return number(ratio, 3)
    drawn = np.random.default_rng(0).integers(0, len(by_day), (2000, len(by_day)))
    sums = by_day[drawn].sum(axis=1)
    low, high = np.quantile(sums[:, 0] / sums[:, 1], [0.025, 0.975])
    return f"{number(ratio, 3)} [{number(low)}, {number(high)}]"


def _rank(one: pd.Series, other: pd.Series) -> float:
    return float(one.rank().corr(other.rank()))


def _resampled(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    chance = np.random.default_rng(0)
    drawn = [chance.integers(0, len(one), len(one)) for _ in range(400)]
    found = [_rank(pd.Series(one[rows]), pd.Series(other[rows])) for rows in drawn]
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def _usual(found: pd.DataFrame) -> pd.Series:
    usual = found[(found["habits"] == "usual") & (found["model"] == MODEL)]
    return usual.drop_duplicates("seed").mean(numeric_only=True)


def facts(found: pd.DataFrame, near: dict[str, float], days: pd.DataFrame, folder: Path) -> str:
    mean = _usual(found)
    totals = pd.read_parquet(folder / "unlicense_daily_liquidation_volume.parquet")
    btc = totals[totals["coin"] == "BTC"]
    of_btc = days[days["coin"] == "BTC"].groupby("day").agg({"realised": "sum", "interest": "first"})
    daily = btc["total_usd"].sort_values(ascending=False)

    def share(part: float, whole: float = 1.0, digits: int = 0) -> str:
        return f"{100 * part / whole:.{digits}f} %"

    rows = [
        ("liquidated a day, USD", usd(mean["liquidated_usd"]), f"{usd(daily.mean())}, median {usd(daily.median())}"),
        (
            "over open interest",
            share(mean["of_interest"], digits=2),
            share(of_btc["realised"].sum(), of_btc["interest"].sum(), 2),
        ),
        ("over volume", share(mean["of_volume"], digits=2), "–"),
        ("mean order, USD", usd(mean["mean_order"]), usd(daily.sum() / btc["liq_count"].sum())),
        ("median order, USD", usd(mean["median_order"]), "–"),
        ("USD in the largest tenth of orders", share(mean["top_tenth"]), "–"),
        ("longs, of the USD", share(mean["long_share"]), share(btc["long_usd"].sum(), daily.sum())),
        ("USD in the busiest hour of a day", share(mean["top_hour"]), "–"),
        ("USD in the busiest tenth of days", "–", share(daily.head(len(daily) // 10).sum(), daily.sum())),
        *(
            (
                f"within {far} %, of the USD within {simulated.REACH} % of the price",
                share(mean[f"within_{far}"]),
                share(near[f"within_{far}"]),
            )
            for far in simulated.FAR
        ),
    ]
    text = prose(
        f"""BTC: the usual simulated market ({_seeds(found)}, means; orders of its last day, without market makers)
        compared with recorded data: totals of {len(daily)} days from {btc["timestamp"].min():%Y-%m-%d} to
        {btc["timestamp"].max():%Y-%m-%d} on Hyperliquid, which publishes every liquidation; its own open interest, on
        average {usd(of_btc["interest"].mean())} USD; and the measured positions above. A dash means no recorded
        data."""
    )
    return f"## The simulation against facts\n\n{text}\n\n{table(('', 'simulated', 'recorded'), rows)}"


def without_recordings() -> str:
    return "## What was not run\n\n" + prose(
        """`$LIQDATA_REAL_DATA` was not set when this page was written, so there are no scores on measured positions,
        recorded bars or recorded totals."""
    )


def foot() -> str:
    return "## What this does not show\n\n" + prose(
        """This page does not show skill on real liquidations, because no series of them may be published. [The
        model](model.md) has results for one coin over half a year. Nor does it show that the simulation resembles any
        exchange, that the map locates single positions, or that it is right beyond 5 % of the price."""
    )
