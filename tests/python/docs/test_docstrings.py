"""Every public name says what it does, takes, gives and raises, with an example; so does the reference."""

import inspect
import re

import pytest
import reference

import liqdata
import liqdata.vendors
import liqdata.walk

# What takes something and raises nothing of its own.
HARMLESS = {
    "plot.overview",
    "plot.levels",
    "plot.maxpain",
    "Rows.count",
    "scoring.Scorecard.plot",
    "errors.LiqdataError.add_note",
}
TYPES = "types."
# What only functions and methods of the package make.
GIVEN = {
    "errors.NotCovered",
    "stream.AsyncCascadeStream",
    "AsyncOrderIterator",
    "stream.AsyncOrderStream",
    "stream.CascadeStream",
    "collector.Collector",
    "OrderIterator",
    "stream.OrderStream",
    "Rows",
    "server.Server",
}


def _classes_and_functions():
    for things in reference.pages().values():
        for name, thing in things:
            if not name.startswith(TYPES):
                yield name, thing


def _routines():
    for name, thing in _classes_and_functions():
        if not isinstance(thing, type):
            yield name, thing
            continue
        for one, member in reference.members(thing).items():
            if (function := reference.routine(member)) is not None:
                yield f"{name}.{one}", function


CLASSES = [(name, thing) for name, thing in _classes_and_functions() if isinstance(thing, type)]
ROUTINES = list(_routines())
PROPERTIES = [
    (f"{name}.{one}", member)
    for name, kind in CLASSES
    for one, member in reference.members(kind).items()
    if isinstance(member, property)
]


def summary(thing):
    stated = inspect.cleandoc(thing.__doc__ or "").partition("\n\n")[0]
    assert re.search(r"\.$", stated), "the first paragraph is no sentence"
    assert not re.match(r"As (:|\w+\.)", stated), "the first sentence points elsewhere"


def referenced(text):
    """The function of which a docstring says are its own; ``None`` where it lists them."""
    found = re.search(
        r"[Pp]arameters (?:and result )?are those of\s+:meth:`(?:liqdata\.)?(?:vendors\.)?(\w+)\.(\w+)`", text
    )
    if found is None:
        return None
    homes = (liqdata, liqdata.walk, liqdata.vendors)
    kind = next(getattr(home, found[1]) for home in homes if hasattr(home, found[1]))
    return getattr(kind, found[2])


def explained(text, section):
    """The names that a section of a docstring explains."""
    found = re.search(rf"^{section}\n-+\n(.*?)(?=^\w[\w ]*\n-+$|\Z)", inspect.cleandoc(text), re.MULTILINE | re.DOTALL)
    heads = re.findall(r"^([*\w][^:\n]*?)(?: : .*)?$", found[1], re.MULTILINE) if found else []
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


@pytest.mark.parametrize("name, function", ROUTINES, ids=[name for name, _ in ROUTINES])
def test_a_function_documents_its_parameters_result_and_errors(name, function):
    summary(function)
    signature = inspect.signature(function)
    if (other := referenced(function.__doc__)) is not None:
        own = {one for one in signature.parameters if f"``{one}``" in function.__doc__}
        assert set(signature.parameters) - own <= set(inspect.signature(other).parameters)
        assert ">>> " in function.__doc__, "Examples"
        return
    taken = [each for each in signature.parameters if each != "self"]
    assert set(taken) <= set(explained(function.__doc__, "Parameters")), "Parameters"
    assert set(explained(function.__doc__, "Parameters")) <= set(taken), "Parameters that are not taken"
    if signature.return_annotation not in {"None", None}:
        assert "Returns\n---" in inspect.cleandoc(function.__doc__), "Returns"
    if taken and name not in HARMLESS:
        assert explained(function.__doc__, "Raises"), "Raises"
    assert ">>> " in function.__doc__, "Examples"


@pytest.mark.parametrize("name, kind", CLASSES, ids=[name for name, _ in CLASSES])
def test_a_class_has_a_description_and_an_example(name, kind):
    summary(kind)
    assert ">>> " in kind.__doc__, "Examples"
    if name not in GIVEN:
        taken = set(inspect.signature(kind).parameters)
        assert taken <= {*explained(kind.__doc__, "Parameters"), *explained(kind.__doc__, "Attributes")}


def test_every_alias_is_documented():
    assert [name for name, (_, text) in reference.ALIASES.items() if not text.endswith(".")] == []


@pytest.mark.parametrize("name, member", PROPERTIES, ids=[name for name, _ in PROPERTIES])
def test_every_property_is_documented(name, member):
    summary(member)


@pytest.mark.parametrize("face", ["Client", "AsyncClient", "Market"])
def test_help_describes_every_query_in_every_interface(face):
    method = getattr(liqdata, face).heatmap
    text = inspect.getdoc(method)
    assert text.startswith("Estimated liquidations over price and time.")
    assert set(inspect.signature(method).parameters) == {"self", *explained(text, "Parameters")}
    assert ("liqdata.AsyncClient(" in text) == (face == "AsyncClient")
    assert "as_of: 'Instants | None'" in str(inspect.signature(method))


def test_the_reference_has_every_public_name():
    index = reference.written()["index.md"]
    for name in liqdata.__all__:
        thing = getattr(liqdata, name)
        if isinstance(thing, type) and issubclass(thing, Exception):
            assert f"## errors.{name}" in reference.written()["errors.md"], name
        elif callable(thing) or inspect.ismodule(thing):
            assert f"| [{name}](" in index, name
