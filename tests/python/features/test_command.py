"""``liqdata features``: a file of features of an archive."""

import json
import subprocess
import sys

import pandas as pd
import samples

import liqdata

STARTED = "import liqdata.cli as cli, liqdata.cli.features as each; each._PART = 3; raise SystemExit(cli.main())"


def test_the_command_writes_what_the_method_returns_and_drops_parts_of_other_questions(tmp_path):
    samples.archive(tmp_path / "archive")
    file = tmp_path / "out.parquet"
    parts = tmp_path / "out.parquet.parts"
    parts.mkdir()
    (parts / "question.json").write_text(json.dumps("another"))
    (parts / "1-2.json").write_text("[]")
    command = [
        *(sys.executable, "-m", "liqdata", "features", str(tmp_path / "archive"), "--coins", "BTC,ETH"),
        *("--every", "2h", "--start", "2026-05-31", "--within", "1", "--windows", "1h", "--to", str(file)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, "26 rows" in done.stderr) == (0, True), done.stderr
    assert not parts.exists()
    with liqdata.open(tmp_path / "archive") as market:
        rows = market.features(["BTC", "ETH"], "2h", start="2026-05-31", within=[1], windows=["1h"])
    pd.testing.assert_frame_equal(pd.read_parquet(file), rows.to_pandas(), check_dtype=False)


def test_a_continued_file_computes_only_what_is_missing(tmp_path):
    samples.archive(tmp_path / "archive")
    file, parts = tmp_path / "out.parquet", tmp_path / "out.parquet.parts"
    command = [
        *(
            sys.executable,
            "-c",
            "import liqdata.cli as c, liqdata.cli.features as f; f._PART = 3; raise SystemExit(c.main())",
        ),
        *("features", str(tmp_path / "archive"), "--coins", "BTC", "--every", "1h", "--start", "2026-05-31T12:00Z"),
        *("--columns", "price,cnt_24h", "--to", str(file)),
    ]
    file.mkdir()  # the finished parts stay, because the file cannot be written
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    first = min(parts.glob("*-*.json"))
    name, kind, cells, present = json.loads(first.read_text())[0][2]
    assert (name, kind) == ("price", "float")
    state, rows = json.loads(first.read_text())
    state[2] = [name, kind, [1.5] * len(cells), present]
    first.write_text(json.dumps([state, rows]))
    file.rmdir()
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    prices = pd.read_parquet(file)["price"].tolist()
    assert prices[:3] == [1.5] * 3
    assert prices[3] != 1.5
    assert len(prices) == 13
