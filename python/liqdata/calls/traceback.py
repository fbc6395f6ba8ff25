"""Short tracebacks, which end at the line that called this package."""

from __future__ import annotations

import re
import sys
import warnings
from difflib import get_close_matches
from functools import update_wrapper
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from liqdata.errors import Defect, LiqdataError, WrongState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

F = TypeVar("F", bound="Callable[..., Any]")
C = TypeVar("C", bound=type)

_COROUTINE, _GENERATORS = 0x80, 0x20 | 0x200  # code flags; `inspect` has them too, but is slow to import


def public_call(function: F) -> F:
    """Remove frames inside a public function from the tracebacks of this package's errors.

    The traceback ends with the caller's line and the name of the function. Bugs (:class:`~liqdata.errors.Defect`) have
    the whole traceback, as have all errors in Python's development mode (``python -X dev``).

    Parameters
    ----------
    function : callable
        A plain function or a coroutine function; generators are returned unchanged.

    Returns
    -------
    callable
        A wrapper with the same name, signature and docstring.
    """
    plain = cast("FunctionType", function)
    flags = plain.__code__.co_flags
    if sys.flags.dev_mode or flags & _GENERATORS:
        return function
    wrapper = _async_wrapper(plain) if flags & _COROUTINE else _wrapper(plain)
    wrapper.__code__ = wrapper.__code__.replace(co_name=plain.__name__, co_qualname=plain.__qualname__)
    update_wrapper(wrapper, plain)
    return cast("F", wrapper)


def public_methods(kind: C) -> C:
    """Apply :func:`public_call` to the public methods of a class, and suggest similar names for unknown attributes.

    Parameters
    ----------
    kind : type
        The class; inherited methods are not wrapped.

    Returns
    -------
    type
        The same class.
    """
    # Set at run time, so that type checkers still report unknown attributes.
    kind.__getattr__ = _unknown_attribute  # type: ignore[attr-defined]  # an unbound C has none yet
    for name, member in list(vars(kind).items()):
        if isinstance(member, FunctionType) and (not name.startswith("_") or name in {"__init__", "__getitem__"}):
            setattr(kind, name, public_call(member))
        elif isinstance(member, staticmethod) and not name.startswith("_"):
            setattr(kind, name, staticmethod(public_call(member.__func__)))
    return kind


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line of the caller of this package.

    Parameters
    ----------
    message : str
        The message.
    category : type
        The class of the warning.
    """
    frame, level = sys._getframe(1), 2  # noqa: SLF001 - `skip_file_prefixes` needs Python 3.12
    while frame.f_back is not None and f"{frame.f_globals.get('__name__')}.".startswith("liqdata."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def nearest(name: str, names: Iterable[str]) -> str:
    """Suggest the most similar name, as text to append to a message.

    Parameters
    ----------
    name : str
        The unknown name.
    names : iterable of str
        The known names.

    Returns
    -------
    str
        Such as ``"; did you mean 'heatmap'?"``; empty if no name is similar.
    """
    near = get_close_matches(name, list(names), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


# Names from other libraries of this field, and what they are called here; the first one that exists is suggested.
_ELSEWHERE = {
    "since": ("start",),
    "start_time": ("start",),
    "startTime": ("start",),
    "from_time": ("start",),
    "until": ("end",),
    "end_time": ("end",),
    "endTime": ("end",),
    "to_time": ("end",),
    "timeframe": ("interval", "range"),
    "window": ("range",),
    "venue": ("exchange",),
    "venues": ("exchanges",),
    "ticker": ("symbol",),
    "coin": ("symbol",),
    "pair": ("symbol",),
    "liquidations": ("orders",),
    "ohlcv": ("bars",),
    "klines": ("bars",),
    "candles": ("bars",),
    "liquidation_map": ("liqmap",),
    "max_pain": ("maxpain",),
    "oi": ("open_interest",),
}


def suggestion(name: str, names: Iterable[str]) -> str:
    """Suggest what a name of another library is called here, else the most similar name.

    Parameters
    ----------
    name : str
        The unknown name.
    names : iterable of str
        The known names.

    Returns
    -------
    str
        Such as ``"; did you mean 'interval'?"``; empty if no name is similar.
    """
    every = list(names)
    return _meant(name, every) or nearest(name, every)


def _meant(name: str, names: Iterable[str]) -> str:
    """Suggest what a name of another library is called here; empty if it is unknown."""
    known = set(names)
    bare = re.sub(r"^(get|fetch|load|download)_", "", name)
    found = [one for one in (*_ELSEWHERE.get(bare, ()), *((bare,) if bare != name else ())) if one in known]
    return f"; did you mean {found[0]!r}?" if found else ""


def _unknown_attribute(self: object, name: str) -> object:
    kind = type(self)
    if hasattr(kind, name):  # a property that raised AttributeError: raise its own error again
        return object.__getattribute__(self, name)
    names = [] if name.startswith("_") else [one for one in dir(self) if not one.startswith("_")]
    near = suggestion(name, names)
    msg = f"{kind.__name__!r} object has no attribute {name!r}{near}"
    raise AttributeError(msg)


def _wrapper(function: FunctionType) -> FunctionType:
    def call(*args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        try:
            return function(*args, **options)
        except Defect:
            raise
        except TypeError as error:
            _add_allowed_parameters(error, function)
            raise
        except LiqdataError as error:
            raise error.with_traceback(None) from error.__cause__  # `python -X dev` shows the inner frames
        except RuntimeError as error:
            if (found := _of_core(error)) is None:
                raise
            raise found from None

    return cast("FunctionType", call)


def _async_wrapper(function: FunctionType) -> FunctionType:
    async def call(*args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        try:
            return await function(*args, **options)
        except Defect:
            raise
        except TypeError as error:
            _add_allowed_parameters(error, function)
            raise
        except LiqdataError as error:
            raise error.with_traceback(None) from error.__cause__  # `python -X dev` shows the inner frames
        except RuntimeError as error:
            if (found := _of_core(error)) is None:
                raise
            raise found from None

    return cast("FunctionType", call)


def _of_core(error: RuntimeError) -> WrongState | None:
    """An error that the Rust core raised, such as that a client is closed, as an error of this package.

    ``None`` for errors of other code, such as a callback of the caller.
    """
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    home = "" if step is None else str(step.tb_frame.f_globals.get("__name__"))
    return WrongState(str(error)) if type(error) is RuntimeError and f"{home}.".startswith("liqdata.") else None


def _add_allowed_parameters(error: TypeError, function: FunctionType) -> None:
    """Add the most similar parameter, or all allowed parameters, to Python's message about a wrong call."""
    step = error.__traceback__
    if step is None or step.tb_next is not None:  # raised inside the function, not by the call itself
        return
    message, code = str(error).replace(function.__qualname__, function.__name__), function.__code__
    allowed = [name for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if name != "self"]
    if unknown := re.search(r"unexpected keyword argument '(\w+)'", message):
        message += suggestion(unknown[1], allowed) or f"; allowed: {', '.join(allowed) or 'none'}"
    elif re.search(r"takes .* positional argument", message):
        positional = allowed[: code.co_argcount - (code.co_varnames[:1] == ("self",))]
        keyword = [f"{name}=" for name in allowed[len(positional) :]]
        message += f"; allowed: {', '.join(positional) or 'none'}" + (
            f", and by name {', '.join(keyword)}" if keyword else ""
        )
    error.args = (message,)
