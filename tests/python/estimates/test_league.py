"""A league commits maps before their period, scores them after it, and names what was changed or came too late."""

import gzip
import html
import json
import shutil
import time
from contextlib import contextmanager
from datetime import timedelta
from hashlib import sha256
from types import SimpleNamespace

import numpy as np
import pytest
import vendor_replies as replies
from chromium import ARGUMENTS
from vendor_double import Script, serving

import liqdata
from liqdata import _core, cli, vendors
from liqdata.recording.contract_form import members
from liqdata.recording.recorder import SourceRecorder
from liqdata.recording.sources import questions_of, sources_of
from liqdata.recording.store import Store
from liqdata.scoring.league import referee
from liqdata.scoring.league.candidates import Asked
from liqdata.scoring.league.chain import Chain

MINUTE = 60_000
HOUR = 60 * MINUTE
HOURS = 250  # each has maps; the first 200 are for learning
ESTIMATES = 6
LINES = 2 * HOURS + ESTIMATES
OPTIONS = {"range": "1d", "models": [2]}
MAP = "/api/futures/liquidation/aggregated-map"


@contextmanager
def clock(at):
    """The clock of the league stands at an instant (epoch ms)."""
    referee.time = SimpleNamespace(time=lambda: at / 1000)
    try:
        yield
    finally:
        referee.time = time


def glass(map, factor=1.0):
    """A map as a vendor sends it, with every sixth bin."""
    levels = {price: factor * usd for price, usd in zip(map.prices[::6].tolist(), map.total[::6].tolist(), strict=True)}
    return replies.glass({"data": [replies.instrument("Binance", levels)], "last_price": map.current_price})


def record(archive, maps, instants):
    """Record the map of a vendor at each instant."""
    with serving({MAP: Script(*maps)}) as double:
        (source,) = sources_of(vendors.CoinGlass("a-key", base_url=double.url, retries=0))
        part = SourceRecorder(source, questions_of(source, ["BTC"], ["liqmap"]), Store(str(archive), source.name), 1)
        for at in instants:
            part.round(at)
        assert part.trouble == {}
        part.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory, market):
    """The folders of an archive and of its league, and the instant of their end.

    Ten days of the simulated market. Before each hour a map is served, a map of a vendor with noise is recorded, and
    both are committed; before the last hours also an estimate.
    """
    folder = tmp_path_factory.mktemp("league")
    archive, league = folder / "archive", folder / "league"
    end = int(market.now.timestamp() * 1000) // HOUR * HOUR
    start = market.now - timedelta(hours=HOURS + 48)
    liqdata.ingest(
        str(archive),
        orders=list(market.iter_orders("BTC", start=start)),
        bars=list(market.bars("BTC", start=start, interval="15m")),
        open_interest=list(market.open_interest("BTC", start=start)),
        exchange="binance",
    )
    instants = [end - HOUR * back - 10 * MINUTE for back in range(HOURS, 0, -1)]
    maps = [market.liqmap("BTC", "1d", model=2, as_of=at) for at in instants]
    chance = np.random.default_rng(5)
    record(archive, [glass(map, chance.lognormal(0, 1)) for map in maps], instants)
    writer = _core.ArchiveWriter(str(archive))
    for at, map in zip(instants, maps, strict=True):
        reply = json.dumps(members(map))
        writer.map("liqmap", "BTC", "range=1d&model=2", at, at, reply, '{"modelVersion": "v2"}', "v2")
    writer.close()
    league.mkdir()
    # As calls with commit_only=True, but the archive is opened only once.
    with liqdata.open(archive) as opened, Chain(league) as chain:
        for at in instants:
            late = at > end - HOUR * (ESTIMATES + 1)
            sources = ["served", "coinglass", *(["estimate"] if late else [])]
            with clock(at + 5 * MINUTE):
                referee.commit(Asked(opened, ["BTC"], sources, "1d", [2], HOUR), chain, league)
    return archive, league, end


@pytest.fixture
def league(whole, tmp_path):
    """A copy of the league."""
    shutil.copytree(whole[1], tmp_path / "league")
    return tmp_path / "league"


def judged(archive, league, at, **options):
    with clock(at):
        return liqdata.league(archive, league, **{**OPTIONS, **options})


def chain(league):
    return (league / "commitments.jsonl").read_bytes().splitlines(keepends=True)


def file_of(league, line):
    digest = json.loads(line)["map"]
    return league / "maps" / digest[:2] / f"{digest}.json.gz"


