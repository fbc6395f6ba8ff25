"""Text of others, fit to be shown: what steers a terminal or begins a line of its own is written out as an escape."""

from __future__ import annotations

__all__ = ["counted", "printable", "shortened"]

# The most characters of what is said, and how many of its beginning and of its end are left of what is longer. What
# libraries say of a failure, with the body that a service sent, has room.
_MOST, _BEGIN, _END = 1000, 700, 250
# What may stand behind it: a list of what is allowed.
_ALLOWED = "; allowed: "
_LIST = 4000


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


def counted(count: int, what: str) -> str:
    """Give so many of what is named by its singular.

    Parameters
    ----------
    count : int
        How many there are.
    what : str
        What one of them is called.

    Returns
    -------
    str
        The number and the name, in the plural but for one.

    Examples
    --------
    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def shortened(message: str) -> str:
    r"""Give a message at a length that can be read, whatever value somebody gave is told in it.

    Parameters
    ----------
    message : str
        What is wrong, with the value; what is allowed may follow.

    Returns
    -------
    str
        The same, but a long one's beginning and end with how many characters stood between them. Done twice it is as
        done once.

    Examples
    --------
    >>> shortened("symbol: " + 2_000 * "x" + " is no coin; allowed: a coin")
    'symbol: xxx...xxx… (1069 more characters) …xxx...xxx is no coin; allowed: a coin'
    """
    if len(message) <= _MOST:
        return message
    said, colon, allowed = message.rpartition(_ALLOWED)
    if not colon:
        said, allowed = message, ""
    return _ends(said, _MOST, _BEGIN, _END) + colon + _ends(allowed, _LIST, _LIST // 2, _LIST // 4)


def _ends(text: str, most: int, begin: int, end: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:begin]}… ({len(text) - begin - end} more characters) …{text[-end:]}"


def _escaped(each: str) -> str:
    return each.encode("unicode_escape").decode("ascii")
