"""Progress of long calls, reported to a function of the caller."""

import contextlib
import fcntl
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
import textwrap

import pytest
import samples

import liqdata
from liqdata import _core, feeds

FRAME = """{"topic": "allLiquidation.SOLUSDT", "type": "snapshot", "ts": 1790000000500, "data": []}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("progress") / "archive"
    with contextlib.closing(_core.ArchiveWriter(path)) as writer:
        bars = samples.bars()
        writer.append(samples.orders(), {**bars, "interval": [5 * samples.MINUTE] * len(bars["symbol"])}, None)
        writer.roll(samples.NOW)
    return path


def exported(folder, tell):
    with liqdata.open(folder) as market:
        market.export(f"file://{folder}-kept", progress=tell)


def walked(folder, tell):
    with liqdata.open(folder) as market:
        list(market.iter_orders(max_rows=10, progress=tell))


# The call, and the type of its total: None where it is unknown.
WAYS = {
    "demo": (lambda _, tell: liqdata.demo(progress=tell), int),
    "live demo": (lambda _, tell: liqdata.demo(live=True, progress=tell).close(), int),
    "replay": (lambda folder, tell: liqdata.replay(folder, progress=tell).close(), int),
    "verify": (lambda folder, tell: liqdata.archive.verify(folder, progress=tell), int),
    "export": (exported, int),
    "walk": (walked, int),
    "market": (lambda _, tell: liqdata.Market(samples.orders(), progress=tell), type(None)),
    "ingest": (
        lambda folder, tell: liqdata.ingest(f"{folder}-new", orders=samples.orders(), progress=tell),
        type(None),
    ),
    "decode": (lambda _, tell: feeds.decode("bybit", [FRAME] * 5000, progress=tell), int),
    "pandas": (lambda _, tell: samples.simulated().orders(limit=9).to_pandas(decimals="decimal", progress=tell), int),
    "arrow": (lambda _, tell: samples.simulated().orders(limit=9).to_arrow(progress=tell), int),
    "polars": (lambda _, tell: samples.simulated().orders(limit=9).to_polars(decimals="decimal", progress=tell), int),
    "truth": (lambda _, tell: liqdata.score_truth(samples.simulated(), progress=tell), int),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_progress_function_gets_done_and_total(way, folder):
    call, of = WAYS[way]
    calls = []
    call(folder, lambda *how_far: calls.append(how_far))
    assert calls
    done = [one for one, _ in calls]
    assert done == sorted(done)
    assert {type(whole) for _, whole in calls} == {of}
    if of is int:
        assert calls[-1] == (done[-1], done[-1])


@pytest.mark.parametrize("way", WAYS)
def test_an_error_of_the_progress_function_ends_the_call(way, folder):
    def enough(*_):
        raise StopAsyncIteration

    with pytest.raises(StopAsyncIteration):
        WAYS[way][0](f"{folder}" if way != "export" else linked(folder), enough)


def linked(folder):
    """The archive under a name of its own, so that nothing of it is exported yet."""
    other = folder.parent / "again"
    shutil.copytree(folder, other)
    return other


def test_a_command_draws_no_progress_without_a_terminal():
    command = [sys.executable, "-m", "liqdata", "coins", "--demo", "--csv"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.startswith("coin,")
    assert done.stderr == "simulated market\n"


@pytest.mark.parametrize("live", [False, True])
def test_an_abandoned_simulation_ends(live):
    source = f"""
        import time
        import liqdata

        def enough(*_):
            raise StopAsyncIteration

        try:
            liqdata.demo(live={live}, progress=enough)
        except StopAsyncIteration:
            ended = time.process_time()
        time.sleep(2)
        print(time.process_time() - ended)
    """
    command = [sys.executable, "-c", textwrap.dedent(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert float(done.stdout) < 1.0  # of seconds of the processor; what goes on takes all there are


def test_a_progress_bar_shows_elapsed_time_without_progress():
    pytest.importorskip("tqdm")
    source = """
        import time
        from liqdata.calls.progress import counting

        with counting(True, "files", " files") as seen:
            for done, of in [(0, 1), (0, 1), (1, 3), (1, 3), (1, 3)]:
                seen(done, of)
                time.sleep(0.2)
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [sys.executable, "-c", textwrap.dedent(source)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs):
        os.close(theirs)
        drawn = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while more := os.read(ours, 65536):
                drawn += more
    os.close(ours)
    assert drawn.count(b"| 0/1 ") >= 2, drawn
    assert drawn.count(b"| 1/3 ") >= 3, drawn
    assert drawn.count(b"| 3/3 ") >= 1, drawn
