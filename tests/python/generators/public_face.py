"""The public face as text: names, signatures, shapes of rows, refusals, the bytes on the wire, the command line.

``python tests/python/generators/public_face.py`` writes what ``test_public_face.py`` compares with. The difference
shows which names, texts or bytes change for users; the changelog lists it.
"""

import dataclasses
import hashlib
import http
import importlib
import inspect
import json
import sys
import typing
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import liqdata
from liqdata.cli.menu import entries

# As a script it finds the table of refusals as pytest does.
sys.path.append(str(Path(__file__).parents[1] / "support"))
import refusals

RECORDED = Path(__file__).with_suffix(".json")
MODULES = [
    "liqdata",
    *(
        f"liqdata.{name}"
        for name in (
            "alerts",
            "archive",
            "collector",
            "distributed",
            "errors",
            "feeds",
            "freqtrade",
            "live",
            "margin",
            "plot",
            "scoring",
            "server",
            "symbols",
            "types",
        )
    ),
]
ASKED = [
    *("liquidations/overview?explain=1", "liquidations/coins?range=1h&limit=2", "liquidations/exchanges?range=4h"),
    *("liquidations/largest?limit=7", "liquidations/largest?explain=1", "liquidations?limit=40&offset=3"),
    *("liquidations?symbol=BTCUSDT&exchange=okx", "liquidations/chart?symbol=ETHUSDT"),
    *("liq-heatmap?symbol=ETH&range=7d&model=3", "liq-map?symbol=SOL&range=7d", "liq-levels?symbol=ETH"),
    *("liq-maxpain?symbol=ETH", "liq-maxpain?explain=1"),
]
WRONG = [
    "?range=2h",
    "?limit=0",
    "?limit=1e3",
    "?symbol=",
    "?offset=-1",
    "?nonsense=1",
    "?symbol=BTC&symbol=ETH",
    "?%ff",
]


def _public(module):
    listed = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    return {name: getattr(module, name) for name in sorted(listed) if not inspect.ismodule(getattr(module, name))}


def _signature(function):
    kind = "async " if inspect.iscoroutinefunction(function) else ""
    own = f"{kind}{inspect.signature(function)}"
    others = [f"{kind}{inspect.signature(overload)}" for overload in typing.get_overloads(inspect.unwrap(function))]
    return [own, *others] if others else own


def _is_public(base):
    """Whether users can name a base class: it is one of the package's names, or of another package."""
    if base.__name__.startswith("_"):
        return False
    return not base.__module__.startswith("liqdata.") or base.__name__ in liqdata.__all__


def _class(found):
    if typing.is_typeddict(found):
        required = found.__required_keys__
        return {
            key: f"{kind}{'' if key in required else ', may be absent'}" for key, kind in found.__annotations__.items()
        }
    members = {"bases": [base.__name__ for base in found.__mro__[1:-1] if _is_public(base)]}
    if dataclasses.is_dataclass(found):
        members["fields"] = {field.name: str(field.type) for field in dataclasses.fields(found)}
    for name in sorted(dir(found)):
        if name.startswith("_") and name not in {"__init__", "__enter__", "__exit__", "__aenter__", "__aexit__"}:
            continue
        home = next(base for base in found.__mro__ if name in vars(base))
        if not home.__module__.startswith("liqdata"):
            continue
        member = vars(home)[name]
        if isinstance(member, (staticmethod, classmethod)):
            member = member.__func__
        members[name] = _signature(member) if inspect.isroutine(member) else type(member).__name__
    return members


def names():
    """Names, signatures and shapes of the public modules, and of the archive's writer that others call."""
    stated = {}
    for module in map(importlib.import_module, MODULES):
        for name, found in _public(module).items():
            if inspect.isclass(found) and (found.__module__ or "").startswith("liqdata"):
                stated[f"{module.__name__}.{name}"] = _class(found)
            elif inspect.isroutine(found):
                stated[f"{module.__name__}.{name}"] = _signature(found)
    writer = importlib.import_module("liqdata._core").ArchiveWriter
    stated["liqdata._core.ArchiveWriter"] = [
        name for name in ("append", "roll", "close") if callable(getattr(writer, name))
    ]
    return stated


