"""A working folder that was deleted, and a user without a home folder."""

import pytest

import liqdata

PLACES = {
    "open": ("path", lambda: liqdata.open("archive")),
    "open the working folder": ("path", lambda: liqdata.open(".")),
    "replay": ("path", lambda: liqdata.replay("archive")),
    "collect": ("path", lambda: liqdata.collect("archive")),
    "verify": ("path", lambda: liqdata.archive.verify("archive")),
    "ingest": ("path", lambda: liqdata.ingest("archive", "orders.csv")),
    "cache": ("cache", lambda: liqdata.open("s3://bucket/prefix", cache="copies")),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_relative_path_in_a_deleted_working_folder_is_refused(place, tmp_path, monkeypatch):
    parameter, call = PLACES[place]
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(liqdata.BadQuery, match="the working folder was deleted; allowed: an absolute path") as caught:
        call()
    assert caught.value.parameter == parameter


def test_a_user_without_a_home_folder_is_asked_for_a_cache(monkeypatch):
    pwd = pytest.importorskip("pwd")

    def missing(_):
        raise KeyError("no such user")

    monkeypatch.setattr(pwd, "getpwuid", missing)
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(liqdata.BadQuery, match="cache= a folder, or set XDG_CACHE_HOME or HOME") as caught:
        liqdata.open("s3://bucket/prefix")
    assert caught.value.parameter == "cache"
