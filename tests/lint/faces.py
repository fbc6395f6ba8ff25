"""Write what follows from methods that stand once: the queries in ``python/liqdata/queries.py``, and those of vendors.

``python tests/lint/faces.py`` compares; with ``--write`` it writes:

* in ``queries.py`` the overloads of each method, from its signature: one symbol or several, one instant or several;
* ``async_queries.py``, the same methods as coroutines;
* ``recorded_queries.py``, the methods that a market also answers from recordings, with ``source=``;
* ``vendors/asynchronous.py``, the clients of vendors for asyncio, from the blocking ones.
"""

import ast
import copy
import doctest
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "liqdata"
QUERIES = PACKAGE / "queries.py"
RUFF = Path(sys.executable).with_name("ruff")

NOT_AWAITED = {"live"}
"""Queries that an asynchronous client does not have."""
RECORDED = {"overview", "coins", "exchanges", "orders", "iter_orders", "history"}
"""Queries of orders, which a market also answers from a recording."""
ITERATORS = {"iter_orders", "stream_orders", "stream_cascades"}
"""Methods that return an iterator at once, and names of iterators in examples."""
OF_ASYNCIO = re.compile(r"\b(?:Iterator|OrderIterator|OrderStream|CascadeStream)\b")
SOURCE = """\
source : str, optional
    Only orders of this recording, such as ``"coinglass"`` (:func:`liqdata.record`).{more}
"""

YIELD_FROM = re.compile(r"^( *)yield from (.+)$", re.MULTILINE)
VENDORS = ("coinalyze", "coinank", "coinglass", "datamaxi", "hyblock", "velo")

HEAD = '''"""{summary}

Written by ``tests/lint/faces.py`` from {origin}.
"""
'''


def formatted(text: str, path: Path) -> str:
    """The text as ruff formats it, without unused imports."""
    for command in (["check", "--quiet", "--fix-only", "--select", "F401,I"], ["format"]):
        done = subprocess.run(
            [RUFF, *command, "--stdin-filename", path, "-"], input=text, capture_output=True, text=True, check=True
        )
        text = done.stdout
    return text


def methods_of(kind: ast.ClassDef) -> list[ast.FunctionDef]:
    """The methods of a class, without overloads."""
    functions = [each for each in kind.body if isinstance(each, ast.FunctionDef)]
    return [each for each in functions if not _is_overload(each)]


def _is_overload(function: ast.FunctionDef) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "overload" for each in function.decorator_list)


def head_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The signature of a method as code."""
    bare = copy.copy(function)
    bare.decorator_list = []
    bare.body = [ast.Pass()]
    return ast.unparse(bare).rpartition("\n")[0]


def options(annotation: str) -> list[str]:
    """The types of a union, and the types of an argument that may be one thing or several."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(annotation):
        depth += {"[": 1, "]": -1}.get(letter, 0)
        if letter == "|" and depth == 0:
            parts.append(annotation[start:place].strip())
            start = place + 1
    return [*parts, annotation[start:].strip()]


def _arguments(function: ast.FunctionDef) -> dict[str, tuple[ast.arg, Callable[[ast.expr | None], None]]]:
    """The arguments with an annotation by name, each with a function that sets its default."""
    arguments = function.args
    positional, first = arguments.args, len(arguments.args) - len(arguments.defaults)
    found = {}
    for place, each in enumerate(positional):
        if each.annotation is not None:
            found[each.arg] = (each, partial(_set_default, arguments, place - first))
    for place, each in enumerate(arguments.kwonlyargs):
        found[each.arg] = (each, partial(arguments.kw_defaults.__setitem__, place))
    return found


def _set_default(arguments: ast.arguments, place: int, value: ast.expr | None) -> None:
    """Set a default; without one, no argument before it may have one."""
    if value is None:
        del arguments.defaults[: place + 1]
    else:
        arguments.defaults[place] = value


