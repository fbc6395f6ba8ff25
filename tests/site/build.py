"""Build the documentation site in ``site/``: ``python tests/site/build.py`` (``make docs``).

The pages of ``docs``, the README, the reference made from docstrings, a page for each exchange and the notebooks with
their pictures are copied to ``target/site/source``, with links that fit. Zensical makes HTML from them. ``check.py``
checks every link and anchor of the result. ``llms.txt`` lists the pages for language models.
"""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import check

ROOT = Path(__file__).parents[2]
WORK = ROOT / "target" / "site"
SOURCE = WORK / "source"
SITE = ROOT / "site"
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)#:\s]+)((?:#[^)]*)?\))")
PARTS = {
    "Tutorial": "tutorial",
    "How to": "how-to",
    "Explanation": "explanation",
    "Reference": "reference",
    "Development": "dev",
}


def place_of(path):
    """Where a file of the project is in the site."""
    inside = path.relative_to(ROOT).as_posix()
    fixed = {
        "README.md": "about.md",
        "CHANGELOG.md": "changes.md",
        "examples/notebooks/README.md": "notebooks/index.md",
    }
    if inside in fixed:
        return fixed[inside]
    if inside.startswith("docs/"):
        return inside.removeprefix("docs/")
    if inside.endswith(".ipynb"):
        return f"notebooks/{path.stem}.md"
    return f"files/{inside}"


def with_links(text, path):
    """The text of a page with links that fit the site; files that are not pages are copied, folders are not linked."""

    def linked(match):
        target = (path.parent / match[2]).resolve()
        if target.is_dir():  # a folder of the sources has no page
            return match[1].strip("[(]")
        if not target.exists():
            msg = f"{path.relative_to(ROOT)}: {match[2]} does not exist"
            raise SystemExit(msg)
        place = place_of(target)
        if target.suffix not in {".md", ".ipynb"}:
            copy = SOURCE / place
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(target, copy)
        return f"{match[1]}{os.path.relpath(place, Path(place_of(path)).parent)}{match[3]}"

    # Code is no place for links.
    pieces = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(piece if piece.startswith("```") else LINK.sub(linked, piece) for piece in pieces)


def write(place, text):
    """Write a page of the site."""
    page = SOURCE / place
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")


def notebook(path):
    """A notebook as a page: its text, its code and what the code showed."""
    parts, pictures = [], 0
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(with_links(source, path))
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                pictures += 1
                name = f"{path.stem}-{pictures}.png"
                (SOURCE / "notebooks").mkdir(parents=True, exist_ok=True)
                (SOURCE / "notebooks" / name).write_bytes(base64.b64decode("".join(data["image/png"])))
                parts.append(f"![Picture {pictures} of this notebook]({name})")
            elif text := "".join(output.get("text") or data.get("text/plain") or ""):
                parts.append(f"```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def exchanges():
    """A page for each exchange: its row of the table of frames, and every paragraph that names it."""
    text = (ROOT / "docs" / "reference" / "feeds.md").read_text(encoding="utf-8")
    table = re.search(r"^\| exchange \| read from .*?\n\n", text, re.MULTILINE | re.DOTALL)[0]
    head, _, *rows = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in table.strip().splitlines()]
    rest = text.replace(table, "")
    rest = re.sub(r"^```.*?^```$", "", rest, flags=re.MULTILINE | re.DOTALL)
    items = re.split(r"\n(?=- )|\n\n", rest)
    made = {}
    for row in rows:
        name = row[0].strip("`")
        word = {"lighter_rh": "Lighter on Robinhood"}.get(name, name)
        mentions = [
            " ".join(item.removeprefix("- ").split())
            for item in items
            if re.search(rf"\b{word}\b", item, re.IGNORECASE) and not item.lstrip().startswith(("|", "#", "<", "    "))
        ]
        facts = "\n".join(f"| {what} | {cell} |" for what, cell in zip(head[1:], row[1:], strict=True))
        notes = "\n".join(f"- {with_links(item, ROOT / 'docs' / 'reference' / 'feeds.md')}" for item in mentions)
        # The page is one folder deeper than the one that it is made from.
        notes = re.sub(r"\]\((?!https?:)(?=[^)#])", "](../", notes)
        notes = notes.replace("](#", "](../feeds.md#")
        made[name] = (
            f"# {name}\n\n| | |\n|---|---|\n{facts}\n\n"
            "[The table of all exchanges](../feeds.md#frames) explains the rows.\n"
            + (f"\n## What is particular\n\n{notes}\n" if notes else "")
        )
    return made


