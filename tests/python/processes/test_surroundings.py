"""What a client does not rule: names of hosts, this machine's clock, whoever reads its log."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"
SOAK = bool(os.environ.get("LIQDATA_SOAK"))


def run(source, *arguments, before=(), **environment):
    """Run a script to its clean end; what it printed."""
    done = subprocess.run(
        [*before, sys.executable, "-c", textwrap.dedent(source), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SUPPORT), **environment},
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout


# Names.


def own_names(folder):
    """A command line in front of another: what runs behind it resolves names by a file of the test's own alone."""
    names, order = folder / "hosts", folder / "nsswitch.conf"
    names.write_text("127.0.0.1 localhost\n")
    order.write_text("hosts: files\n")
    mount = f"mount --bind {names} /etc/hosts && mount --bind {order} /etc/nsswitch.conf && exec "
    before = ["unshare", "--mount", "sh", "-c", f'{mount} "$@"', "sh"]
    tried = subprocess.run([*before, "true"], capture_output=True, check=False) if shutil.which("unshare") else None
    if tried is None or tried.returncode:
        pytest.skip("no right to mount files over those of the system")
    return names, before


FOUND_LATER = """
    import logging, sys, threading
    import liqdata
    from scripted import Service, data

    heard = []

    class Hearing(logging.Handler):
        def emit(self, record):
            heard.append(record.getMessage())

    def name():
        with open(sys.argv[1], "a") as file:
            file.write("127.0.0.1 data.example\\n")

    logger = logging.getLogger("liqdata.client")
    logger.addHandler(Hearing())
    logger.propagate = False
    with Service(data({})) as service, liqdata.Client(f"http://data.example:{service.port}", retries=9) as client:
        naming = threading.Timer(0.3, name)
        naming.start()
        assert client.overview() == {}
        naming.join()
        assert "cannot resolve the name of data.example" in heard[0], heard
        assert len(service.requests) == 1
    print(sum("trying again" in one for one in heard) + 1)
"""


def test_a_call_retries_name_resolution(tmp_path):
    names, before = own_names(tmp_path)
    attempts = int(run(FOUND_LATER, names, before=before))
    assert 2 <= attempts <= 10
    print(attempts, "attempts")


# The clock.


JUMPS = """
    import asyncio, os, sys, threading, time
    import liqdata
    from scripted import Service, answer, data, silence

    def has_jumped(by):
        return abs(time.time() - time.clock_gettime(time.CLOCK_TAI) - began - by) < 30

    def jump(by):
        # A file that is half written is no time.
        with open(os.environ["WALL_CLOCK_BY"] + ".new", "w") as file:
            file.write(str(by))
        os.replace(file.name, os.environ["WALL_CLOCK_BY"])

    def soon(by):
        thread = threading.Timer(0.3, jump, [by])
        thread.start()
        return thread

    most, longest = map(float, sys.argv[1:])
    began = time.time() - time.clock_gettime(time.CLOCK_TAI)
    worst = waited = 0.0
    with Service(silence) as service:
        clients = {timeout: liqdata.Client(service.url, timeout=timeout) for timeout in (1.0, 60.0)}

        def blocking(timeout):
            return clients[timeout].overview()

        async def awaited(timeout):
            return await liqdata.AsyncClient(service.url, timeout=timeout).overview()

        for by in (3600, -3600):
            for ask in (blocking, lambda timeout: asyncio.run(awaited(timeout), debug=False)):
                # A deadline is as long as it is: by the clock that was set it would be over at once, or in an hour.
                service.play(silence)
                jump(0)
                jumping, start = soon(by), time.monotonic()
                try:
                    ask(1.0)
                except liqdata.TooSlow:
                    took = time.monotonic() - start
                else:
                    sys.exit("answered")
                jumping.join()
                assert has_jumped(by), "the clock was not set"
                assert 0.9 < took < most, took
                worst = max(worst, abs(took - 1.0))
                # So is what a service wants to be waited for.
                service.play(answer(b"", 503, retry_after="0"), data({}))
                assert ask(60.0) == {}
        client = liqdata.Client(service.url, timeout=60.0)
        for by in (3600, -3600):
            service.play(answer(b"", 503, retry_after="1"), data({}))
            jump(0)
            jumping = soon(by)
            assert client.overview() == {}
            jumping.join()
            assert 1.0 <= service.gaps[-1] + 0.001 < longest, service.gaps[-1]
            waited = max(waited, service.gaps[-1] - 1.0)
    print(round(worst * 1000), round(waited * 1000))
"""


def test_a_clock_jump_changes_no_deadline_and_no_wait(wall_clock):
    # How long a deadline and a wait of one second may take; on a machine that does more than this, longer.
    most, longest = (1.6, 2.0) if SOAK else (10.0, 10.0)
    print(*run(JUMPS, most, longest, **wall_clock, TZ="Europe/Berlin").split(), "ms off at most, a deadline and a wait")


# The log.

LOGGED = """
    import asyncio, logging, sys, threading
    from concurrent.futures import ThreadPoolExecutor
    import liqdata
    from scripted import Service, answer, data

    lock, heard = threading.Lock(), []
    with Service(answer(b"", 503, retry_after="0"), data({})) as service:
        other = liqdata.Client(service.url)
        inside = threading.local()

        class Asking(logging.Handler):
            # Whoever reads the log holds a lock of its own and asks meanwhile.
            def emit(self, record):
                heard.append(record.name)
                if getattr(inside, "asking", False):
                    return
                inside.asking = True
                try:
                    with lock:
                        other.overview()
                finally:
                    inside.asking = False

        for name in ("client", "server", "archive", "feeds"):
            logger = logging.getLogger(f"liqdata.{name}")
            logger.addHandler(Asking())
            logger.setLevel(logging.DEBUG)
            logger.propagate = False
        client = liqdata.Client(service.url, retries=1)

        def ask(_):
            for _ in range(10):
                client.overview()

        async def awaited():
            async with liqdata.AsyncClient(service.url) as one:
                await asyncio.gather(*(one.overview() for _ in range(100)))

        with ThreadPoolExecutor(16) as pool:
            loop = threading.Thread(target=lambda: asyncio.run(awaited(), debug=False))
            loop.start()
            list(pool.map(ask, range(16)))
            loop.join()
    assert set(heard) == {"liqdata.client"}
    print(len(heard))
"""


def test_a_log_handler_may_take_locks_and_query():
    # As many as there were calls, and those of one attempt more.
    assert int(run(LOGGED)) >= 16 * 10 + 100
