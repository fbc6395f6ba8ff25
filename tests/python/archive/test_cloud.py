"""Archives kept past one machine: exported to object storage, read in place, opened from there, several as one."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import buckets
import pytest
import samples
from samples import DAY, HOUR, NOW

import liqdata
from liqdata import _core, cli
from liqdata.errors import ArchiveError, BadQuery

pytest.importorskip("obstore")


@pytest.fixture
def folder(tmp_path):
    return buckets.archive(tmp_path / "archive")


def export(folder, url="s3://kept/here", **options):
    with liqdata.open(folder) as market:
        return market.export(url, **options)


def answers_of(market):
    """All answers of a market of an archive."""
    answers = samples.ten(market)
    answers["iter"] = list(market.iter_orders())
    answers["bars"] = list(market.bars("BTC"))
    answers["open_interest"] = list(market.open_interest("ETH"))
    answers["gaps"] = list(market.gaps())
    for name in ("1h", "4h", "12h", "24h"):
        answers[name] = list(market.coverage(name))
    return answers


def test_a_bucket_gives_the_answers_of_the_exported_archive(s3, tmp_path):
    folder = buckets.archive(tmp_path / "archive", gap=(5, 4))
    done = export(folder)
    files = sorted(str(path.relative_to(folder)) for path in folder.glob("*/**/*.parquet"))
    assert (done.url, done.files, done.sent) == ("s3://kept/here", len(files), len(files))
    assert done.bytes == done.sent_bytes == sum((folder / name).stat().st_size for name in files)
    with liqdata.open("s3://kept/here") as market, liqdata.open(folder) as local:
        assert market.now == local.now
        assert answers_of(market) == answers_of(local)
        assert list(market.gaps()) == [
            {"exchange": "okx", "start": NOW - 5 * HOUR, "end": NOW - 4 * HOUR, "reason": "a test"}
            | {"topic": None, "state": "open", "recovered_at": None, "recovered": None, "holds": None}
        ]
        assert "archive 's3://kept/here'" in repr(market)
        again = pickle.loads(pickle.dumps(market))
        assert answers_of(again) == answers_of(local)
        assert again._source.mirrored.addresses == ["s3://kept/here"]


def test_only_new_files_are_sent_and_fetched(s3, folder):
    files = export(folder).files
    liqdata.open("s3://kept/here").close()
    s3.requests.clear()
    assert export(folder).sent == 0
    liqdata.open("s3://kept/here").close()
    assert s3.of("PUT") == []
    assert s3.of("GET") == ["/kept", "/kept/here/journal.sqlite", "/kept/here/journal.sqlite"]

    buckets.more(folder)
    s3.requests.clear()
    done = export(folder)
    assert 0 < done.sent == done.files - files
    # The list comes last: what it names is there.
    assert [path for method, path in s3.requests if method == "PUT"][-1] == "/kept/here/journal.sqlite"
    s3.requests.clear()
    with liqdata.open("s3://kept/here") as market, liqdata.open(folder) as local:
        assert answers_of(market) == answers_of(local)
    fetched = [path for path in s3.of("GET") if path.endswith(".parquet")]
    assert len(fetched) == done.sent


def test_unfinished_days_are_not_exported_and_late_rows_are(s3, tmp_path):
    folder = buckets.archive(tmp_path / "archive", rolled=NOW - DAY)
    done = export(folder, end=NOW - DAY)
    assert done.until.timestamp() * 1000 == NOW - DAY
    with liqdata.open("s3://kept/here") as market, liqdata.open(folder) as local:
        assert list(market.iter_orders()) == list(local.iter_orders(end=NOW - DAY))
        assert max(row["timestamp"] for row in market.bars("BTC")) < NOW - DAY
        assert market.now.timestamp() * 1000 == NOW - DAY
        # The run began later than that.
        assert len(market.coverage("24h")) == len({row["exchange"] for row in market.exchanges()})
    # A day that was never rolled goes along in the journal, which other engines do not read.
    whole = export(folder, "s3://kept/whole")
    assert whole.journaled > 0
    with liqdata.open("s3://kept/whole") as market, liqdata.open(folder) as local:
        assert answers_of(market) == answers_of(local)
    # Today is never over.
    writer = _core.ArchiveWriter(folder)
    orders = {name: cells[:1] for name, cells in samples.orders(seed=4).items()}
    orders["timestamp"] = [int(time.time() * 1000)]
    writer.append(orders, None, None)
    writer.close()
    assert export(folder, "s3://kept/whole").journaled == whole.journaled


def test_a_later_start_fetches_only_what_it_needs(s3, folder):
    export(folder)
    s3.requests.clear()
    with liqdata.open("s3://kept/here", start=NOW - DAY) as market, liqdata.open(folder) as local:
        assert list(market.iter_orders()) == list(local.iter_orders(start=NOW - DAY))
        assert {row["timestamp"] >= NOW - DAY for row in market.bars("BTC")} == {True}
    asked = [path for path in s3.of("GET") if path.endswith(".parquet")]
    days = {path.partition("date=")[2][:10] for path in asked}
    assert days == {"2026-05-31"}


def test_an_address_takes_one_archive_and_never_loses_files(s3, folder, tmp_path):
    export(folder)
    other = buckets.archive(tmp_path / "other")
    with pytest.raises(
        ArchiveError, match="s3://kept/here contains another archive; each archive needs its own address"
    ):
        export(other)
    for less in ({"start": NOW - DAY}, {"tables": "orders"}):
        with pytest.raises(
            ArchiveError, match=r"lists \d files that this export leaves out; export to another address"
        ):
            export(folder, **less)
    with pytest.raises(ArchiveError, match=r"lists .* than this export has|lists \d files"):
        export(folder, end=NOW - DAY)
    export(folder, "s3://kept/orders", tables=["orders"])
    with liqdata.open("s3://kept/orders") as market:
        assert len(list(market.iter_orders())) > 0
        assert len(market.bars("BTC")) == 0


def test_a_killed_export_leaves_the_old_state_and_can_be_repeated(s3, folder):
    script = textwrap.dedent(f"""
        import liqdata
        liqdata.open({str(folder)!r}).export("s3://kept/here")
    """)

    def killed(after):
        """Run an export that is killed when it sends the file after so many, before that is taken."""
        sent, running = [], []

        def before(method, path):
            if method == "PUT":
                sent.append(path)
                if len(sent) > after:
                    running[0].kill()
                    running[0].wait()
                    raise ConnectionAbortedError

        s3.before = before
        running.append(subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL))
        assert running[0].wait(60) == -signal.SIGKILL
        s3.before = buckets.nothing

    killed(2)
    with pytest.raises(ArchiveError, match=r"s3://kept/here is not an archive: there is no journal\.sqlite in it"):
        liqdata.open("s3://kept/here")
    export(folder)
    with liqdata.open("s3://kept/here") as market, liqdata.open(folder) as local:
        before = answers_of(local)
        assert answers_of(market) == before
    buckets.more(folder)
    # All files, and not the list.
    killed(export_size(folder, s3))
    with liqdata.open("s3://kept/here") as market:
        assert answers_of(market) == before
    export(folder)
    with liqdata.open("s3://kept/here") as market, liqdata.open(folder) as local:
        assert answers_of(market) == answers_of(local) != before


def export_size(folder, s3):
    """How many files the next export will send."""
    there = s3.paths()
    return sum(f"here/{path.relative_to(folder)}" not in there for path in folder.glob("*/**/*.parquet"))


def test_a_damaged_object_is_skipped_with_a_warning_until_it_is_restored(s3, folder, caplog):
    export(folder)
    names = sorted(str(path.relative_to(folder)) for path in folder.glob("orders/**/*.parquet"))
    whole = [s3.get(f"here/{name}") for name in names]
    flipped = bytearray(whole[0])
    flipped[len(flipped) // 2] ^= 1
    s3.put(f"here/{names[0]}", bytes(flipped))
    s3.delete(f"here/{names[1]}")
    with caplog.at_level("WARNING", "liqdata.archive"), liqdata.open("s3://kept/here") as market:
        assert f"{names[1]}: the file is missing" in caplog.text
        assert list(market.iter_orders()) == []
        assert f"{names[0]}: the file's SHA-256 is" in caplog.text
        assert market.coins("24h").meta["damaged"] == 2
        assert {gap["reason"] for gap in market.gaps()} == {"damaged file"}
        assert len(market.bars("BTC")) > 0
    # Cut short, and put right.
    s3.put(f"here/{names[0]}", whole[0])
    s3.put(f"here/{names[1]}", whole[1][:-7])
    caplog.clear()
    with caplog.at_level("WARNING", "liqdata.archive"), liqdata.open("s3://kept/here") as market:
        assert f"the file has {len(whole[1]) - 7} bytes, but was written with {len(whole[1])}" in caplog.text
        assert len(list(market.iter_orders())) > 0
    s3.put(f"here/{names[1]}", whole[1])
    with liqdata.open("s3://kept/here") as market, liqdata.open(folder) as local:
        assert answers_of(market) == answers_of(local)


def test_an_object_that_was_lost_is_sent_again(s3, folder):
    export(folder)
    name = next(folder.glob("orders/**/*.parquet")).relative_to(folder)
    s3.delete(f"here/{name}")
    assert export(folder).sent == 1
    assert s3.get(f"here/{name}") == (folder / name).read_bytes()


def test_a_damaged_list_is_named_and_written_again_once_deleted(s3, folder):
    export(folder)
    body = bytearray(s3.get("here/journal.sqlite"))
    body[body.index(b"okxcomplete")] ^= 1
    s3.put("here/journal.sqlite", bytes(body))
    with pytest.raises(
        ArchiveError, match=r"s3://kept/here/journal\.sqlite is damaged: (row 1 missing|row 1 of table sessions)"
    ):
        liqdata.open("s3://kept/here")
    for body in (b"nonsense", b""):
        s3.put("here/journal.sqlite", body)
        for ask in (liqdata.open, lambda url: export(folder, url)):
            with pytest.raises(ArchiveError, match=r"s3://kept/here/journal\.sqlite is not an archive") as raised:
                ask("s3://kept/here")
            assert raised.value.path == "s3://kept/here/journal.sqlite"
    assert "delete that object" in str(raised.value)
    s3.delete("here/journal.sqlite")
    export(folder)
    liqdata.open("s3://kept/here").close()


def test_a_damaged_file_is_not_exported_and_the_bucket_stays_unchanged(s3, folder):
    export(folder)
    buckets.more(folder)
    file = max(folder.glob("orders/**/*.parquet"))
    body = bytearray(file.read_bytes())
    body[100] ^= 1
    file.write_bytes(body)
    before = s3.get("here/journal.sqlite")
    with pytest.raises(ArchiveError, match=r"is damaged: the file's SHA-256 is .* run `liqdata verify`") as raised:
        export(folder)
    assert raised.value.path == str(file)
    file.unlink()
    with pytest.raises(ArchiveError, match="is damaged: the file is missing"):
        export(folder)
    assert s3.get("here/journal.sqlite") == before


def test_an_unreachable_address_is_refused_by_name(s3, folder, monkeypatch):
    with pytest.raises(ArchiveError, match=r"s3://nowhere/here/journal\.sqlite: there is no such bucket"):
        export(folder, "s3://nowhere/here")
    with pytest.raises(ArchiveError, match="s3://nowhere: there is no such bucket"):
        liqdata.open("s3://nowhere/*")
    with pytest.raises(ArchiveError, match="s3://kept/nothing is not an archive"):
        liqdata.open("s3://kept/nothing")
    with pytest.raises(ArchiveError, match="s3://kept has no archive one level below it"):
        liqdata.open("s3://kept/*")
    buckets.ask(f"{s3.address}/moto-api/reset-auth", "POST", b"0")
    try:
        with pytest.raises(ArchiveError, match="InvalidAccessKeyId") as refused:
            export(folder)
        assert "a-secret" not in str(refused.value)
    finally:
        buckets.ask(f"{s3.address}/moto-api/reset-auth", "POST", b"inf")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    started = time.monotonic()
    with pytest.raises(ArchiveError, match="s3://kept/here/journal"):
        liqdata.open("s3://kept/here")
    assert time.monotonic() - started < 40


def test_an_archive_is_exported_to_a_folder_by_its_path(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with liqdata.open(folder) as market:
        wanted = answers_of(market)
        for where in ("kept", tmp_path / "a folder, 100 % ours ü", f"file://{tmp_path}/third"):
            done = market.export(where)
            assert done.sent == done.files > 0
            assert done.url.startswith("file:///")
            assert market.export(where).sent == 0
            path = str(where).removeprefix("file://")
            with liqdata.open(path) as exported, liqdata.open(done.url) as by_address:
                assert list(exported.iter_orders()) == list(by_address.iter_orders())
                assert list(exported.iter_orders()) == [row for row in wanted["iter"] if row["timestamp"] < ends(done)]
    assert cli.main(["export", str(folder), "by-command"]) == 0
    assert "files of days until" in capsys.readouterr().out
    assert (tmp_path / "by-command" / "journal.sqlite").is_file()


def ends(done):
    """The end of the last day of an export, in epoch milliseconds."""
    return int(done.until.timestamp() * 1000)


def test_invalid_addresses_and_options_are_refused(folder, monkeypatch):
    with liqdata.open(folder) as market:
        for options, message in [
            ({"url": " "}, "url: ' ' is not an address; allowed: s3://bucket/prefix"),
            ({"url": str(folder)}, "is the archive itself or a folder in it; allowed: another folder"),
            ({"url": folder / "orders"}, "is the archive itself or a folder in it"),
            ({"url": f"file://{folder}/"}, "is the archive itself or a folder in it"),
            ({"url": "ftp://host/x"}, "url: 'ftp://host/x' is not allowed"),
            ({"url": "s3://"}, "url: 's3://' is not allowed"),
            ({"url": "s3://kept/x?versionId=1"}, "is not allowed"),
            ({"url": 3}, "url: 3 is not an address"),
            ({"url": "s3://kept/x", "start": NOW - HOUR}, "start: .* is not the start of a UTC day"),
            ({"url": "s3://kept/x", "end": "2026-05-31T01:00Z"}, "end: .* is not the start of a UTC day"),
            ({"url": "s3://kept/x", "start": "2100-01-01"}, "start: no UTC day from '2100-01-01' on has ended"),
            ({"url": "s3://kept/x", "tables": ["trades"]}, "tables: 'trades' is not allowed"),
            ({"url": "s3://kept/x", "tables": ()}, r"tables: \(\) names no table"),
            ({"url": "s3://kept/x", "partition": "hour"}, "partition: 'hour' is not allowed; allowed: 'day'"),
        ]:
            with pytest.raises(BadQuery, match=message) as refused:
                market.export(**options)
            assert refused.value.parameter in options
        with pytest.raises(BadQuery) as refused:
            market.export("s3://key:secret@kept/x")
        assert "secret" not in str(refused.value)
    with pytest.raises(RuntimeError, match="a simulated market is not exported"):
        liqdata.demo().export("s3://kept/x")
    with liqdata.open(folder, as_of=NOW) as market, pytest.raises(BadQuery, match="as_of"):
        market.export("s3://kept/x")
    for options, message in [
        ({"path": str(folder), "start": NOW - DAY}, "start: the archive .* is on this machine"),
        ({"path": folder, "cache": "x"}, "cache: the archive"),
        ({"path": []}, r"path: \[\] names no archive"),
        ({"path": ["s3://kept/x", "s3://kept/x/"]}, "names one address twice"),
        ({"path": ["s3://kept/x", str(folder)]}, "is not an address"),
        ({"path": "s3://kept/x", "start": NOW - HOUR}, "start: .* is not the start of a UTC day"),
    ]:
        with pytest.raises(BadQuery, match=message):
            liqdata.open(**options)
    monkeypatch.setitem(sys.modules, "obstore", None)
    for call in (lambda: export(folder), lambda: liqdata.open("s3://kept/here")):
        with pytest.raises(ImportError, match=r'pip install "liqdata\[cloud\]"'):
            call()


def test_a_folder_has_an_address_too(folder, tmp_path):
    exported, cache = tmp_path / "kept", tmp_path / "cache"
    url = exported.as_uri()
    with pytest.raises(ArchiveError, match="there is no such folder"):
        liqdata.open(url, cache=cache)
    export(folder, url)
    with liqdata.open(url, cache=cache) as market, liqdata.open(folder) as local:
        assert answers_of(market) == answers_of(local)
    # The exported folder is an archive by itself.
    with liqdata.open(exported) as market, liqdata.open(folder) as local:
        assert answers_of(market) == answers_of(local)


def test_a_cache_evicts_files_that_no_open_market_reads(s3, folder, tmp_path):
    export(folder)
    first = liqdata.open("s3://kept/here")
    cached = Path(first._source.archive[0])
    before = answers_of(first)
    buckets.more(folder)
    export(folder)
    second = liqdata.open("s3://kept/here")
    assert cached.exists()
    assert answers_of(first) == before != answers_of(second)
    first.close()
    second.close()
    liqdata.open("s3://kept/here").close()
    assert not cached.exists()
    assert (tmp_path / "cache" / "liqdata") in cached.parents
    assert (cached.parent / "address").read_text() == "s3://kept/here\n"
    # A damaged file is reported, as in any archive, and fetched again once it is deleted.
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    with pytest.raises(ArchiveError, match="name another folder: cache="):
        liqdata.open("s3://kept/here", cache=blocked)


def test_concurrent_processes_share_one_download(s3, folder):
    export(folder)
    with liqdata.open(folder) as local:
        wanted = answers_of(local)
    script = "import liqdata; print(len(list(liqdata.open('s3://kept/here').iter_orders())))"
    running = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    counts = [int(one.communicate(timeout=60)[0]) for one in running]
    assert counts == [len(wanted["iter"])] * 3
    fetched = [path for path in s3.of("GET") if path.endswith(".parquet")]
    assert len(fetched) == len(set(fetched))


def collectors(tmp_path):
    """Two collectors: the first stopped 3 hours before NOW and missed an hour, the second began 6 hours before NOW."""
    first = buckets.archive(tmp_path / "first", count=50, hours=(12, 3), gap=(5, 4))
    second = buckets.archive(tmp_path / "second", count=80, hours=(6, 0))
    export(first, "s3://kept/many/first")
    export(second, "s3://kept/many/second")
    return first, second


@pytest.mark.parametrize("addresses", [["s3://kept/many/first", "s3://kept/many/second"], "s3://kept/many/*"])
def test_two_collectors_are_one_archive(s3, tmp_path, addresses):
    first, second = collectors(tmp_path)
    with liqdata.open(addresses) as market, liqdata.open(second) as local:
        # Both collectors have some of the orders; each order is returned once.
        assert list(market.iter_orders()) == list(local.iter_orders())
        assert market.bars("BTC") == local.bars("BTC")
        assert market.open_interest("ETH") == local.open_interest("ETH")
        assert samples.ten(market) == samples.ten(local)
        covered = {row["exchange"]: row for row in market.coverage("24h")}["okx"]
        # The first from 12 to 6 hours before, the second from there on; it covers the hour that the first missed.
        assert covered["connected_share"] == 0.5
        assert len(market.gaps()) == 0
        assert covered["cnt"] == sum(row["exchange"] == "okx" for row in market.iter_orders(start=NOW - DAY + 1))
        with liqdata.open(first) as alone:
            assert {row["exchange"]: row for row in alone.coverage("24h")}["okx"]["connected_share"] < 0.5
    again = pickle.loads(pickle.dumps(market))
    assert list(again.iter_orders()) == list(local_orders(second))


def local_orders(folder):
    with liqdata.open(folder) as local:
        return list(local.iter_orders())


def test_a_later_export_of_one_collector_is_visible(s3, tmp_path):
    _, second = collectors(tmp_path)
    addresses = ["s3://kept/many/first", "s3://kept/many/second"]
    before = liqdata.open(addresses)
    s3.requests.clear()
    liqdata.open(addresses).close()
    assert [path for path in s3.of("GET") if path.endswith(".parquet")] == []
    buckets.more(second)
    export(second, addresses[1])
    with liqdata.open(addresses) as market:
        assert list(market.iter_orders()) == local_orders(second)
        assert len(list(before.iter_orders())) < len(local_orders(second))
    # A damaged object of one of them is out of use, and what the other has of it is there.
    name = next(path for path in s3.paths() if path.startswith("many/first/orders/"))
    body = s3.get(name)
    s3.put(name, body[:-1] + bytes([body[-1] ^ 1]))
    cache = tmp_path / "another"
    with liqdata.open(addresses, cache=cache) as market:
        assert market.coins("24h").meta["damaged"] == 1
        assert list(market.iter_orders()) == local_orders(second)
    s3.put(name, body)
    with liqdata.open(addresses, cache=cache) as market:
        assert "damaged" not in market.coins("24h").meta


def in_files(folder):
    """The sum and the number of an archive's orders, all of which lie in files."""
    with liqdata.open(folder) as market:
        orders = [row for row in market.iter_orders() if row["timestamp"] < NOW]
    return sum(row["value_usd"] for row in orders), len(orders)


