"""Every place that has to know an endpoint is held against the one table: what is forgotten is named."""

import ast
import inspect
import json
import re
import typing
from pathlib import Path

import endpoint_page
import pytest

from liqdata import AsyncClient, Client, Market, _core, types
from liqdata.cli.menu import entries
from liqdata.endpoints.contract import endpoints

ROOT = Path(__file__).parents[3]
TABLE = endpoints()
# Columns that are the same in all rows, which stand in their meta.
IN_META = {"positions": ("timestamp", "seen_share")}
# Columns that are there only where they are asked for, which replies of the contract do not have.
WHERE_ASKED = {"group_id"}
ASKED = [endpoint for endpoint in TABLE.values() if endpoint.reply in {"rows", "object"}]
FACES = {"Client": Client, "AsyncClient": AsyncClient, "Market": Market}
TYPES = {"text": "str", "decimal": "Decimal", "float": "float", "int": "int", "time": "int", "bool": "bool"}


def method(face, name):
    """The method of a face."""
    kind = FACES[face]
    assert hasattr(kind, name), f"{face} has no method {name}: it belongs into python/liqdata/queries.py"
    return getattr(kind, name)


def spelled(annotation):
    """An annotation as it is written, a vocabulary by the type of its words."""
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        # What may be absent is of the same type.
        annotation = re.sub(r"^NotRequired\[(\w+)\]$", r"\1", annotation).removesuffix(" | None")
        annotation = getattr(types, annotation, annotation)
    if annotation is types.Amount:
        return "Decimal"  # unless a client was made with other ones
    words = typing.get_args(annotation) if typing.get_origin(annotation) is typing.Literal else ()
    if words:
        return type(words[0]).__name__
    return annotation if isinstance(annotation, str) else annotation.__name__


# What our server takes with every question, so that it stands in no question of the table.
# A span of two prices is the parameters `low` and `high` of a query.
IN_SPAN = {"low", "high"}
EXTRA = ("as_of", "explain")


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("endpoint", ASKED, ids=lambda endpoint: endpoint.name)
def test_every_interface_has_the_parameters_of_the_table(endpoint, face):
    signature = inspect.signature(method(face, endpoint.name))
    wanted = {each.name: each.default for each in endpoint.parameters if each.name not in IN_SPAN}

    def written(name, default):
        # Several words stand with commas between them in a query string; an amount is text there.
        if isinstance(default, tuple):
            return ",".join(default)
        if default is False:
            return None  # a switch that is off is left out
        return type(wanted[name])(default) if isinstance(wanted.get(name), str) else default

    # A market takes the name of a recording, which is of no service.
    extra = {"self", *EXTRA, *({"source"} - set(wanted) if face == "Market" else ())}
    parameters = [each for each in signature.parameters.items() if each[0] not in extra]
    given = {name: written(name, each.default) for name, each in parameters}
    assert given == wanted, (
        f"{face}.{endpoint.name} has other parameters or defaults than src/contract for {endpoint.name}"
    )
    assert "as_of" in signature.parameters
    assert inspect.iscoroutinefunction(method(face, endpoint.name)) == (face == "AsyncClient")


@pytest.mark.parametrize("face", ["Client", "AsyncClient", "Market"])
@pytest.mark.parametrize("endpoint", ASKED, ids=lambda endpoint: endpoint.name)
def test_every_method_explains_every_parameter_of_its_endpoint(endpoint, face):
    written = inspect.getdoc(method(face, endpoint.name)) or ""
    for parameter in endpoint.parameters:
        if parameter.name in IN_SPAN:
            continue
        assert re.search(rf"^(\w+, )*{parameter.name}(, \w+)* : ", written, re.MULTILINE), (
            f"{face}.{endpoint.name} does not explain {parameter.name}"
        )


@pytest.mark.parametrize("endpoint", ASKED, ids=lambda endpoint: endpoint.name)
def test_closed_vocabularies_have_the_words_of_the_table(endpoint):
    overloads = typing.get_overloads(method("Client", endpoint.name)) or [method("Client", endpoint.name)]
    for parameter in endpoint.parameters:
        if parameter.name in IN_SPAN:
            continue
        annotation = inspect.signature(overloads[0]).parameters[parameter.name].annotation
        words = typing.get_args(getattr(types, annotation, None))
        if words and not isinstance(parameter.default, int):
            written = re.findall(r'"([^"]*)"', parameter.allowed)
            assert written == list(words), f"python/liqdata/types.py: {annotation} has other words than the table"


