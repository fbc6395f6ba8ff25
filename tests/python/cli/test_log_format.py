"""With ``--log-format json`` every line on standard error is a JSON object, whatever goes wrong."""

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
import samples


def ended(*arguments, code=None, **options):
    """The exit code, standard output, and each line of standard error as JSON."""
    command = [sys.executable, *(["-c", textwrap.dedent(code)] if code else ["-m", "liqdata"]), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)
    return done.returncode, done.stdout, parsed(done.stderr)


def parsed(text):
    lines = [json.loads(line) for line in text.splitlines()]
    assert all({"time", "level", "logger", "message"} <= set(line) for line in lines)
    assert all(line["message"] for line in lines)
    return lines


@pytest.mark.parametrize(
    "arguments,words",
    [
        (["serve", "--log-format", "json", "--no-such-option"], "--no-such-option is not an option"),
        (["serve", "--log_format=json"], "nothing to serve"),
        (["serve", "--demo", "--log-format=json", "--port", "many"], "port"),
        (["serve", "--demo", "--log-format", "json", "--host", "::"], "can be reached from other machines"),
        (["serve", "/no/such/archive", "--log-format", "json"], "/no/such/archive"),
        (["serve", "--demo", "--log-format", "json", "--token-file", "/no/such/tokens"], "/no/such/tokens"),
        (["serve", "--demo", "--log-format", "json", "--certificate", "/dev/null", "--key", "/dev/null"], "/dev/null"),
        (["collect", "somewhere", "--log-format", "json", "--exchanges", "mtgox"], "mtgox"),
        (["collect", "--log-format", "json"], "DIR is missing"),
        (["collect", "/proc/none", "--log-format", "json"], "/proc/none"),
    ],
)
def test_every_refusal_is_an_object(arguments, words, tmp_path):
    code, out, lines = ended(*arguments, cwd=tmp_path)
    assert (code > 0, out) == (True, "")
    assert words in " ".join(line["message"] for line in lines)
    assert lines[0]["level"] == "error"


