"""The command line: tables, JSON, CSV, files, exit codes, and a server that ends at a signal."""

import contextlib
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from decimal import Decimal

import pytest
import samples

import liqdata
from liqdata import _core, cli
from liqdata.cli import question
from liqdata.cli.menu import entries
from liqdata.cli.output import table
from liqdata.endpoints.contract import endpoints

TABLE = endpoints()
ENDPOINTS = [endpoint.name for endpoint in TABLE.values() if endpoint.reply in {"rows", "object"}]

# What a simulation has none of.
QUIET = {"gaps", "maps", "positions"}


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch):
    monkeypatch.delenv("LIQDATA_BASE_URL", raising=False)


def run(capsys, *arguments):
    code = cli.main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


AMOUNTS = {"price", "qty", "value_usd", "long_usd", "short_usd", "total_usd"}


def exact(rows):
    return [{name: Decimal(cell) if name in AMOUNTS else cell for name, cell in row.items()} for row in rows]


def refuse_constant(name):
    raise AssertionError(name)


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_every_endpoint_prints_a_table(capsys, server, endpoint):
    code, out, err = run(capsys, endpoint, "--url", server.url)
    more = "more orders match: a larger --limit or --all has them\n" if endpoint == "orders" else ""
    assert (code, err) == (0, more)
    assert out.startswith(endpoint.replace("_", "-"))
    assert len(out.splitlines()) > 3 or (endpoint in QUIET and "nothing" in out)


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_every_endpoint_prints_tables_without_rich(capsys, server, endpoint, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    code, out, _ = run(capsys, endpoint, "--url", server.url)
    assert code == 0
    assert "─" not in out
    assert len(out.splitlines()) > 3 or (endpoint in QUIET and "nothing" in out)


# Members that the service computes for readers without this package; in Python, methods and attributes have them.
COMPUTED = {"coin", "stepMs", "rowStep", "edges", "clusters", "bounds", "fine"}


def without_computed(row):
    return {name: value for name, value in row.items() if name not in COMPUTED}


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_json_has_the_members_of_the_reply(capsys, server, endpoint):
    code, out, _ = run(capsys, endpoint, "--url", server.url, "--json")
    assert code == 0
    printed = json.loads(out, parse_constant=refuse_constant)
    with urllib.request.urlopen(f"{server.url}{TABLE[endpoint].path}") as reply:
        sent = json.load(reply)
    sent = sent.get("data", sent)
    if COMPUTED & {column["name"] for column in TABLE[endpoint].columns if column.get("extension")}:
        sent = [without_computed(row) for row in sent] if isinstance(sent, list) else without_computed(sent)
    if endpoint == "positions":  # what all rows of a snapshot share is in `meta`
        sent = [{name: cell for name, cell in row.items() if name not in {"timestamp", "seen_share"}} for row in sent]
    if endpoint == "chart":
        sent = [{**row, "hour": int(row["hour"])} for row in sent]
    if "decimal" in {column["type"] for column in TABLE[endpoint].columns}:
        # Amounts are text on both sides; how many trailing zeros they have says nothing.
        assert all(isinstance(row[name], str) for row in printed for name in AMOUNTS & row.keys())
        printed, sent = exact(printed), exact(sent)
    if endpoint == "liqmap":
        names = [str(leverage) for leverage in sent["leverages"]]
        sent["bins"] = [{**bin_, "tiers": {n: bin_["tiers"].get(n, 0.0) for n in names}} for bin_ in sent["bins"]]
    assert printed == sent


def test_csv_has_exact_amounts(capsys, server):
    _, out, _ = run(capsys, "orders", "--url", server.url, "--limit", "7", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    with liqdata.Client(server.url) as client:
        orders = client.orders(limit=7)
    assert [Decimal(row["value_usd"]) for row in rows] == [order["value_usd"] for order in orders]
    assert list(rows[0]) == list(orders[0])


def test_an_empty_csv_has_its_header(capsys, server):
    _, out, _ = run(capsys, "orders", "TIAUSDT", "--url", server.url, "--csv")
    assert out == "exchange,symbol,side,price,qty,value_usd,timestamp\n"


def test_parquet_has_the_rows(capsys, server, tmp_path):
    pd = pytest.importorskip("pandas")
    file = tmp_path / "coins.parquet"
    code, out, err = run(capsys, "coins", "--url", server.url, "--parquet", str(file))
    assert (code, out) == (0, "")
    assert str(file) in err
    with liqdata.Client(server.url) as client:
        assert pd.read_parquet(file)["coin"].tolist() == [row["coin"] for row in client.coins()]


@pytest.mark.parametrize("endpoint", ["heatmap", "liqmap"])
def test_a_picture_is_written_and_its_path_printed(capsys, tmp_path, endpoint):
    file = tmp_path / "picture"
    code, _, err = run(capsys, endpoint, "--demo", "--png", str(file))
    assert code == 0
    assert file.read_bytes().startswith(b"\x89PNG")
    assert str(file) in err
    assert "simulated" in err


def test_a_simulated_answer_has_a_notice_on_stderr(capsys):
    code, out, err = run(capsys, "coins", "--demo", "--json")
    assert code == 0
    assert "simulated" in err
    json.loads(out)


def test_a_symbol_is_a_positional_argument_or_an_option(capsys, server):
    _, by_place, _ = run(capsys, "levels", "ETH", "--url", server.url, "--json")
    _, by_name, _ = run(capsys, "levels", "--symbol", "ETH", "--url", server.url, "--json")
    assert json.loads(by_place) == json.loads(by_name)
    assert json.loads(by_place)["symbol"] == "ETH"


@pytest.mark.parametrize("endpoint", ["orders", "chart", "heatmap", "liqmap", "levels", "maxpain"])
def test_two_symbols_that_differ_are_refused(capsys, endpoint):
    code, out, err = run(capsys, endpoint, "BTCUSDT", "--symbol", "ETHUSDT", "--demo")
    assert (code, out) == (2, "")
    for part in ("symbol", "'BTCUSDT'", "'ETHUSDT'", "allowed: one"):
        assert part in err


def test_one_symbol_may_be_given_twice(capsys, server):
    _, once, _ = run(capsys, "levels", "eth", "--url", server.url, "--json")
    code, twice, err = run(capsys, "levels", "--symbol", "ETH", "eth", "--url", server.url, "--json")
    assert (code, err) == (0, "simulated market\n")
    assert json.loads(twice) == json.loads(once)


def printed(*arguments, **environment):
    """What a process of its own prints, as bytes."""
    command = [sys.executable, "-m", "liqdata", *arguments]
    return subprocess.run(command, capture_output=True, check=False, env={**os.environ, **environment}, timeout=60)


@pytest.mark.parametrize("rich", ["rich", "plain"])
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "ascii:surrogateescape"])
def test_unencodable_characters_are_escaped(tmp_path, server, encoding, rich):
    if rich == "plain":
        (tmp_path / "rich.py").write_text("raise ModuleNotFoundError(name='rich')")
    done = printed("levels", "--url", server.url, PYTHONIOENCODING=encoding, PYTHONPATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode(encoding.partition(":")[0])
    assert text.startswith("levels BTC  at ")
    assert ("10x" if encoding.startswith("ascii") else "10×") in text


@pytest.mark.parametrize(
    "encoding, form",
    [("ascii", ["--csv"]), ("cp1252", ["--all", "--csv"]), ("latin-1:replace", ["--csv"]), ("utf-16", ["--json"])],
)
def test_data_is_utf_8_in_every_locale(tmp_path, encoding, form):
    row = {
        "timestamp": 1_704_153_600_000,
        "exchange": "bybit",
        "side": "SHORT",
        "price": "2",
        "qty": "3",
        "value_usd": "6",
    }
    liqdata.ingest(tmp_path / "a", orders=[{**row, "symbol": "币安人生USDT"}])
    words = ["orders", "--archive", str(tmp_path / "a"), "--start", "2024-01-01", *form]
    done = printed(*words, PYTHONIOENCODING=encoding)
    assert done.returncode == 0
    text = done.stdout.decode("utf-8")
    symbols = [row["symbol"] for row in (json.loads(text) if "--json" in form else csv.DictReader(io.StringIO(text)))]
    assert symbols == ["币安人生USDT"]


def test_an_encoding_chosen_by_the_user_is_used(server):
    done = printed("levels", "--url", server.url, PYTHONIOENCODING="ascii:replace")
    assert done.returncode == 0
    assert b"10?" in done.stdout


def test_a_call_restores_the_encoding_of_the_output(monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(question, "_ask", lambda *_: print("×·–…币"))
    assert cli.main(["levels", "--demo"]) == 0
    assert out.buffer.getvalue() == rb"x|-~\u5e01" + b"\n"
    assert out.errors == "strict"
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert cli.main(["levels", "--demo"]) == 0
    assert sys.stdout.getvalue() == "×·–…币\n"


def test_a_question_outside_the_contract_exits_with_2_and_lists_what_is_allowed(capsys, server):
    code, out, err = run(capsys, "coins", "--url", server.url, "--range", "2h")
    assert (code, out) == (2, "")
    for part in ("range", "2h", "1h", "24h"):
        assert part in err


def test_a_missing_source_names_the_alternatives(capsys):
    code, _, err = run(capsys, "coins")
    assert code == 2
    for way in ("--url", "LIQDATA_BASE_URL", "--demo"):
        assert way in err


def test_the_address_may_come_from_the_environment(capsys, server, monkeypatch):
    monkeypatch.setenv("LIQDATA_BASE_URL", server.url)
    code, _, _ = run(capsys, "overview")
    assert code == 0


def test_an_unknown_symbol_exits_with_2_and_one_without_bars_with_1(capsys, server):
    for coin, wanted in (("NOSUCH", 2), ("TIA", 1)):
        code, _, err = run(capsys, "levels", coin, "--url", server.url)
        assert code == wanted
        assert coin in err


def test_a_file_that_cannot_be_written_exits_with_1(capsys, tmp_path):
    code, _, err = run(capsys, "liqmap", "--demo", "--png", str(tmp_path / "no" / "such" / "folder.png"))
    assert code == 1
    assert "folder.png" in err


def test_an_interrupt_exits_with_130(capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(question, "ask", interrupted)
    code, _, _ = run(capsys, "coins", "--demo")
    assert code == 130


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_server_runs_until_a_signal(folder, ending):
    samples.archive(folder)
    command = [sys.executable, "-m", "liqdata", "serve", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().strip()
        with urllib.request.urlopen(f"{url}/api/liquidations/overview") as reply:
            assert json.load(reply)["success"] is True
        process.send_signal(ending)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert f"the archive {folder}" in err


def test_a_closed_pipe_causes_no_traceback():
    command = [sys.executable, "-m", "liqdata", "heatmap", "--demo", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.read(1) == "{"
        process.stdout.close()
        err = process.stderr.read()
        process.wait(timeout=60)
    assert "Traceback" not in err
    assert process.returncode in {0, 1}


def test_the_demonstration_shows_all_ten_and_writes_both_pictures(capsys, tmp_path):
    code, out, err = run(capsys, "demo", "--out", str(tmp_path))
    assert (code, err) == (0, "")
    for endpoint in ENDPOINTS:
        assert (f"client.{endpoint}()" in out) != TABLE[endpoint].extension
    assert "simulated" in out
    with liqdata.demo() as market:
        price = market.liqmap("BTC", "7d").current_price
        for side, end in (("LONG", 0.95), ("SHORT", 1.05)):
            near = [row for row in market.true_positions("BTC") if row["side"] == side]
            near = [row for row in near if min(end, 1) <= row["liquidation_price"] / price <= max(end, 1)]
            assert table.amount(sum(row["qty"] * row["liquidation_price"] for row in near)) in out
    for name in ("heatmap.png", "liqmap.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_the_module_is_the_command():
    command = [sys.executable, "-m", "liqdata", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ})
    assert done.stdout.strip() == f"liqdata {liqdata.__version__}"


@pytest.mark.parametrize("value,text", [(None, "–"), ("BTC", "BTC"), (12345, "12,345"), (0.25, "0.25")])
def test_cells_are_written_for_a_reader(value, text):
    assert table.cell("anything", value) == text


def test_every_endpoint_is_a_command():
    asked = [name for name, entry in entries().items() if entry.section in {"Standard queries", "Extensions"}]
    # Features are a command that writes a file.
    wanted = [name.replace("_", "-") for name in TABLE if name != "features"]
    assert asked[: len(wanted)] == wanted


def test_realised_answers_of_an_archive_list_the_covered_exchanges(capsys, tmp_path):
    path = tmp_path / "archive"
    now = int(time.time() * 1000)
    with contextlib.closing(_core.ArchiveWriter(path)) as writer:
        code, out, err = run(capsys, "overview", "--archive", str(path))
        assert code == 1
        assert "24h" in out
        assert "no record of a connection to any exchange in the last 24h" in err
        writer.append(samples.alike(1, now), None, None)
        writer.run("okx", "sampled", now - 3 * samples.DAY, now + samples.HOUR)
        writer.run("bybit", "complete", now - samples.DAY // 2, now + samples.HOUR)
    for command in ("overview", "coins", "exchanges", "largest", "orders", "chart"):
        code, _, err = run(capsys, command, "--archive", str(path))
        assert code == 0
        assert re.search(r"connected in the last 24h: .*bybit (50\.0|49\.9) %, okx 100 %", err), err
    code, _, err = run(capsys, "coins", "--range", "1h", "--json", "--archive", str(path))
    assert (code, "bybit 100 %, okx 100 %" in err) == (0, True)


def test_a_damaged_archive_is_warned_of_on_stderr(capsys, tmp_path):
    path = tmp_path / "archive"
    writer = _core.ArchiveWriter(path)
    writer.append(samples.orders(), None, None)
    writer.roll(samples.NOW + 2 * samples.DAY)
    writer.close()
    for file in path.glob("orders/*/*.parquet"):
        file.write_bytes(file.read_bytes()[:100])
    _, out, err = run(capsys, "overview", "--archive", str(path))
    assert out
    assert "rows of orders are missing" in err
    assert "the file has 100 bytes" in err
