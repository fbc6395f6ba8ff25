"""The page as files: what is published, what of it is new, and what a reader sees meanwhile."""

import json
import signal
import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager

import buckets
import pytest
import samples
from samples import MINUTE, NOW

import liqdata
from liqdata import _core, cli
from liqdata.publishing.publisher import Publisher, place
from liqdata.publishing.service import Service

PAGE = "s3://kept/page"


@pytest.fixture
def archive(tmp_path):
    return buckets.archive(tmp_path / "archive")


def publish(target, archive, *options):
    return cli.main(["publish", str(target), "--archive", str(archive), "--coins", "btc", "--once", *options])


def index_of(s3):
    return json.loads(s3.get("page/published.json"))


def attributes(s3, path):
    obstore, objects = s3._objects()
    found = obstore.get(objects, path).attributes
    return found["Content-Type"], found["Cache-Control"]


def test_a_bucket_has_the_answers_of_the_server_with_their_lifetimes(s3, archive, capsys):
    assert publish(PAGE, archive) == 0
    assert capsys.readouterr().out.startswith(f"{PAGE} has the bars until 2026-06-01T00:00Z: ")
    index = index_of(s3)
    assert (index["closed"], index["position"], index["retired"]) == (NOW, None, {})
    with liqdata.open(archive) as market, liqdata.serve(market) as server:
        for question, answer in index["answers"].items():
            kind = "application/vnd.liqdata.grid" if answer["file"].endswith(".grid") else "application/json"
            request = urllib.request.Request(f"{server.url}/{question}", headers={"accept": kind})
            with urllib.request.urlopen(request) as reply:
                assert question == "api" or s3.get(f"page/{answer['file']}") == reply.read(), question
    files = {answer["file"] for answer in index["answers"].values()}
    forever = "public, max-age=31536000, immutable"
    for file in files:
        kind = "application/json" if file.endswith(".json") else "application/octet-stream"
        assert attributes(s3, f"page/{file}") == (kind, forever)
    assert attributes(s3, "page/published.json") == ("application/json", "public, max-age=15")
    assert attributes(s3, "page/index.html") == ("text/html; charset=utf-8", "public, max-age=60")
    sent = [path.removeprefix("/kept/page/") for method, path in s3.requests if method == "PUT"]
    assert sent[-2:] == ["published.json", "index.html"]
    start = s3.get("page/index.html").decode()
    for name in sent:
        assert name in start or not name.startswith("app-")
    s3.requests.clear()
    assert publish(PAGE, archive) == 0
    assert s3.of("PUT") == [f"/kept/page/{name}" for name in ("THIRD-PARTY.txt", "index.html", "published.json")]


def test_a_reader_of_a_failed_publication_has_the_one_before_and_the_next_sends_the_rest(s3, archive):
    assert publish(PAGE, archive) == 0
    before = index_of(s3)
    buckets.next_hour(archive)
    refused = []

    def refuse(method, path):
        if method == "PUT" and "/data/" in path:
            refused.append(path)
            if len(refused) > 10:
                return "403 Forbidden", [], [b""]
        return None

    s3.instead = refuse
    assert publish(PAGE, archive) == 1
    s3.instead = buckets.as_asked
    assert index_of(s3) == before
    there = {path.removeprefix("page/") for path in s3.paths()}
    s3.requests.clear()
    assert publish(PAGE, archive) == 0
    index = index_of(s3)
    old, new = ({one["file"] for one in some["answers"].values()} for some in (before, index))
    # What was under way when another file failed may be there by now, and is not sent again.
    sent = {path for path in s3.of("PUT") if "/data/" in path}
    assert sent
    assert sent <= {f"/kept/page/{file}" for file in new - there}
    assert index["closed"] > before["closed"]
    assert old < there
    assert old & new
    # Who has read the index before still finds its files.
    assert set(index["retired"]) >= old - new
    assert {f"page/{file}" for file in old | new} <= set(s3.paths())


