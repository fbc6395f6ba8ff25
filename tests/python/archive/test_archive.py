"""Archives: opened, asked, served, pickled, forked, and what is said where there is none."""

import json
import os
import pickle
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
import samples
from samples import DAY, HOUR, MINUTE, NOW

import liqdata
from liqdata import _core
from liqdata.errors import ArchiveError, BadQuery, Refused

TEN = ("overview", "exchanges", "largest", "orders", "chart", "heatmap", "liqmap", "levels", "maxpain")


@pytest.fixture
def tables():
    orders = samples.orders()
    # An archive keeps amounts, not zeros behind them.
    for name in ("price", "qty", "value_usd"):
        orders[name] = [f"{Decimal(text).normalize():f}" for text in orders[name]]
    return {"orders": orders, "bars": samples.bars(), "open_interest": samples.open_interest()}


@pytest.fixture
def folder(tmp_path, tables):
    """An archive of the sample tables, a day of it in files."""
    path = tmp_path / "archive"
    writer = _core.ArchiveWriter(path)
    bars = {**tables["bars"], "interval": [5 * MINUTE] * len(tables["bars"]["symbol"])}
    writer.append(tables["orders"], bars, tables["open_interest"])
    writer.run("okx", "complete", NOW - 12 * HOUR, NOW)
    writer.gap("okx", NOW - 2 * HOUR, NOW - HOUR, "a test")
    writer.roll(NOW)
    writer.close()
    return path


@pytest.fixture
def market(folder):
    with liqdata.open(folder) as market:
        yield market


def test_an_archive_answers_like_tables_of_the_same_rows(market, tables):
    wanted = liqdata.Market(**tables)
    assert not market.simulated
    assert market.symbols == wanted.symbols == ["BTC", "ETH"]
    assert market.now == wanted.now
    assert market.coins("4h") == wanted.coins("4h")
    for name in TEN:
        assert getattr(market, name)() == getattr(wanted, name)(), name
    assert market.levels(["ETH", "BTC"]) == wanted.levels(["ETH", "BTC"])
    with pytest.raises(Refused) as refused:
        market.liqmap("SOL")
    assert refused.value.status == 404


def test_an_estimate_names_its_exchanges(market, tables):
    explain = market.heatmap("BTC").meta["explain"]
    assert explain["priceExchanges"] == explain["volumeExchanges"] == {"binance": explain["bars"]}
    assert set(explain["openInterestExchanges"]) == {row["exchange"] for row in market.open_interest("BTC")}
    assert "price of binance" in repr(market.heatmap("BTC"))
    assert "volume" in market.liqmap("BTC")._repr_html_()
    # Bars of a table name no exchange.
    assert "priceExchanges" not in liqdata.Market(**tables).heatmap("BTC").meta["explain"]


def test_maps_are_returned_as_they_were_served(folder):
    first = {
        "kind": "heatmap",
        "symbol": "BTC",
        "params": "range=24h&model=2",
        "timestamp": NOW,
        "computed_at": NOW + 900,
        "reply": '{"symbol":"BTC","matrix":[[0.5]],"note":"ö"}',
        "explain": '{"bars":288}',
        "version": "2-one",
    }
    other = {**first, "kind": "levels", "symbol": "ETH", "params": "", "explain": None}
    other |= {"timestamp": NOW - 2 * DAY, "computed_at": NOW - 2 * DAY + 700, "version": None}
    writer = _core.ArchiveWriter(folder)
    for row in (first, other):
        writer.map(*row.values())
    writer.map(*{**first, "computed_at": NOW + 5000}.values())
    writer.roll(NOW)
    writer.close()
    with liqdata.open(folder) as market:
        assert market.maps() == [other, first]
        assert market.maps("btc") == market.maps(kind="heatmap") == market.maps(start=NOW - DAY) == [first]
        assert market.maps(end=NOW) == market.maps(as_of=NOW + 899) == [other]
        assert market.maps("ETH", kind="heatmap") == []
        assert len(market.maps(as_of=NOW + 900)) == 2
        frame = market.maps().to_pandas()
        assert str(frame.dtypes["computed_at"]) == "datetime64[ms, UTC]"
        assert json.loads(frame["reply"].iloc[1]) == json.loads(first["reply"])
        assert pickle.loads(pickle.dumps(market.maps())) == market.maps()
        assert market.maps().meta["versions"] == ["2-one", None]
        assert market.maps(version="2-one") == [first]
        assert market.maps(version="2-one").meta["versions"] == ["2-one"]
        assert market.maps(version="unknown") == [other]
        assert market.maps(version=liqdata.Model()) == []
        for version in ("", 2):
            with pytest.raises(BadQuery) as refused:
                market.maps(version=version)
            assert refused.value.parameter == "version"
        with pytest.raises(BadQuery) as refused:
            market.maps(kind="map")
        assert refused.value.parameter == "kind"
        assert market.maps("BTC/USDT:USDT") == market.maps("BTC") != []
    with liqdata.open(folder, as_of=NOW) as market:
        assert market.maps() == [other]
    assert liqdata.demo().maps().columns == list(first)


