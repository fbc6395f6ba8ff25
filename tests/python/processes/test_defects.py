"""What becomes of a bug in the native half, and of an interrupt of its first use: an exception of Python's."""

import asyncio
import gc
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import samples

import liqdata
from liqdata import _core
from liqdata.calls import event_loop as _loop
from liqdata.errors import Defect

SAID = "no entry at 7"
TEXT = f"a bug in liqdata {liqdata.__version__}, please report it: {SAID}"
INTERRUPTS = 60 if os.environ.get("LIQDATA_SOAK") else 8

pytestmark = pytest.mark.skipif(not hasattr(_core, "_Faulty"), reason="a release build has no bugs on purpose")


def faulty(**options):
    return _core._Faulty(SAID, **options)


WAYS = {
    "a method": lambda: faulty().call(),
    "a property": lambda: faulty().member,
    "a slot": lambda: len(faulty()),
    "an iterator": lambda: list(faulty()),
    "a loop": lambda: next(iter(faulty())),
    "released": lambda: faulty().compute(),
    "a thread of the runtime": lambda: faulty().begin().wait(),
    "an event loop": lambda: asyncio.run(_loop.answer(faulty().begin)),
    "a call back": lambda: faulty().calling(faulty().call),
    "a call back of a call back": lambda: faulty().calling(lambda: faulty().calling(faulty().compute)),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_panic_is_an_exception_that_asks_for_a_report(way):
    try:
        WAYS[way]()
    except Exception as error:  # noqa: BLE001 - that it is caught so is what is tested
        caught = error
    else:
        pytest.fail("nothing was raised")
    assert isinstance(caught, Defect)
    assert isinstance(caught, liqdata.LiqdataError)
    assert isinstance(caught, RuntimeError)
    assert str(caught).startswith(TEXT)
    assert str(caught).count(SAID) == 1
    assert (type(caught).__module__, type(caught).__qualname__) == ("liqdata.errors", "Defect")


def test_a_panic_error_names_its_caller_and_pickles(monkeypatch):
    monkeypatch.setattr("liqdata.source.local.LocalSource.ask_each", lambda *_: faulty().call())
    with pytest.raises(Defect) as caught, liqdata.Market() as market:
        market.bars("BTC")
    assert caught.value.call == "Market.bars"
    assert str(caught.value) == f"{TEXT} (in Market.bars)"
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (Defect, str(caught.value))


SILENT = """
    from liqdata import _core
    from liqdata.errors import Defect
    faulty = _core._Faulty("no entry at 7")
    for way in (faulty.call, faulty.compute, lambda: faulty.begin().wait()):
        try:
            way()
        except Defect:
            print("caught")
"""


@pytest.mark.parametrize("asked", [None, "0", "1"])
def test_a_panic_is_printed_only_with_rust_backtrace(asked):
    environment = {name: value for name, value in os.environ.items() if name != "RUST_BACKTRACE"}
    if asked is not None:
        environment["RUST_BACKTRACE"] = asked
    command = [sys.executable, "-c", textwrap.dedent(SILENT)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "caught\n" * 3
    if asked == "1":
        assert done.stderr.count("panicked at src/python/runtime/defect.rs") == 3
    else:
        assert done.stderr == ""


def test_a_panic_in_a_finaliser_is_reported_and_ignored(monkeypatch):
    errors = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: errors.append(unraisable.exc_value))
    one = faulty(at_the_end=True)
    del one
    gc.collect()
    assert [type(error).__mro__[1] for error in errors] == [Defect]


def test_the_package_works_after_a_panic():
    with pytest.raises(Defect):
        faulty().compute()
    market = liqdata.Market()
    with pytest.raises(Defect):
        faulty().begin().wait()
    assert len(market.symbols) == 0


FIRST_CALL = """
    import sys, time
    print("begin", flush=True)
    import liqdata
    hours = range(60)
    bars = {
        "symbol": ["BTC"] * 60,
        "timestamp": [hour * 3_600_000 for hour in hours],
        **{name: [100.0 + hour % 7 for hour in hours] for name in ("open", "high", "low", "close", "volume")},
    }
    market = liqdata.Market(bars=bars)
    market.heatmap("BTC").matrix
    market.bars("BTC").to_pandas()
    print("done", flush=True)
    time.sleep(60)
"""


def started():
    command = [sys.executable, "-c", textwrap.dedent(FIRST_CALL)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begin\n"
    return child


def ended(child):
    """The child's end after an interrupt; some land where Python cannot raise, such as in a finaliser: say it again."""
    for _ in range(8):
        child.send_signal(signal.SIGINT)
        try:
            return child.communicate(timeout=4.0)[1]
        except subprocess.TimeoutExpired:
            continue
    child.kill()
    return "it hangs: " + child.communicate()[1]


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_an_interrupt_of_the_import_or_the_first_call_is_a_keyboard_interrupt():
    child, begun = started(), time.monotonic()
    assert child.stdout.readline() == "done\n"
    whole = time.monotonic() - begun
    ended(child)
    dice = random.Random(11)
    for turn in range(INTERRUPTS):
        child = started()
        time.sleep(whole * (turn + dice.random()) / INTERRUPTS)
        said = ended(child)
        assert said.rstrip().endswith("KeyboardInterrupt"), said
        assert "panicked" not in said
        assert "\nliqdata.errors.Defect" not in said
        assert child.returncode == -signal.SIGINT


@pytest.mark.parametrize(
    "first",
    [
        'liqdata.demo().heatmap("BTC")',
        'liqdata.open("archive").liqmap("BTC")',
        'liqdata.open("archive").bars("BTC").to_pandas()',
        '_core.Market.open("archive", None).crossed("BTC", 2, [10**12], [90.0], [110.0])',
        'liqdata.Market(bars={"symbol": ["BTC"]})',
    ],
)
def test_a_missing_numpy_is_named_in_every_interface(first, tmp_path):
    samples.archive(tmp_path / "archive")
    source = f"import sys; sys.modules['numpy'] = None; import liqdata; from liqdata import _core; {first}"
    command = [sys.executable, "-c", source]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert "panicked" not in done.stderr
    assert "Error: " in done.stderr
    assert "numpy" in done.stderr.rstrip().splitlines()[-1]
