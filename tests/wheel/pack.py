"""The wheel, packed again as small as deflate allows; its files and their names, times and order stay what they are.

What unpacks it notices nothing: it is the same format, for which libdeflate looks harder than zlib does.
"""

from __future__ import annotations

import argparse
import zipfile
import zlib
from pathlib import Path

import deflate

HARDEST = 12


def main() -> None:
    """Pack the wheel named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    wheel = parser.parse_args().wheel
    packed = wheel.with_suffix(".packed")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(packed, "w") as new:
        for file in old.infolist():
            _pack(new, file, old.read(file))
    with zipfile.ZipFile(packed) as new:
        if damaged := new.testzip():
            raise SystemExit(f"{damaged} does not unpack")
    before, after = wheel.stat().st_size, packed.stat().st_size
    packed.replace(wheel)
    print(f"{wheel.name}: packed from {before / 1e6:.2f} to {after / 1e6:.2f} MB")


def _pack(wheel: zipfile.ZipFile, file: zipfile.ZipInfo, body: bytes) -> None:
    entry = zipfile.ZipInfo(file.filename, file.date_time)
    entry.external_attr = file.external_attr
    # Put in as it is, since it has been packed already; only then is it said what it was packed from.
    wheel.writestr(entry, bytes(deflate.deflate_compress(body, HARDEST)), zipfile.ZIP_STORED)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.CRC, entry.file_size = zlib.crc32(body), len(body)
    end = wheel.fp.tell()
    wheel.fp.seek(entry.header_offset)
    wheel.fp.write(entry.FileHeader(zip64=False))
    wheel.fp.seek(end)


if __name__ == "__main__":
    main()
