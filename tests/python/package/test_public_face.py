"""Nothing of the public face changes by accident: it is compared with what is kept beside ``public_face.py``."""

import json

import public_face
import pytest


@pytest.fixture(scope="module")
def found():
    return json.loads(public_face.written(public_face.face()))


@pytest.mark.parametrize("part", ["names", "frames", "refusals", "wire", "commands"])
def test_what_users_see_is_what_is_kept(found, part):
    kept = json.loads(public_face.KEPT.read_text())[part]
    changed = {key for key in kept.keys() | found[part].keys() if kept.get(key) != found[part].get(key)}
    told = "\n".join(f"{key}\n  kept:  {kept.get(key)}\n  found: {found[part].get(key)}" for key in sorted(changed))
    assert not changed, f"{told}\nmeant? run `python tests/python/generators/public_face.py`; the changelog says so"
