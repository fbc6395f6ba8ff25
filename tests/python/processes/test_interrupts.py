"""Ctrl-C in what takes its time: in tables that come in, in frames, in columns that go out, and in a simulation."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from liqdata import _core

SOAK = bool(os.environ.get("LIQDATA_SOAK"))
ROWS = 3_000_000 if SOAK else 40_000
SHARES = (0.05, 0.2, 0.4, 0.6, 0.8) if SOAK else (0.3, 0.3)
# Seconds. The short form runs on machines that do more than this: it counts what the process computes, no waiting.
BOUND = 0.15 if SOAK else 1.0
CLOCK = "monotonic" if SOAK else "process_time"

WAYS = {
    "market": "liqdata.Market(orders=table)",
    "market of arrow": "liqdata.Market(orders=arrow)",
    "decode": 'feeds.decode("bybit", frames)',
    "columns of decoded": "fresh.columns",
    "demo": "liqdata.demo(seed=5)",
    **({"live demo": "liqdata.demo(seed=5, live=True)"} if SOAK else {}),  # the same simulation, and more of it
    "truth": "liqdata.score_truth(market)",
    "replay": "liqdata.replay(folder)",
    "ingest of arrow": "liqdata.ingest(new(), orders=arrow)",
    "ingest of columns": "liqdata.ingest(new(), orders=table)",
    "ingest of bars": "liqdata.ingest(new(), bars=minutes)",
    "ingest of parquet": "liqdata.ingest(new(), file)",
    "to_arrow": "rows.to_arrow()",
    "exact to_arrow": 'rows.to_arrow(decimals="decimal")',
    "to_pandas": "rows.to_pandas()",
    "exact to_pandas": 'rows.to_pandas(decimals="decimal")',
    "dicts": "list(rows)",
    "verify": "liqdata.archive.verify(folder)",
    "repair": "liqdata.archive.verify(fresh, repair=True)",
}
# Created again before each attempt: columns are made once.
FRESH = {"columns of decoded": 'feeds.decode("bybit", frames)', "repair": "without_journal(folder)"}
# What the interpreter takes to free the objects made so far, before an interrupt is out, is not ours.
OBJECTS = {"dicts"}
# What is made before, and the ways that start from it: the ways of a group share a process.
NEEDS = ("arrow)", "rows", "(market)", "folder", "file)")
GROUPS = {}
for _way, _call in WAYS.items():
    _need = next((need for need in NEEDS if need in _call + FRESH.get(_way, "")), "table").strip("()")
    GROUPS.setdefault(_need, []).append(_way)

reads_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")

SENDER = """
import os, pathlib, signal, sys, time
def clock():
    if CLOCK == "monotonic":
        return time.monotonic()
    # Of the process that is interrupted, in all of its threads.
    return (int(fields()[11]) + int(fields()[12])) / os.sysconf("SC_CLK_TCK")
def fields():
    return pathlib.Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
for wait in sys.stdin:
    time.sleep(float(wait))
    # It is held while the clock is read, or it would compute on until this process is next on a busy core.
    os.kill(os.getppid(), signal.SIGSTOP)
    while fields()[0] != "T":
        time.sleep(0.001)
    os.kill(os.getppid(), signal.SIGINT)
    print(clock(), flush=True)
    os.kill(os.getppid(), signal.SIGCONT)