def test_duckdb_reads_the_bucket_in_place(s3, folder):
    duckdb = pytest.importorskip("duckdb")
    s3fs = pytest.importorskip("s3fs")
    export(folder)
    files = s3fs.S3FileSystem(
        key="a-key", secret=buckets.KEYS["AWS_SECRET_ACCESS_KEY"], endpoint_url=s3.address, skip_instance_cache=True
    )
    with duckdb.connect() as base:
        base.register_filesystem(files)
        query = "SELECT sum(value_usd), count(*) FROM read_parquet($1, hive_partitioning = true)"
        found = base.execute(query, ["s3://kept/here/orders/**/*.parquet"]).fetchone()
    assert found == in_files(folder)


# What Dask asks of pandas and pandas is about to take away is between those two.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_dask_reads_the_bucket_in_place(s3, folder):
    pytest.importorskip("s3fs")
    dask = pytest.importorskip("dask")
    frames = pytest.importorskip("dask.dataframe")
    export(folder)
    options = {"key": "a-key", "secret": "a-secret", "endpoint_url": s3.address}
    # Threads of this process: a cluster's workers read the same files.
    with dask.config.set(scheduler="threads"):
        place = "s3://kept/here/orders"
        orders = frames.read_parquet(place, engine="pyarrow", dtype_backend="pyarrow", storage_options=options)
        parts = orders.map_partitions(lambda part: part[["value_usd"]], meta={"value_usd": "object"}).compute()
    assert (sum(parts["value_usd"].tolist()), len(parts)) == in_files(folder)


