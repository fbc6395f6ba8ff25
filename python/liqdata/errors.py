"""Exceptions: every error of this package is a :class:`LiqdataError`. :class:`NotCovered` is a warning.

Each class also derives from the matching builtin (``ValueError``, ``ConnectionError``, ``TimeoutError``, ``OSError``)
and pickles with all its attributes.
"""

from __future__ import annotations

from typing import Any, TypeVar

from .text.printable import printable, shortened

__all__ = [
    "ArchiveError",
    "BadQuery",
    "Defect",
    "LiqdataError",
    "NoAnswer",
    "NotCovered",
    "Refused",
    "TooSlow",
    "UnexpectedReply",
    "WrongState",
]


_E = TypeVar("_E", bound="LiqdataError")


def _blank(kind: type[_E]) -> _E:
    """Create an empty error, which pickle then fills; the constructors need keyword arguments."""
    return kind.__new__(kind)


class LiqdataError(Exception):
    r"""Base class of all errors of this package; only its subclasses are raised.

    Messages and notes may contain text from a service. Therefore control characters and line ends in them appear as
    escapes such as ``\\x1b``, and the middle of long messages is cut out. Other attributes are unchanged.

    Parameters
    ----------
    message : str
        What went wrong.

    Examples
    --------
    >>> import liqdata
    >>> try:
    ...     liqdata.demo().coins(range="2h")
    ... except liqdata.LiqdataError as error:
    ...     print(type(error).__name__)
    BadQuery
    """

    __slots__ = ()  # exceptions have a __dict__

    def __init__(self, message: str) -> None:
        super().__init__(printable(shortened(message)))

    def add_note(self, note: str, /) -> None:
        """Add a note, escaped and shortened like the message.

        Parameters
        ----------
        note : str
            The note.

        Examples
        --------
        >>> import liqdata
        >>> error = liqdata.BadQuery("limit: 0 is not allowed", parameter="limit")
        >>> error.add_note("asked for BTC")
        >>> error.__notes__
        ['asked for BTC']
        """
        super().add_note(printable(shortened(note)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _blank, (type(self),), {**self.__dict__, "args": self.args}


class BadQuery(LiqdataError, ValueError):
    """A wrong parameter, refused before any input or output.

    Parameters
    ----------
    message : str
        The wrong value, and the allowed values.
    parameter : str
        Name of the wrong parameter; ``orders``, ``bars`` or ``open_interest`` for a table.

    Examples
    --------
    >>> error = BadQuery('range: "2h" is not allowed; allowed: "1h", "4h", "12h" or "24h"', parameter="range")
    >>> error.parameter
    'range'
    >>> isinstance(error, ValueError)
    True
    """

    parameter: str

    def __init__(self, message: str, *, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter


class NoAnswer(LiqdataError, ConnectionError):
    """No complete reply arrived, after all retries.

    The name was not found, the connection or TLS failed, or the body was truncated. The notes (``error.__notes__``)
    list the chain of causes, outermost first.

    Parameters
    ----------
    message : str
        What failed, and the number of attempts.

    Examples
    --------
    >>> import liqdata
    >>> with liqdata.Client("http://127.0.0.1:1", retries=0) as client:  # an unused port
    ...     try:
    ...         client.overview()
    ...     except ConnectionError as error:
    ...         print(type(error).__name__)
    NoAnswer
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)


class TooSlow(NoAnswer, TimeoutError):
    """The call did not finish by its deadline, which includes retries and the waits between them.

    Parameters
    ----------
    message : str
        What did not finish.
    seconds : float
        The deadline, in seconds.

    Examples
    --------
    >>> import liqdata
    >>> error = liqdata.TooSlow("no answer within 10 s", seconds=10.0)
    >>> error.seconds, isinstance(error, TimeoutError), isinstance(error, liqdata.NoAnswer)
    (10.0, True, True)
    """

    seconds: float

    def __init__(self, message: str, *, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class Refused(LiqdataError):
    """The service replied with an error.

    The reply had an HTTP status of 400 or above, was a redirect (which is not followed), or had ``success: false``. A
    :class:`Market` raises this error too: with status 404 for a symbol without an estimate, with 400 if its bars are
    too long for the range or the interval.

    Parameters
    ----------
    message : str
        The reason that the service gave, on one line.
    status : int
        HTTP status; 200 for ``success: false``.
    body : str
        The first 2 kB of the body.
    retry_after : float or None
        Seconds after which the service allows a retry; ``None`` if the reply does not say.

    Examples
    --------
    >>> import liqdata
    >>> try:
    ...     liqdata.Market(bars=[]).heatmap("BTC")  # no bars
    ... except liqdata.Refused as error:
    ...     print(error.status)
    404
    """

    status: int
    body: str
    retry_after: float | None

    def __init__(self, message: str, *, status: int, body: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = body
        self.retry_after = retry_after


class UnexpectedReply(LiqdataError, ValueError):
    """A reply or frame breaks its documented format, so no part of it is used.

    Parameters
    ----------
    message : str
        What was found, and what the format requires.
    path : str
        Place in the reply, such as ``data[3].price``; empty for the whole body.

    Examples
    --------
    >>> import liqdata
    >>> error = liqdata.UnexpectedReply("data[3].price: 'abc' is not a number", path="data[3].price")
    >>> error.path, isinstance(error, ValueError)
    ('data[3].price', True)
    """

    path: str

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(message)
        self.path = path


class ArchiveError(LiqdataError, OSError):
    """An archive cannot be opened, is locked by another writer, or is damaged, or no space is left for a file.

    Parameters
    ----------
    message : str
        What is wrong.
    path : str
        The archive, or the file.

    Examples
    --------
    >>> import liqdata
    >>> try:
    ...     liqdata.open("/nowhere")
    ... except OSError as error:
    ...     print(type(error).__name__)
    ArchiveError
    """

    path: str

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(message)
        self.path = path


class WrongState(LiqdataError, RuntimeError):
    """A call that is not possible on this object, or here.

    A client, market or collector is closed, or was opened before a fork; a market does not have what is needed, such as
    the true positions of a market that is not simulated; or no asyncio event loop runs.

    Parameters
    ----------
    message : str
        What is wrong, and what is possible.

    Examples
    --------
    >>> import liqdata
    >>> market = liqdata.demo()
    >>> market.close()
    >>> try:
    ...     market.overview()
    ... except liqdata.errors.WrongState as error:
    ...     print(error, isinstance(error, RuntimeError))
    market is closed True
    """

    __slots__ = ()

    def __init__(self, message: str) -> None:
        super().__init__(message)


class NotCovered(UserWarning):
    """Nothing is known of the whole period of an answer: its zeros and missing rows mean unknown, not none.

    It is a warning, shown once for each line that asks. ``meta["covered"]`` of the answer has the covered share, and
    ``meta["data_from"]`` the instant from which on orders are known.

    Examples
    --------
    >>> import warnings
    >>> import liqdata
    >>> with warnings.catch_warnings(record=True, action="always") as seen:
    ...     totals = liqdata.Market().overview()
    >>> seen[0].category.__name__, totals.meta["covered"]
    ('NotCovered', 0.0)
    """


class Defect(LiqdataError, RuntimeError):
    """A bug in this package; any call may raise it.

    The message contains what a bug report needs: the version, the call and what happened.

    Parameters
    ----------
    message : str
        What happened.

    Examples
    --------
    >>> error = Defect("no entry at 7")
    >>> str(error)
    'a bug in liqdata 0.1.0, please report it: no entry at 7'
    >>> isinstance(error, RuntimeError)
    True
    """

    __slots__ = ()  # created by the Rust core for a panic, without attributes

    def __init__(self, message: str) -> None:
        from ._core import __version__

        asked = f"a bug in liqdata {__version__}, please report it: "
        # An error that passed through the Rust core already has the prefix.
        super().__init__(asked + message.removeprefix(asked))

    @property
    def call(self) -> str:
        """The call that raised the error, such as ``Client.heatmap``; empty if unknown."""
        pickled: str | None = self.__dict__.get("_call")
        if pickled is not None:
            return pickled
        step = self.__traceback__
        while step is not None:
            frame = step.tb_frame
            home = f"{frame.f_globals.get('__name__')}."
            if home.startswith("liqdata.") and home != "liqdata.calls.traceback.":
                owner = frame.f_locals.get("self")
                owner = "" if owner is None else f"{type(owner).__name__}."
                return owner + frame.f_code.co_name
            step = step.tb_next
        return ""

    def __str__(self) -> str:
        text, where = super().__str__(), f" (in {self.call})"
        return text + where if self.call and not text.endswith(where) else text

    def __reduce__(self) -> tuple[Any, ...]:
        return _blank, (Defect,), {**self.__dict__, "_call": self.call, "args": self.args}
