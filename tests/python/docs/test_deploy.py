"""What lies in ``deploy/`` names metrics that a server has, and options that the command has."""

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import liqdata
from liqdata import cli

DEPLOY = Path(__file__).parents[3] / "deploy"
# The command of the interpreter that runs the tests.
PATH = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def stated():
    """Names of all series of a server of an archive."""
    market = liqdata.demo()
    with liqdata.serve(market) as server:
        with urllib.request.urlopen(f"{server.url}/health", timeout=30):
            pass
        with urllib.request.urlopen(f"{server.url}/metrics", timeout=30) as answer:
            assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
            page = answer.read().decode()
    return {re.split("[{ ]", line)[0] for line in page.splitlines() if not line.startswith("#")} | {
        line.split()[2] for line in page.splitlines() if line.startswith("# TYPE")
    }


def board():
    return json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))


def test_the_server_has_every_metric_of_the_dashboard(stated):
    shown = board()
    expressions = [target["expr"] for panel in shown["panels"] for target in panel["targets"]]
    expressions += [one["definition"] for one in shown["templating"]["list"] if "definition" in one]
    named = {name for text in expressions for name in re.findall(r"\b(?:liqdata|process)_\w+", text)}
    assert len(expressions) > 15
    assert named <= stated, named - stated
    # And the board has every metric of the server.
    families = {name for name in stated if not name.endswith(("_sum", "_count", "_bucket"))}
    families = {name for name in families if name + "_bucket" not in named}
    assert families <= named | {"liqdata_market_newest_timestamp_seconds"}, families - named


def test_panels_of_the_dashboard_do_not_overlap():
    panels = board()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len(places)
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in panels)


def commands():
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str
    unit.read(DEPLOY / "liqdata.service", encoding="utf-8")
    yield unit["Service"]["ExecStart"].split()[1:]
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    assert re.search(r'^ENTRYPOINT \["liqdata"\]$', text, re.MULTILINE)
    yield json.loads(re.search(r"^CMD (\[.*\])$", text, re.MULTILINE)[1])


@pytest.mark.parametrize("command", list(commands()), ids=["unit", "container"])
def test_the_command_has_every_option_that_it_is_started_with(command, capsys):
    assert cli.main([*command, "--help"]) == 0
    options = {word for word in command if word.startswith("--")}
    assert len(options) >= 5
    help_ = capsys.readouterr().out
    assert all(re.search(rf"{option}\b", help_) for option in options), options


@pytest.mark.parametrize("name", ["liqdata.service", "Containerfile"])
def test_the_tokens_that_a_remark_makes_open_the_server_it_starts(name, tmp_path, monkeypatch, capfd):
    monkeypatch.delenv("LIQDATA_TOKEN", raising=False)
    text = (DEPLOY / name).read_text(encoding="utf-8")
    remark = re.search(r"^# +(?:/opt/liqdata/bin/)?(liqdata token .*?) +#", text, re.MULTILINE)[1]
    subprocess.run(remark.replace("/etc/liqdata/", ""), shell=True, cwd=tmp_path, env=PATH, check=True)  # noqa: S602
    assert capfd.readouterr() == ("", "")
    token = (tmp_path / "ann.token").read_text().strip()
    with (
        liqdata.serve(liqdata.demo(), token=tmp_path / "tokens") as server,
        liqdata.Client(server.url, token=token) as client,
    ):
        assert client.overview()


def test_the_container_runs_without_root_and_checks_its_health():
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    assert text.index("USER liqdata") < text.index("ENTRYPOINT")
    probe = json.loads(re.search(r"^HEALTHCHECK .*?CMD (\[.*\])$", text, re.MULTILINE)[1])
    compile(probe[2], "probe", "exec")
    assert "/health" in probe[2]


def test_systemd_takes_the_unit(tmp_path):
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    unit = (DEPLOY / "liqdata.service").read_text(encoding="utf-8")
    # The program has to be there; `true` is everywhere.
    copy = tmp_path / "liqdata.service"
    copy.write_text(unit.replace("/opt/liqdata/bin/liqdata", shutil.which("true")), encoding="utf-8")
    found = subprocess.run([program, "verify", "--man=no", copy], capture_output=True, text=True, check=False)
    said = [line for line in found.stderr.splitlines() if "liqdata" in line]
    assert not said, found.stderr


def test_prometheus_has_the_address_of_the_unit():
    port = re.search(r"--port (\d+)", (DEPLOY / "liqdata.service").read_text(encoding="utf-8"))[1]
    assert f"localhost:{port}" in (DEPLOY / "prometheus.yml").read_text(encoding="utf-8")
