"""The stacks that are measured: ours and the peers, each used as its documentation recommends, connections reused."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import aiohttp
import httpx
import orjson
import requests
import simdjson
import urllib3
from cases import Case
from pyreqwest.client import ClientBuilder, SyncClientBuilder

import liqdata

IN_FLIGHT = 8
TIMEOUT = 60


class Blocking:
    """A stack with blocking calls; many at a time by a pool of threads."""

    name: str
    codings = ("plain", "gzip", "zstd")

    def __init__(self, url: str) -> None:
        self.url = url
        self.threads = ThreadPoolExecutor(IN_FLIGHT)

    def fetch(self, url: str, params: dict[str, str]) -> Any:
        raise NotImplementedError

    def once(self, case: Case) -> Any:
        return case.convert(self.fetch(f"{self.url}/{case.coding}{case.path}", dict(case.params)))

    def many(self, cases: Sequence[Case]) -> list[Any]:
        return list(self.threads.map(self.once, cases))

    def close(self) -> None:
        self.threads.shutdown()


class Requests(Blocking):
    """requests with one session; ``loads`` reads the bytes."""

    def __init__(self, url: str, name: str, loads: Callable[[bytes], Any] | None) -> None:
        super().__init__(url)
        self.name, self.loads = name, loads
        self.session = requests.Session()

    def fetch(self, url: str, params: dict[str, str]) -> Any:
        response = self.session.get(url, params=params, timeout=TIMEOUT)
        response.raise_for_status()
        return response.json() if self.loads is None else self.loads(response.content)

    def close(self) -> None:
        super().close()
        self.session.close()


class Httpx(Blocking):
    """httpx with one client."""

    codings = ("plain", "gzip")

    def __init__(self, url: str, name: str, loads: Callable[[bytes], Any] | None) -> None:
        super().__init__(url)
        self.name, self.loads = name, loads
        self.client = httpx.Client(timeout=TIMEOUT)

    def fetch(self, url: str, params: dict[str, str]) -> Any:
        response = self.client.get(url, params=params)
        response.raise_for_status()
        return response.json() if self.loads is None else self.loads(response.content)

    def close(self) -> None:
        super().close()
        self.client.close()


class Urllib3(Blocking):
    """urllib3 with one pool manager."""

    name = "urllib3 + orjson"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.pool = urllib3.PoolManager(maxsize=IN_FLIGHT, headers=urllib3.make_headers(accept_encoding=True))

    def body(self, url: str, params: dict[str, str]) -> bytes:
        response = self.pool.request("GET", url, fields=params, timeout=TIMEOUT)
        if response.status >= 400:
            msg = f"status {response.status}"
            raise OSError(msg)
        return response.data

    def fetch(self, url: str, params: dict[str, str]) -> Any:
        return orjson.loads(self.body(url, params))

    def close(self) -> None:
        super().close()
        self.pool.clear()


class Simdjson(Urllib3):
    """urllib3 and pysimdjson: arrays as buffers, without an object per number."""

    name = "urllib3 + pysimdjson"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.parsers = threading.local()

    def once(self, case: Case) -> Any:
        body = self.body(f"{self.url}/{case.coding}{case.path}", dict(case.params))
        # One parser per thread, used over and over.
        if not hasattr(self.parsers, "own"):
            self.parsers.own = simdjson.Parser()
        document = self.parsers.own.parse(body)
        return case.convert(document.as_dict()) if case.buffers is None else case.buffers(document)


class Pyreqwest(Blocking):
    """pyreqwest's blocking client: reqwest below, as below ours."""

    name = "pyreqwest + orjson"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.client = SyncClientBuilder().timeout(timedelta(seconds=TIMEOUT)).error_for_status(enable=True).build()

    def fetch(self, url: str, params: dict[str, str]) -> Any:
        response = self.client.get(url).query(params).build().send()
        return orjson.loads(memoryview(response.bytes()))

    def close(self) -> None:
        super().close()
        self.client.close()


