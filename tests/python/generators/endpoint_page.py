"""``docs/reference/endpoints.md``, from the table of endpoints: ``python tests/python/generators/endpoint_page.py``."""

import json
from pathlib import Path

from liqdata import _core
from liqdata.endpoints.contract import endpoints

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "endpoints.md"

DOCUMENT = json.loads(_core.openapi())
KINDS = {"integer": "int", "number": "float", "string": "text", "boolean": "bool", "array": "list"}
PATHS, SCHEMAS = DOCUMENT["paths"], DOCUMENT["components"]["schemas"]

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


def _resolved(schema):
    """The schema, or the one that it refers to."""
    return SCHEMAS[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema


def _within(path, schema):
    """The members of the objects in a value, with their paths below the member ``path``."""
    schema = _resolved(schema)
    if "items" in schema:
        yield from _within(f"{path}[]", schema["items"])
    if schema.get("additionalProperties"):
        yield from _within(f"{path}.*", schema["additionalProperties"])
    for name, of in schema.get("properties", {}).items():
        kind = _resolved(of)["type"]
        kinds = " or ".join(KINDS.get(each, each) for each in ([kind] if isinstance(kind, str) else kind))
        yield f"| `{path}.{name}` | {kinds} | {of.get('x-unit', '')} | {of['description']} |"
        yield from _within(f"{path}.{name}", of)


def _members(endpoint):
    """The members of a reply, each with those of the objects in it."""
    content = PATHS[endpoint.path]["get"]["responses"]["200"]["content"]
    if endpoint.reply == "csv":
        yield from map(_column, endpoint.columns)
        return
    if endpoint.reply == "events":
        schema = content["text/event-stream"]["x-events"]["message"]
    else:
        schema = content["application/json"]["schema"]
        schema = _resolved(schema)["properties"]["data"] if endpoint.enveloped else schema
    schema = _resolved(schema)
    schema = _resolved(schema.get("items", schema))
    for column in endpoint.columns:
        of = schema["properties"][column["name"]]
        extension = "; an extension of our server" if of.get("x-extension") else ""
        yield _column(
            {**column, "meaning": column["meaning"].removesuffix(".") + extension if extension else column["meaning"]}
        )
        yield from _within(column["name"], of)


def _section(endpoint):
    replies = {"rows": "Rows", "object": "An object", "events": "Server-sent events, one row each"}
    replies["csv"] = "CSV lines: one of names, then one for each row, with empty cells for unknown values"
    where = ', in `{"success", "data"}`' if endpoint.enveloped else ""
    lines = [f"## {endpoint.name}", "", f"`GET {endpoint.path}`: {endpoint.meaning}."]
    if endpoint.parameters:
        lines += ["", "| parameter | default | allowed | meaning |", "|---|---|---|---|"]
        lines += map(_parameter, endpoint.parameters)
    lines += ["", f"{replies[endpoint.reply]}{where}:", "", "| name | type | unit | meaning |", "|---|---|---|---|"]
    return "\n".join([*lines, *_members(endpoint)])


def page():
    """The page as it has to be."""
    return "\n\n".join([HEAD.rstrip(), *map(_section, endpoints().values())]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
