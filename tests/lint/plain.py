"""Fail on banned words, crowded folders and duplicate type names.

The lists are in ``words.toml``. ``python tests/lint/plain.py [PATH ...]`` checks the given files and
folders, without arguments the whole project.
"""

import io
import re
import sys
import tokenize
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = next(folder for folder in (Path.cwd(), *Path.cwd().parents) if (folder / "Cargo.toml").exists())
RULES = tomllib.loads((Path(__file__).parent / "words.toml").read_text())
MADE = ROOT / "docs" / "reference" / "python"
NAMES = set(RULES["names"])
PROSE = set(RULES["prose"])

WORD = re.compile(r"[A-Za-z]+")
# `held_by`, `HeldBy` and `HELD` all hold the word "held".
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
RUST = re.compile(
    r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
    | (?P<text>b?r(?P<hash>\#*)".*?"(?P=hash)|b?"(?:\\.|[^"\\])*")
    | (?P<character>b?'(?:\\.[^']*|[^'\\])')
    | (?P<name>(?:r\#)?[A-Za-z_]\w*)
    """,
    re.VERBOSE | re.DOTALL,
)
# A type that other files can name.
TYPE = re.compile(r"(?m)^(?:pub(?:\([^)]*\))?)\s+(?:struct|enum|trait|type|union)\s+(\w+)")
CODE_BLOCK = re.compile(r"```.*?```", re.DOTALL)


def is_sentence(text: str) -> bool:
    """Whether a string literal is prose: SQL, keys and paths are not."""
    return len(WORD.findall(text)) > 2 and not re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|WITH|PRAGMA)\b", text)


def rust_parts(source: str):
    """Yield ``(line, kind, text)`` for each identifier, comment and sentence in Rust code."""
    line, read = 1, 0
    for found in RUST.finditer(source):
        line += source.count("\n", read, found.start())
        read = found.start()
        if found["comment"]:
            yield line, "prose", found["comment"]
        elif found["text"]:
            if is_sentence(found["text"]):
                yield line, "prose", found["text"]
        elif found["name"]:
            yield line, "name", found["name"]


def python_parts(source: str):
    """Yield ``(line, kind, text)`` for each identifier, comment and sentence in Python code."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "COMMENT":
            yield token.start[0], "prose", token.string
        elif kind == "NAME":
            yield token.start[0], "name", token.string
        elif kind in {"STRING", "FSTRING_MIDDLE"} and is_sentence(token.string):
            yield token.start[0], "prose", token.string


@cache
def banned_parts(name: str) -> list[str]:
    """The banned words that a name holds."""
    return [part for part in PART.findall(name) if part.lower() in NAMES]


def banned_words(path: Path) -> list[str]:
    """The findings of one file, file name included."""
    shown = path.relative_to(ROOT)
    found = [f"{shown}: file name holds the banned word `{part}`" for part in banned_parts(path.stem)]
    source = path.read_text()
    parts = {".rs": rust_parts, ".md": page_parts}.get(path.suffix, python_parts)(source)
    for line, kind, text in parts:
        if kind == "name":
            found += [f"{shown}:{line}: `{text}` holds the banned word `{part.lower()}`" for part in banned_parts(text)]
        else:
            for match in WORD.finditer(text):
                if match[0].lower() in PROSE:
                    at = line + text.count("\n", 0, match.start())
                    around = " ".join(text[max(0, match.start() - 40) : match.end() + 30].split())
                    found.append(f"{shown}:{at}: prose holds the banned word `{match[0].lower()}`: …{around}…")
    return found


def page_parts(source: str):
    """Yield ``(line, kind, text)`` for each line of a page, without code and addresses of links."""
    blank = CODE_BLOCK.sub(lambda found: "\n" * found[0].count("\n"), source)
    for line, text in enumerate(blank.splitlines(), 1):
        yield line, "prose", re.sub(r"`[^`]*`|\]\([^)]*\)", " ", text)


def crowded_folders(folders) -> list[str]:
    """Folders with more source files than allowed."""
    found = []
    for folder in sorted(folders):
        shown = str(folder.relative_to(ROOT))
        files = [
            path
            for path in folder.iterdir()
            if path.suffix in {".rs", ".py"} and path.name not in {"mod.rs", "__init__.py", "__main__.py"}
        ]
        allowed = RULES["files"]["folders"].get(shown, RULES["files"]["most"])
        if len(files) > allowed:
            found.append(f"{shown}: {len(files)} source files; at most {allowed}")
    return found


def duplicate_types(paths) -> list[str]:
    """Type names that more than one file of the crate declares for others."""
    places = defaultdict(list)
    for path in paths:
        for name in TYPE.findall(path.read_text()):
            places[name].append(str(path.relative_to(ROOT)))
    return [
        f"`{name}` is declared in {', '.join(where)}; a type name is unique in the crate"
        for name, where in sorted(places.items())
        if len(where) > 1 and name not in RULES["idioms"]
    ]


def main(arguments: list[str]) -> int:
    everything = [ROOT / part for part in (*RULES["checked"], *RULES["pages"])]
    chosen = [Path(argument).resolve() for argument in arguments] or everything
    files = sorted(
        path
        for place in chosen
        for path in ([place] if place.is_file() else place.rglob("*"))
        if path.suffix in {".rs", ".py", ".pyi", ".md"} and MADE not in path.parents
    )
    found = [finding for path in files for finding in banned_words(path)]
    nested = [path.parent for path in files if str(path.relative_to(ROOT)).startswith(("src/", "python/"))]
    found += crowded_folders(set(nested))
    # A class of the binding has the name that Python sees, often that of the type it wraps.
    rust = sorted((ROOT / "src").rglob("*.rs"))
    binding = [path for path in rust if path.is_relative_to(ROOT / "src/python")]
    types = duplicate_types([path for path in rust if path not in binding]) + duplicate_types(binding)
    names = {str(path.relative_to(ROOT)) for path in files}
    found += [finding for finding in types if any(name in finding for name in names)]
    print("\n".join(found))
    if found:
        print(f"{len(found)} findings; tests/lint/words.toml has the rules")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