def test_bars_and_open_interest_reach_the_whole_history(market, tables):
    wanted = liqdata.Market(**tables)
    assert market.bars("BTC") == wanted.bars("BTC")
    start, end = market.now - timedelta(hours=3), market.now - timedelta(hours=1)
    for interval in (None, "15m", timedelta(hours=1), 600_000):
        rows = market.bars("ETH", start=start, end=end, interval=interval)
        others = wanted.bars("ETH", start=start, end=end, interval=interval)
        # Tables add volumes as doubles, an archive as decimals.
        assert [{**row, "volume": 0} for row in rows] == [{**row, "volume": 0} for row in others]
        assert [row["volume"] for row in rows] == pytest.approx([row["volume"] for row in others], rel=1e-14)
        assert len(rows) == 2 * HOUR // (rows[0]["interval"])
    assert market.bars("SOL") == []
    rows = market.open_interest("BTC", start=start)
    assert [row["timestamp"] for row in rows] == sorted(row["timestamp"] for row in rows)
    assert {row["exchange"] for row in rows} == {row["exchange"] for row in wanted.open_interest("BTC")}
    assert rows == wanted.open_interest("BTC", start=start)
    frame = rows.to_pandas()
    assert str(frame.dtypes["timestamp"]) == "datetime64[ms, UTC]"


@pytest.mark.parametrize("interval", ["5", "0m", "5 minutes", 1, 90_001, True, 1.5, timedelta(seconds=90)])
def test_a_length_of_no_whole_minutes_is_refused(market, interval):
    with pytest.raises(BadQuery) as refused:
        market.bars("BTC", interval=interval)
    assert refused.value.parameter == "interval"


@pytest.mark.parametrize("rolled", [False, True])
def test_every_query_sorts_orders_of_one_instant_alike(tmp_path, rolled):
    path = tmp_path / "archive"
    writer = _core.ArchiveWriter(path)
    orders = samples.orders()
    # Several to an instant, as in a frame of many.
    orders["timestamp"] = [at - at % (10 * MINUTE) for at in orders["timestamp"]]
    writer.append(orders, None, None)
    if rolled:
        writer.roll(NOW + DAY)
    writer.close()
    with liqdata.open(path) as market:
        walked = list(market.iter_orders(start=market.now - timedelta(days=1) + timedelta(milliseconds=1)))
        instants = [row["timestamp"] for row in walked]
        assert len(set(instants)) < len(instants)
        assert [
            row for offset in range(0, len(walked), 1000) for row in market.orders(offset=offset, limit=1000)
        ] == walked


def test_iter_orders_streams_the_whole_history_newest_first(market, tables):
    every = list(liqdata.Market(**tables).iter_orders())
    assert list(market.iter_orders()) == every
    assert len(every) == len(tables["orders"]["symbol"])
    assert list(market.iter_orders("BTCUSDT", "okx")) == [
        row for row in every if row["symbol"] == "BTCUSDT" and row["exchange"] == "okx"
    ]
    assert list(market.iter_orders(max_rows=7)) == every[:7]
    start, end = NOW - 20 * HOUR, NOW - 3 * HOUR
    wanted = [row for row in every if start <= row["timestamp"] < end]
    assert 0 < len(wanted) < len(every)
    for source in (market, liqdata.Market(**tables)):
        assert list(source.iter_orders(start=start, end=end)) == wanted
        assert list(source.iter_orders(start=start, end=end, max_rows=4)) == wanted[:4]
        assert list(source.iter_orders(end=start, start=NOW - 90 * DAY)) == [
            row for row in every if row["timestamp"] < start
        ]
        with pytest.raises(BadQuery) as refused:
            source.iter_orders(start=end, end=start)
        assert refused.value.parameter == "end"


