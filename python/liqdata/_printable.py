"""Text of others, fit to be shown: what steers a terminal or begins a line of its own is written out as an escape."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str) -> str:
    r"""Give a text as it may be shown, in a message, a log, a table or a repr.

    Parameters
    ----------
    text : str
        A text that a service, an exchange or a file may have made.

    Returns
    -------
    str
        The same where every character can be printed. Control characters, line ends, marks that turn the direction of
        writing and the like are their escapes, such as ``\x1b``.

    Examples
    --------
    >>> printable("BTC\x1b[2J\nERROR"), printable("¥ 10 – fine")
    ('BTC\\x1b[2J\\nERROR', '¥ 10 – fine')
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def _escaped(each: str) -> str:
    return each.encode("unicode_escape").decode("ascii")
