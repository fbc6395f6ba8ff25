"""``docs/reference/python``, made of the docstrings: ``python tests/python/generators/reference.py`` (``make docs``).

A page for each class and function of the package and for each public module; griffe reads the docstrings, which are
those that ``help()`` shows.
"""

import ast
import importlib
import inspect
import logging
import re
import typing
from pathlib import Path

import griffe

import liqdata

FOLDER = Path(__file__).parents[3] / "docs" / "reference" / "python"
MODULES = [
    *("alerts", "archive", "collector", "distributed", "errors", "features", "feeds", "freqtrade", "margin", "plot"),
    *("scoring", "server", "stream", "symbols", "types", "vendors"),
]
GIVEN = {  # what methods of public classes return and the package does not name
    "liqdata.walk": ["OrderIterator", "AsyncOrderIterator"],
}
ROLE = re.compile(r":(?:meth|class|func|mod|attr|data|exc):`~?([^`]+)`")
PAGE = re.compile(r"``docs/((?:[\w-]+/)*)([\w-]+)\.md``")
WIDE = 100

HEAD = """# Reference

Every public name, from its docstring: what it takes, gives and raises, and an example that the tests run. `help()` says
the same. `Client`, `AsyncClient` and `Market` have the same questions; what differs stands with each.
"""


def _module(name):
    return importlib.import_module(f"liqdata.{name}")


def pages():
    """The objects of each page by the name of its file: a class or a function, or those of a module."""
    found = {}
    for name in liqdata.__all__:
        thing = getattr(liqdata, name)
        if not inspect.ismodule(thing) and callable(thing) and not _is_error(thing):
            # Names that differ in case alone share a page: not every file system keeps them apart.
            page = next((one for one in found if one.lower() == name.lower()), name)
            found.setdefault(page, []).append((name, thing))
    for module, names in GIVEN.items():
        for name in names:
            found[name] = [(name, getattr(importlib.import_module(module), name))]
    for name in MODULES:
        module = _module(name)
        found[name] = [
            (f"{name}.{one}", getattr(module, one))
            for one in sorted(module.__all__)
            if name == "errors" or one not in liqdata.__all__
        ]
    return found


def _is_error(thing):
    return isinstance(thing, type) and issubclass(thing, Exception)


def members(kind):
    """The public members of a class that are this package's, by name."""
    found = {}
    for name in sorted(dir(kind)):
        home = next((base for base in kind.__mro__ if name in vars(base)), object)
        if name.startswith("_") or not home.__module__.startswith("liqdata"):
            continue
        if _is_error(kind) and home is not kind:  # what all errors have is documented at the root
            continue
        member = vars(home)[name]
        if isinstance(member, property) or inspect.isroutine(member) or isinstance(member, (classmethod, staticmethod)):
            found[name] = member
    return found


def routine(member):
    """The function behind a member; ``None`` of a property."""
    if isinstance(member, property):
        return None
    return member.__func__ if isinstance(member, (classmethod, staticmethod)) else member


def sections(text):
    """A docstring in its parts, as griffe reads them."""
    logging.getLogger("griffe").setLevel(logging.ERROR)
    return griffe.Docstring(inspect.cleandoc(text or ""), lineno=1).parse("numpy", warn_unknown_params=False)


class Links:
    """Where each name stands."""

    def __init__(self, found):
        self.places = {}
        for page, things in found.items():
            for name, thing in things:
                anchor = "" if name == page else f"#{_anchor(name)}"
                self.places[name] = self.places[name.rpartition(".")[2]] = f"{page}.md{anchor}"
                if isinstance(thing, type):
                    self.places |= {f"{name}.{member}": f"{page}.md#{_anchor(member)}" for member in members(thing)}
        self.places |= {name: f"{name}.md" for name in found}

    def text(self, text, owner=""):
        """Text of a docstring in Markdown."""

        def linked(match):
            name = match[1].removeprefix("liqdata.")
            for tried in (f"{owner}.{name}", name):
                if place := self.places.get(tried):
                    return f"[`{name}`]({place})"
            return f"`{match[1].removeprefix('~')}`"

        return PAGE.sub(r"[\2](../../\1\2.md)", ROLE.sub(linked, text)).replace("``", "`")


def _anchor(name):
    return re.sub(r"[^\w-]", "", name.lower())


def _words(annotation):
    """An annotation as it is written."""
    if isinstance(annotation, str):
        return annotation
    return getattr(annotation, "__name__", None) or str(annotation)


def signature(name, function):
    """A call with its parameters, on one line or a line each."""
    found = inspect.signature(function)
    words, seen = [], None
    for parameter in found.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and seen not in {parameter.kind, parameter.VAR_POSITIONAL}:
            words.append("*")
        seen = parameter.kind
        word = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(seen, "") + parameter.name
        typed = parameter.annotation is not parameter.empty
        word += f": {_words(parameter.annotation)}" if typed else ""
        if parameter.default is not parameter.empty:
            word += f" = {parameter.default!r}" if typed else f"={parameter.default!r}"
        words.append(word)
    back = "" if found.return_annotation is found.empty else f" -> {_words(found.return_annotation)}"
    before = "async " if inspect.iscoroutinefunction(function) else ""
    line = f"{before}{name}({', '.join(words)}){back}"
    if len(line) <= WIDE:
        return line
    return f"{before}{name}(\n" + "".join(f"    {word},\n" for word in words) + f"){back}"


