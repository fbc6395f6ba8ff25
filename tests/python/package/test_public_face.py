"""Nothing of the public face changes by accident: it is compared with ``public_face.json``."""

import json

import public_face
import pytest


@pytest.fixture(scope="module")
def found():
    return json.loads(public_face.written(public_face.face()))


@pytest.mark.parametrize("part", ["names", "frames", "refusals", "wire", "commands"])
def test_the_public_api_equals_the_recorded_one(found, part):
    stored = json.loads(public_face.RECORDED.read_text())[part]
    changed = {key for key in stored.keys() | found[part].keys() if stored.get(key) != found[part].get(key)}
    stated = "\n".join(f"{key}\n  kept:  {stored.get(key)}\n  found: {found[part].get(key)}" for key in sorted(changed))
    assert not changed, f"{stated}\nmeant? run `python tests/python/generators/public_face.py`; the changelog says so"