def frames(market):
    """Columns and types of every kind of rows, as each library has them."""
    kinds = {
        **{
            name: getattr(market, name)()
            for name in ("exchanges", "largest", "orders", "chart", "coverage", "gaps", "maps")
        },
        "coins": market.coins(),
        "bars": market.bars("BTC"),
        "open_interest": market.open_interest("BTC"),
        "true_positions": market.true_positions("BTC"),
        "score_truth": liqdata.score_truth(market, symbols="BTC"),
        "decoded": liqdata.feeds.decode(
            "bybit",
            '{"topic":"allLiquidation.SOLUSDT","type":"snapshot","ts":1790000000500,'
            '"data":[{"T":1790000000000,"s":"SOLUSDT","S":"Buy","v":"2.5","p":"180.40"}]}',
        ),
    }
    return {
        name: {
            "cells": [[key, type(cell).__name__] for key, cell in (rows[0] if len(rows) else {}).items()],
            # How a text column is called differs between releases of pandas.
            "pandas": [
                [key, "text" if str(kind) in {"str", "object"} else str(kind)]
                for key, kind in rows.to_pandas().dtypes.items()
            ],
            "polars": [[key, str(kind)] for key, kind in rows.to_polars().schema.items()],
            "arrow": [[field.name, str(field.type)] for field in rows.to_arrow().schema],
            "exact": [[field.name, str(field.type)] for field in rows.to_arrow(decimals="decimal").schema],
        }
        for name, rows in kinds.items()
    }


def _said(call):
    try:
        call()
    except Exception as error:  # noqa: BLE001 - every refusal is a row of the table
        fields = {key: str(value) for key, value in sorted(vars(error).items())}
        return [type(error).__name__, str(error), fields]
    return "not refused"


def refused(market, client):
    """The refusals of mistakes, by a market in this process and by a client; the service's address is left out."""
    stated = {}

    def tell(asked, ask):
        here, there = _said(lambda: ask(market)), _said(lambda: ask(client))
        stated[asked] = here if here == there else {"market": here, "client": there}

    for method, arguments, *_ in refusals.REFUSALS:
        shown = ", ".join(f"{key}={value!a}" for key, value in arguments.items())
        if " at 0x" not in shown:
            tell(
                f"{method}({shown})"[:120], lambda source, name=method, given=arguments: getattr(source, name)(**given)
            )
    for coin in ("NOPE", "BTC-USDT-SWAP", "BTCPERP", "1000PEPE"):
        tell(f"heatmap({coin!r})", lambda source, coin=coin: source.heatmap(coin))
    stated["bars(interval)"] = _said(lambda: market.bars("BTC", interval="7s"))
    stated["heatmap(as_of)"] = _said(lambda: market.heatmap("BTC", as_of="1999-01-01"))
    stated["orders(as_of)"] = _said(lambda: market.orders(as_of="yesterday"))
    stated["open"] = _said(lambda: liqdata.open("/nonexistent/archive"))
    stated["decode"] = _said(lambda: liqdata.feeds.decode("nowhere", "{}"))
    stated["decode frame"] = _said(lambda: liqdata.feeds.decode("bybit", '{"topic":"allLiquidation.X","data":[{}]}'))
    return json.loads(json.dumps(stated).replace(urlsplit(client.base_url).netloc, "HOST"))


def _answer(address):
    try:
        with urllib.request.urlopen(address, timeout=60) as reply:
            return reply.status, dict(reply.headers), reply.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


def wire(server):
    """Statuses, headers and bodies: answers by their digest, refusals as they are."""
    index = json.loads(_answer(f"{server.url}/api")[2])
    known = [entry["path"] for entry in index["endpoints"]]
    stated = {"paths": known}
    for path in known:
        for query in ("", *WRONG):
            status, headers, body = _answer(f"{server.url}{path}{query}")
            shown = hashlib.sha256(body).hexdigest() if status < http.HTTPStatus.BAD_REQUEST else body.decode()
            stored = sorted(name.lower() for name in headers)
            stated[f"{path}{query}"] = [status, stored, shown]
    for asked in ASKED:
        status, _, body = _answer(f"{server.url}/api/{asked}")
        stated[asked] = [status, hashlib.sha256(body).hexdigest()]
    for path in ("/nowhere", "/api?x=1"):
        stated[path] = [_answer(server.url + path)[0], _answer(server.url + path)[2].decode()]
    return stated


def commands():
    """The words of the command line, with what each says, defaults to and takes."""
    stated = {}
    for name, entry in entries().items():
        command = entry.make()
        stated[name] = {
            "says": command.help,
            **{
                "/".join(parameter.opts): [str(parameter.metavar), getattr(parameter, "help", "")]
                for parameter in command.params
            },
        }
    return stated


def face():
    """All of it."""
    market = liqdata.demo()
    with liqdata.serve(market) as server, liqdata.Client(server.url) as client:
        return {
            "names": names(),
            "frames": frames(market),
            "refusals": refused(market, client),
            "wire": wire(server),
            "commands": commands(),
        }


def written(stated):
    """As the kept file has it."""
    return json.dumps(stated, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    RECORDED.write_text(written(face()))
