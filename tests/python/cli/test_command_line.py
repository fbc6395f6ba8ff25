"""The command line apart from queries: help, mistakes, watching, walking, completing, tables that fit."""

import contextlib
import csv
import io
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
from decimal import Decimal

import command_page
import pytest
import samples
from growing import growing
from hypothesis import given
from hypothesis import strategies as st
from scripted import answer, data

import liqdata
from liqdata import _core, cli, plot
from liqdata.cli.asked import Asked, ask
from liqdata.cli.menu import EXAMPLES, entries
from liqdata.cli.output import layout, table
from liqdata.cli.output.formats import Form
from liqdata.cli.source import Source
from liqdata.endpoints.contract import endpoints
from liqdata.files.atomic_write import atomic_write

TABLE = endpoints()
ROWS = [
    {
        "exchange": "okx",
        "symbol": "BTCUSDT",
        "side": "LONG",
        "price": "1",
        "qty": "1",
        "value_usd": "57986422.35",
        "timestamp": 1_781_136_000_000,
    }
]


@pytest.fixture(autouse=True)
def _one_market(monkeypatch, market):
    """The simulated market of the session, which takes long to make, in place of one for each command."""
    monkeypatch.setattr(liqdata, "demo", lambda **_: contextlib.nullcontext(market))


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch):
    for name in ("LIQDATA_BASE_URL", "LIQDATA_TOKEN", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


def run(capsys, *arguments):
    code = cli.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def process(*arguments, **options):
    command = [sys.executable, "-m", "liqdata", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


# --- the way in, and mistakes


def test_without_arguments_it_shows_examples_and_all_commands(capsys):
    code, out, err = run(capsys)
    assert (code, err) == (0, "")
    assert len(EXAMPLES) == 4
    assert all(example in out for example, _ in EXAMPLES)
    assert set(entries()) <= set(out.split())
    assert len(out.splitlines()) < 24
    assert max(map(len, out.splitlines())) <= 80


def test_the_examples_are_commands_that_run(capsys):
    for example, _ in EXAMPLES:
        program, command, *_ = example.split()
        assert program == "liqdata"
        assert run(capsys, command, "--help")[0] == 0


def test_the_help_names_every_command_and_what_it_does(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    written = " ".join(out.split())
    for name, entry in entries().items():
        assert f"{name} {entry.sentence}" in written


MISTAKES = {
    "a command": (["coin"], ["'coin'", "coins"]),
    "a command of two words": (["open-intrest"], ["open-interest"]),
    "an option": (["coins", "--rang", "1h"], ["--rang", "liqdata coins", "--range"]),
    "an option before the command": (["--url", "x", "coins"], ["--url", "follow the command"]),
    "an option without its value": (["coins", "--limit"], ["--limit needs a value", "liqdata coins --help"]),
    "a number that is none": (["coins", "--limit", "x"], ["limit", "'x'", "1 to 200"]),
    "a number outside": (["coins", "--demo", "--limit", "0"], ["limit", "1 to 200"]),
    "words too many": (["coins", "BTC", "--demo"], ["'BTC'", "liqdata coins [OPTIONS]"]),
    "an argument too few": (["collect"], ["DIR is missing"]),
    "two sources": (["coins", "--demo", "--url", "http://x"], ["--url and --demo", "one of them"]),
    "two forms": (["coins", "--demo", "--json", "--csv"], ["--json and --csv", "one of them"]),
    "a seed of nothing": (["coins", "--seed", "3"], ["seed", "--demo"]),
    "a header without a service": (["coins", "--demo", "--header", "a: b"], ["header", "--url"]),
    "a deadline of nothing": (["coins", "--demo", "--timeout", "3"], ["timeout", "--url"]),
    "a deadline of no time": (["coins", "--url", "http://x", "--timeout", "0"], ["timeout", "'0'", "above 0"]),
    "a shell": (["completion", "tcsh"], ["'tcsh'", "bash, zsh or fish"]),
    "a walk with a place": (["orders", "--demo", "--all", "--offset", "3"], ["offset", "--all"]),
    "a walk again and again": (["orders", "--demo", "--all", "--watch", "3"], ["watch", "--all"]),
    "a file again and again": (["coins", "--demo", "--csv", "--watch", "3"], ["watch", "--csv", "--json"]),
    "a coin and another": (["orders", "ETHUSDT", "--coin", "BTC", "--demo"], ["'ETHUSDT'", "--coin 'BTC'"]),
    "an instant that is none": (["coins", "--demo", "--as-of", "yesterday"], ["as_of", "'yesterday'"]),
    "a stretch that ends first": (
        ["orders", "--demo", "--start", "2026-06-02", "--end", "2026-06-01"],
        ["end", "not after the start"],
    ),
    "a gap without a unit": (["cascades", "--demo", "--gap", "60"], ["60 has no unit", '"60s"']),
    "a file behind --csv": (
        ["coins", "--demo", "--csv", "/x.csv"],
        ["'/x.csv'", "print to standard output: append > FILE"],
    ),
    "a picture of another kind": (["liqmap", "--demo", "--png", "x.bmp"], ["png: 'x.bmp'", "ends in .png"]),
    "a file of tokens that is not there": (
        ["serve", "new", "--collect", "--token-file", "/no.txt"],
        ["token-file: /no.txt cannot be read", "No such"],
    ),
    "a program for alerts that is not there": (
        ["watch", "--archive", "/no", "--command", "/no/program"],
        ["command: '/no/program' is not an executable program"],
    ),
    "a file of options that is not there": (
        ["serve", "--demo", "--config", "/no.toml"],
        ["config: /no.toml", "No such"],
    ),
    "settings that are not there": (["collect", "x", "--settings", "/no.toml"], ["settings: /no.toml", "No such"]),
    "a table that has no retention": (
        ["collect", "x", "--retention", "trades=7"],
        ["retention: 'trades=7'", "TABLE=DAYS", "orders, bars, open_interest, positions, maps, raw"],
    ),
    "a retention of no days": (["collect", "x", "--retention", "orders=0"], ["orders_days: 0 is not allowed", "1 to"]),
    "maps to keep of another endpoint": (
        ["serve", "x", "--collect", "--keep-maps", "overview"],
        ['maps: "overview" is not allowed', "heatmap, liqmap, levels, maxpain"],
    ),
    "maps to keep without a collector": (
        ["serve", "--demo", "--keep-maps", "heatmap"],
        ["--keep-maps: only for collecting", "--collect"],
    ),
    "an address to collect into": (["collect", "s3://b/p"], ["'s3://b/p' is an address", "on this machine"]),
    "an address to hold against": (["verify", "s3://b/p"], ["'s3://b/p' is an address", "on this machine"]),
    "an address to bring files to": (["ingest", "s3://b/p", "x.csv"], ["'s3://b/p' is an address", "on this machine"]),
}


@pytest.mark.parametrize("words,parts", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_exits_with_2_and_a_remedy(capsys, words, parts):
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("liqdata: ")
    for part in parts:
        assert part in err


@pytest.mark.parametrize(
    "words,same", [(["help"], ["--help"]), (["-h"], ["--help"]), (["help", "coins"], ["coins", "--help"])]
)
def test_every_spelling_of_the_help_option_is_accepted(capsys, words, same):
    written = run(capsys, *words)
    assert written == run(capsys, *same)
    assert written[0] == 0


def test_missing_information_of_files_names_the_options(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bars.csv").write_text("timestamp,open,high,low,close,volume\n1704153600000,1,2,1,1,1\n")
    (tmp_path / "orders.csv").write_text(
        "timestamp,exchange,symbol,side,price,qty\n1704153600000,okx,BTCUSDT,SELL,1,1\n"
    )
    for file, option in (("bars.csv", "give --exchange"), ("orders.csv", "give --format force_orders")):
        code, _, err = run(capsys, "ingest", "archive", file)
        assert (code, "=" in err) == (2, False)
        assert option in err


def test_a_file_in_contracts_or_in_euros_is_ingested_with_the_option_that_the_refusal_names(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    names, at = "timestamp,exchange,symbol,side,price,qty", 1_704_153_600_000
    for line, name, option in (
        (f"{at},okx,BTC-USD-SWAP,LONG,42000,7", "--contract-size", ["--contract-size", "100"]),
        (f"{at},kraken,BTC-EUR,LONG,42000,7", "quote_rates", ["--quote-rates", "EUR=1.08,GBP=1.2"]),
    ):
        (tmp_path / "orders.csv").write_text(f"{names}\n{line}\n")
        code, out, _ = run(capsys, "ingest", "archive", "orders.csv")
        assert (code, name in out) == (1, True)
        code, out, _ = run(capsys, "ingest", "archive", "orders.csv", *option)
        assert (code, "1 new" in out) == (0, True)


def test_a_missing_parent_folder_of_a_new_archive_is_named(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (
        ["ingest", "no/archive", "bars.csv"],
        ["collect", "no/archive"],
        ["serve", "no/archive", "--collect"],
    ):
        code, out, err = run(capsys, *words)
        assert (code, out) == (1, "")
        assert f"no/archive cannot be created: there is no folder {tmp_path / 'no'}" in err
    assert list(tmp_path.iterdir()) == []


def test_an_empty_export_gives_its_reason(capsys, tmp_path):
    archive, place = str(tmp_path / "archive"), f"file://{tmp_path}/table"
    positions = {
        "timestamp": [1_704_067_200_000],
        "coin": ["BTC"],
        "side": ["LONG"],
        "value_usd": [100.0],
        "qty": [1.0],
    }
    liqdata.ingest(archive, positions=positions | {"current_price": [100.0]}, exchange="hyperliquid")
    code, _, err = run(capsys, "export", archive, place, "--start", "2026-06-02", "--end", "2026-06-01")
    assert code == 2
    assert "end: '2026-06-01' is not after the start, '2026-06-02'" in err
    code, _, err = run(capsys, "export", archive, place)
    assert (code, err) == (0, "the archive has only positions; export with --tables positions\n")
    code, out, err = run(capsys, "export", archive, place, "--tables", "positions")
    assert (code, err) == (0, "")
    assert "has 1 file of days" in out
    assert out.splitlines()[0].endswith(": 1 row")
    assert "1 of them is new: " in out


# What a service of the contract alone says where it is asked who was listened to, and what else it has.
NO_COVERAGE = (answer("{}", 404), answer("{}", 404))

ORDER = {
    "timestamp": [1_780_185_600_000],
    "exchange": ["okx"],
    "symbol": ["BTCUSDT"],
    "side": ["LONG"],
    "price": [1.0],
    "qty": [9.0],
    "value_usd": [9.0],
}


@pytest.mark.parametrize(
    "name", ["overview", "coins", "orders", "history", "cascades", "undercount", "coverage", "gaps"]
)
def test_an_archive_without_sessions_has_the_same_notice_locally_and_served(capsys, tmp_path, name):
    for has_rows in (False, True):
        archive = tmp_path / f"rows-{has_rows}"
        with contextlib.closing(_core.ArchiveWriter(archive)):
            pass
        if has_rows:
            liqdata.ingest(archive, orders=ORDER)
        with liqdata.open(archive) as market, liqdata.serve(market) as server:
            for source in (["--archive", str(archive)], ["--url", server.url]):
                code, _, err = run(capsys, name, *source)
                assert (code, "nobody" in err) == (1, False)
                assert "no record of a connection to any exchange in the last 24h" in err


def test_covered_exchanges_are_shown_only_for_services_with_coverage(capsys, script, tmp_path):
    day = {name: cells * 2 for name, cells in ORDER.items()}
    day["timestamp"] = [ORDER["timestamp"][0] - 86_400_000, ORDER["timestamp"][0]]
    liqdata.ingest(tmp_path / "archive", orders=day)
    with liqdata.open(tmp_path / "archive") as market, liqdata.serve(market) as server:
        for name in ("coins", "cascades", "gaps"):
            code, _, err = run(capsys, name, "--url", server.url)
            assert (code, err) == (0, "connected in the last 24h: okx 99.9 %\n")
        assert run(capsys, "coverage", "--url", server.url)[::2] == (0, "")
    tables = liqdata.Market(orders=ORDER)
    with tables, liqdata.serve(tables) as server:
        for name in ("coins", "coverage", "gaps"):
            assert run(capsys, name, "--url", server.url)[::2] == (0, "")
    service = script(data(ROWS), *NO_COVERAGE)
    assert run(capsys, "orders", "--url", service.url)[::2] == (0, "")
    broken = script(data(ROWS), answer("{}", 503), answer("{}", 503), answer("{}", 503), answer("{}", 503))
    code, _, err = run(capsys, "orders", "--url", broken.url)
    assert code == 0
    assert "\ncoverage of the last 24h is unknown: " in err


@pytest.mark.parametrize(
    "closed,words,code,out,err",
    [
        (">&-", "completion bash", 0, "", ""),
        ("2>&-", "nonsense", 2, "", ""),
        (">&- 2>&-", "nonsense", 2, "", ""),
        (">/dev/full", "completion bash", 1, "", "liqdata: No space left on device\n"),
    ],
)
def test_a_closed_or_full_output_causes_no_traceback(closed, words, code, out, err):
    command = f"{sys.executable} -m liqdata {words} {closed}"
    done = subprocess.run(["/bin/sh", "-c", command], check=False, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (code, out, err)


def test_a_query_of_a_time_range_does_not_request_current_coverage(capsys, tmp_path):
    liqdata.ingest(tmp_path / "archive", orders=ORDER)
    words = ["orders", "--archive", str(tmp_path / "archive"), "--csv"]
    assert run(capsys, *words)[0] == 1
    code, out, err = run(capsys, *words, "--all", "--start", "2026-05-01")
    assert (code, len(out.splitlines()), err) == (0, 2, "")


@pytest.mark.parametrize("name,option", [("coins", "--parquet"), ("liqmap", "--png")])
def test_an_unwritable_file_is_refused_before_the_query(capsys, tmp_path, name, option):
    pytest.importorskip("pyarrow")
    for file, said in ((tmp_path, "is a folder"), (tmp_path / "no" / "file.png", "there is no folder")):
        code, out, err = run(capsys, name, "--archive", "/no/archive", option, str(file))
        assert (code, out) == (1, "")
        assert err.startswith(f"liqdata: {option[2:]}: ")
        assert said in err
        assert "Errno" not in err


OPENINGS = """
import os, pathlib, socket, sys
import liqdata
from liqdata.cli import main

path = sys.argv[1]
os.environ["SSL_CERT_FILE"] = path
market = liqdata.Market()
for opening in (
    lambda: liqdata.collect("archive", settings=path),
    lambda: liqdata.serve(market, port=0, token=pathlib.Path(path)),
    lambda: liqdata.serve(market, port=0, tls=(path, path)),
    lambda: liqdata.Client(base_url="https://127.0.0.1:1").coins(),
    lambda: main(["collect", "archive", "--settings", path]),
    lambda: main(["serve", "--demo", "--config", path]),
    lambda: main(["serve", "--demo", "--certificate", path, "--key", path]),
    lambda: main(["token", "--add", path, "me"]),
    lambda: main(["coins", "--url", "http://127.0.0.1:1", "--header", f"@{path}"]),
):
    try:
        opening()
    except liqdata.LiqdataError as error:
        print(error, *getattr(error, "__notes__", ()), file=sys.stderr)
    print(file=sys.stderr, flush=True)
"""


@pytest.mark.parametrize("kind", ["a named pipe", "a socket"])
def test_a_path_that_is_no_regular_file_is_refused_before_opening(tmp_path, kind):
    path = tmp_path / "it"
    if kind == "a socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
    else:
        os.mkfifo(path)
    # A process of its own: opening a pipe would block this one.
    words = [sys.executable, "-c", OPENINGS, str(path)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    said = [line for line in done.stderr.splitlines() if f"it is {kind}" in line]
    assert len(said) == 9, done.stderr


@pytest.mark.parametrize("name,option", [("coins", "--parquet"), ("liqmap", "--png")])
def test_a_named_pipe_is_not_deleted_if_its_reader_ends_early(server, tmp_path, name, option):
    pytest.importorskip("pyarrow")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def read_a_little():
        with pipe.open("rb") as reader:
            reader.read(1)

    reading = threading.Thread(target=read_a_little)
    reading.start()
    words = [sys.executable, "-m", "liqdata", name, "--url", server.url, option, str(pipe)]
    subprocess.run(words, check=False, capture_output=True, timeout=120)
    reading.join()
    assert pipe.is_fifo()
    assert {file.name for file in tmp_path.iterdir()} == {"pipe"}


def test_an_answer_replaces_the_file_that_a_link_names(capsys, tmp_path):
    pytest.importorskip("pyarrow")
    link, file = tmp_path / "link.parquet", tmp_path / "file.parquet"
    file.write_text("old")
    link.symlink_to(file)
    assert run(capsys, "coins", "--demo", "--parquet", str(link))[0] == 0
    assert link.is_symlink()
    assert file.read_bytes()[:4] == b"PAR1"


def test_a_spreadsheet_formula_is_escaped_and_read_back(capsys, tmp_path):
    names = ["@SUM(1+1)", "+CMD", "=HYPERLINK(1)", "'QUOTED"]
    count = len(names)
    orders = {
        "exchange": ["okx"] * count,
        "symbol": ["BTCUSDT"] * count,
        "side": ["LONG"] * count,
        "price": [2.0] * count,
        "qty": [3.0] * count,
        "value_usd": [6.0] * count,
        "timestamp": [1781136000000 + number for number in range(count)],
        "group_id": names,
    }
    with liqdata.serve(liqdata.Market(orders=orders)) as server:
        code, out, _ = run(capsys, "orders", "--url", server.url, "--groups", "1", "--csv")
    assert code == 0
    rows = list(csv.DictReader(out.splitlines()))
    assert not [cell for row in rows for cell in row.values() if cell[0] in "=+-@\t"]
    assert {row["price"] for row in rows} == {"2"}, "numbers stay numbers"
    file = tmp_path / "orders.csv"
    file.write_text(out)
    for path, files in (("of_file", [file]), ("of_frame", [])):
        frame = {name: [row[name] for row in rows] for name in rows[0]}
        done = liqdata.ingest(tmp_path / path, *files, **({} if files else {"orders": frame}))
        assert done.new == count
        with liqdata.open(tmp_path / path) as market:
            assert [row["group_id"] for row in market.iter_orders(start=0, groups=True)] == names[::-1]


@pytest.mark.parametrize("name,option", [("coins", "--parquet"), ("liqmap", "--png")])
def test_a_file_is_written_atomically_and_a_pipe_is_not_replaced(capsys, tmp_path, name, option):
    pytest.importorskip("pyarrow")
    file, pipe = tmp_path / "file.png", tmp_path / "pipe"
    assert run(capsys, name, "--demo", option, str(file))[0] == 0
    os.mkfifo(pipe)
    received = []
    reading = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reading.start()
    with atomic_write(pipe) as whole:
        whole.write_bytes(b"all of it")
    reading.join()
    assert received == [b"all of it"]
    assert pipe.is_fifo()
    assert {path.name for path in tmp_path.iterdir()} == {"file.png", "pipe"}


def test_options_and_commands_accept_dashes_and_underscores(capsys):
    once = run(capsys, "open-interest", "--demo", "--as-of", "2026-05-20", "--end", "2026-05-03", "--csv")
    again = run(capsys, "open_interest", "--demo", "--as_of", "2026-05-20", "--end", "2026-05-03", "--csv")
    assert once == again
    assert once[0] == 0
    assert len(once[1].splitlines()) > 100


# --- what starting costs, and a missing library


def fresh(body, **environment):
    done = subprocess.run(
        [sys.executable, "-c", body],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stdout, done.stderr


def test_the_help_loads_click_and_nothing_else_that_is_large():
    heavy = [
        "numpy",
        "rich",
        "asyncio",
        "matplotlib",
        "pandas",
        "polars",
        "pyarrow",
        "tqdm",
        "liqdata.market",
    ]
    body = f"""
import contextlib, io, sys
from liqdata.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    assert main(["--help"]) == 0
print([name for name in {heavy!r} if name in sys.modules], "click" in sys.modules)
"""
    assert fresh(body) == (0, "[] True\n", "")


def test_a_missing_click_names_the_package_to_install():
    body = "import sys; sys.modules['click'] = None; from liqdata.cli import main; sys.exit(main(['coins']))"
    code, out, err = fresh(body)
    assert (code, out) == (1, "")
    assert err == 'liqdata: the command line needs click: pip install "click>=8.1"\n'


# --- who is asked


def test_headers_reach_the_service_and_no_error_shows_them(capsys, script, tmp_path):
    service = script(data(ROWS))
    file = tmp_path / "headers"
    file.write_text("Authorization: Bearer of-the-file\n\nX-Other: two\n")
    words = ["orders", "--url", service.url, "--json"]
    code, _, _ = run(capsys, *words, "--header", "X-Team: quants", "--header", f"@{file}")
    assert code == 0
    request, *others = service.requests
    assert all("coverage" in other.path or other.path.endswith("/api") for other in others)
    sent = {name.lower(): value for name, value in request.headers.items()}
    assert (sent["x-team"], sent["authorization"], sent["x-other"]) == ("quants", "Bearer of-the-file", "two")
    wrong = [
        ["--header", "s3cret"],
        ["--header", ": s3cret"],
        ["--header", "Authorization:", "Bearer", "s3cret"],
        ["--header", "X-A: s3cret\nX-B: 1"],
        ["--header", "A: s3cret", "--header", "@/no/such/file"],
        ["--header", "A: s3cret", "--nonsense"],
        ["--header", "A: s3cret", "--limit", "0"],
    ]
    for words_ in wrong:
        code, out, err = run(capsys, *words, *words_)
        assert (code in {1, 2}, out) == (True, "")
        assert err.startswith("liqdata: ")
        assert "s3cret" not in err, words_
    refused = script(answer(json.dumps({"success": False, "error": "no s3cret here"}), 401))
    code, _, err = run(capsys, "orders", "--url", refused.url, "--header", "Authorization: Bearer s3cret")
    assert code == 1
    assert "s3cret" not in err


def test_a_deadline_is_enforced(capsys, script):
    began = time.monotonic()
    code, _, err = run(
        capsys, "coins", "--url", script(lambda exchange: exchange.until_hung_up()).url, "--timeout", "0.3"
    )
    assert code == 1
    assert "0.3" in err
    assert time.monotonic() - began < 20


def test_an_unsupported_option_of_a_source_is_refused_before_the_query():
    source = Source(url="http://x", archive=None, demo=False, seed=None, header={}, timeout=None)
    form = Form(json=True, csv=False, parquet=None, png=None, watch=None)
    with liqdata.Client("http://127.0.0.1:9") as client:
        with pytest.raises(liqdata.BadQuery, match=r"service; allowed: --nonsense-too with --archive or --demo"):
            ask(Asked("chart", {"nonsense_too": 1}, source, form), client)
        with pytest.raises(liqdata.BadQuery, match=r"true-positions: not available from a service"):
            ask(Asked("true_positions", {}, source, form), client)


def test_as_of_queries_the_past(capsys):
    code, out, _ = run(capsys, "overview", "--demo", "--as-of", "2026-05-31T12:00", "--json")
    assert code == 0
    with liqdata.demo() as market:
        assert json.loads(out) == market.overview(as_of="2026-05-31T12:00")
    _, out, _ = run(capsys, "overview", "--demo", "--as-of", "2026-05-31T12:00")
    assert "as of 2026-05-31 12:00:00 UTC" in out


# --- the forms of an answer


@pytest.mark.parametrize("name", ["overview", "levels", "maxpain", "liqmap", "heatmap"])
def test_csv_and_parquet_of_an_object_have_its_numbers(capsys, tmp_path, name):
    parquet = pytest.importorskip("pyarrow.parquet")
    code, out, _ = run(capsys, name, "--demo", "--csv")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    file = tmp_path / "answer.parquet"
    assert run(capsys, name, "--demo", "--parquet", file)[0] == 0
    written = parquet.read_table(file)
    assert written.column_names == list(rows[0])
    assert written.num_rows == len(rows)
    number = written.column_names[-1]
    assert [float(row[number] or "nan") for row in rows] == pytest.approx(written[number].to_pylist(), nan_ok=True)
    with liqdata.demo() as market:
        if name == "heatmap":
            assert sum(float(row["estimate"] or 0) for row in rows) == pytest.approx(market.heatmap().matrix.sum())
        if name == "liqmap":
            assert sum(float(row["total_usd"]) for row in rows) == pytest.approx(market.liqmap().total.sum())
        if name == "overview":
            assert [int(row["cnt"]) for row in rows] == [one["cnt"] for one in market.overview().values()]


@pytest.mark.parametrize("name", [name for name in plot.__all__ if name not in {"compare", "draw", "picture"}])
def test_every_answer_that_has_a_picture_is_drawn(capsys, tmp_path, name):
    pytest.importorskip("matplotlib")
    file = tmp_path / "picture.png"
    code, out, err = run(capsys, name, "--demo", "--png", file)
    assert (code, out) == (0, "")
    assert file.read_bytes().startswith(b"\x89PNG")
    assert f"wrote {file}" in err


def tables(name, *, rich, width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    if not rich:
        monkeypatch.setitem(sys.modules, "rich", None)
    more = ["--by", "coin,symbol,exchange,side"] if name == "history" else []
    code, out, _ = run(capsys, name.replace("_", "-"), "--demo", *more)
    assert code == 0
    return out


@pytest.mark.parametrize("rich, width", [(True, 80), (False, 80), (False, 120)])
def test_every_table_fits_the_terminal_and_no_number_is_cut(monkeypatch, capsys, rich, width):
    for name, entry in entries().items():
        if entry.section not in {"Standard queries", "Extensions"} or name == "stream":
            continue
        out = tables(name, rich=rich, width=width, monkeypatch=monkeypatch, capsys=capsys)
        assert max(map(len, out.splitlines())) <= width, out
        assert not re.search(r"\d…", out)
        assert "as of 2026-06-01 00:00:00 UTC" in out
        assert "simulated" in out


def test_columns_that_do_not_fit_are_repeated_below_with_the_row_names():
    lines = [
        {
            "exchange": f"venue{i}",
            "timestamp": 1_781_136_000_000 + i,
            **{f"c{j}": float(1000 * i + j) for j in range(20)},
        }
        for i in range(3)
    ]
    sheet = table.made("many", lines)
    panels = layout.panels(sheet, 60)
    assert len(panels) > 2
    assert all(panel[:2] == [0, 1] for panel in panels)
    assert sorted(place for panel in panels for place in panel if place > 1) == list(range(2, 22))


def test_a_long_answer_is_shortened_with_a_notice(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = run(capsys, "bars", "--demo")
    assert code == 0
    with liqdata.demo() as market:
        assert f"{len(market.bars()):,} rows · the first and the last 100 · all with --csv" in out
    assert "2026-05-02 00:00:00" in out
    assert "2026-05-31 23:55:00" in out
    assert "…" in out


@given(st.one_of(st.floats(-1e15, 1e15), st.decimals("-1e15", "1e15", allow_nan=False, places=8)))
def test_an_amount_is_short_and_right_to_three_digits(usd):
    text = table.amount(usd)
    assert len(text.lstrip("-")) <= 7
    if text.lstrip("-") == "<0.01":
        assert abs(usd) < Decimal("0.005")
        return
    letters = {"k": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
    written = float(text.rstrip("kMBT").replace(",", "")) * letters.get(text[-1], 1)
    assert written == pytest.approx(float(usd), rel=0.00501, abs=0.00501)


# --- a walk over all orders


def test_a_walk_writes_every_order_once_in_each_form(capsys, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    with liqdata.demo() as market:
        orders = list(market.iter_orders("BTCUSDT"))
        with liqdata.serve(market) as server:
            code, out, err = run(capsys, "orders", "BTCUSDT", "--url", server.url, "--all", "--csv")
    assert (code, err) == (0, "")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) > 1000
    assert [Decimal(row["value_usd"]) for row in rows] == [order["value_usd"] for order in orders]
    _, out, _ = run(capsys, "orders", "BTCUSDT", "--demo", "--all", "--json")
    assert [Decimal(json.loads(line)["qty"]) for line in out.splitlines()] == [order["qty"] for order in orders]
    file = tmp_path / "all.parquet"
    code, out, err = run(capsys, "orders", "BTCUSDT", "--demo", "--all", "--parquet", file)
    assert (code, out, str(file) in err) == (0, "", True)
    written = parquet.read_table(file)
    with liqdata.demo() as market:
        assert written.schema == market.orders(limit=1).to_arrow().schema
        assert written.equals(market.iter_orders("BTCUSDT").to_arrow())
    _, out, _ = run(capsys, "orders", "BTCUSDT", "--demo", "--all")
    assert len(out.splitlines()) == len(orders) + 5
    _, out, _ = run(capsys, "orders", "BTCUSDT", "--demo", "--all", "--limit", "1050", "--csv")
    assert len(out.splitlines()) == 1051


def test_lines_of_a_walk_are_aligned_in_columns(capsys, tmp_path):
    row = {"side": "SHORT", "value_usd": "6"}
    rows = [
        {**row, "exchange": "bybit", "symbol": "BTCUSDT", "price": "63190.5", "qty": "0.19", "value_usd": "12006.2"},
        {**row, "exchange": "hyperliquid", "symbol": "1000000MOGUSDT", "price": "0.2", "qty": "30"},
        {**row, "exchange": "okx", "symbol": "币安人生USDT", "side": "LONG", "price": "2", "qty": "3"},
        {**row, "exchange": "gate", "symbol": "SATSUSDT", "price": "0.0000000123456", "qty": "31234567890.5"},
    ]
    rows[-1]["value_usd"] = "385.6095"
    orders = [{**each, "timestamp": 1_704_153_600_000 + at} for at, each in enumerate(rows)]
    liqdata.ingest(tmp_path / "a", orders=orders)
    code, out, _ = run(capsys, "orders", "--archive", tmp_path / "a", "--start", "2024-01-01", "--all")
    assert code == 0
    rule, *lines = out.splitlines()[-5:]
    ends = [found.end() for found in re.finditer("-+", rule)]
    starts = [found.start() for found in re.finditer("-+", rule)]
    assert len(lines) == len(rows)
    for line, each in zip(lines, reversed(rows), strict=True):
        assert all(line[end : end + 2].isspace() for end in ends[:-1])
        assert line[starts[-1] :] == each["symbol"]
        assert line[starts[1] : ends[1]].strip() == each["side"]
        assert line[: ends[0]].strip() == each["exchange"]
    assert "31.2B" in lines[0]
    assert "1.2346e-08" in lines[0]


def test_a_time_range_of_orders_is_printed_like_any_answer(capsys):
    words = ["orders", "--demo", "--start", "2026-05-31T20:00", "--end", "2026-05-31T21:00"]
    code, out, _ = run(capsys, *words, "--json")
    assert code == 0
    with liqdata.demo() as market:
        found = list(market.iter_orders(start="2026-05-31T20:00", end="2026-05-31T21:00"))
    assert [row["timestamp"] for row in json.loads(out)] == [row["timestamp"] for row in found[:50]]
    _, out, _ = run(capsys, *words, "--all", "--csv")
    assert len(out.splitlines()) == len(found) + 1


def test_the_memory_of_a_walk_does_not_grow_with_the_orders(tmp_path, monkeypatch):
    count = 30_000
    market = liqdata.Market(
        orders={
            "exchange": ["okx"] * count,
            "symbol": ["BTCUSDT"] * count,
            "side": ["LONG"] * count,
            "price": ["60000.1"] * count,
            "qty": ["0.1"] * count,
            "value_usd": ["6000.01"] * count,
            "timestamp": list(range(samples.NOW - count, samples.NOW)),
        }
    )
    with liqdata.serve(market) as server, (tmp_path / "orders.csv").open("w") as file:
        monkeypatch.setattr(sys, "stdout", file)
        tracemalloc.start()
        assert cli.main(["orders", "--url", server.url, "--all", "--csv"]) == 0
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert len((tmp_path / "orders.csv").read_text().splitlines()) == count + 1
    # As dicts with their decimals all of them would take some twenty megabytes.
    assert peak < 8_000_000


# --- again and again


def ended(started, number=signal.SIGINT):
    started.send_signal(number)
    out, err = started.communicate(timeout=60)
    return started.returncode, out.decode(), err.decode()


def test_watch_repeats_the_answer_until_an_interrupt(script):
    first, *others = [data([{**ROWS[0], "price": str(number)}]) for number in range(100)]
    service = script(first, *NO_COVERAGE, *others)
    started = process("orders", "--url", service.url, "--watch", "0.05", "--json")
    lines = [json.loads(started.stdout.readline()) for _ in range(3)]
    assert [line[0]["price"] for line in lines] == ["0", "1", "2"]
    code, _, err = ended(started)
    assert (code, err) == (130, "")


def test_watch_continues_after_a_failure_and_ends_on_an_invalid_query(script, capsys):
    service = script(data(ROWS), *NO_COVERAGE, answer("{}", 404), data(ROWS))
    started = process("orders", "--url", service.url, "--watch", "0.05")
    seen = []
    while sum(line.startswith(b"orders") for line in seen) < 3:
        seen.append(started.stdout.readline())
    code, _, err = ended(started)
    assert code == 130
    assert err.count("liqdata: ") == 1
    assert "404" in err
    assert run(capsys, "coins", "--demo", "--range", "2h", "--watch", "1")[0] == 2


def terminal(*words, until):
    """What a command shows on a terminal of 80 columns, up to some text; its exit code after Ctrl-C."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "LINES": "24", "TERM": "xterm"}
    command = [sys.executable, "-m", "liqdata", *words]
    started = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    while until not in shown:
        ready, _, _ = select.select([ours], [], [], 120)
        assert ready, shown
        shown += os.read(ours, 65536)
    started.send_signal(signal.SIGINT)
    with contextlib.suppress(OSError):  # the other end is closed
        while os.read(ours, 65536):
            pass
    os.close(ours)
    return shown, started.wait(timeout=60)


def test_on_a_terminal_the_answer_is_drawn_in_place(script):
    pytest.importorskip("rich")
    replies = [data([{**ROWS[0], "price": f"77{number}"}]) for number in range(50)]
    service = script(*replies)
    shown, code = terminal("orders", "--url", service.url, "--watch", "0.05", until=b"774")
    assert code == 130
    assert b"58.0M" in shown
    up = re.findall(rb"\x1b\[1A|\x1b\[2K", shown)
    assert len(up) > 10


# --- the stream


def test_the_stream_is_a_line_an_order(capsys):
    with growing() as (market, server):
        market.add(1, 2)
        started = process("stream", "BTCUSDT", "--url", server.url, "--json", "--limit", "2")
        lines = []
        number = 4
        while len(lines) < 2:
            market.add(number, number + 1)
            number += 3
            if select.select([started.stdout], [], [], 0.2)[0]:
                lines.append(started.stdout.readline())
        started.communicate(timeout=60)
        assert started.returncode == 0
    assert all(json.loads(line)["symbol"] == "BTCUSDT" for line in lines)
    code, out, err = run(capsys, "stream", "--demo", "--csv")
    columns = [column["name"] for column in TABLE["stream"].reply_columns({})]
    assert (code, out) == (0, ",".join(columns) + "\n")
    assert "no new data arrives" in err


def test_totals_have_the_name_in_help_and_errors(capsys):
    code, out, _ = run(capsys, "history", "--demo", "--by", "none", "--json")
    assert code == 0
    assert "coin" not in json.loads(out)[0]
    code, _, err = run(capsys, "history", "--demo", "--by", "")
    assert code == 2
    assert "or none (in Python ()) for totals" in err
    assert "none for totals" in " ".join(run(capsys, "history", "--help")[1].split())


# --- completion


def completed(shell, line, home):
    """What a shell offers for a line, asked with the script that it was given."""
    bin_ = home / "bin"
    bin_.mkdir()
    program = bin_ / "liqdata"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m liqdata "$@"\n')
    program.chmod(0o755)
    file = home / f"script.{shell}"
    words = line.split(" ")
    with file.open("w") as out:
        subprocess.run([program, "completion", shell], stdout=out, check=True, timeout=60)
    if shell == "bash":
        body = (
            f"source {file}; COMP_WORDS=({' '.join(words[:-1])} '{words[-1]}'); COMP_CWORD={len(words) - 1}; "
            "compopt() { :; }; _liqdata_completion liqdata; printf '%s\\n' \"${COMPREPLY[@]}\""
        )
    elif shell == "zsh":
        # compadd and _describe need the line editor: what they are given is what it would show.
        body = (
            f"compdef() {{ :; }}; source {file}; words=({' '.join(words[:-1])} '{words[-1]}'); CURRENT={len(words)}; "
            "compadd() { print -l -- $completions }; _describe() { print -l -- ${completions_with_descriptions%%:*} }; "
            "_liqdata_completion"
        )
    else:
        body = f"source {file}; complete --do-complete='{line}'"
    environment = {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}", "HOME": str(home)}
    options = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [shutil.which(shell), *options, "-c", body],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return {word.split("\t")[0] for word in done.stdout.split("\n") if word}


COMPLETED = {
    "liqdata co": {"coins", "collect", "coverage", "completion"},
    "liqdata heatmap --ra": {"--range"},
    "liqdata coins --range 1": {"1h", "12h", "1d", "1w", "1M", "1y"},
}


@pytest.mark.parametrize("line", COMPLETED)
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_shell_completion_answers_in_the_format_of_the_shell(shell, line):
    """Where the shell itself is not at hand: its script asks by these variables, and takes the answer apart so."""
    script = subprocess.run(
        [sys.executable, "-m", "liqdata", "completion", shell], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    words = line.split(" ")
    asked = {"_LIQDATA_COMPLETE": f"{shell}_complete", "COMP_WORDS": line}
    asked["COMP_CWORD"] = str(len(words) - 1) if shell == "zsh" else words[-1]
    assert all(name in script for name in asked)
    assert f"_LIQDATA_COMPLETE={shell}_complete" in script
    written = subprocess.run(
        [sys.executable, "-m", "liqdata"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, **asked},
    ).stdout.splitlines()
    if shell == "zsh":
        # Kind, word and what is said of it, a line each.
        assert len(written) % 3 == 0
        found = dict(zip(written[1::3], written[::3], strict=True))
    else:
        found = {rest.split("\t")[0]: kind for kind, _, rest in (one.partition(",") for one in written)}
    assert set(found) == COMPLETED[line]
    assert set(found.values()) == {"plain"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_options_and_their_values(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    for place, (line, words) in enumerate(COMPLETED.items()):
        home = tmp_path / str(place)
        home.mkdir()
        assert completed(shell, line, home) == words


# --- the page


def test_the_page_of_the_command_line_has_every_command_and_option():
    written = command_page.PAGE.read_text(encoding="utf-8")
    assert written == command_page.page(), (
        "docs/reference/command-line.md is old: python tests/python/generators/command_page.py writes it"
    )
    for name, entry in entries().items():
        assert f"### liqdata {name}\n" in written
        for parameter in entry.make().params:
            for option in parameter.opts:
                assert not option.startswith("-") or f"`{option}" in written, f"{name} {option}"
