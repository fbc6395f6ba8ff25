"""Check the built site: every link and anchor, and that nothing is loaded from another host."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes that load something when the page opens; links to other hosts load nothing.
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
# A `link` of these kinds loads nothing.
NOT_LOADED = {"canonical", "prev", "next", "alternate", "edit"}


class Page(HTMLParser):
    """The addresses and anchors of one page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if "id" in values:
            self.anchors.add(values["id"])
        if tag == "a" and values.get("name"):
            self.anchors.add(values["name"])
        for name in ("href", "src"):
            value = values.get(name)
            if not value:
                continue
            if (tag, name) in LOADED and values.get("rel") not in NOT_LOADED:
                self.loaded.append(value)
            self.links.append(value)


def problems(site):
    """What is wrong, one line each."""
    pages = {page: Page(page.read_text(encoding="utf-8")) for page in sorted(site.rglob("*.html"))}
    found = []
    for page, read in pages.items():
        if page.name == "404.html":  # its addresses are absolute
            continue
        shown = page.relative_to(site)
        foreign = [value for value in read.loaded if urlsplit(value).netloc]
        found += [f"{shown}: loads {value} from another host" for value in foreign]
        for value in read.links:
            parts = urlsplit(value)
            if parts.scheme or parts.netloc or value.startswith("data:"):
                continue
            target = page if not parts.path else (page.parent / unquote(parts.path)).resolve()
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                found.append(f"{shown}: {value} does not exist")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{shown}: {value} has no such anchor")
    return found


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]).resolve())
    print("\n".join(wrong))
    raise SystemExit(bool(wrong))
