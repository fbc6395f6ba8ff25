"""Printable text: escapes control characters in text from outside, and shortens long messages."""

from __future__ import annotations

__all__ = ["counted", "printable", "shortened"]

# Maximum number of characters of a message, and how many remain at the beginning and the end of a longer one. Errors of
# this package with a part of a reply are shorter.
_MOST, _BEGIN, _END = 1000, 700, 250
# The text between the error and the list of allowed values, and the maximum length of this list.
_ALLOWED = "; allowed: "
_LIST = 4000


def printable(text: str) -> str:
    r"""Escape characters that cannot be printed.

    Parameters
    ----------
    text : str
        Text that may come from a service, an exchange or a file.

    Returns
    -------
    str
        The text with control characters, line ends, direction marks and the like as escapes, such as ``\x1b``.

    Examples
    --------
    >>> printable("BTC\x1b[2J\nERROR"), printable("¥ 10 – fine")
    ('BTC\\x1b[2J\\nERROR', '¥ 10 – fine')
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def counted(count: int, what: str) -> str:
    """Format a count with its noun.

    Parameters
    ----------
    count : int
        The count.
    what : str
        The noun in the singular.

    Returns
    -------
    str
        The count and the noun, in the plural unless the count is 1.

    Examples
    --------
    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def shortened(message: str) -> str:
    r"""Shorten a message in the middle.

    Parameters
    ----------
    message : str
        The error with the wrong value; a list of allowed values may follow.

    Returns
    -------
    str
        The message, or its beginning and end with the number of characters between them. Shortening twice has no
        further effect.

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
