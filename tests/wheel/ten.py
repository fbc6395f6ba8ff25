"""The ten questions, over HTTP and in-process, where nothing is installed but liqdata and numpy."""

import liqdata
from liqdata.endpoints.contract import endpoints

CONTRACT = [endpoint.name for endpoint in endpoints().values() if not endpoint.extension]

with liqdata.demo() as market, liqdata.serve(market) as server, liqdata.Client(server.url) as client:
    for name in CONTRACT:
        served, own = (getattr(source, name)() for source in (client, market))
        if hasattr(served, "prices"):
            assert served.prices.size, name
            assert (served.prices == own.prices).all(), name
        else:
            assert len(served), name
            assert list(served) == list(own), name
assert len(CONTRACT) == 10
