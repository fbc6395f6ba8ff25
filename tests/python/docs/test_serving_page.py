"""The steps of ``docs/how-to/serving.md``, done as written: a token, an authority, a server, and a request."""

import http.client
import os
import re
import ssl
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import liqdata
from liqdata import _core
from liqdata.cli.commands import serve as server
from liqdata.cli.commands import serve_options as served

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "serving.md").read_text(encoding="utf-8")
WHO_MAY_ASK = PAGE[PAGE.index("## Access") : PAGE.index("## Limits")]
PLACE = "data.example.org:8080"


def steps(program):
    """The indented commands of the section that run a program, in order, each on one line."""
    lines = re.sub(r"\\\n +", "", WHO_MAY_ASK).splitlines()
    return [line.strip() for line in lines if re.match(rf"    (?:[A-Z_]+=\S+( \S+\)\")? )*(?:{program}) ", line)]


@pytest.fixture
def there(tmp_path, monkeypatch):
    """A folder with an archive, in which the commands of this interpreter run as a user types them."""
    with closing(_core.ArchiveWriter(tmp_path / "my-archive")):
        pass
    for name in ("LIQDATA_TOKEN", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def typed(command, folder):
    return subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S602


@pytest.mark.skipif(
    typed("openssl version && curl -V", None).returncode != 0, reason="openssl or curl is not installed"
)
def test_the_steps_for_a_team_lead_to_an_answer_with_a_token_only(there):
    (token,) = steps(r"\(umask 077; liqdata")
    serve = steps("liqdata")[0]
    (curl,) = steps("curl")
    asked, asked_with_our_own = (line for line in steps("liqdata") if line.endswith(PLACE))
    authority = steps("openssl|printf")
    assert len(authority) == 4
    for step in (token, *authority):
        done = typed(step, there)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert {(there / name).stat().st_mode & 0o777 for name in ("ann.token", "tokens")} == {0o600}
    # The port is another test's perhaps.
    command = f"exec {serve.replace('--port 8080', '--port 0')}"
    with subprocess.Popen(command, shell=True, cwd=there, stdout=subprocess.PIPE, text=True) as process:  # noqa: S602
        try:
            port = process.stdout.readline().strip().rpartition(":")[2]
            here = f"localhost:{port}"
            found = typed(asked_with_our_own.replace(PLACE, here) + " --json", there)
            # An archive without a connected exchange has nothing to tell; that is said, not a refusal.
            assert '"24h"' in found.stdout, found.stderr
            found = typed(f"CURL_CA_BUNDLE=ca.pem {curl.replace(PLACE, here)}", there)
            assert '"data":[]' in found.stdout, found
            for wrong, why in (
                (asked, "TLS|has none"),
                (re.sub(r"LIQDATA_TOKEN=\S+ \S+ ", "", asked_with_our_own), "a token is required"),
                (asked_with_our_own.replace("=ca.pem", "=no.pem"), "has none"),
            ):
                refused = typed(wrong.replace(PLACE, here), there)
                assert (refused.returncode, refused.stdout) == (1, "")
                assert re.search(why, refused.stderr), refused.stderr
            # By the name that the certificate is for as well; and by none that was not allowed.
            bearer = f"Bearer {(there / 'ann.token').read_text().strip()}"
            trust = ssl.create_default_context(cafile=str(there / "ca.pem"))
            for name, status in (("data.example.org", 200), ("evil.example", 421)):
                with closing(http.client.HTTPSConnection("localhost", int(port), context=trust, timeout=30)) as asking:
                    asking.request("GET", "/health", headers={"Host": name, "Authorization": bearer})
                    assert asking.getresponse().status == status
        finally:
            process.terminate()


@pytest.mark.skipif(typed("openssl version", None).returncode != 0, reason="openssl is not installed")
def test_an_authority_shown_as_a_servers_certificate_is_refused_in_the_words_of_the_page(there, market, monkeypatch):
    assert typed(steps("openssl")[0], there).returncode == 0
    monkeypatch.setenv("SSL_CERT_FILE", str(there / "ca.pem"))
    with liqdata.serve(market, tls=(there / "ca.pem", there / "ca.key")) as running:
        address = running.url.replace("127.0.0.1", "localhost")
        with liqdata.Client(address) as client, pytest.raises(liqdata.NoAnswer) as caught:
            client.overview()
    said = re.search(r"invalid peer certificate: \S+", str(caught.value))[0]
    assert f"`{said}`" in WHO_MAY_ASK


def test_the_page_names_which_options_may_stand_in_a_file_and_which_may_not():
    sentence = PAGE[PAGE.index("`host`, `port`") : PAGE.index("```toml\nhost =")]
    may, _, may_not = sentence.partition("The command line takes")
    assert set(re.findall(r"`(\w+)`", may)) == served._KINDS.keys()
    options = {parameter.name for parameter in server.command("serve", "s").params} - served._KINDS.keys()
    assert {name.replace("-", "_") for name in re.findall(r"`--([\w-]+)`", may_not)} == options - {
        "archive",
        "config",
        "seed",
    }