def test_the_last_form_counts(tmp_path):
    command = [sys.executable, "-m", "liqdata", "serve", "--log-format", "json", "--log-format", "text"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert done.stderr.startswith("liqdata: nothing to serve")


PROVOKED = """
    import logging, os, sys, threading, time, warnings
    from liqdata import cli
    from liqdata.cli.commands import serve

    class Ends:
        def __del__(self):
            raise RuntimeError("in a finaliser")

    def fail():
        raise RuntimeError("in a thread\\nwith a second line")

    def provoke(*_):
        warnings.warn("a warning of Python")
        logging.getLogger("other.library").warning("another library: %s", "words")
        logging.getLogger("liqdata.odd").warning("wrong arguments %s %s", 1)
        logging.getLogger().error("the root logger")
        print("plain\\ttext", "in pieces", file=sys.stderr)
        print("ünïcode \\x1b[31m and no end", end="", file=sys.stderr)
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
        Ends()
        raise RuntimeError("that nothing catches")

    serve.serve_until_signal = provoke
    sys.exit(cli.main(["serve", "--demo", "--log-format", "json"]))
"""


def test_warnings_tracebacks_and_other_libraries_are_objects():
    code, _, lines = ended(code=PROVOKED)
    assert code == 1
    said = {line["message"]: line for line in lines}
    text = "\n".join(said)
    for words in (
        "a warning of Python",
        "another library: words",
        "wrong arguments %s %s",
        "the root logger",
        "plain\ttext in pieces",
        "and no end",
        "RuntimeError: in a thread\nwith a second line",
        "RuntimeError: in a finaliser",
        "RuntimeError: that nothing catches",
    ):
        assert words in text
    assert "Traceback" in said["RuntimeError: that nothing catches"]["error"]
    assert said["RuntimeError: that nothing catches"]["level"] == "critical"


def test_a_panic_of_a_thread_that_no_call_waits_for_is_an_object(tmp_path):
    samples.archive(tmp_path / "archive")
    code = """
        import sys, threading, time
        from liqdata import _core, cli
        from liqdata.cli.commands import serve

        def provoke(market, what, served, alerting):
            import liqdata
            with liqdata.serve(market, **served):
                _core._Faulty("no entry at 7").alone()
                time.sleep(1)

        serve.serve_until_signal = provoke
        sys.exit(cli.main(["serve", sys.argv[1], "--log-format", "json"]))
    """
    for trace in ("0", "1"):
        _, _, lines = ended(str(tmp_path / "archive"), code=code, env=os.environ | {"RUST_BACKTRACE": trace})
        [line] = [line for line in lines if line["logger"] == "liqdata.defects"]
        assert "no entry at 7" in line["message"]
        assert line["level"] == "error"


class Failing(BaseHTTPRequestHandler):
    """A webhook that refuses every alert."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(404)
        self.end_headers()

    def log_message(self, *_):
        """Requests are not the test's output."""


@pytest.fixture
def webhook():
    with HTTPServer(("127.0.0.1", 0), Failing) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_a_server_that_collects_and_alerts_writes_objects_only(tmp_path, nowhere, webhook):
    (tmp_path / "settings.toml").write_text(nowhere)
    program = [sys.executable, "-c", "import sys; print('a program says', file=sys.stderr); sys.exit(3)"]
    arguments = [
        *("serve", tmp_path / "archive", "--collect", "--exchanges", "okx,bybit"),
        *("--settings", tmp_path / "settings.toml", "--log-format", "json", "--access-log"),
        *("--alert-coverage", "--alert-order-usd", "1", "--webhook", webhook),
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "liqdata", *map(str, arguments), "--command", " ".join(map(repr, program))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        url = process.stdout.readline().strip()
        lines = []

        def until(words):
            while not lines or words not in lines[-1]["message"]:
                lines.extend(parsed(process.stderr.readline()))

        until("no exchange is reachable")
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as odd:
            odd.sendall(b"\xff\xfe nonsense\r\n\r\n")
        with urllib.request.urlopen(f"{url}/metrics", timeout=30) as answer:
            answer.read()
        until('"GET /metrics" 200')
        process.send_signal(signal.SIGTERM)
        out, rest = process.communicate(timeout=60)
    lines += parsed(rest)
    assert (process.returncode, out) == (0, "")
    assert "stored 0 orders" in lines[-1]["message"]


def test_failed_alerts_and_what_a_program_says_are_objects(tmp_path, webhook):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho a program says >&2\nexit 3\n")
    program.chmod(0o700)
    arguments = ["serve", "--demo", "--log-format", "json", "--alert-symbol", "BTC", "--alert-cluster-usd", "100000"]
    arguments += ["--alert-distance", "5", "--webhook", webhook, "--command", str(program)]
    with subprocess.Popen(
        [sys.executable, "-m", "liqdata", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.readline()
        end, said = time.monotonic() + 60, []
        wanted = {"the webhook failed: 127.0.0.1 answered 404", "ended with 3; sending it again", "a program says"}
        while wanted and time.monotonic() < end:
            said += parsed(process.stderr.readline())
            wanted = {words for words in wanted if words not in said[-1]["message"]}
        process.terminate()
        _, rest = process.communicate(timeout=60)
    assert wanted == set()
    parsed(rest)
    [alert] = [line for line in said if "answered 404" in line["message"]][:1]
    assert (alert["level"], alert["logger"]) == ("warning", "liqdata.alerts")
    assert alert["message"].startswith("alert for BTC: ")


def test_collect_writes_objects_to_standard_error_only(tmp_path, nowhere):
    (tmp_path / "settings.toml").write_text(nowhere)
    arguments = ["collect", "archive", "--exchanges", "okx", "--settings", "settings.toml", "--log-format", "json"]
    code, out, lines = ended(*arguments, "--once", cwd=tmp_path)
    assert (code, out) == (1, "")
    assert "stored 0 orders" in "".join(line["message"] for line in lines)
    assert lines[-1]["message"].startswith("no exchange is reachable: okx: ")
    assert lines[-1]["level"] == "error"
