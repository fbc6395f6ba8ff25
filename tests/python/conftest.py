"""What several test files share: a simulated market, its server, both clients, and services that follow a script."""

import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import buckets
import pytest
from faces import FACES
from made_once import hold
from scripted import Service

import liqdata
from liqdata.server import Server


def pytest_configure():
    hold()
    # Let Ctrl-C through where whoever started the tests ignores it, as `nohup` does: children would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# The files with the slowest tests: they run first, so that no process works on one of them alone at the end.
SLOW = (
    *("test_notebook", "test_interrupts", "test_published", "test_pictures", "test_score", "test_states"),
    *("test_parquet", "test_command_line", "test_readme", "test_distributed", "test_plot_layout", "test_cloud"),
    *("test_plot", "test_agents", "test_reading", "test_league", "test_publish", "test_live", "test_attacks"),
    *("test_ledger_parity", "test_processes", "test_round_trip", "test_stopped", "test_one_door", "test_recorded"),
    *("test_record", "test_backup", "test_agreement", "test_moving", "test_fetch", "test_site", "test_jetstream"),
    *("test_tables", "test_growing_feed", "test_identities", "test_map", "test_cascades", "test_tools", "test_package"),
)


def pytest_collection_modifyitems(items):
    first = {name: place for place, name in enumerate(SLOW)}
    items.sort(key=lambda item: first.get(item.path.stem, len(SLOW)))


@pytest.fixture(autouse=True)
def no_figures_left():
    """Close the figures of a test, or pyplot warns in whichever test opens the 21st of a process."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture(scope="session")
def market():
    """One simulated market for all tests; nothing ever changes it."""
    return liqdata.demo()


@pytest.fixture(scope="session")
def server(market):
    with liqdata.serve(market) as running:
        yield running


@pytest.fixture
def folder(tmp_path):
    """Where an archive is to be."""
    return tmp_path / "archive"


@pytest.fixture
def script():
    """Start scripted services; they end with the test."""
    started = []

    def start(*behaviours, **options):
        started.append(Service(*behaviours, **options))
        return started[-1]

    yield start
    for service in started:
        service.close()


@pytest.fixture(params=FACES)
def connect(request):
    """Make clients of either face; they end with the test."""
    made = []

    def make(address, **options):
        if isinstance(address, Server):
            options.setdefault("timeout", 60)  # a loaded machine takes its time for an estimate
        made.append(FACES[request.param](getattr(address, "url", address), **options))
        return made[-1]

    yield make
    for client in made:
        client.end()


@pytest.fixture
def wall_clock(tmp_path):
    """The environment of a process that sets its wall clock."""
    compiler = shutil.which("cc")
    if not compiler or sys.platform != "linux":
        pytest.skip("no C compiler")
    library = tmp_path / "wall_clock.so"
    source = Path(__file__).parent / "support" / "wall_clock.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    by = tmp_path / "by"
    by.write_text("0")
    return {"LD_PRELOAD": str(library), "WALL_CLOCK_BY": str(by)}


# Times of collecting that are short enough for a test.
QUICK = "coins = []\n[pace]\nretry_first = 0.01\nretry_most = 0.05\nrequest = 1.0\nconnect = 1.0\n"


@pytest.fixture(scope="session")
def store():
    """A server that speaks S3."""
    pytest.importorskip("obstore")
    with buckets.s3() as running:
        yield running


@pytest.fixture
def s3(store, monkeypatch, tmp_path):
    """The server of objects, empty, as the environment names it; and a cache of the test's own."""
    store.empty()
    cache = {"AWS_ENDPOINT_URL": store.address, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for name, value in {**buckets.KEYS, **cache}.items():
        monkeypatch.setenv(name, value)
    return store


@pytest.fixture
def nowhere():
    """Settings in which every exchange is a closed port of this machine."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        hosts = f'socket = "ws://127.0.0.1:{port}"\nrest = "http://127.0.0.1:{port}"\n'
        # Bound and not listening: connections are refused, and no other program can have the port meanwhile.
        yield QUICK + f"[exchanges.okx]\n{hosts}[exchanges.bybit]\n{hosts}"