def test_coverage_and_gaps_follow_the_recorded_sessions(market):
    venues = {row["exchange"]: row for row in market.coverage("12h")}
    assert venues["okx"]["completeness"] == "complete"
    assert venues["okx"]["connected_share"] == pytest.approx(11 / 12, rel=1e-6)
    assert venues["okx"]["gaps"] == 1
    assert venues["binance"]["connected_share"] is None
    gap = {"exchange": "okx", "start": NOW - 2 * HOUR, "end": NOW - HOUR, "reason": "a test", "topic": None}
    assert market.gaps() == [gap | {"state": "open", "recovered_at": None, "recovered": None, "holds": None}]
    assert market.gaps(end=NOW - 2 * HOUR) == []
    assert market.coins("1h").meta["coverage"][0]["exchange"] == "binance"


def test_an_archive_opened_as_of_an_instant_stays_there(folder, market):
    at = NOW - 5 * HOUR
    with liqdata.open(folder, as_of=at) as then:
        assert then.now == datetime.fromtimestamp(at / 1000, UTC)
        assert then.overview() == market.overview(as_of=at)
        assert then.heatmap("BTC") == market.heatmap("BTC", as_of=at)
        assert all(row["timestamp"] <= at for row in then.iter_orders())
        assert then.bars("BTC")[-1]["timestamp"] == at - 5 * MINUTE
        assert then.open_interest("BTC")[-1]["timestamp"] == at
        again = pickle.loads(pickle.dumps(then))
        assert again.now == then.now
        for later in (
            lambda: then.overview(as_of=NOW),
            lambda: list(then.iter_orders(as_of=NOW)),
            lambda: then.bars(as_of=NOW),
        ):
            with pytest.raises(BadQuery) as refused:
                later()
            assert refused.value.parameter == "as_of"


def test_a_reader_sees_rows_of_a_concurrent_writer(folder, market):
    before = market.overview()["1h"]["cnt"]
    writer = _core.ArchiveWriter(folder)
    order = {name: [cells[0]] for name, cells in samples.orders().items()}
    order["timestamp"] = [NOW + 1]
    writer.append(order, None, None)
    writer.close()
    assert market.now == datetime.fromtimestamp(NOW / 1000, UTC) + timedelta(milliseconds=1)
    assert market.overview()["1h"]["cnt"] in (before, before + 1)
    assert market.orders(limit=1)[0]["timestamp"] == NOW + 1


def test_an_archive_is_served_like_any_market(market):
    with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        assert client.overview() == market.overview()
        assert client.coins(limit=3) == market.coins(limit=3)
        assert (client.heatmap("ETH").matrix == market.heatmap("ETH").matrix).all()


