"""Both clients behind one face, so that a test is written once and asks each of them."""

import asyncio
import inspect

import liqdata


class Blocking:
    """The blocking client as it is, walks as lists."""

    def __init__(self, *arguments, **options):
        self._client = liqdata.Client(*arguments, **options)

    def __getattr__(self, name):
        return getattr(self._client, name)

    def iter_orders(self, *arguments, **options):
        return list(self._client.iter_orders(*arguments, **options))

    def at_once(self, name, *arguments, times):
        """The outcomes of that many equal calls, all begun before any is awaited."""
        from concurrent.futures import ThreadPoolExecutor

        def one(_):
            try:
                return getattr(self._client, name)(*arguments)
            except liqdata.LiqdataError as error:
                return error

        with ThreadPoolExecutor(times) as pool:
            return list(pool.map(one, range(times)))

    def end(self):
        self._client.close()


async def _whole(asked):
    """The answer, answers that come one by one as an iterator like any other."""
    answer = await asked
    if isinstance(answer, dict):
        return {name: await _listed(one) for name, one in answer.items()} if _comes(*answer.values()) else answer
    return await _listed(answer) if _comes(answer) else answer


def _comes(*answers):
    return bool(answers) and all(hasattr(one, "__anext__") for one in answers)


async def _listed(answers):
    return iter([one async for one in answers])


class Awaited:
    """The client for asyncio on a loop of its own; every call runs that loop until its answer is there."""

    def __init__(self, *arguments, **options):
        self._client = liqdata.AsyncClient(*arguments, **options)
        self._runner = asyncio.Runner()

    def __getattr__(self, name):
        found = getattr(self._client, name)
        if not inspect.iscoroutinefunction(found):
            return found
        return lambda *arguments, **options: self._runner.run(_whole(found(*arguments, **options)))

    def iter_orders(self, *arguments, **options):
        async def walk():
            return [row async for row in self._client.iter_orders(*arguments, **options)]

        return self._runner.run(walk())

    def at_once(self, name, *arguments, times):
        """The outcomes of that many equal calls, all begun before any is awaited."""

        async def all_of_them():
            calls = [getattr(self._client, name)(*arguments) for _ in range(times)]
            return await asyncio.gather(*calls, return_exceptions=True)

        return self._runner.run(all_of_them())

    def close(self):
        self._runner.run(self._client.aclose())

    def end(self):
        self.close()
        self._runner.close()


FACES = {"blocking": Blocking, "asyncio": Awaited}