def overloads_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The overloads of a method: one symbol or several, and one instant or several, each with its result."""
    arguments = {name: ast.unparse(each.annotation) for name, (each, _) in _arguments(function).items()}
    symbol, instants = arguments.get("symbol", ""), "Instants" in arguments.get("as_of", "")
    is_several = "Sequence[str]" in symbol
    if not is_several and not instants:
        return []
    single = " | ".join(each for each in options(symbol) if each != "Sequence[str]")
    results = options(ast.unparse(function.returns))
    made = []
    for several in (False, True) if is_several else (False,):
        for many in (False, True) if instants else (False,):
            overload = copy.deepcopy(function)
            parts = _arguments(overload)
            if is_several:
                parts["symbol"][0].annotation = ast.parse("Sequence[str]" if several else single, mode="eval").body
            if several:
                parts["symbol"][1](None)
            if instants:
                spelled = "Iterable[Instant]" if many else "Instant | None"
                parts["as_of"][0].annotation = ast.parse(spelled, mode="eval").body
                if many:
                    parts["as_of"][1](None)
            overload.returns = ast.parse(results[len(made)], mode="eval").body
            made.append(f"@overload\n{head_of(overload)} ...")
    return made


def with_overloads(function: ast.FunctionDef | ast.AsyncFunctionDef, code: str) -> str:
    """The code of a method after its overloads, indented as in a class."""
    return textwrap.indent("\n".join([*overloads_of(function), code]), "    ")


class Awaited(ast.NodeTransformer):
    """An example of a blocking object as one of an asynchronous object."""

    def __init__(self, name: str, coroutines: set[str]) -> None:
        self.name = name
        self.coroutines = coroutines

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Name) and function.id == "next":
            function.id = "anext"
            return ast.Await(node)
        of = function.value if isinstance(function, ast.Attribute) else None
        is_coroutine = isinstance(of, ast.Name) and of.id == self.name and function.attr in self.coroutines
        return ast.Await(node) if is_coroutine else node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        function = node.iter.func if isinstance(node.iter, ast.Call) else None
        node.is_async = int(isinstance(function, ast.Attribute) and function.attr in ITERATORS)
        return node


class Renamed(ast.NodeTransformer):
    """Another name of a variable or attribute."""

    def __init__(self, name: str, other: str) -> None:
        self.name, self.other = name, other

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.other if node.id == self.name else node.id, node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        self.generic_visit(node)
        return ast.Attribute(node.value, self.other if node.attr == self.name else node.attr, node.ctx)


def returning(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements that return the value of the last one."""
    last = body[-1]
    return [*body[:-1], ast.Return(last.value) if isinstance(last, ast.Expr) else last]


def with_block(items: list[str], body: list[ast.stmt], *, is_async: bool = False) -> ast.stmt:
    """A ``with`` statement."""
    head = f"async def _():\n    {'async ' if is_async else ''}with {', '.join(items)}: pass"
    block = ast.parse(head).body[0].body[0]
    block.body = body
    return block


def client_example(code: str, coroutines: set[str]) -> str:
    """The example of a market as one of an asynchronous client of a server of this market."""
    imports, body, market, opened = [], [], "liqdata.demo()", []
    for statement in ast.parse(code).body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            imports.append(ast.unparse(statement))
        elif isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "market":
            market = ast.unparse(statement.value)
        elif isinstance(statement, ast.With) and ast.unparse(statement.items[0].optional_vars) == "market":
            opened, market = [f"{ast.unparse(statement.items[0].context_expr)} as market"], "market"
            body.append(ast.With(statement.items[1:], statement.body))
        else:
            body.append(statement)
    body = [Awaited("client", coroutines).visit(Renamed("market", "client").visit(each)) for each in body]
    inner = ["liqdata.AsyncClient(server.url) as client"]
    if opened:
        inner += [ast.unparse(each) for each in body[0].items]
        body = body[0].body
    served = [*opened, f"liqdata.serve({market}) as server"]
    block = with_block(served, [with_block(inner, returning(body), is_async=True)])
    return run_in_loop(imports, block)


def run_in_loop(imports: list[str], block: ast.stmt) -> str:
    """An example that runs a statement on an event loop."""
    body = textwrap.indent(ast.unparse(ast.fix_missing_locations(block)), "    ")
    return "\n".join(["import asyncio", *imports, "async def example():", body, "asyncio.run(example())"])


def example_in_doc(code: str) -> list[str]:
    """The lines of an example as a docstring has them."""
    lines = []
    for statement in ast.parse(code).body:
        first, *rest = ast.unparse(statement).splitlines()
        lines += [f">>> {first}", *(f"... {each}" for each in rest)]
    return lines


def with_example(doc: str, convert: Callable[[str], str]) -> str:
    """A docstring with another example; what it prints stays."""
    before, title, _ = doc.partition("Examples\n--------\n")
    examples = doctest.DocTestParser().get_examples(doc)
    code = convert("".join(each.source for each in examples))
    (wants,) = (examples[-1].want,) if not any(each.want for each in examples[:-1]) else (None,)
    return before + title + "\n".join([*example_in_doc(code), wants])


def docstring(doc: str) -> str:
    """A docstring as code; its lines are indented as in a method."""
    return '"""' + doc.rstrip().replace("\n\n\n", "\n\n") + '\n"""'


def method(head: str, doc: str, body: str) -> str:
    """The code of a method."""
    return f"{head}\n{textwrap.indent(docstring(doc), '    ')}\n    {body}"


def imports_of(source: str) -> str:
    """The imports of a file."""
    return source[source.index("from __future__") : source.index("__all__ = ")]


