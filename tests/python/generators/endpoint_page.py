"""``docs/reference/endpoints.md``, from the table of endpoints: ``python tests/python/generators/endpoint_page.py``."""

from pathlib import Path

from liqdata.endpoints.contract import endpoints

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "endpoints.md"

HEAD = """# The endpoints

The parameters and the reply of each endpoint; `GET /api` of a running server lists them for programs. The same names
are the methods of `Client`, `AsyncClient` and `Market` and the commands of `liqdata`. A server of this package also
takes `explain=1` (or the header `Prefer: explain`) and `as_of=` at every endpoint of the contract. `GET
/openapi.json` is the same as OpenAPI 3.1, with the schemas of all replies and refusals.
"""


def _parameter(parameter):
    default = "" if parameter.default is None else f"`{parameter.default}`"
    return f"| `{parameter.name}` | {default} | {parameter.allowed} | {parameter.meaning} |"


def _column(column):
    return f"| `{column['name']}` | {column['type']} | {column['unit']} | {column['meaning']} |"


def _section(endpoint):
    replies = {"rows": "Rows", "object": "An object", "events": "Server-sent events, one row each"}
    where = ', in `{"success", "data"}`' if endpoint.enveloped else ""
    lines = [f"## {endpoint.name}", "", f"`GET {endpoint.path}`: {endpoint.meaning}."]
    if endpoint.parameters:
        lines += ["", "| parameter | default | allowed | meaning |", "|---|---|---|---|"]
        lines += map(_parameter, endpoint.parameters)
    lines += ["", f"{replies[endpoint.reply]}{where}:", "", "| name | type | unit | meaning |", "|---|---|---|---|"]
    return "\n".join([*lines, *map(_column, endpoint.columns)])


def page():
    """The page as it has to be."""
    return "\n\n".join([HEAD.rstrip(), *map(_section, endpoints().values())]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
