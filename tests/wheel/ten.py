"""The ten questions, over HTTP and in-process, where nothing is installed but liqdata and numpy."""

import liqdata
from liqdata.tour import ENDPOINTS

with liqdata.demo() as market, liqdata.serve(market) as server, liqdata.Client(server.url) as client:
    for name in ENDPOINTS:
        served, own = (getattr(source, name)() for source in (client, market))
        if hasattr(served, "prices"):
            assert served.prices.size, name
            assert (served.prices == own.prices).all(), name
        else:
            assert len(served), name
            assert list(served) == list(own), name
assert len(ENDPOINTS) == 10
