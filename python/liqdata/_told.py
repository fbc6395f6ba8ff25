"""What the methods of one source say of themselves, made of what those of another say, so that each text stands once.

A docstring that begins with ``As :meth:`` is completed when its class is made: with the summary, the parameters, what
is given back and the notes of the method it names, with what is said here of ``as_of`` and of errors, and with its own
sections where it has them. ``help()`` shows the whole.
"""

from __future__ import annotations

import re
from types import FunctionType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

C = TypeVar("C", bound=type)

_SECTIONS = ("Parameters", "Returns", "Raises", "Notes", "Examples")
_HEAD = re.compile(rf"^({'|'.join(_SECTIONS)})\n-+\n", re.MULTILINE)
_LIKE = re.compile(r"As :(?:meth|attr):`[^`]*`[^\n]*(?:\n(?!\n)[^\n]*)*\n*")
_OF_SERVICES = re.compile(r" An extension of ``liqdata serve``[^.]*\.|,? and where the service has no[^.]*(?=\.)")

_AS_OF = """int, datetime or str, optional
    The instant that is *now* for the answer: nothing that was received later counts. The market's own by default."""
_SEVERAL = """int, datetime or str, or several of them, optional
    The instant that is *now* for the answer: nothing that was received later counts. The market's own by default.
    Several give an answer each."""
_REFUSED = {"BadQuery": "For a parameter that is not allowed."}


class Errors(NamedTuple):
    """What every method of a source may raise, by class, and whether the source is a service."""

    classes: dict[str, str]
    service: bool


OF_SERVICE = Errors(
    {
        "NoAnswer": "Where nobody answers, after all retries.",
        "TooSlow": "Where the deadline of the call passes.",
        "Refused": "Where the service says no; ``status`` and ``body`` have what it said.",
        "UnexpectedReply": "Where the reply breaks the contract.",
        "RuntimeError": "For a client that is closed.",
    },
    service=True,
)
OF_MARKET = Errors(
    {
        "ArchiveError": "Where an archive cannot be read; ``path`` names what is at fault.",
        "RuntimeError": "For a market that is closed.",
    },
    service=False,
)
OF_ESTIMATES = Errors(
    {
        "Refused": "404 for a coin that has no bars then, 400 for bars too coarse or too few for the range.",
        **OF_MARKET.classes,
    },
    service=False,
)
OF_EXPORTS = Errors({}, service=True)


def told(errors: Errors, like: type | None = None) -> Callable[[C], C]:
    """The class, whose methods say all of themselves: as those of ``like`` where they say so, and their errors."""

    def decorated(kind: C) -> C:
        for name, member in vars(kind).items():
            if isinstance(member, FunctionType) and not name.startswith("_") and member.__doc__:
                other = getattr(like, name, None)
                member.__doc__ = _completed(member, (other and other.__doc__) or "", errors)
        return kind

    return decorated


def made_as(like: type) -> Callable[[C], C]:
    """The class, whose docstring has the parameters and errors of another that is made of the same."""

    def decorated(kind: C) -> C:
        if kind.__doc__ and like.__doc__:
            own, parts = _sections(_dedented(kind.__doc__)), _sections(_dedented(like.__doc__))
            kind.__doc__ = _joined(
                {name: own[name] or parts[name] * (name in {"Parameters", "Raises"}) for name in own}
            )
        return kind

    return decorated


def _completed(function: FunctionType, other: str, errors: Errors) -> str:
    """The docstring of a function with what it leaves to others."""
    own = _sections(_dedented(function.__doc__ or ""))
    taken = _taken(function)
    if found := _LIKE.match(own[""]):
        parts = _sections(_dedented(other))
        if not errors.service:
            parts = {name: _OF_SERVICES.sub("", text) for name, text in parts.items()}
        text = "\n\n".join(filter(None, (parts[""].strip(), own[""][found.end() :].strip())))
        parameters = {**_entries(parts["Parameters"]), **_entries(own["Parameters"])}
        raised = _entries(own["Raises"] or (parts["Raises"] if errors.service else _only(parts["Raises"], "BadQuery")))
        own = {name: own[name] or parts[name] for name in own} | {"": text}
        if "as_of" in taken and "as_of" not in parameters:
            several = "Instants" in str(function.__annotations__.get("as_of"))
            parameters["as_of"] = _SEVERAL if several else _AS_OF
        own["Parameters"] = _written({name: text for name, text in parameters.items() if taken & set(_names(name))})
    else:
        raised = _entries(own["Raises"])
    known = {one for name in raised for one in _names(name)}
    common = {**(_REFUSED if taken else {}), **errors.classes}
    raised |= {name: f"\n    {text}" for name, text in common.items() if name not in known}
    own["Raises"] = _written(raised)
    return _joined(own)


def _joined(sections: dict[str, str]) -> str:
    """A docstring of its sections."""
    heads = (f"{name}\n{'-' * len(name)}\n{sections[name].strip()}" for name in _SECTIONS if sections[name].strip())
    return "\n\n".join((sections[""].strip(), *heads)) + "\n"


def _taken(function: FunctionType) -> set[str]:
    """The names of a function's parameters, but for ``self``."""
    code = getattr(function, "__wrapped__", function).__code__
    return set(code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount])


def _dedented(text: str) -> str:
    """A docstring without the margin of its source."""
    first, _, rest = text.partition("\n")
    margins = [len(line) - len(line.lstrip()) for line in rest.split("\n") if line.strip()]
    margin = min(margins, default=0)
    return "\n".join([first.strip(), *(line[margin:].rstrip() for line in rest.split("\n"))]).strip() + "\n"


def _sections(text: str) -> dict[str, str]:
    """The sections of a docstring by their names; what stands before them has none."""
    first, *rest = _HEAD.split(text)
    return {"": first, **dict.fromkeys(_SECTIONS, ""), **dict(zip(rest[::2], rest[1::2], strict=True))}


def _entries(section: str) -> dict[str, str]:
    """The entries of a section: what stands before the colon, and all the rest."""
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", section.strip()):
        head, _, body = entry.partition("\n")
        name, _, kind = head.partition(" : ")
        if name:
            found[name] = f"{kind}\n{body}"
    return found


def _names(entry: str) -> list[str]:
    return [name.strip().lstrip("*") for name in entry.split(",")]


def _only(section: str, name: str) -> str:
    """The entry of one name."""
    return _written({entry: text for entry, text in _entries(section).items() if entry == name})


def _written(entries: dict[str, str]) -> str:
    """A section of entries."""
    return "\n".join(
        f"{name} : {text}" if not text.startswith("\n") else f"{name}{text}" for name, text in entries.items()
    )
