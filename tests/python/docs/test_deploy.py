"""What lies in ``deploy/`` is safe as it is, and names metrics that a server has and options that the command has."""

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
import samples
import trustme
import yaml

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


def unit(name):
    read = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    read.optionxform = str
    read.read(DEPLOY / name, encoding="utf-8")
    return read


def objects(name):
    return list(yaml.safe_load_all((DEPLOY / name).read_text(encoding="utf-8")))


def image(word):
    """The words of an instruction of the Containerfile."""
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    return json.loads(re.search(rf"^{word} (\[.*\])$", text, re.MULTILINE)[1])


def pod():
    [found] = [each for each in objects("kubernetes.yaml") if each["kind"] == "StatefulSet"]
    return found["spec"]["template"]["spec"]["containers"][0]


def commands():
    """What each file starts, without the name of the program."""
    assert image("ENTRYPOINT") == ["liqdata"]
    return {
        "unit": unit("liqdata.service")["Service"]["ExecStart"].split()[1:],
        "unit with TLS": unit("liqdata-tls.conf")["Service"]["ExecStart"].split()[1:],
        "container": image("CMD"),
        "pod": pod()["args"],
    }


@pytest.mark.parametrize("command", commands().values(), ids=commands())
def test_the_command_has_every_option_that_it_is_started_with(command, capsys):
    assert cli.main([*command, "--help"]) == 0
    options = {word for word in command if word.startswith("--")}
    assert len(options) >= 5
    help_ = capsys.readouterr().out
    assert all(re.search(rf"{option}\b", help_) for option in options), options


@pytest.mark.parametrize("command", commands().values(), ids=commands())
def test_tokens_and_answers_cross_the_network_with_tls_only(command):
    host = command[command.index("--host") + 1]
    assert "--token-file" in command
    assert "--public" not in command
    assert host == "127.0.0.1" or {"--certificate", "--key"} <= set(command)


def test_compose_publishes_on_loopback_and_starts_what_the_image_does():
    [service] = objects("compose.yaml")[0]["services"].values()
    assert service["ports"] == ["127.0.0.1:8080:8080"]
    assert "command" not in service
    assert service["healthcheck"]["test"][1:] == probe()


@pytest.mark.parametrize("name", ["liqdata.service", "Containerfile"])
def test_the_tokens_that_a_remark_makes_open_the_server_it_starts(name, tmp_path, monkeypatch, capfd):
    monkeypatch.delenv("LIQDATA_TOKEN", raising=False)
    text = (DEPLOY / name).read_text(encoding="utf-8")
    remark = re.search(r"^# +(?:/opt/liqdata/bin/)?(liqdata token .*?) +#", text, re.MULTILINE)[1]
    remark = remark.replace("/etc/liqdata/", "").replace("secrets/", "")
    subprocess.run(remark, shell=True, cwd=tmp_path, env=PATH, check=True)  # noqa: S602
    assert capfd.readouterr() == ("", "")
    token = (tmp_path / "ann.token").read_text().strip()
    with (
        liqdata.serve(liqdata.demo(), token=tmp_path / "tokens") as server,
        liqdata.Client(server.url, token=token) as client,
    ):
        assert client.overview()


def probe():
    """The health check of the image."""
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    return json.loads(re.search(r"^HEALTHCHECK .*?CMD (\[.*\])$", text, re.MULTILINE)[1])


def test_the_container_runs_without_root():
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    assert text.index("USER liqdata") < text.index("ENTRYPOINT")


def test_the_health_check_of_the_container_says_whether_the_server_is_ready(tmp_path):
    authority = trustme.CA()
    issued = authority.issue_cert("data.example.org")
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "chain.pem")
    samples.archive(tmp_path / "archive")

    def outcome(port):
        words = [sys.executable if word == "python" else word.replace(":8080", f":{port}") for word in probe()]
        return subprocess.run(words, capture_output=True, timeout=60, check=False).returncode

    with liqdata.open(tmp_path / "archive") as market:
        tls = (tmp_path / "chain.pem", tmp_path / "key.pem")
        with liqdata.serve(market, token="correct-horse-battery", tls=tls) as server:  # noqa: S106 - a test's own
            port = server.url.rpartition(":")[2]
            assert outcome(port) == 0
            (tmp_path / "archive" / "journal.sqlite").unlink()
            assert outcome(port) != 0
    assert outcome(port) != 0


def test_the_probes_of_the_pod_ask_for_readiness_and_life():
    paths = {name: each["httpGet"] for name, each in pod().items() if name.endswith("Probe")}
    assert {name: each["path"] for name, each in paths.items()} == {
        "startupProbe": "/health",
        "readinessProbe": "/ready",
        "livenessProbe": "/health",
    }
    assert {each["scheme"] for each in paths.values()} == {"HTTPS"}


def rules():
    [group] = yaml.safe_load((DEPLOY / "liqdata.rules.yml").read_text(encoding="utf-8"))["groups"]
    return group["rules"]


def test_the_server_has_every_metric_of_the_rules(stated):
    named = {name for rule in rules() for name in re.findall(r"\b[a-z]+_[a-z_]+(?=\{)", rule["expr"])}
    assert len(named) > 12
    assert named <= stated, named - stated


def test_every_rule_says_what_happened_and_how_urgent_it_is():
    assert len({rule["alert"] for rule in rules()}) == len(rules())
    for rule in rules():
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert set(rule["annotations"]) == {"summary", "description"}
        # The job of prometheus.yml, so that a rule looks at this server only.
        selectors = re.findall(r"\{([^}]*)\}", rule["expr"])
        assert selectors
        assert all('job="liqdata"' in each for each in selectors)


def test_prometheus_takes_the_rules():
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not installed")
    subprocess.run([program, "check", "rules", DEPLOY / "liqdata.rules.yml"], check=True, capture_output=True)
    assert "liqdata.rules.yml" in (DEPLOY / "prometheus.yml").read_text(encoding="utf-8")


def test_systemd_takes_the_unit(tmp_path):
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    # The program has to be there; `true` is everywhere.
    (tmp_path / "liqdata.service.d").mkdir()
    for name, copy in (("liqdata.service", "liqdata.service"), ("liqdata-tls.conf", "liqdata.service.d/tls.conf")):
        text = (DEPLOY / name).read_text(encoding="utf-8")
        (tmp_path / copy).write_text(text.replace("/opt/liqdata/bin/liqdata", shutil.which("true")), encoding="utf-8")
        found = subprocess.run(
            [program, "verify", "--man=no", tmp_path / "liqdata.service"], capture_output=True, text=True, check=False
        )
        said = [line for line in found.stderr.splitlines() if "liqdata" in line]
        assert not said, found.stderr


def test_prometheus_has_the_address_of_the_unit():
    port = re.search(r"--port (\d+)", (DEPLOY / "liqdata.service").read_text(encoding="utf-8"))[1]
    assert f"localhost:{port}" in (DEPLOY / "prometheus.yml").read_text(encoding="utf-8")