def page_of(league):
    return html.unescape((league / "index.html").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def written(whole, tmp_path_factory):
    """A copy of the league after a call at its end, and what the call returned."""
    league = tmp_path_factory.mktemp("written") / "league"
    shutil.copytree(whole[1], league)
    return league, judged(whole[0], league, whole[2])


def test_committed_maps_are_scored_as_by_score(whole, written):
    archive = whole[0]
    league, found = written
    assert (found.commitments, found.added, found.changed, found.late) == (LINES + 3, 3, [], [])
    (table,) = found.tables
    assert (table.coin, table.range, table.simulated) == ("BTC", "1d", False)
    rows = {row["source"]: row for row in found.rows() if row["side"] == "both"}
    with liqdata.open(archive) as market:
        recorded = [(one.meta["recorded_at"], one) for one in market.maps("BTC", source="coinglass")]
        maps = {"coinglass liqmap": recorded, "served": market.maps("BTC", kind="liqmap")}
        card = liqdata.score(maps, market)
    own = {row["map"].split()[0]: row for row in card.rows() if row["side"] == "both"}
    assert set(rows) == set(own) == {"coinglass", "served"}
    for source, row in rows.items():
        assert row["n"] > 20
        assert row["maps"] == HOURS == row["n"] + sum(table.left_out[f"{source} {row['model']}"].values())
        for name in ("n", "usd", "ig", "dig", "dig_low", "dig_high", "spearman", "calibration"):
            assert row[name] == pytest.approx(own[source][name], rel=1e-9), name
    # The noise makes the vendor lose, which the page says too.
    assert rows["coinglass"]["dig"] < rows["served"]["dig"]
    (paired,) = [row for row in card.paired() if row["side"] == "both"]
    (minus,) = [row for row in table.more if row["what"].startswith("minus ")]
    assert minus["dig"] == pytest.approx(paired["dig"], rel=1e-9)
    (name,) = [name for name in table.left_out if name.startswith("estimate model 2 ")]
    assert sum(table.left_out[name].values()) == ESTIMATES
    numbers = json.loads((league / "league.json").read_bytes())
    assert numbers["hash"] == found.hash == sha256(chain(league)[-1].rstrip()).hexdigest()
    assert numbers["tables"][0]["rows"] == table.rows
    page = page_of(league)
    for row in rows.values():
        assert f"{row['dig']:+.4f} [{row['dig_low']:+.4f}, {row['dig_high']:+.4f}]" in page
    for words in ("null: 1d ago", "null: average", "null: mirrored", "too few to score", "estimated", found.hash):
        assert words in page
    assert "<script" not in page
    assert "SIMULATED" not in page


def test_every_commitment_can_be_verified_without_liqdata(whole):
    before = "0" * 64
    for number, text in enumerate(chain(whole[1]), 1):
        line = json.loads(text)
        assert (line["sequence"], line["previous"]) == (number, before)
        assert line["instant"] <= line["committed"] < line["start"] < line["end"]
        assert sha256(gzip.decompress(file_of(whole[1], text).read_bytes())).hexdigest() == line["map"]
        before = sha256(text.rstrip(b"\n")).hexdigest()


def test_a_repeated_call_adds_nothing_and_a_later_one_continues_the_chain(whole, league):
    archive, _, end = whole
    before = chain(league)
    assert judged(archive, league, end - HOUR - 4 * MINUTE, commit_only=True).added == 0
    assert chain(league) == before
    assert judged(archive, league, end + MINUTE, commit_only=True).added == 3
    assert chain(league)[:-3] == before
    assert judged(archive, league, end + 2 * MINUTE, commit_only=True).added == 0


def test_a_map_that_was_altered_by_one_bit_is_named_and_not_scored(whole, league):
    archive, _, end = whole
    flipped, missing, rewritten = (file_of(league, chain(league)[number]) for number in (10, 12, 14))
    content = bytearray(flipped.read_bytes())
    content[len(content) // 2] ^= 1
    flipped.write_bytes(content)
    missing.unlink()
    rewritten.write_bytes(gzip.compress(gzip.decompress(rewritten.read_bytes()).replace(b"2", b"3", 1)))
    found = judged(archive, league, end, sources="served")
    assert [one["line"] for one in found.changed] == [11, 13, 15]
    for one, why in zip(found.changed, ("was changed", "is missing", "was changed: its hash is"), strict=True):
        assert why in one["why"]
        assert f"line {one['line']}: {one['source']} {one['question']}" in page_of(league)
    assert {row["maps"] for row in found.rows()} == {HOURS - 3}
    assert found.tables[0].left_out["served liqmap model=2 v2"]["changed or late"] == 3


def test_a_recording_that_was_changed_after_its_commitment_is_named(whole, league, tmp_path, market):
    _, _, end = whole
    at = end - HOUR - 10 * MINUTE
    record(tmp_path / "archive", [glass(market.liqmap("BTC", "1d", model=2, as_of=at), 2.0)], [at])
    found = judged(tmp_path / "archive", league, end, sources="coinglass")
    (one,) = found.changed
    assert (one["source"], one["line"], one["instant"]) == ("coinglass", LINES - 1, at)
    assert "the recording in the archive was changed" in repr(found)
    assert any("nothing is scored: realised: the market has no orders" in note for note in found.tables[0].notes)


def test_a_map_that_was_added_after_its_period_began_is_named_and_not_scored(whole, league, tmp_path, market):
    archive, _, end = whole
    copy = tmp_path / "archive"
    shutil.copytree(archive, copy)
    at = end - HOUR - 2 * MINUTE  # newer than what was committed for the last period
    record(copy, [glass(market.liqmap("BTC", "1d", model=2, as_of=at), 3.0)], [at])
    # A line that was written by hand after its period began, with the right hashes.
    last = json.loads(chain(league)[-1])
    hashes = {"sequence": LINES + 1, "previous": sha256(chain(league)[-1].rstrip()).hexdigest()}
    with (league / "commitments.jsonl").open("a") as file:
        file.write(json.dumps({**last, **hashes, "committed": last["end"]}) + "\n")
    found = judged(copy, league, end, sources="coinglass")
    late = [(one["source"], one["instant"], one["line"]) for one in found.late]
    assert late == [("estimate", end - HOUR - 15 * MINUTE, LINES + 1), ("coinglass", at, None)]
    assert {one["start"] for one in found.late} == {end - HOUR}
    assert {row["maps"] for row in found.rows()} == {HOURS}
    for why in ("after its period began", "not committed before"):
        assert why in page_of(league)


def test_maps_of_a_simulated_market_are_marked(tmp_path, market, server):
    now = int(market.now.timestamp() * 1000)
    with liqdata.Client(server.url) as client:
        (source,) = sources_of(client)
        part = SourceRecorder(
            source, questions_of(source, ["BTC"], ["liqmap"]), Store(str(tmp_path), source.name), HOUR
        )
        part.round(now)
        part.close()
    found = [judged(tmp_path, tmp_path / "league", at, sources=source.name) for at in (now, now + 2 * HOUR)]
    assert [one.added for one in found] == [1, 1]
    assert found[1].tables[0].simulated
    assert page_of(tmp_path / "league").count("SIMULATED") == 2


def edited(number):
    def edit(lines):
        lines[number] = lines[number].replace(b'"coin": "BTC"', b'"coin": "ETH"')

    return edit


def reordered(lines):
    lines[4], lines[5] = lines[5], lines[4]


def cut(lines):
    lines[-1] = lines[-1][:-20]


def unreadable(lines):
    lines[6] = b"{}\n"


@pytest.mark.parametrize(
    "damage, number",
    [
        (edited(4), 5),
        (edited(-1), LINES),
        (reordered, 5),
        (cut, LINES),
        (unreadable, 7),
        (lambda lines: lines.pop(9), 10),
        (lambda lines: lines.pop(), LINES),
        (lambda lines: lines.clear(), 1),
        (lambda lines: lines.insert(3, lines[2]), 4),
    ],
)
def test_a_cut_or_edited_chain_is_an_error_that_names_the_line(whole, league, damage, number):
    lines = chain(league)
    damage(lines)
    (league / "commitments.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(liqdata.ArchiveError, match=rf"commitments.jsonl: line {number}: ") as caught:
        judged(whole[0], league, whole[2])
    assert caught.value.path == str(league / "commitments.jsonl")
    assert (league / "commitments.jsonl").read_bytes() == b"".join(lines)


def test_the_command_commits_and_names_a_source_that_is_not_recorded(whole, league, capsys):
    archive, _, end = whole
    words = ["league", str(archive), "--out", str(league)]
    with clock(end):
        assert cli.main([*words, "--sources", "coinglass", "--range", "1d", "--commit-only"]) == 0
    assert capsys.readouterr().out.startswith(f"League({LINES + 1} commitments, 1 new, hash ")
    assert cli.main([*words, "--sources", "hyblock"]) == 2
    assert "sources: 'hyblock' is not recorded; allowed: 'estimate', 'served', 'coinglass'" in capsys.readouterr().err


def test_wrong_arguments_are_refused(whole, tmp_path):
    archive, _, end = whole
    wrong = {"coins": [], "period": "7m", "models": [5], "range": "2h", "sources": 3, "commit_only": 1}
    for name, value in wrong.items():
        with clock(end), pytest.raises(liqdata.BadQuery) as caught:
            liqdata.league(archive, tmp_path / "other", **{name: value})
        assert caught.value.parameter == name.removesuffix("s" if name == "models" else "")
    with pytest.raises(liqdata.BadQuery, match="out: ''"):
        liqdata.league(archive, "")
    with pytest.raises(liqdata.ArchiveError, match="not an archive"):
        liqdata.league(tmp_path / "nothing", tmp_path / "other")


def test_the_page_opens_without_a_server_a_network_and_a_message(written):
    playwright = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium: apt-get install chromium fonts-dejavu-core")
    league, _ = written
    messages, requests = [], []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=ARGUMENTS)
        for width, scheme in ((1440, "dark"), (1440, "light"), (390, "dark"), (390, "light")):
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page.on("console", lambda message: messages.append(message.text))
            page.on("pageerror", lambda error: messages.append(str(error)))
            page.on("request", lambda request: requests.append(request.url))
            page.goto((league / "index.html").as_uri())
            assert page.locator("h2").first.inner_text() == "BTC, estimated maps of 1d"
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.locator("td svg").count() == 2
            frame = page.locator(".wide").first
            assert width == 390 or frame.evaluate("(one) => one.scrollWidth <= one.clientWidth")
            page.locator("summary").click()
            assert page.get_by_text("null: mirrored").first.is_visible()
            dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(11, 13, 18)"
            assert dark == (scheme == "dark")
            page.close()
        browser.close()
    assert messages == []
    assert set(requests) == {(league / "index.html").as_uri()}
