"""What can go wrong, as classes: every error of this package is a :class:`LiqdataError`.

Each class is also the builtin that a caller would reach for (``ValueError``, ``ConnectionError``, ``TimeoutError``,
``OSError``), carries what a program needs to decide what to do next, and pickles with everything it carries.
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
    "Refused",
    "TooSlow",
    "UnexpectedReply",
]


_E = TypeVar("_E", bound="LiqdataError")


def _blank(kind: type[_E]) -> _E:
    """Give an error that pickle fills: the constructors take keywords, which the default would not pass."""
    return kind.__new__(kind)


class LiqdataError(Exception):
    r"""Root of every error of this package; never raised itself.

    What steers a terminal or would begin another line stands in the message and in the notes as an escape, such as
    ``\\x1b``: a part of them may come from a service. Of a long message the beginning and the end are told, and how
    much stood between them. The other attributes are as they came.

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

    __slots__ = ()  # every exception has room for attributes

    def __init__(self, message: str) -> None:
        super().__init__(printable(shortened(message)))

    def add_note(self, note: str, /) -> None:
        """Add a note, as of any exception, shown as the message is.

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
    """A question outside the contract, refused before any input or output.

    Parameters
    ----------
    message : str
        What is wrong, with the value and what is allowed.
    parameter : str
        Name of the parameter at fault; ``orders``, ``bars`` or ``open_interest`` for a table.

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
    """Nobody answered: name look-up, refused or reset connection, TLS, a truncated body, after all retries.

    The chain of causes stands in the notes (``error.__notes__``), outermost first.

    Parameters
    ----------
    message : str
        What failed, and how often it was tried.

    Examples
    --------
    >>> import liqdata
    >>> with liqdata.Client("http://127.0.0.1:1", retries=0) as client:  # nobody listens there
    ...     try:
    ...         client.overview()
    ...     except ConnectionError as error:
    ...         print(type(error).__name__)
    NoAnswer
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)


class TooSlow(NoAnswer, TimeoutError):
    """The deadline of the call passed; it covers every retry and every wait between them.

    Parameters
    ----------
    message : str
        What was being waited for.
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
    """The service answered, and the answer is no.

    An HTTP status of 400 or above, a redirect that is not followed, or ``success: false``. In-process markets raise
    it too: 404 for a symbol that has no estimate, 400 for bars too coarse for the range or for the length asked for.

    Parameters
    ----------
    message : str
        The service's reason in one line.
    status : int
        HTTP status; 200 for ``success: false``.
    body : str
        The first 2 kB of the body.
    retry_after : float or None
        Seconds after which the service wants to be asked again, where it said so.

    Examples
    --------
    >>> import liqdata
    >>> try:
    ...     liqdata.demo().heatmap("BTC", as_of="2020-01-01")  # there are no bars of then
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
    """The answer breaks the contract, so no number is taken from it.

    Parameters
    ----------
    message : str
        What was found and what the contract says.
    path : str
        Where in the reply, such as ``data[3].price``; empty for the body as a whole.

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
    """An archive that cannot be opened, is locked by another writer, or is damaged.

    Parameters
    ----------
    message : str
        What is wrong.
    path : str
        The archive, or the file in it.

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


class Defect(LiqdataError, RuntimeError):
    """A bug of this package: no question should lead to it, and nothing asked is at fault.

    Its text has what a report needs: the version, the call and what happened.

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

    __slots__ = ()  # a panic of the native half becomes one, which has no room for more

    def __init__(self, message: str) -> None:
        from ._core import __version__

        asked = f"a bug in liqdata {__version__}, please report it: "
        # One that passed through a function called by the native half comes with its text.
        super().__init__(asked + message.removeprefix(asked))

    @property
    def call(self) -> str:
        """The call that ended in it, as far as that is known; such as ``Client.heatmap``."""
        kept: str | None = self.__dict__.get("_call")
        if kept is not None:
            return kept
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
        said, where = super().__str__(), f" (in {self.call})"
        return said + where if self.call and not said.endswith(where) else said

    def __reduce__(self) -> tuple[Any, ...]:
        return _blank, (Defect,), {**self.__dict__, "_call": self.call, "args": self.args}
