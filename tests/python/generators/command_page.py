"""``docs/reference/command-line.md``, from the commands: ``python tests/python/generators/command_page.py``."""

import re
from pathlib import Path

import click

from liqdata.cli import menu, question

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "command-line.md"
BEGIN = "<!-- made of the commands, from here on -->"


def _cell(text):
    return " ".join((text or "").split()).replace("|", "\\|")


def _command(name, entry):
    command = entry.make()
    context = click.Context(command, info_name=f"liqdata {name}")
    lines = [f"### liqdata {name}", "", f"{command.help}", "", f"`liqdata {name} {_usage(command, context)}`"]
    if command.epilog and command.epilog != question.INSTANTS:
        lines += ["", _cell(command.epilog.replace("\b", ""))]
    shared = {option: section for section, options in SHARED.items() for option in options}
    own, others = [], {}
    for parameter in command.params:
        if not isinstance(parameter, click.Option):
            continue
        words = ", ".join(parameter.opts)
        if words in shared:
            others.setdefault(shared[words], []).append(words)
        else:
            metavar = "" if parameter.is_flag else f" {parameter.metavar or parameter.make_metavar(context)}"
            own.append(f"| `{words}{_cell(metavar) and ' ' + _cell(metavar)}` | {_cell(parameter.help)} |")
    if own:
        lines += ["", "| option | meaning |", "|---|---|", *own]
    if all(others.get(section) == list(options) for section, options in SHARED.items()):
        lines += ["", "It also takes the [source](#source) and [output](#output) options."]
    elif others:
        words = ", ".join(f"`{word}`" for some in others.values() for word in some)
        lines += ["", f"It also takes these [source](#source) and [output](#output) options: {words}."]
    return "\n".join(lines)


def _usage(command, context):
    return " ".join(re.sub(r"\s+", " ", piece) for piece in command.collect_usage_pieces(context))


def _sections():
    """Options of every query, by the section of their help."""
    found = {}
    for parameter in menu.entries()["coins"].make().params:
        if getattr(parameter, "section", "") in {"Source", "Output"}:
            metavar = "" if parameter.is_flag else f" {parameter.metavar}"
            found.setdefault(parameter.section, {})[", ".join(parameter.opts)] = (metavar, parameter.help)
    return found


SHARED = _sections()


def made():
    """The generated part of the page."""
    lines = [BEGIN, ""]
    for section, options in SHARED.items():
        lines += [f"## {section}", "", "| option | meaning |", "|---|---|"]
        lines += [f"| `{words}{metavar}` | {_cell(meaning)} |" for words, (metavar, meaning) in options.items()]
        lines += [""]
    section = None
    for name, entry in menu.entries().items():
        if entry.section != section:
            section = entry.section
            lines += [f"## {section}", ""]
        lines += [_command(name, entry), ""]
    return "\n".join(lines)


def page():
    """The whole page: the handwritten part, then the generated part."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[0] + made()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
