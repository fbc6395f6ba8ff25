"""The table of sources, and the sources that a user adds."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from liqdata.errors import BadQuery

DEFAULT_RATE = 300.0
"""Requests per minute for a host that the table does not list."""

LAYOUTS = ("binance", "contexts", "dataset", "hourly", "tardis", "coinalyze", "reservoir", "fills")


@dataclass(frozen=True)
class Source:
    """A place with files of one layout; the fields are those of ``sources.toml``."""

    name: str
    layout: str
    address: str
    listing: str = ""
    folder: str = "asset_ctxs"
    names: str = ""
    exchange: str = ""
    exchanges: Mapping[str, str] = field(default_factory=dict)
    contract_sizes: Mapping[str, str] = field(default_factory=dict)
    first: str | None = None
    last: str | None = None
    key: Mapping[str, Any] = field(default_factory=dict)
    rate: float | None = None
    region: str = ""
    usd_per_gb: float = 0.0
    licence: str = "none stated"
    republish: str = "ask the source"

    @property
    def secret(self) -> str | None:
        """The key in the environment, if there is one."""
        return os.environ.get(self.key["env"]) or None if self.key else None

    @property
    def headers(self) -> dict[str, str]:
        """The header with the key; it is never sent to another host."""
        return {} if self.secret is None else {self.key["header"]: self.key.get("prefix", "") + self.secret}

    @property
    def has_every_day(self) -> bool:
        """Whether the key opens all days of a source that gives some without a key."""
        return self.secret is not None and bool(self.key.get("every_day"))

    def rates(self) -> dict[str, float]:
        """Requests per minute for each host of the source."""
        known = {**_table()["hosts"]}
        lifted = self.key.get("rate") if self.secret is not None else None
        found = {}
        for address in (self.address, self.listing, *self.contract_sizes.values()):
            host = urlsplit(address).netloc
            found[host] = float(
                self.rate or (lifted if address == self.address else None) or known.get(host, DEFAULT_RATE)
            )
        return found


_RENAMED = {"from": "first", "to": "last"}
_KNOWN = {one.name for one in fields(Source)} - {"name", "first", "last"} | {"from", "to", "like"}


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((files("liqdata.fetching") / "sources.toml").read_text(encoding="utf-8"))


def built_in() -> dict[str, Source]:
    """The sources of this package by name, in the order in which they are fetched."""
    return {name: _source(name, given) for name, given in _table()["fetch"].items()}


def chosen(given: str | Iterable[str] | Mapping[str, Mapping[str, Any]] | None) -> list[Source]:
    """The sources that a caller names or describes; all sources of this package by default."""
    known = built_in()
    if given is None:
        return list(known.values())
    if isinstance(given, Mapping):
        return [_described(name, facts, known) for name, facts in given.items()]
    names = [name.strip() for name in given.split(",")] if isinstance(given, str) else list(given)
    for name in names:
        if name not in known:
            msg = f"sources: {name!r} is not a source; allowed: {', '.join(known)}"
            raise BadQuery(msg, parameter="sources")
    if not names:
        msg = f"sources: none is named; allowed: {', '.join(known)}"
        raise BadQuery(msg, parameter="sources")
    return [source for name, source in known.items() if name in names]


def _described(name: object, facts: object, known: Mapping[str, Source]) -> Source:
    """A source that the caller describes: one of the package with other facts, or a mirror that is ``like`` one."""
    if not isinstance(name, str) or not isinstance(facts, Mapping):
        msg = f'sources: {name!r}: {facts!r} is not allowed; allowed: {{"name": {{"like": "binance", "address": "https://…"}}}}'
        raise BadQuery(msg, parameter="sources")
    unknown = sorted(set(map(str, facts)) - _KNOWN)
    if unknown:
        msg = f"sources: {name}.{unknown[0]} is not allowed; allowed: {', '.join(sorted(_KNOWN))}"
        raise BadQuery(msg, parameter="sources")
    like = facts.get("like", name)
    base = known.get(like) if isinstance(like, str) else None
    if base is None:
        msg = f"sources: {name}.like is {like!r}; allowed: {', '.join(known)}"
        raise BadQuery(msg, parameter="sources")
    changed = {_RENAMED.get(str(fact), str(fact)): value for fact, value in facts.items() if fact != "like"}
    for fact in ("address", "listing"):
        if not isinstance(changed.get(fact, ""), str):
            msg = f"sources: {name}.{fact} is {changed[fact]!r}; allowed: an address such as https://host/folder"
            raise BadQuery(msg, parameter="sources")
    if "address" in changed:
        # A mirror lists its own files, unless it says where else they are listed.
        changed.setdefault("listing", changed["address"])
        changed["address"], changed["listing"] = changed["address"].rstrip("/"), changed["listing"].rstrip("/")
    source = replace(base, name=name, **changed)
    for address in (source.address, source.listing):
        if urlsplit(address).scheme not in {"http", "https", "s3"} or not urlsplit(address).netloc:
            msg = f"sources: {name}: {address!r} is not an address; allowed: https://host/folder, or s3://bucket"
            raise BadQuery(msg, parameter="sources")
    rate = source.rate
    if rate is not None and (isinstance(rate, bool) or not isinstance(rate, int | float) or not rate > 0):
        msg = f"sources: {name}.rate is {rate!r}; allowed: requests per minute, above 0"
        raise BadQuery(msg, parameter="sources")
    return source


def _source(name: str, given: Mapping[str, Any]) -> Source:
    facts = {_RENAMED.get(fact, fact): value for fact, value in given.items()}
    return Source(name, **{"listing": facts["address"], **facts})