def test_the_command_publishes_each_closed_bar_until_it_is_interrupted(archive, tmp_path):
    target = tmp_path / "page"
    command = [sys.executable, "-m", "liqdata", "publish", str(target), "--archive", str(archive), "--coins", "BTC"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert "has the bars until 2026-06-01T00:00Z" in process.stdout.readline()
            buckets.next_hour(archive)
            assert "has the bars until 2026-06-01T01:00Z" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
            assert process.stderr.read() == ""
        finally:
            process.kill()
    index = json.loads((target / "published.json").read_text())
    for answer in index["answers"].values():
        assert (target / answer["file"]).is_file()


@pytest.mark.parametrize(
    "options, message",
    [
        (["--coins", "NOPE"], "coins: 'NOPE' has no estimates here; allowed: BTC, ETH"),
        (
            ["--stream", "live.example.org"],
            "stream: 'live.example.org' is not allowed; allowed: the address of a server",
        ),
        (["--stream", "https://a.example 'unsafe-eval'"], "is not allowed; allowed: the address of a server"),
    ],
)
def test_wrong_options_are_refused_by_name(archive, tmp_path, capsys, options, message):
    assert cli.main(["publish", str(tmp_path / "page"), "--archive", str(archive), "--once", *options]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_with_other_files_is_refused(archive, tmp_path, capsys):
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.html").write_text("mine")
    assert publish(tmp_path / "site", archive) == 1
    assert "already contains 'index.html'; name a target that is empty" in capsys.readouterr().err
    assert (tmp_path / "site/index.html").read_text() == "mine"


def test_an_index_can_only_have_answers_deleted(archive, tmp_path):
    target, other = tmp_path / "page", tmp_path / "other.txt"
    assert publish(target, archive) == 0
    index = json.loads((target / "published.json").read_text())
    index["retired"] = dict.fromkeys(("../other.txt", str(other), "index.html"), 0)
    (target / "published.json").write_text(json.dumps(index))
    other.write_text("of somebody else")
    assert publish(target, archive) == 0
    assert other.exists()
    assert (target / "index.html").exists()


@contextmanager
def publishing(archive, target):
    """A publisher of an archive that is being written."""
    with liqdata.open(archive) as market, liqdata.serve(market) as server:
        publisher = Publisher(Service(server.url, {}), place(str(target)))
        publisher.begin()
        yield publisher


def append_bar(archive, coin, minutes, orders=None):
    """A bar that closes so long after the samples, and orders."""
    bar = {name: cells[-1:] for name, cells in samples.bars((coin,), hours=1).items()}
    bar["timestamp"], bar["interval"] = [NOW + (minutes - 5) * MINUTE], [5 * MINUTE]
    writer = _core.ArchiveWriter(archive)
    writer.append(orders, bar, None)
    writer.close()


def test_a_publication_that_fails_at_its_end_is_tried_again(s3, archive):
    with publishing(archive, PAGE) as publisher:
        s3.instead = lambda method, path: (
            ("403 Forbidden", [], [b""]) if method == "PUT" and path.endswith("published.json") else None
        )
        fresh = publisher.fresh()
        with pytest.raises(liqdata.LiqdataError):
            publisher.publish(fresh, threading.Event())
        s3.instead = buckets.as_asked
        assert publisher.fresh() == fresh == ["BTC", "ETH"]
        publisher.publish(fresh, threading.Event())
        assert publisher.fresh() == []
    assert index_of(s3)["closed"] == NOW


def test_a_late_bar_is_published_and_a_coin_without_new_bars_has_its_new_orders(archive, tmp_path):
    target, question = tmp_path / "page", "api/liquidations?limit=300&symbol=ETH"

    def orders():
        index = json.loads((target / "published.json").read_text())
        return len(json.loads((target / index["answers"][question]["file"]).read_text())["data"])

    with publishing(archive, target) as publisher:
        publisher.publish(publisher.fresh(), threading.Event())
        before = orders()
        row = {name: cells[:1] for name, cells in samples.orders(seed=9).items()}
        row |= {"symbol": ["ETHUSDT"], "timestamp": [NOW + MINUTE], "received_at": [NOW + MINUTE]}
        append_bar(archive, "BTC", 5, row)
        assert publisher.fresh() == ["BTC"]
        publisher.publish(["BTC"], threading.Event())
        assert orders() == before + 1
        append_bar(archive, "ETH", 5)
        assert publisher.fresh() == ["ETH"]


def test_a_full_stream_ends_no_publication(archive, tmp_path):
    target = tmp_path / "page"
    limits = {"streams": 1, "streams_per_peer": 1}
    with liqdata.open(archive) as market, liqdata.serve(market, limits=limits) as server:
        options = ["publish", str(target), "--url", server.url, "--stream", server.url, "--coins", "BTC", "--once"]
        with urllib.request.urlopen(f"{server.url}/api/liquidations/stream") as reader:
            assert reader.status == 200
            assert cli.main(options) == 0
    assert json.loads((target / "published.json").read_text())["position"] is None