def test_an_archive_pickles_as_its_path(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    with liqdata.open("archive") as market:
        pickled = pickle.dumps(market)
        monkeypatch.chdir("/")
        assert len(pickled) < 500
        assert pickle.loads(pickled).overview() == market.overview()
        assert repr(market).startswith(f"Market(archive {str(folder)!r}, 2 coins")
    with pytest.raises(RuntimeError, match="market is closed"):
        market.overview()


def test_where_there_is_no_archive_the_error_names_the_path(tmp_path):
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(ArchiveError, match="is not an archive") as refused:
            liqdata.open(path)
        assert refused.value.path == str(path)
        assert isinstance(refused.value, OSError)
    (tmp_path / "journal.sqlite").write_bytes(b"no database" * 99)
    with pytest.raises(ArchiveError) as refused:
        liqdata.open(tmp_path)
    assert refused.value.path == str(tmp_path / "journal.sqlite")


def test_a_second_writer_is_refused_and_readers_are_not(folder):
    writer = _core.ArchiveWriter(folder)
    with pytest.raises(ArchiveError, match=f"process {os.getpid()}") as refused:
        _core.ArchiveWriter(folder)
    assert refused.value.path == str(folder)
    liqdata.open(folder).close()
    writer.close()
    _core.ArchiveWriter(folder).close()


FIRST_DAY = {"start": NOW - 2 * DAY, "end": NOW - DAY}


# What holds the rows, and a question that needs those of the first day.
NEEDING = {
    "iter_orders": ("orders", lambda market: list(market.iter_orders(**FIRST_DAY))),
    "a table of them": ("orders", lambda market: market.iter_orders().to_arrow()),
    "model 3": ("orders", lambda market: market.heatmap("BTC", "24h", 3)),
    "a past total": ("orders", lambda market: market.overview(as_of=NOW - HOUR)),
    "bars": ("bars", lambda market: market.bars("BTC", **FIRST_DAY)),
    "hours": ("bars", lambda market: market.bars("ETH", interval="1h")),
    "heatmap": ("bars", lambda market: market.heatmap("BTC")),
    "levels": ("bars", lambda market: market.levels("ETH")),
    "open_interest": ("open_interest", lambda market: market.open_interest("BTC", **FIRST_DAY)),
    "liqmap": ("open_interest", lambda market: market.liqmap("BTC")),
}


@pytest.mark.parametrize("holds,ask", NEEDING.values(), ids=NEEDING)
def test_answers_that_skip_a_damaged_file_name_it(folder, tables, caplog, holds, ask):
    (path,) = (folder / holds).rglob(f"date={datetime.fromtimestamp(NOW / 1000 - 86_400 - 1, UTC):%Y-%m-%d}/*.parquet")
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    rows = sum(timestamp < NOW - DAY for timestamp in tables[holds]["timestamp"])
    with liqdata.open(folder) as market:
        # The last day, which is read now, is sound.
        assert caplog.record_tuples == []
        ask(market)
        (record,) = caplog.records
        assert (record.name, record.levelname) == ("liqdata.archive", "WARNING")
        assert record.getMessage().startswith(f"{rows} rows of {holds} are missing: {path}: the file's SHA-256 is ")
        ask(market)
        assert len(caplog.records) == 1
        # The remaining rows are served.
        every = list(liqdata.Market(**tables).iter_orders())
        left = [row for row in every if holds != "orders" or row["timestamp"] >= NOW - DAY]
        assert list(market.iter_orders()) == left


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no limit of open files")
def test_a_failed_walk_resumes_at_the_day_that_failed(folder):
    source = """
    import resource, sys
    import liqdata
    with liqdata.open(sys.argv[1]) as other:
        wanted = list(other.iter_orders())
    few, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with liqdata.open(sys.argv[1]) as market:
        # The second walk knows the files by their checksums.
        for walk in (market.iter_orders(), market.iter_orders()):
            rows = [next(walk)]
            resource.setrlimit(resource.RLIMIT_NOFILE, (0, most))
            for attempt in range(2):
                try:
                    rows.extend(walk)
                except liqdata.ArchiveError as error:
                    assert "Too many open files" in str(error), error
                else:
                    sys.exit("no file was opened")
            assert 0 < len(rows) < len(wanted), len(rows)
            resource.setrlimit(resource.RLIMIT_NOFILE, (few, most))
            rows.extend(walk)
            assert rows == wanted, (len(rows), len(wanted))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source), folder], timeout=60, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_damaged_journal_raises_and_names_the_file(folder):
    journal = folder / "journal.sqlite"
    raw = bytearray(journal.read_bytes())
    raw[4096:] = b"\xff" * (len(raw) - 4096)
    journal.write_bytes(raw)
    with pytest.raises(ArchiveError) as refused:
        liqdata.open(folder).overview()
    assert refused.value.path == str(journal)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_to_reopen_the_archive(folder):
    source = """
    import os, sys, warnings
    import liqdata
    warnings.simplefilter("ignore", DeprecationWarning)
    market = liqdata.open(sys.argv[1])
    wanted = market.overview()
    if os.fork() == 0:
        try:
            market.overview()
        except liqdata.ArchiveError as error:
            assert "fork" in str(error), error
            assert error.path == os.path.realpath(sys.argv[1])
        try:  # A thread of the parent may have held this lock, too.
            market._source.core.damaged
            os._exit(5)
        except liqdata.ArchiveError as error:
            assert "fork" in str(error), error
            os._exit(0 if liqdata.open(sys.argv[1]).overview() == wanted else 3)
        os._exit(4)
    status = os.waitstatus_to_exitcode(os.wait()[1])
    assert market.overview() == wanted
    sys.exit(status)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source), folder], timeout=60, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


