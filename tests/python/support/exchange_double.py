"""The exchange double as a process: it speaks as exchanges do, and makes liquidations on command."""

import json
import subprocess
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pytest

DOUBLE = Path(__file__).parents[3] / "target" / "debug" / "examples" / "exchange_double"
needs_double = pytest.mark.skipif(not DOUBLE.exists(), reason="the exchange double is built by cargo test")


@contextmanager
def exchanges(file, *venues):
    """Doubles of exchanges, and the function that commands them."""
    arguments = [str(DOUBLE), "--exchanges", ",".join(venues), "--settings", str(file), "--no-limits"]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()

        def command(**request):
            print(json.dumps(request), file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        yield command
        process.stdin.close()


def common(rows):
    """The columns that a row of a market and an order of the double have in common, sorted."""
    return sorted((row["exchange"], row["side"], Decimal(row["value_usd"]), row["timestamp"]) for row in rows)
