"""The error classes: what they are, what they carry, and that they travel."""

import copy
import pickle

import pytest

from liqdata import errors

SAMPLES = [
    (errors.BadQuery("limit: 0", parameter="limit"), {"parameter": "limit"}, [ValueError]),
    (errors.NoAnswer("refused"), {}, [ConnectionError, OSError]),
    (errors.TooSlow("10 s passed", seconds=10.0), {"seconds": 10.0}, [errors.NoAnswer, TimeoutError]),
    (
        errors.Refused("no", status=429, body="slow down", retry_after=1.5),
        {"status": 429, "body": "slow down", "retry_after": 1.5},
        [],
    ),
    (errors.UnexpectedReply("not a number", path="data[3].price"), {"path": "data[3].price"}, [ValueError]),
    (errors.ArchiveError("locked", path="/a"), {"path": "/a"}, [OSError]),
    (errors.Defect("no entry at 7"), {}, [RuntimeError]),
]


def names(value):
    return type(value).__name__ if isinstance(value, Exception) else None


@pytest.mark.parametrize("error,carried,bases", SAMPLES, ids=names)
def test_each_error_is_also_the_builtin_a_caller_would_catch(error, carried, bases):
    assert isinstance(error, errors.LiqdataError)
    for base in bases:
        assert isinstance(error, base)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("error,carried,bases", SAMPLES, ids=names)
def test_each_error_pickles_with_message_and_attributes(error, carried, bases, protocol):
    error = copy.copy(error)
    error.add_note("caused by: reset")
    back = pickle.loads(pickle.dumps(error, protocol=protocol))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert {name: getattr(back, name) for name in carried} == carried
    assert back.__notes__[-1] == "caused by: reset"


def test_a_copy_of_an_error_has_its_own_notes_and_message():
    error = errors.Refused("no", status=404)
    assert (error.body, error.retry_after) == ("", None)
    assert str(copy.copy(error)) == "no"


def test_attributes_of_an_error_are_keyword_arguments():
    with pytest.raises(TypeError):
        errors.BadQuery("limit: 0", "limit")