DENIED = """
import os, sys
import liqdata

path, denied = sys.argv[1:]

def ask():
    with liqdata.open(path) as market:
        return len(list(market.iter_orders(start=0)))

# Whatever is loaded late is, before this process may read nothing of its own any more.
assert ask() > 0
try:
    liqdata.open(path + "-elsewhere")
except liqdata.ArchiveError:
    pass
os.chmod(denied, 0)
if os.getuid() == 0:
    os.setresuid(65534, 65534, 65534)
try:
    ask()
except liqdata.ArchiveError as error:
    print(error)
"""


@pytest.mark.parametrize("denied", ["the folder", "the journal", "a file"])
def test_a_denied_read_is_reported_as_a_read(tmp_path, denied):
    path = tmp_path / "archive"
    writer = _core.ArchiveWriter(path)
    writer.append(samples.orders(), None, None)
    writer.roll(samples.NOW - samples.DAY)
    writer.close()
    for parent in (path, *path.parents):
        if tmp_path.parents[1] in (parent, *parent.parents):
            parent.chmod(0o755)
    what = {"the folder": path, "the journal": path / "journal.sqlite"}.get(denied) or next(path.glob("orders/*/*"))
    command = [sys.executable, "-c", DENIED, str(path), str(what)]
    done = subprocess.run(command, timeout=60, capture_output=True, text=True, check=False)
    what.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert str(path) in done.stdout
    assert "check its permissions" in done.stdout
    assert "cannot be written" not in done.stdout
    assert "ermission denied" in done.stdout