class Awaited:
    """A stack with awaited calls; many at a time by ``gather`` under a semaphore."""

    name: str
    codings = ("plain", "gzip", "zstd")

    def __init__(self, url: str) -> None:
        self.url = url
        self.loop = asyncio.new_event_loop()
        self.open = asyncio.Semaphore(IN_FLIGHT)

    async def fetch(self, url: str, params: dict[str, str]) -> Any:
        raise NotImplementedError

    async def once(self, case: Case) -> Any:
        return case.convert(await self.fetch(f"{self.url}/{case.coding}{case.path}", dict(case.params)))

    async def burst(self, case: Case, calls: int) -> list[Any]:
        """So many calls at once."""
        return await asyncio.gather(*(self.once(case) for _ in range(calls)))

    async def many(self, cases: Sequence[Case]) -> list[Any]:
        async def one(case: Case) -> Any:
            async with self.open:
                return await self.once(case)

        return await asyncio.gather(*map(one, cases))

    async def leave(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self.loop.run_until_complete(self.leave())
        self.loop.close()


class Aiohttp(Awaited):
    """aiohttp with one session."""

    name = "aiohttp + orjson"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.session = self.loop.run_until_complete(self.enter())

    async def enter(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT))

    async def fetch(self, url: str, params: dict[str, str]) -> Any:
        async with self.session.get(url, params=params) as response:
            response.raise_for_status()
            return orjson.loads(await response.read())

    async def leave(self) -> None:
        await self.session.close()


class AsyncHttpx(Awaited):
    """httpx's asynchronous client."""

    name = "httpx async + orjson"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.client = httpx.AsyncClient(timeout=TIMEOUT)

    async def fetch(self, url: str, params: dict[str, str]) -> Any:
        response = await self.client.get(url, params=params)
        response.raise_for_status()
        return orjson.loads(response.content)

    async def leave(self) -> None:
        await self.client.aclose()


class AsyncPyreqwest(Awaited):
    """pyreqwest's asynchronous client."""

    name = "pyreqwest async + orjson"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.client = ClientBuilder().timeout(timedelta(seconds=TIMEOUT)).error_for_status(enable=True).build()

    async def fetch(self, url: str, params: dict[str, str]) -> Any:
        response = await self.client.get(url).query(params).build().send()
        return orjson.loads(memoryview(await response.bytes()))

    async def leave(self) -> None:
        await self.client.close()


class Ours(Blocking):
    """liqdata.Client; many at a time by a sequence of symbols."""

    name = "liqdata"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.clients: dict[Any, liqdata.Client] = {}

    def client(self, case: Case) -> liqdata.Client:
        key = (case.coding, *case.options.items())
        if key not in self.clients:
            self.clients[key] = liqdata.Client(f"{self.url}/{case.coding}", timeout=TIMEOUT, **case.options)
        return self.clients[key]

    def once(self, case: Case) -> Any:
        return case.finish(case.ask(self.client(case)))

    def many(self, cases: Sequence[Case]) -> list[Any]:
        symbols = [case.params["symbol"] for case in cases]
        heatmap: Any = self.client(cases[0]).heatmap
        return list(heatmap(symbols, cases[0].params["range"]).values())

    def close(self) -> None:
        super().close()
        for client in self.clients.values():
            client.close()


class OursAwaited(Awaited):
    """liqdata.AsyncClient."""

    name = "liqdata async"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.clients: dict[Any, liqdata.AsyncClient] = {}

    async def once(self, case: Case) -> Any:
        key = (case.coding, *case.options.items())
        if key not in self.clients:
            self.clients[key] = liqdata.AsyncClient(f"{self.url}/{case.coding}", timeout=TIMEOUT, **case.options)
        return case.finish(await self.ask(case, self.clients[key]))

    @staticmethod
    def ask(case: Case, client: liqdata.AsyncClient) -> Awaitable[Any]:
        asked: Awaitable[Any] = case.ask(client)
        return asked

    async def leave(self) -> None:
        for client in self.clients.values():
            await client.aclose()


Stack = Blocking | Awaited
MAKERS: dict[str, Callable[[str], Stack]] = {
    "liqdata": Ours,
    "liqdata async": OursAwaited,
    "requests + json": lambda url: Requests(url, "requests + json", json.loads),
    "requests + orjson": lambda url: Requests(url, "requests + orjson", orjson.loads),
    "httpx + orjson": lambda url: Httpx(url, "httpx + orjson", orjson.loads),
    "urllib3 + orjson": Urllib3,
    "urllib3 + pysimdjson": Simdjson,
    "pyreqwest + orjson": Pyreqwest,
    "aiohttp + orjson": Aiohttp,
    "pyreqwest async + orjson": AsyncPyreqwest,
    "httpx async + orjson": AsyncHttpx,
}
