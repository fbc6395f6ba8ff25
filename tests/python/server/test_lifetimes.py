"""How long answers last: what a cache keeps is what the server would answer again."""

import urllib.error
import urllib.request

import buckets
import pytest
from samples import DAY, HOUR, MINUTE, NOW

import liqdata

TOKEN = "correct-horse-battery"  # noqa: S105 - a test's own
FOREVER, BAR, NEVER = "max-age=86400, immutable", "max-age=300", "no-cache"
PATHS = (
    *("liquidations/overview", "liquidations/coins", "liquidations/exchanges", "liquidations/largest", "liquidations"),
    *("liq-heatmap", "liq-map", "liq-levels", "liq-maxpain", "bars", "liquidations/history?start=1780100000000"),
    *("coverage", "gaps", "liquidations/cascades"),
)


def fetch(server, path, **headers):
    request = urllib.request.Request(f"{server.url}/api/{path}", headers=headers)
    with urllib.request.urlopen(request, timeout=30) as reply:
        return reply.headers["cache-control"], reply.read(), reply.headers


def asked(path, **parameters):
    query = "&".join(f"{name}={value}" for name, value in parameters.items())
    return f"{path}{'&' if '?' in path else '?'}{query}"


def test_a_cache_never_keeps_an_answer_that_a_commit_changes(tmp_path):
    folder = buckets.archive(tmp_path / "archive")
    questions = [asked(path, **options) for path in PATHS for options in ({}, {"explain": 1})]
    questions += [asked(path, as_of=NOW - age) for path in PATHS for age in (HOUR, 19 * HOUR, 24 * HOUR + MINUTE)]
    with liqdata.open(folder) as market, liqdata.serve(market) as server:
        before = {question: fetch(server, question) for question in questions}
        buckets.next_hour(folder)
        after = {question: fetch(server, question) for question in questions}
    for question, (lasts, body, _) in before.items():
        is_settled = f"as_of={NOW - 24 * HOUR - MINUTE}" in question
        assert lasts == (f"public, {FOREVER}" if is_settled else NEVER), question
        assert lasts == NEVER or body == after[question][1], question
    changed = {question for question, (_, body, _) in before.items() if body != after[question][1]}
    assert {"liq-map?", "liquidations/overview?", f"liquidations?as_of={NOW - 19 * HOUR}"} <= changed


def test_answers_of_tables_last_for_a_bar_and_those_of_the_past_for_a_day(market):
    past = int(market.now.timestamp() * 1000) - HOUR
    with liqdata.serve(market) as server, liqdata.serve(market, token=TOKEN) as guarded:
        for path in PATHS:
            assert fetch(server, path)[0] == f"public, {BAR}"
            assert fetch(server, asked(path, as_of=past))[0] == f"public, {FOREVER}"
            assert fetch(server, asked(path, as_of=past + 2 * HOUR))[0] == f"public, {BAR}"
            bearer = {"authorization": f"Bearer {TOKEN}"}
            assert fetch(guarded, path, **bearer)[0] == f"private, {BAR}"
            assert fetch(guarded, asked(path, as_of=past), **bearer)[0] == f"private, {FOREVER}"
        # What is not an answer of the market, and a request that is refused.
        with pytest.raises(urllib.error.HTTPError) as refused:
            fetch(server, "liq-map?symbol=NOPE")
        assert refused.value.headers["cache-control"] == NEVER
        refused.value.close()


def test_an_answer_without_the_rows_of_damaged_files_is_not_cached(tmp_path):
    folder = buckets.archive(tmp_path / "archive")
    file = min(folder.glob("orders/**/*.parquet"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 255
    file.write_bytes(data)
    with liqdata.open(folder) as market, liqdata.serve(market) as server:
        question = asked("liquidations", as_of=NOW - DAY - MINUTE)
        fetch(server, question)  # finds the damage
        lasts, _, headers = fetch(server, question)
        assert (lasts, headers["x-liqdata-damaged"]) == (NEVER, "1")
