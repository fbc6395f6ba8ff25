"""Types of option values: parsing, error messages and shell completion."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click
from click.shell_completion import CompletionItem

from liqdata.files.safe_open import read_text

from .mistakes import refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    Word: TypeAlias = click.ParamType[Any]
else:
    Word = click.ParamType  # generic only in later releases of click

__all__ = ["File", "Folder", "Headers", "Names", "Number", "OneOf", "Place", "Seconds", "Text", "Word", "vocabulary"]


def vocabulary(allowed: str) -> tuple[str, ...]:
    """The words of a text that is a list such as ``"a", "b" or "c"``.

    Empty for any other text.

    Examples
    --------
    >>> vocabulary('"1h", "4h" or "1d"'), vocabulary('a coin such as "BTC"')
    (('1h', '4h', '1d'), ())
    """
    closed = re.fullmatch(r'"\w+"(, "\w+")*( or "\w+")?', allowed)
    return tuple(re.findall(r'"(\w+)"', allowed)) if closed else ()


class Text(Word):
    """Any text; the called function checks it."""

    name = "text"

    def __init__(self, known: Sequence[str] = ()) -> None:
        self.known = known

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        """Complete with the known words."""
        del ctx, param
        return [CompletionItem(word) for word in self.known if word.lower().startswith(incomplete.lower())]


class OneOf(Text):
    """One word of a fixed list."""

    name = "word"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the word."""
        del ctx
        if value not in self.known:
            *others, last = self.known
            refuse(f"{_of(param)}: {value!r} is not allowed; allowed: {', '.join(others)} or {last}", _of(param))
        return value


class Names(Text):
    """A list of names, separated by commas or spaces."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Split the names."""
        del ctx
        if not isinstance(value, str):
            return value
        found = value.replace(",", " ").split()
        if not found:
            # Refused, because an empty list would mean all names.
            refuse(f"{_of(param)}: {value!r} names nothing; omit it to select all", _of(param))
        return found

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        """Complete the name after the last comma."""
        del ctx, param
        before, comma, last = incomplete.rpartition(",")
        return [
            CompletionItem(f"{before}{comma}{word}")
            for word in self.known
            if word.startswith(last.lower()) and word not in before.split(",")
        ]


class Number(Word):
    """A number; the called function checks its range."""

    def __init__(self, kind: type[int | float], allowed: str, known: Sequence[str] = ()) -> None:
        self.kind = kind
        self.allowed = allowed
        self.known = known
        self.name = "integer" if kind is int else "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the number."""
        del ctx
        if not isinstance(value, str):
            return value
        try:
            return self.kind(value)
        except ValueError:
            what = "a whole number" if self.kind is int else "a number"
            refuse(f"{_of(param)}: {value!r} is not {what}; allowed: {self.allowed}", _of(param))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        """Complete with the known numbers."""
        del ctx, param
        return [CompletionItem(word) for word in self.known if word.startswith(incomplete)]


class Seconds(Word):
    """A positive duration: seconds, or a text such as ``2m``."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the duration to seconds."""
        del ctx
        if not isinstance(value, str):
            return value
        from liqdata import _core

        try:
            found = float(value)
        except ValueError:
            span = _core.span(value)
            found = 0.0 if span is None else span / 1000
        if not 0 < found < float("inf"):
            refuse(
                f"{_of(param)}: {value!r} is not allowed; allowed: seconds above 0, or a text such as 2m", _of(param)
            )
        return found


class File(click.Path):
    """The path of a file."""

    name = "file"

    def __init__(self) -> None:
        super().__init__(path_type=Path)


class Folder(click.Path):
    """The path of a folder."""

    name = "folder"

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=True, dir_okay=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the path; refuse an address, because ``Path`` removes one of its slashes."""
        if isinstance(value, str) and "://" in value and not Path(value).exists():
            name = _of(param)
            refuse(f"{name}: {value!r} is an address; allowed: the folder of an archive on this machine", name)
        return super().convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        """Complete with folders."""
        del ctx, param
        return [CompletionItem(incomplete, type="dir")]


class Place(Folder):
    """The folder or the address of an archive."""

    name = "place"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the folder; return an address unchanged."""
        if isinstance(value, str) and "://" in value:
            return value
        return super().convert(value, param, ctx)


class Headers(Word):
    """A header, or ``@FILE`` with one header per line.

    Other users of the machine can see command lines, but not the content of the file.
    """

    name = "header"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the headers to a dict."""
        del ctx
        if not isinstance(value, str):
            return value
        if not value.startswith("@"):
            return dict([_header(value, _of(param))])
        try:
            text = read_text(Path(value[1:]))
        except UnicodeDecodeError:
            refuse(f"{_of(param)}: {value[1:]!r} is not UTF-8 text; allowed: one header per line", _of(param))
        return dict(_header(line, _of(param)) for line in text.splitlines() if line.strip())


def _header(line: str, name: str) -> tuple[str, str]:
    called, colon, value = line.partition(":")
    if not colon or not called.strip():
        # The text may be a secret, so the message does not show it.
        refuse(f"{name}: a header has no name or no colon; allowed: 'Name: value', or @FILE with one per line", name)
    return called.strip(), value.strip()


def _of(param: click.Parameter | None) -> str:
    """The name of the parameter for error messages."""
    return "value" if param is None or param.name is None else param.name
