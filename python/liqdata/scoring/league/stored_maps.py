"""The maps of a league as files: the name of each is the SHA-256 of its canonical bytes."""

from __future__ import annotations

import gzip
import json
import zlib
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from liqdata.files.atomic_write import atomic_write
from liqdata.files.safe_open import naming_failures
from liqdata.recording.sources import Question, decoded

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "maps"


class Altered(Exception):
    """A stored map is missing, or differs from what was committed."""


class StoredMap(NamedTuple):
    """A map as it was served, with what is needed to decode it again."""

    kind: str
    coin: str
    params: str
    at: int
    """The instant of the map, epoch ms."""
    about: str
    """JSON: the service, and whether its market is simulated."""
    reply: str

    @property
    def question(self) -> str:
        """What was asked: kind, coin and parameters."""
        return self._question.key

    @property
    def document(self) -> bytes:
        """The canonical bytes: JSON with sorted members and without spaces, UTF-8."""
        return json.dumps(self._asdict(), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical bytes."""
        return sha256(self.document).hexdigest()

    @property
    def is_simulated(self) -> bool:
        """Whether its market is simulated, as far as the service says."""
        return bool(json.loads(self.about).get("simulated"))

    @property
    def _question(self) -> Question:
        return Question.stored({"kind": self.kind, "symbol": self.coin, "params": self.params})

    def decoded(self) -> Any:
        """The heatmap or liquidation map."""
        return decoded(self._question, self.reply, json.loads(self.about), self.at)

    def write(self, folder: Path) -> None:
        """Store the map in the folder of a league, unless it is there."""
        file = _file(folder, self.hash)
        if not file.exists():
            with naming_failures(file):
                file.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(file) as unfinished:
                unfinished.write_bytes(gzip.compress(self.document, mtime=0))


def read(folder: Path, digest: str) -> StoredMap:
    """The stored map with this hash; raises :class:`Altered`."""
    file = _file(folder, digest)
    try:
        content = gzip.decompress(file.read_bytes())
    except FileNotFoundError:
        msg = f"its file {file.relative_to(folder)} is missing"
        raise Altered(msg) from None
    except (OSError, EOFError, zlib.error) as error:
        msg = f"its file {file.relative_to(folder)} was changed: {error}"
        raise Altered(msg) from None
    found = sha256(content).hexdigest()
    if found != digest:
        msg = f"its file {file.relative_to(folder)} was changed: its hash is {found}"
        raise Altered(msg)
    return StoredMap(**json.loads(content))


def _file(folder: Path, digest: str) -> Path:
    return folder / FOLDER / digest[:2] / f"{digest}.json.gz"
