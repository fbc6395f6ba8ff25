"""The installed package carries the licence texts of the packages that are compiled into it."""

import importlib.metadata


def test_licences_of_linked_crates_are_installed():
    files = importlib.metadata.files("liqdata")
    (file,) = [file for file in files if file.name == "THIRD-PARTY.txt"]
    text = file.locate().read_text(encoding="utf-8")
    for package in ("tokio", "ring", "zstd-sys", "libsqlite3-sys", "unicode-ident"):
        assert f"\n* {package} " in text
    for phrase in ("Permission is hereby granted", "Redistribution and use", "UNICODE LICENSE V3"):
        assert phrase in text