def flip(file):
    """Change a bit of a file, which keeps its length."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.fixture
def two_days(tmp_path):
    """An archive of two days in files."""
    path = tmp_path / "archive"
    writer = _core.ArchiveWriter(path)
    writer.append(samples.orders(), samples.bars(hours=60), None)
    writer.roll(samples.NOW + 2 * samples.DAY)
    writer.close()
    return path


@pytest.fixture
def damaged(two_days):
    """An archive of two days in files, of which the older of orders is cut short."""
    first, second = sorted(two_days.glob("orders/*/*.parquet"))
    first.write_bytes(first.read_bytes()[:100])
    return two_days, second


@pytest.mark.parametrize(
    "setup, warnings",
    [
        ("", 1),
        ("import logging", 1),
        ("import logging; logging.basicConfig()", 1),
        ("import logging; logging.getLogger('liqdata.archive').addHandler(logging.NullHandler())", 0),
        ("import logging; logging.getLogger('liqdata').setLevel('ERROR')", 0),
    ],
)
def test_damage_is_printed_once_unless_the_program_configures_logging(damaged, setup, warnings):
    path, _ = damaged
    source = f"{setup}\nimport sys, liqdata\nmarket = liqdata.open(sys.argv[1])\nmarket.overview()"
    done = subprocess.run([sys.executable, "-c", source, path], timeout=60, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("rows of orders are missing") == warnings, done.stderr
    assert done.stderr.count("the file has 100 bytes") == warnings, done.stderr


def test_a_server_logs_damage_when_it_finds_it(damaged):
    path, second = damaged
    flip(second)  # its length is right
    command = [sys.executable, "-m", "liqdata", "serve", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            url = process.stdout.readline().strip()
            said = [process.stderr.readline() for _ in range(3)]
            assert sum("the file has 100 bytes" in line for line in said) == 1, said
            assert sum("the file's SHA-256 is" in line for line in said) == 1, said
            with urllib.request.urlopen(f"{url}/ready", timeout=30) as answer:
                assert answer.headers["x-liqdata-damaged"] == "2"
                assert len(json.load(answer)["damaged"]) == 2
            with liqdata.Client(url) as client, liqdata.open(path) as market:
                assert client.coins().meta["damaged"] == 2
                assert market.coins(as_of=market.now).meta["damaged"] >= 1
            # A third, met while it serves.
            other = next(path.glob("orders/*/*.parquet"))
            other.unlink()
            urllib.request.urlopen(f"{url}/ready", timeout=30).close()
            assert "the file is missing" in process.stderr.readline()
        finally:
            process.terminate()


def test_a_damaged_journal_marks_every_answer_and_is_logged_once(folder):
    journal = folder / "journal.sqlite"
    command = [sys.executable, "-m", "liqdata", "serve", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            url = process.stdout.readline().strip()

            def ask(path):
                try:
                    with urllib.request.urlopen(url + path, timeout=30) as answer:
                        return answer.status, answer.headers.get("x-liqdata-damaged"), answer.read().decode()
                except urllib.error.HTTPError as refused:
                    with refused:
                        return refused.code, refused.headers.get("x-liqdata-damaged"), refused.read().decode()

            def until(path, mark):
                end = time.monotonic() + 30
                while (answer := ask(path))[1] != mark:
                    assert time.monotonic() < end, answer
                    time.sleep(0.05)
                return answer

            before = ask("/api/liquidations/overview")
            assert before[:2] == (200, None)
            assert "liqdata_damaged_files 0\n" in ask("/metrics")[2]
            content = journal.read_bytes()
            with journal.open("r+b") as file:
                file.seek(4096)
                file.write(bytes(len(content) - 4096))
            # The totals as of the day before read the journal again.
            until(f"/api/liquidations/overview?as_of={samples.NOW - samples.DAY}", "1")
            for path in ("/api/liquidations/overview", "/api/coverage", "/health", "/ready", "/api", "/nope"):
                assert ask(path)[1] == "1", path
            code, _, said = ask("/ready")
            assert code == 503 or [file["holds"] for file in json.loads(said)["damaged"]] == ["journal"], said
            assert "liqdata_damaged_files 1\n" in ask("/metrics")[2]
            with liqdata.Client(url) as client:
                assert client.overview().meta["damaged"] == 1

            copy = folder / "copy"
            copy.write_bytes(content)
            copy.replace(journal)
            until("/api/liquidations/overview", None)
            assert ask("/api/liquidations/overview") == before
            assert json.loads(ask("/ready")[2])["damaged"] == []
            assert "liqdata_damaged_files 0\n" in ask("/metrics")[2]
        finally:
            process.terminate()
        said = process.stderr.read()
        assert said.count("journal.sqlite is damaged") == 1, said
        assert said.count("reading the archive again") == 1, said


WRITER_FORKS = """
import os, subprocess, sys, warnings
import samples
from liqdata import _core
warnings.simplefilter("ignore", DeprecationWarning)

AGAIN = "import sys; from liqdata import _core; _core.ArchiveWriter(sys.argv[1])"
writer = _core.ArchiveWriter(sys.argv[1])
child = os.fork()
if child == 0:
    if sys.argv[2] == "closed":
        try:
            writer.close()
        finally:
            os._exit(0)
    if sys.argv[2] == "dropped":
        del writer
        os._exit(0)
    sys.exit(0)
os.waitpid(child, 0)
# The lock is the parent's still: another process is refused, and what the parent writes is kept.
other = subprocess.run([sys.executable, "-c", AGAIN, sys.argv[1]], capture_output=True, text=True)
assert other.returncode == 1 and f"process {os.getpid()}" in other.stderr, other.stderr
writer.append(samples.orders(), None, None)
writer.close()
_core.ArchiveWriter(sys.argv[1]).close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("how", ["closed", "dropped", "ended"])
def test_a_forked_child_does_not_release_the_lock_of_its_parent(tmp_path, how):
    done = subprocess.run(
        [sys.executable, "-c", WRITER_FORKS, tmp_path / "archive", how],
        timeout=60,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_line_queries_an_archive(folder, capsys):
    from liqdata.cli import main

    assert main(["coins", "--archive", str(folder), "--json"]) == 0
    assert '"coin"' in capsys.readouterr().out
    assert main(["levels", "BTC", "--archive", str(folder)]) == 0
    assert main(["coins", "--archive", str(folder / "nothing")]) == 1
    assert "is not an archive" in capsys.readouterr().err