def title(place):
    """The heading of a page."""
    found = re.search(r"^# (.*)$", (SOURCE / place).read_text(encoding="utf-8"), re.MULTILINE)
    return re.sub(r"[`*]", "", found[1]) if found else Path(place).stem


def navigation():
    """The pages of each part, in the order of the index, then the others."""
    index = (SOURCE / "index.md").read_text(encoding="utf-8")
    listed = [match[2] for match in LINK.finditer(index)]
    parts = {"Home": ["index.md", "about.md", "changes.md"], "Notebooks": []}
    parts |= {name: [] for name in PARTS}
    every = sorted(page.relative_to(SOURCE).as_posix() for page in SOURCE.rglob("*.md"))
    for place in sorted(every, key=lambda place: (listed.index(place) if place in listed else 1000, place)):
        part = next((name for name, folder in PARTS.items() if place.startswith(f"{folder}/")), None)
        if part is None and place.startswith("notebooks/"):
            part = "Notebooks"
        if part is not None:
            parts[part].append(place)
    return parts


def config(parts):
    """The settings of Zensical with the navigation."""
    base = (Path(__file__).parent / "zensical.toml").read_text(encoding="utf-8")

    def entries(places):
        deeper = [place for place in places if place.startswith(("reference/python/", "reference/exchanges/"))]
        flat = [f"{{{json.dumps(title(place))} = {json.dumps(place)}}}" for place in places if place not in deeper]
        for name, folder in (("Exchanges", "reference/exchanges/"), ("Python", "reference/python/")):
            inside = [place for place in deeper if place.startswith(folder)]
            if inside:
                flat.append(f"{{{json.dumps(name)} = [{', '.join(entries_of(inside))}]}}")
        return flat

    def entries_of(places):
        return [f"{{{json.dumps(title(place))} = {json.dumps(place)}}}" for place in places]

    nav = ",\n  ".join(f"{{{json.dumps(part)} = [{', '.join(entries(places))}]}}" for part, places in parts.items())
    added = f'docs_dir = "source"\nsite_dir = "built"\nnav = [\n  {nav}\n]\n'
    return base.replace("use_directory_urls = false\n", f"use_directory_urls = false\n{added}", 1)


def without_links(text):
    """Text on one line, with the words of its links alone."""
    return " ".join(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).split())


def llms(parts):
    """``llms.txt``: what the package is, and its pages, each with its first sentence."""
    about = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").split("\n\n")[1]
    lines = ["# liqdata", "", f"> {without_links(about)}", ""]
    for part, places in parts.items():
        if part in {"Home", "Development"}:
            continue
        lines += [f"## {part}", ""]
        for place in places:
            text = (SOURCE / place).read_text(encoding="utf-8")
            body = [line for line in text.split("\n\n") if line and not line.startswith(("#", "|", "```", "!", "-"))]
            first = re.split(r"(?<=[.:])\s", " ".join(body[0].split()))[0] if body else ""
            lines.append(f"- [{title(place)}]({place.removesuffix('.md')}.html): {without_links(first)}".rstrip(": "))
        lines.append("")
    return "\n".join(lines)


def main():
    """Build and check the site."""
    shutil.rmtree(WORK, ignore_errors=True)
    subprocess.run([sys.executable, ROOT / "tests" / "python" / "generators" / "reference.py"], check=True, cwd=ROOT)
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "examples" / "notebooks" / "README.md"]
    for path in [*pages, *sorted((ROOT / "docs").rglob("*.md"))]:
        write(place_of(path), with_links(path.read_text(encoding="utf-8"), path))
    for path in sorted((ROOT / "examples" / "notebooks").glob("*.ipynb")):
        write(place_of(path), notebook(path))
    for name, text in exchanges().items():
        write(f"reference/exchanges/{name}.md", text)
    parts = navigation()
    (WORK / "zensical.toml").write_text(config(parts), encoding="utf-8")
    zensical = Path(sys.executable).parent / "zensical"
    subprocess.run([zensical, "build", "--clean"], check=True, cwd=WORK)
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.copytree(WORK / "built", SITE)
    (SITE / "llms.txt").write_text(llms(parts), encoding="utf-8")
    if found := check.problems(SITE):
        raise SystemExit("\n".join(found))
    print(f"{len(list(SITE.rglob('*.html')))} pages in {SITE}")


if __name__ == "__main__":
    main()
