"""Totals of periods from Coinalyze, asked for by its client and saved as files that :func:`liqdata.ingest` reads."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from liqdata.errors import BadQuery, LiqdataError, NoAnswer, Refused
from liqdata.files.safe_open import naming_failures
from liqdata.vendors.coinalyze import Coinalyze

from .plan import millis
from .web import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date
    from pathlib import Path

    from .plan import PlannedFile
    from .sources import Source

HOURS_OF = 60
"""Days before today of which the service has periods of an hour; it keeps at least 1,500 of them."""

NO_KEY = "it asks for a key, which is free: set ${env}"

_WHOLE = {401, 403, 429}


class TotalsClient:
    """A client of the service that lists its exchanges, and saves totals as files."""

    def __init__(self, source: Source) -> None:
        self._lock = threading.Lock()
        self._service = _Service(source.secret, base_url=source.address)

    def exchanges(self, coin: str) -> list[str]:
        """The exchanges with futures of a coin."""
        with _refusals():
            return self._service.exchanges_of(coin)

    def save(self, one: PlannedFile, target: Path) -> int:
        """Save the totals of a coin on an exchange, summed over its contracts; returns the size in bytes."""
        interval: Any = one.file.split("/")[2]
        span = {"start": millis(one.first), "end": millis(one.last + timedelta(days=1))}
        # The service limits requests, so they are sent one after the other.
        with self._lock, _refusals():
            rows = self._service.history(one.coins[0], exchange=one.exchange, interval=interval, **span)
        names = ("timestamp", "long_usd", "short_usd")
        about = {"exchange": one.exchange, "symbol": one.coins[0], "interval": interval}
        lines = [{**about, **{name: str(row[name]) for name in names}} for row in rows]
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f"{target.name}.part")
        with naming_failures(target):
            part.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
            part.replace(target)
        return target.stat().st_size


class _Service(Coinalyze):
    def exchanges_of(self, coin: str) -> list[str]:
        """The exchanges with futures of a coin."""
        return self._run(self._dialect.exchanges_of(coin))


@contextmanager
def _refusals() -> Iterator[None]:
    """Raise the errors of the client as refusals of the source."""
    try:
        yield
    except BadQuery as error:
        raise Refusal(str(error), whole=error.parameter == "api_key") from None
    except Refused as error:
        raise Refusal(f"it refuses ({error.status}): {error}", whole=error.status in _WHOLE) from None
    except NoAnswer as error:
        raise Refusal(f"it cannot be reached: {error}", whole=True, again=True) from None
    except LiqdataError as error:
        raise Refusal(str(error), again=True) from None


def spans(first: date, last: date, today: date) -> list[tuple[str, date, date]]:
    """The requests for a coin and exchange: days of each year, and the hours that the service still has."""
    found: list[tuple[str, date, date]] = []
    begin = first
    while begin <= last:
        end = min(begin.replace(month=12, day=31), last)
        found.append(("1d", begin, end))
        begin = end + timedelta(days=1)
    recent = max(first, today - timedelta(days=HOURS_OF))
    if recent <= last:
        found.append(("1h", recent, last))
    return found


def file_of(coin: str, exchange: str, asked: tuple[str, date, date]) -> dict[str, Any]:
    """Name and span of the file of a request."""
    interval, first, last = asked
    name = f"{coin}/{exchange}/{interval}/{first}_{last}.jsonl"
    return {"file": name, "first": first, "last": last}