def _entry(name, kind, text):
    stated = " ".join(text.split()) if "\n\n" not in text else text.replace("\n", "\n  ")
    return f"- {name}{f' ({kind})' if kind else ''}: {stated}" if stated else f"- {name}{f' ({kind})' if kind else ''}"


def stated(text, links, owner=""):
    """A docstring in Markdown."""
    parts = []
    for section in sections(text):
        kind = section.kind.value
        if kind == "text":
            parts += [
                f"```pycon\n{block}\n```" if block.startswith(">>> ") else block
                for block in section.value.split("\n\n")
            ]
        elif kind in {"parameters", "attributes", "other parameters"}:
            parts.append(f"**{kind.capitalize()}**")
            parts.append(
                "\n".join(
                    _entry(f"`{each.name}`", str(each.annotation or ""), each.description) for each in section.value
                )
            )
        elif kind in {"returns", "yields", "raises"}:
            parts.append(f"**{kind.capitalize()}**")
            parts.append("\n".join(_entry(f"`{each.annotation}`", "", each.description) for each in section.value))
        elif kind == "examples":
            parts.append("**Examples**")
            parts += [f"```pycon\n{value}\n```" if what.value == "examples" else value for what, value in section.value]
        else:
            parts += [f"**{section.title or kind.capitalize()}**", section.value.contents]
    return "\n\n".join(part if part.startswith("```pycon") else links.text(part.strip(), owner) for part in parts)


def summary(text):
    """The first sentence of a docstring."""
    first = " ".join(inspect.cleandoc(text or "").partition("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", first)[0]


def _typed(name, thing, links):
    """A row, or another type."""
    if typing.is_typeddict(thing):
        fields = []
        for key, kind in _fields(thing).items():
            typed = _words(kind).replace("|", "\\|")
            fields.append(f"| `{key}` | `{typed}`{'' if key in thing.__required_keys__ else ', may be absent'} |")
        return [links.text(inspect.cleandoc(thing.__doc__ or "")), "\n".join(["| key | type |", "|---|---|", *fields])]
    source, text = ALIASES[name.rpartition(".")[2]]
    return [f"```python\n{source}\n```", *([links.text(text)] if text else [])]


def _fields(thing):
    """The fields of a TypedDict as they are written."""
    return {key: getattr(kind, "__forward_arg__", kind) for key, kind in thing.__annotations__.items()}


def _aliases():
    """The aliases of ``liqdata.types`` as they are written, and what is said of each."""
    source = Path(_module("types").__file__).read_text(encoding="utf-8")
    body = ast.parse(source).body
    found = {}
    for place, part in enumerate(body):
        if isinstance(part, ast.AnnAssign):
            after = body[place + 1].value if isinstance(body[place + 1], ast.Expr) else None
            text = after.value if isinstance(after, ast.Constant) else ""
            found[part.target.id] = (ast.get_source_segment(source, part), inspect.cleandoc(text))
    return found


ALIASES = _aliases()


def _section(name, thing, links, level):
    """A class, a function or a type under its head."""
    head = f"{'#' * level} {name}"
    if name.startswith("types."):
        return [head, *_typed(name, thing, links)]
    if not isinstance(thing, type):
        return [head, f"```python\n{signature(f'liqdata.{name}', thing)}\n```", stated(thing.__doc__, links)]
    made = vars(thing).get("__init__") or thing.__init__
    parts = [head, stated(thing.__doc__, links, name)]
    if "Parameters\n---" in inspect.cleandoc(thing.__doc__ or "") and inspect.isroutine(made):
        parts.insert(1, f"```python\n{signature(f'liqdata.{name}', made).removesuffix(' -> None')}\n```")
    for one, member in members(thing).items():
        parts.append(f"{'#' * (level + 1)} {one}")
        if (function := routine(member)) is None:
            parts.append(f"```python\n{name.rpartition('.')[2]}.{one}\n```")
            parts.append(stated(member.__doc__, links, name))
        else:
            call = signature(f"{name.rpartition('.')[2]}.{one}", function)
            parts += [f"```python\n{call}\n```", stated(function.__doc__, links, name)]
    return parts


def written():
    """The pages as they have to be, by the names of their files."""
    found = pages()
    links = Links(found)
    made = {}
    for page, things in found.items():
        if page in MODULES:
            parts = [f"# liqdata.{page}", stated(_module(page).__doc__, links)]
            for name, thing in things:
                parts += _section(name, thing, links, 2)
        else:
            parts = [part for name, thing in things for part in _section(name, thing, links, 1)]
        made[f"{page}.md"] = "\n\n".join(filter(None, parts)) + "\n"
    lines = [HEAD, "| name | what it is |", "|---|---|"]
    for page, things in found.items():
        own = things if page != "types" else []  # its names stand on its page alone
        listed = [(page, _module(page)), *own] if page in MODULES else things
        lines += [
            f"| [{name}]({links.places[name]}) | {links.text(summary(thing.__doc__))} |" for name, thing in listed
        ]
    made["index.md"] = "\n".join(lines) + "\n"
    return made


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    now = written()
    for old in FOLDER.glob("*.md"):
        if old.name not in now:
            old.unlink()
    for file, text in now.items():
        FOLDER.joinpath(file).write_text(text, encoding="utf-8")
    print(f"{len(now)} pages in {FOLDER}")