def class_of(source: str) -> ast.ClassDef:
    """The public class of a file."""
    return next(each for each in ast.parse(source).body if isinstance(each, ast.ClassDef) and each.decorator_list)


def as_coroutine(function: ast.FunctionDef) -> ast.AsyncFunctionDef:
    """The same method as a coroutine."""
    return ast.AsyncFunctionDef(**{name: getattr(function, name) for name in function._fields}, lineno=0)


def overloaded(source: str) -> str:
    """``queries.py`` with the overloads that follow from its signatures."""
    kind, lines = class_of(source), source.splitlines(keepends=True)
    made, place = [], 0
    for each in kind.body:
        if not isinstance(each, ast.FunctionDef):
            continue
        first = min([each.lineno, *(one.lineno for one in each.decorator_list)]) - 1
        made += lines[place:first]
        place = each.end_lineno
        if not _is_overload(each):
            made.append(with_overloads(each, textwrap.dedent("".join(lines[first:place])).rstrip()) + "\n")
        else:
            place += not lines[place].strip()
    return formatted("".join([*made, *lines[place:]]), QUERIES)


def awaited(source: str) -> str:
    """``async_queries.py``."""
    functions = [each for each in methods_of(class_of(source)) if each.name not in NOT_AWAITED]
    coroutines = {each.name for each in functions} - ITERATORS
    made = []
    for each in functions:
        body = ast.unparse(each.body[-1])
        function = each
        if each.name in coroutines:
            function = as_coroutine(each)
            body = body.replace("return self.", "return await self.")
        doc = with_example(ast.get_docstring(each), partial(client_example, coroutines=coroutines))
        code = with_overloads(function, method(head_of(function), doc, body))
        made.append(OF_ASYNCIO.sub(r"Async\g<0>", code))
    imports = OF_ASYNCIO.sub(r"Async\g<0>", imports_of(source))
    imports = imports.replace("BlockingService", "AsyncService")
    text = f'''{HEAD.format(summary="The queries of asynchronous clients.", origin="``queries.py``")}
{imports}
__all__ = ["AsyncQueries"]


@public_methods
class AsyncQueries(Generic[Amount]):
    """What :class:`~liqdata.AsyncClient` can be asked: the methods of :class:`~liqdata.Client` as coroutines."""

    _source: AsyncService

'''
    return formatted(text + "\n\n".join(made), PACKAGE / "async_queries.py")


def recorded(source: str) -> str:
    """``recorded_queries.py``."""
    made = []
    for each in methods_of(class_of(source)):
        if each.name not in RECORDED:
            continue
        function = copy.deepcopy(each)
        place = [one.arg for one in function.args.kwonlyargs].index("as_of")
        function.args.kwonlyargs.insert(place, ast.arg("source", ast.parse("str | None", mode="eval").body))
        function.args.kw_defaults.insert(place, ast.Constant(None))
        parts = _arguments(function)
        for bound in {"start", "end"} & set(parts):
            parts[bound][0].annotation = ast.parse("Bound | None", mode="eval").body
        more = "\n    The column ``source`` names it." if each.name == "orders" else ""
        doc = ast.get_docstring(each).replace("\nas_of : ", f"\n{SOURCE.format(more=more)}as_of : ")
        body = ast.unparse(function.body[-1]).replace("self._source.", "self._of(source).")
        function.returns = ast.parse(ast.unparse(function.returns).replace("[Amount]", ""), mode="eval").body
        made.append(with_overloads(function, method(head_of(function), doc, body)))
    imports = imports_of(source).replace("    from decimal import Decimal\n", "")
    imports = imports.replace("from typing import", "from decimal import Decimal\nfrom typing import", 1)
    imports = imports.replace("from .types import Amount", "from .queries import Queries")
    text = f'''{HEAD.format(summary="Queries that a market also answers from recordings.", origin="``queries.py``")}
{imports}
__all__ = ["RecordedQueries"]


@public_methods
class RecordedQueries(Queries[Decimal]):
    """What :class:`~liqdata.Market` can be asked: all queries, some of them also about a recording."""

    _source: LocalSource  # pyright: ignore[reportIncompatibleVariableOverride] - a market has no other source

    def _of(self, source: str | None) -> LocalSource:
        """The source of this market, or that of a recording."""
        raise NotImplementedError

'''
    return formatted(text + "\n\n".join(made), PACKAGE / "recorded_queries.py")


def vendor_example(code: str, kind: ast.ClassDef) -> str:
    """The example of a vendor's client as one of its client for asyncio."""
    *imports, block = ast.parse(code).body
    coroutines = {each.name for each in methods_of(kind)} - ITERATORS
    block = ast.AsyncWith(block.items, block.body)
    block = Awaited("service", coroutines).visit(Renamed(kind.name, f"Async{kind.name}").visit(block))
    return run_in_loop([ast.unparse(each) for each in imports], block)