def test_the_command_line_exports_to_and_queries_an_address(s3, folder, capsys):
    assert cli.main(["export", str(folder), "s3://kept/here"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("s3://kept/here has ")
    assert "bytes" in said
    assert cli.main(["export", str(folder), "s3://kept/here", "--json"]) == 0
    assert '"sent": 0' in capsys.readouterr().out
    answers = []
    for place in (str(folder), "s3://kept/here"):
        assert cli.main(["coins", "--archive", place, "--json"]) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1] != "[]\n"
    assert cli.main(["export", str(folder), "nowhere://x"]) == cli.USAGE
    assert cli.main(["export", str(folder), "s3://nowhere/x"]) == cli.FAILED
    assert "there is no such bucket" in capsys.readouterr().err
    assert cli.main(["serve", "s3://kept/here", "--collect"]) == cli.USAGE


def test_a_server_answers_from_an_address(s3, folder):
    export(folder)
    command = [sys.executable, "-m", "liqdata", "serve", "s3://kept/here"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
        try:
            url = serving.stdout.readline().strip()
            with liqdata.Client(url) as client, liqdata.open(folder) as local:
                assert client.coins("24h") == local.coins("24h")
        finally:
            serving.send_signal(signal.SIGINT)
            assert serving.wait(20) == 0


def interrupted(call, send_it=lambda: os.kill(os.getpid(), signal.SIGINT)):
    """How long a call goes on after Ctrl-C, which comes while it waits for the bucket."""
    sent = []

    def send():
        time.sleep(0.5)
        sent.append(time.monotonic())
        send_it()

    threading.Thread(target=send).start()
    with pytest.raises(KeyboardInterrupt):
        call()
    return time.monotonic() - sent[0]


def test_an_interrupt_ends_a_wait_for_a_bucket_at_once(s3, folder):
    export(folder)
    go_on = threading.Event()
    s3.before = lambda *_: go_on.wait(30)
    try:
        assert interrupted(lambda: liqdata.open("s3://kept/here")) < 0.15
        assert interrupted(lambda: export(folder, "s3://kept/other")) < 0.15
    finally:
        go_on.set()
        s3.before = buckets.nothing
    # Nothing of it is in the way.
    liqdata.open("s3://kept/here").close()


def test_an_interrupt_in_another_thread_ends_the_wait_too(s3, folder):
    export(folder)
    go_on = threading.Event()
    s3.before = lambda *_: go_on.wait(30)
    # The system chooses who of a process is handed a signal.
    by_itself = lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # noqa: E731 - handed on
    try:
        assert interrupted(lambda: liqdata.open("s3://kept/here"), by_itself) < 1
        assert interrupted(lambda: export(folder, "s3://kept/other"), by_itself) < 1
    finally:
        go_on.set()
        s3.before = buckets.nothing


def test_an_address_can_be_opened_inside_a_running_loop(s3, folder):
    import asyncio

    async def inside():
        export(folder)
        with liqdata.open("s3://kept/here") as market:
            return list(market.iter_orders())

    assert asyncio.run(inside()) == local_orders(folder)