"""

SOURCE = """
    import subprocess, sys, time
    import numpy as np, pandas, pyarrow
    import liqdata
    from liqdata import feeds

    clock = time.CLOCK
    count = int(sys.argv[1])
    table = {
        "exchange": ["binance", "okx"] * (count // 2),
        "symbol": ["BTCUSDT", "ETHUSDT"] * (count // 2),
        "side": ["LONG", "SHORT"] * (count // 2),
        **{name: np.full(count, 100.5) for name in ("price", "qty")},
        "value_usd": np.full(count, 10100.25),
        "timestamp": np.arange(count) + 1_700_000_000_000,
    }
    one = '{"topic": "allLiquidation.A", "type": "snapshot", "ts": 1790000000500, "data": [%s]}'
    row = '{"T": 1790000000000, "s": "SOLUSDT", "S": "Buy", "v": "2.5", "p": "180.40"}'
    frames = [one % ", ".join([row] * (count // 20_000))] * 20_000
    minutes = {
        "exchange": table["exchange"],
        "symbol": ["BTC"] * count,
        "interval": ["1m"] * count,
        **{name: np.full(count, 100.5) for name in ("open", "high", "low", "close", "volume")},
        "timestamp": np.arange(count) // 2 * 60_000 + 1_500_000_000_000 // 60_000 * 60_000,
    }

    def new():
        import tempfile
        return tempfile.mkdtemp() + "/archive"

    copies = []

    def without_journal(folder):
        # A copy with all rows in files, and no journal.
        import os, shutil
        copy = new()
        if not copies:
            copies.append(new())
            shutil.copytree(folder, copies[0])
            writer = liqdata._core.ArchiveWriter(copies[0])
            writer.roll(1_900_000_000_000)
            writer.close()
            os.unlink(copies[0] + "/journal.sqlite")
        while len(copies) > 1:
            shutil.rmtree(copies.pop(), ignore_errors=True)
        copies.append(copy)
        shutil.copytree(copies[0], copy)
        return copy

    if "arrow" == sys.argv[2]:
        arrow = pyarrow.table(table)
    if "file" == sys.argv[2]:
        import tempfile
        from pyarrow import parquet
        file = tempfile.mkdtemp() + "/orders.parquet"
        parquet.write_table(pyarrow.table(table), file)
    if "market" == sys.argv[2]:
        market = liqdata.demo(seed=5)
    if "folder" == sys.argv[2]:
        import tempfile
        folder = tempfile.mkdtemp() + "/archive"
        writer = liqdata._core.ArchiveWriter(folder)
        writer.append(liqdata.Rows(liqdata.Market(orders=table)._source.core.tables()[0]).to_arrow(), None, None)
        writer.close()
    if "rows" == sys.argv[2]:
        rows = liqdata.Rows(liqdata.Market(orders=table)._source.core.tables()[0], decimals="decimal")
    # Another process sends them: a thread of this one would wait for whoever keeps the interpreter.
    sender = subprocess.Popen([sys.executable, "-c", SENDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for way, (source, prepared, frees) in WAYS.items():
        print(way, file=sys.stderr)
        call, prepare = compile(source, way, "eval"), compile(prepared, way, "eval")
        fresh = eval(prepare)
        begun, computed = time.monotonic(), clock()
        made = eval(call)
        wait, whole = time.monotonic() - begun, clock() - computed
        begun = clock()
        del made
        freeing = clock() - begun
        took = []
        for share in SHARES:
            fresh = eval(prepare)
            try:
                print(wait * share, file=sender.stdin, flush=True)
                eval(call)
                while True:  # a signal that the system hands to another thread ends no sleep
                    time.sleep(0.01)
            except KeyboardInterrupt:
                out = clock()
            took.append(out - float(sender.stdout.readline()) - freeing * share * frees)
        fresh = eval(prepare)
        eval(call)
        print(way, round(whole, 3), round(WORST(took), 3), sep=": ")
    sender.stdin.close()
"""


@reads_proc
@pytest.mark.parametrize("needs", GROUPS)
def test_ctrl_c_ends_a_call_at_once_and_the_next_call_works(needs):
    ways = {way: (WAYS[way], FRESH.get(way, "None"), way in OBJECTS) for way in GROUPS[needs]}
    source = textwrap.dedent(SOURCE).replace("WAYS", repr(ways)).replace("SHARES", str(SHARES)).replace("CLOCK", CLOCK)
    # One that is lost is late each time.
    source = source.replace("WORST", "max" if SOAK else "min")
    sender = SENDER.replace("CLOCK", repr(CLOCK))
    command = [sys.executable, "-c", source.replace("SENDER", repr(sender)), str(ROWS), needs]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900 if SOAK else 300, check=False)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    took = {
        way: (float(whole), float(longest))
        for way, whole, longest in (line.split(": ") for line in done.stdout.splitlines())
    }
    assert took.keys() == ways.keys()
    # One that is lost comes out when the call ends: after 0.7 of it in the short form.
    late = {
        way: (whole, longest) for way, (whole, longest) in took.items() if longest >= min(BOUND, max(0.15, whole / 3))
    }
    assert not late


class Interrupted(str):
    """The name of a column; a Ctrl-C arrives while it is read."""

    __slots__ = ()

    def __str__(self):
        raise KeyboardInterrupt


def test_ctrl_c_is_raised_while_the_name_of_a_column_is_read():
    with pytest.raises(KeyboardInterrupt):
        _core.Market({Interrupted("exchange"): ["okx"]}, None, None, None, None)


MOMENTS = """
    import json, pathlib, re, shutil, subprocess, sys, tempfile, time
    import numpy as np, pandas, pyarrow
    from pyarrow import parquet
    import liqdata

    way = sys.argv[1]
    work = pathlib.Path(tempfile.mkdtemp())
    folder = work / "archive"
    count = 6000
    orders = {
        "exchange": ["binance", "okx"] * (count // 2),
        "symbol": ["BTCUSDT", "ETHUSDT"] * (count // 2),
        "side": ["LONG", "SHORT"] * (count // 2),
        **{name: np.full(count, 100.5) for name in ("price", "qty")},
        "value_usd": np.full(count, 10100.25),
        "timestamp": np.arange(count) * 60_000 + 1_700_000_000_000,
    }
    frame = pandas.DataFrame(orders)
    files = []
    if way == "csv":
        frame.to_csv(work / "x_orders.csv", index=False)
        files = [work / "x_orders.csv"]
    if way.startswith("parquet"):
        for part in (0, 1):
            files.append(work / f"{part}.parquet")
            parquet.write_table(pyarrow.Table.from_pandas(frame[part::2]), files[-1])
    given = {} if files else {"orders": frame}
    ingest = lambda: liqdata.ingest(folder, *files, **given)
    begun = time.monotonic()
    assert ingest().new == count
    whole = time.monotonic() - begun
    sender = subprocess.Popen([sys.executable, "-c", SENDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    seen = set()
    for place in range(TIMES):
        shutil.rmtree(folder, ignore_errors=True)
        done, notes = None, []
        try:
            print(whole * (0.2 + place / TIMES), file=sender.stdin, flush=True)
            done = ingest()
            while True:
                time.sleep(0.01)
        except KeyboardInterrupt as raised:
            notes = getattr(raised, "__notes__", [])
        sender.stdout.readline()
        record = folder / "ingested.jsonl"
        lines = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
        stored = ingest().repeated
        reported = [int(new.replace(",", "")) for note in notes for new in re.findall(r"([0-9,]+) new", note)]
        assert [line["new"] for line in lines] == [stored] * bool(stored), (place, stored, lines)
        # Where it had come to its end nothing was interrupted.
        if done is None and not (lines and "interrupted" not in lines[0]):
            assert reported == [stored] * bool(stored), (place, stored, reported)
        seen.add((done is None, stored))
    sender.stdin.close()
    print(sorted(seen))
"""


@reads_proc
@pytest.mark.parametrize("way", ["table", "csv", "parquet"])
def test_an_interrupted_ingest_reports_and_records_its_stored_rows(way):
    pytest.importorskip("pyarrow")
    source = (
        textwrap.dedent(MOMENTS)
        .replace("SENDER", repr(SENDER.replace("CLOCK", repr(CLOCK))))
        .replace("TIMES", "400" if SOAK else "8")
    )
    command = [sys.executable, "-c", source, way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    print(f"{way}: {done.stdout}")


LOOKED_FOR = """
    import os, signal, sys
    import numpy as np, polars, pyarrow
    from pyarrow import parquet
    import liqdata

    market = liqdata.demo()
    bars = market.bars("BTC", start=market.bars("BTC", interval="1d")[-1]["timestamp"])
    arrow = pyarrow.Table.from_batches(bars.to_polars().to_arrow().to_batches())
    file = sys.argv[1] + "/orders.parquet"
    columns = {
        "exchange": ["okx"], "symbol": ["BTCUSDT"], "side": ["LONG"], "timestamp": [1_700_000_000_000],
        **{name: [1.0] for name in ("price", "qty", "value_usd")},
    }
    polars.DataFrame(columns).write_parquet(file)

    class Interrupts:
        # A Ctrl-C as soon as anybody looks for pandas.
        def find_spec(self, name, *_):
            if name == "pandas":
                looked.append(name)
                os.kill(os.getpid(), signal.SIGINT)

    looked = []
    sys.meta_path.insert(0, Interrupts())
    calls = (
        lambda: liqdata.ingest(sys.argv[1] + "/archive", file),
        lambda: bars.to_arrow(),
        lambda: market.heatmap("BTC", "24h").plot(price=arrow),
    )
    for call in calls:
        assert "pandas" not in sys.modules
        looked.clear()
        try:
            call()
        except KeyboardInterrupt:
            print("interrupted")
        else:
            print("lost" if looked else "not looked for")
"""


def test_ctrl_c_during_the_import_of_pandas_is_raised(tmp_path):
    for needed in ("pandas", "polars", "pyarrow", "matplotlib"):
        pytest.importorskip(needed)
    source = textwrap.dedent(LOOKED_FOR)
    done = subprocess.run([sys.executable, "-c", source, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(said := done.stdout.splitlines()) == 3
    assert {*said} <= {"interrupted", "not looked for"}
