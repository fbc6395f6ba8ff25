"""What users call: an error of this package shows the line that called, and not the way it went in here."""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from functools import update_wrapper
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .errors import Defect, LiqdataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

F = TypeVar("F", bound="Callable[..., Any]")
C = TypeVar("C", bound=type)

_COROUTINE, _GENERATORS = 0x80, 0x20 | 0x200  # flags of code: inspect has them too, and much that takes long to load


def door(function: F) -> F:
    """The function as users call it: of an error of this package they see their own line and this function's name.

    Bugs are shown in full, and all errors are where Python runs in its development mode (``python -X dev``).
    """
    plain = cast("FunctionType", function)
    flags = plain.__code__.co_flags
    if sys.flags.dev_mode or flags & _GENERATORS:
        return function
    made = _awaited(plain) if flags & _COROUTINE else _called(plain)
    made.__code__ = made.__code__.replace(co_name=plain.__name__, co_qualname=plain.__qualname__)
    update_wrapper(made, plain)
    return cast("F", made)


def nearest(name: str, names: Iterable[str]) -> str:
    """The question whether the nearest of some names was meant; empty where none is near."""
    near = get_close_matches(name, list(names), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _no_such_attribute(self: object, name: str) -> object:
    kind = type(self)
    if hasattr(kind, name):  # a property, which has failed and says how
        return object.__getattribute__(self, name)
    near = "" if name.startswith("_") else nearest(name, (one for one in dir(self) if not one.startswith("_")))
    msg = f"{kind.__name__!r} object has no attribute {name!r}{near}"
    raise AttributeError(msg)


def doors(kind: C) -> C:
    """The class, whose public methods are doors, and which says what is near a name that it has not."""
    # Here, where type checkers do not see it: they know each name.
    kind.__getattr__ = _no_such_attribute  # type: ignore[attr-defined]  # an unbound C has none yet
    for name, member in list(vars(kind).items()):
        if isinstance(member, FunctionType) and (not name.startswith("_") or name in {"__init__", "__getitem__"}):
            setattr(kind, name, door(member))
    return kind


def _called(function: FunctionType) -> FunctionType:
    def call(*args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        try:
            return function(*args, **options)
        except Defect:
            raise
        except TypeError as error:
            _say_what_is_taken(error, function)
            raise
        except LiqdataError as error:
            raise error.with_traceback(None) from error.__cause__  # the way in here is shown by `python -X dev`

    return cast("FunctionType", call)


def _awaited(function: FunctionType) -> FunctionType:
    async def call(*args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        try:
            return await function(*args, **options)
        except Defect:
            raise
        except TypeError as error:
            _say_what_is_taken(error, function)
            raise
        except LiqdataError as error:
            raise error.with_traceback(None) from error.__cause__  # the way in here is shown by `python -X dev`

    return cast("FunctionType", call)


def _say_what_is_taken(error: TypeError, function: FunctionType) -> None:
    """Puts the nearest parameter into what Python says of one that there is not."""
    step = error.__traceback__
    if step is None or step.tb_next is not None:  # raised further in, not by the call itself
        return
    said, code = str(error).replace(function.__qualname__, function.__name__), function.__code__
    taken = [name for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if name != "self"]
    if unknown := re.search(r"unexpected keyword argument '(\w+)'", said):
        said += nearest(unknown[1], taken) or f"; allowed: {', '.join(taken) or 'none'}"
    elif re.search(r"takes .* positional argument", said):
        by_place = taken[: code.co_argcount - (code.co_varnames[:1] == ("self",))]
        by_name = [f"{name}=" for name in taken[len(by_place) :]]
        said += f"; allowed: {', '.join(by_place) or 'none'}" + (
            f", and by name {', '.join(by_name)}" if by_name else ""
        )
    error.args = (said,)