def vendor_class(source: str) -> str:
    """The client of a vendor for asyncio."""
    kind = class_of(source)
    doc = ast.get_docstring(kind)
    summary, _, rest = doc.partition("\n\n")
    _, _, rest = rest.partition("\n\n")
    rest = rest.replace(f"vendors.{kind.name}(", f"vendors.Async{kind.name}(").replace(
        f"\n{kind.name}(", f"\nAsync{kind.name}("
    )
    same = f"The methods are those of :class:`~liqdata.vendors.{kind.name}`, as coroutines."
    base = ast.unparse(kind.bases[0]).replace("Blocking", "Async")
    about = docstring(f"{summary.removesuffix('.')}, for asyncio.\n\n{same}\n\n{rest}")
    parts = [about, *(ast.unparse(each) for each in kind.body if isinstance(each, ast.Assign))]
    for each in methods_of(kind):
        if each.name.startswith("_"):
            parts.append(ast.unparse(each))
            continue
        doc = with_example(ast.get_docstring(each), partial(vendor_example, kind=kind))
        body = "\n".join(ast.unparse(one) for one in each.body[1:]).replace("self._run(", "await self._run(")
        body = YIELD_FROM.sub(r"\g<1>for row in \g<2>:\n\g<1>    yield row", body)  # a coroutine has no `yield from`
        head = OF_ASYNCIO.sub(r"Async\g<0>", head_of(as_coroutine(each)))
        parts.append(method(head, doc, textwrap.indent(body, "    ").strip()))
    body = textwrap.indent("\n\n".join(parts), "    ")
    return f"@vendor_methods\nclass Async{kind.name}({base}):\n{body}"


def imports_of_vendors(sources: dict[str, str]) -> str:
    """The imports of the clients for asyncio: those of all vendors, and the names of their files."""
    runtime = {"from .service import AsyncVendor, vendor_methods", "from .vocabulary import refuse_others"}
    typed = set()
    for name, source in sources.items():
        for each in ast.parse(source).body:
            if isinstance(each, ast.Import) or (isinstance(each, ast.ImportFrom) and each.module == "typing"):
                runtime |= _single_imports(each)
            elif isinstance(each, ast.ImportFrom):
                typed |= _single_imports(each)
            elif isinstance(each, ast.If):
                typed |= {one for block in each.body for one in _single_imports(block)}
            elif isinstance(each, ast.AnnAssign):
                typed.add(f"from .{name} import {each.target.id}")
            elif isinstance(each, ast.FunctionDef | ast.ClassDef) and not each.name.startswith("_"):
                runtime.add(f"from .{name} import {each.name}")
    future = "from __future__ import annotations"
    typed = {OF_ASYNCIO.sub(r"Async\g<0>", each) for each in typed - runtime - {future}}
    typed.discard("from .service import vendor_methods")
    return "\n".join([future, *sorted(runtime), "if TYPE_CHECKING:", *(f"    {each}" for each in sorted(typed))])


def _single_imports(statement: ast.Import | ast.ImportFrom) -> set[str]:
    """A statement for each name that is imported."""
    made = [copy.copy(statement) for _ in statement.names]
    for each, name in zip(made, statement.names, strict=True):
        each.names = [name]
    return {ast.unparse(each) for each in made}


def vendors() -> str:
    """``vendors/asynchronous.py``."""
    folder = PACKAGE / "vendors"
    sources = {name: (folder / f"{name}.py").read_text(encoding="utf-8") for name in VENDORS}
    listed = sorted(f"Async{class_of(source).name}" for source in sources.values())
    text = f"""{HEAD.format(summary="The clients of vendors for asyncio.", origin="the blocking ones")}
{imports_of_vendors(sources)}

__all__ = {listed}


"""
    classes = "\n\n\n".join(map(vendor_class, sources.values()))
    return formatted(text + classes, folder / "asynchronous.py")


def made() -> dict[Path, str]:
    """The text of each file as it has to be."""
    source = overloaded(QUERIES.read_text(encoding="utf-8"))
    return {
        QUERIES: source,
        PACKAGE / "async_queries.py": awaited(source),
        PACKAGE / "recorded_queries.py": recorded(source),
        PACKAGE / "vendors" / "asynchronous.py": vendors(),
    }


def main(arguments: list[str]) -> int:
    """Compare the files, or write them; 1 if a file is stale."""
    texts = made()
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if arguments == ["--write"]:
            path.write_text(texts[path], encoding="utf-8")
        print(f"{path.relative_to(ROOT)} {'written' if arguments else 'is stale: python tests/lint/faces.py --write'}")
    return 1 if stale and not arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
