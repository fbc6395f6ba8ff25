"""What several test files share: a simulated market, its server, both clients, and services that follow a script."""

import pytest
from faces import FACES
from scripted import Service

import liqdata


@pytest.fixture(scope="session")
def market():
    """One simulated market for all tests; nothing ever changes it."""
    return liqdata.demo()


@pytest.fixture(scope="session")
def server(market):
    with liqdata.serve(market) as running:
        yield running


@pytest.fixture
def script():
    """Start scripted services; they end with the test."""
    started = []

    def start(*behaviours, **options):
        started.append(Service(*behaviours, **options))
        return started[-1]

    yield start
    for service in started:
        service.close()


@pytest.fixture(params=FACES)
def connect(request):
    """Make clients of either face; they end with the test."""
    made = []

    def make(address, **options):
        made.append(FACES[request.param](getattr(address, "url", address), **options))
        return made[-1]

    yield make
    for client in made:
        client.end()