@pytest.mark.parametrize("endpoint", ASKED, ids=lambda endpoint: endpoint.name)
def test_the_shape_in_types_has_the_columns_of_the_table(endpoint):
    overloads = typing.get_overloads(method("Client", endpoint.name)) or [method("Client", endpoint.name)]
    returned = inspect.signature(overloads[0]).return_annotation
    shape = getattr(types, re.sub(r"^Rows\[(\w+)(?:\[Amount\])?\]$", r"\1", returned), None)
    if shape is None:
        assert endpoint.reply == "object", f"python/liqdata/types.py has no {returned} for {endpoint.name}"
        return
    assert shape.__name__ in types.__all__, f"python/liqdata/types.py: __all__ lacks {shape.__name__}"
    left_out = {*IN_META.get(endpoint.name, ()), *WHERE_ASKED}
    columns = [column for column in endpoint.columns if column["name"] not in left_out and "extension" not in column]
    always = {name: annotation for name, annotation in shape.__annotations__.items() if name not in WHERE_ASKED}
    assert list(always) == [column["name"] for column in columns], (
        f"python/liqdata/types.py: {shape.__name__} has other columns than the table"
    )
    if endpoint.reply == "rows":
        kinds = {name: spelled(annotation) for name, annotation in always.items()}
        assert kinds == {column["name"]: TYPES[column["type"]] for column in columns}


@pytest.mark.parametrize("endpoint", ASKED, ids=lambda endpoint: endpoint.name)
def test_the_sample_reply_has_the_columns_of_the_table(endpoint):
    file = ROOT / "tests" / "data" / f"{endpoint.name}.json"
    assert file.is_file(), f"{endpoint.name} has no fixture: tests/data/{endpoint.name}.json"
    body = json.loads(file.read_text(encoding="utf-8"))
    reply = body["data"] if endpoint.enveloped else body
    part = reply[0] if endpoint.reply == "rows" else reply
    names = [column["name"] for column in endpoint.columns if column["name"] not in WHERE_ASKED]
    assert list(part) == [name for name in names if name in part]
    extensions = {column["name"] for column in endpoint.columns if column.get("extension")}
    assert set(names) - extensions <= set(part)


def test_the_stub_has_every_name_of_the_native_module():
    (listed,) = (
        ast.literal_eval(node.value)
        for node in ast.parse((ROOT / "python" / "liqdata" / "_core.pyi").read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign)
    )
    assert set(listed) == set(_core.__all__), "python/liqdata/_core.pyi: __all__ is not what src/python/mod.rs has"


@pytest.mark.parametrize(
    "endpoint", [each for each in TABLE.values() if each.reply != "csv"], ids=lambda endpoint: endpoint.name
)
def test_the_command_line_has_its_parameters(endpoint):
    entry = entries().get(endpoint.name.replace("_", "-"))
    assert entry is not None, f"python/liqdata/cli/menu.py has no command {endpoint.name}"
    options = {option for parameter in entry.make().params for option in parameter.opts}
    assert {f"--{parameter.name.replace('_', '-')}" for parameter in endpoint.parameters} <= options


def test_the_stream_asks_with_the_parameters_of_the_table():
    wanted = {parameter.name for parameter in TABLE["stream"].parameters}
    for kind in FACES.values():
        orders, cascades = (
            list(inspect.signature(ask).parameters)[1:] for ask in (kind.stream_orders, kind.stream_cascades)
        )
        assert orders == ["symbol", "exchange", "min_usd", "last_event_id"]
        assert cascades == ["symbol", "gap", "min_usd", "last_event_id"]
        assert {*orders, *cascades, "events"} == wanted


def test_features_are_asked_with_the_parameters_of_the_table():
    wanted = {parameter.name for parameter in TABLE["features"].parameters}
    for kind in FACES.values():
        assert {*inspect.signature(kind.features).parameters} - {"self"} | {"every"} == wanted


def test_every_type_of_the_table_is_a_known_one():
    known = {*TYPES, "list", "object"}
    for endpoint in TABLE.values():
        assert {column["type"] for column in endpoint.columns} <= known, f"src/contract for {endpoint.name}"
        assert all(column["meaning"] for column in endpoint.columns), f"src/contract for {endpoint.name}"


def test_the_page_of_the_endpoints_says_what_the_table_says():
    written = endpoint_page.PAGE.read_text(encoding="utf-8")
    assert written == endpoint_page.page(), (
        "docs/reference/endpoints.md is old: python tests/python/generators/endpoint_page.py writes it"
    )
