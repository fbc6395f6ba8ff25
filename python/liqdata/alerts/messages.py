"""The text of an alert, and the body of a webhook: JSON, or a message of Telegram, Discord or Slack."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from liqdata.errors import BadQuery
from liqdata.symbols import parse
from liqdata.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .delivery import Event

__all__ = ["FORMATS", "Format", "described", "format_of", "line_of", "words_of"]


class Format(NamedTuple):
    """A kind of receiver.

    Parameters
    ----------
    name : str
        Name of the format.
    pause : float
        Least time between two messages, in seconds.
    most : int
        Most characters of a message; 0 means one alert per message.
    """

    name: str
    pause: float
    most: int

    def body(self, alerts: Sequence[Event], chat: str | None) -> bytes:
        """The body of one message with these alerts."""
        if self.name == "json":
            return json.dumps(alerts[0], default=str, allow_nan=False).encode()
        # No text of an exchange becomes a mention, a link or markup.
        text = "\n".join(line_of(alert, _without_markdown if self.name == "discord" else str) for alert in alerts)
        if self.name == "slack":
            text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        if len(text) > self.most:
            text = f"{text[: self.most - 1]}…"
        made: dict[str, Any]
        if self.name == "telegram":
            made = {"chat_id": chat, "text": text, "link_preview_options": {"is_disabled": True}}
        elif self.name == "discord":
            made = {"content": text, "allowed_mentions": {"parse": []}}
        else:
            made = {"text": text, "mrkdwn": False, "unfurl_links": False}
        return json.dumps(made).encode()


# Telegram: 20 messages a minute to a group. Discord: 30 a minute per channel. Slack: one a second.
FORMATS = {
    "json": Format("json", 0.0, 0),
    "telegram": Format("telegram", 3.0, 4096),
    "discord": Format("discord", 2.0, 2000),
    "slack": Format("slack", 1.0, 4000),
}

_HOSTS = {
    "api.telegram.org": "telegram",
    "discord.com": "discord",
    "discordapp.com": "discord",
    "hooks.slack.com": "slack",
}


def format_of(webhook: str, name: str | None) -> tuple[Format, str, str | None]:
    """The format of a webhook, the address to post to, and the chat of Telegram.

    Parameters
    ----------
    webhook : str
        A checked address.
    name : str, optional
        Name of the format; by default the format of the service at the host of the address.

    Returns
    -------
    tuple
        Format, address, chat.

    Raises
    ------
    BadQuery
        For an unknown format, and for an address of Telegram without a chat.

    Examples
    --------
    >>> format, address, chat = format_of("https://api.telegram.org/bot1:a/sendMessage?chat_id=-7", None)
    >>> format.name, address, chat
    ('telegram', 'https://api.telegram.org/bot1:a/sendMessage', '-7')
    """
    if name is not None and name not in FORMATS:
        msg = f"format: {name!r} is not allowed; allowed: {', '.join(FORMATS)}"
        raise BadQuery(msg, parameter="format")
    parts = urlsplit(webhook)
    format_ = FORMATS[name or _HOSTS.get(parts.hostname or "", "json")]
    if format_.name != "telegram":
        return format_, webhook, None
    query = parse_qsl(parts.query)
    chat = next((value for key, value in query if key == "chat_id"), None)
    if not chat:
        msg = (
            "webhook: an address of Telegram needs a chat; allowed: https://api.telegram.org/bot…/sendMessage?chat_id=…"
        )
        raise BadQuery(msg, parameter="webhook")
    rest = urlencode([(key, value) for key, value in query if key != "chat_id"])
    return format_, urlunsplit(parts._replace(query=rest)), chat


def described(alert: Event, page: str | None) -> Event:
    """An alert with its ``text``, and with a ``link`` to the live page if its address is known.

    Parameters
    ----------
    alert : dict
        The alert.
    page : str, optional
        Address of the live page.

    Returns
    -------
    dict

    Examples
    --------
    >>> alert = {"alert": "coverage", "basis": "measured", "exchange": "okx", "connected_share": 0.96, "timestamp": 0}
    >>> described(alert, "https://data.example.org")["link"]
    'https://data.example.org/#panel=coverage'
    """
    made = {**alert, "text": words_of(alert)}
    if page is not None:
        made["link"] = f"{page.rstrip('/')}/#{_fragment(alert)}"
    return made


def _fragment(alert: Event) -> str:
    """What the live page shows of an alert."""
    kind = alert.get("alert", "cascade")
    if kind == "coverage":
        return "panel=coverage"
    coin = alert["coin"] if "coin" in alert else _coin(str(alert["symbol"]))
    # Clusters are those of the map of seven days.
    return f"symbol={quote(str(coin), safe='')}&range={'7d' if kind == 'cluster' else '24h'}"


def _coin(symbol: str) -> str:
    try:
        return parse(symbol).coin or symbol
    except BadQuery:
        return symbol


def line_of(alert: Event, escape: Callable[[str], str] = str) -> str:
    """The line of an alert in a message, with its link, which ``escape`` leaves as it is."""
    link = alert.get("link")
    return escape(words_of(alert)) + (f" {link}" if link else "")


def words_of(alert: Event) -> str:
    """One line about an alert, which ends with its basis.

    Parameters
    ----------
    alert : dict
        The alert.

    Returns
    -------
    str

    Examples
    --------
    >>> words_of({"alert": "coverage", "basis": "measured", "exchange": "okx", "connected_share": 0.96, "timestamp": 0})
    'okx: coverage lost, 96.0 % of the last hour connected [measured]'
    """
    kind = alert.get("alert", "cascade")
    basis = ", simulated" if alert.get("simulated") else ""
    basis = f"[{alert.get('basis', 'realised')}{basis}]"
    if kind == "coverage":
        if alert.get("exchange") is None:
            return printable(f"no answer from the source: {alert['error']} {basis}")
        share = f"{100 * alert['connected_share']:.1f} % of the last hour connected"
        return printable(f"{alert['exchange']}: coverage lost, {share} {basis}")
    side = f"{str(alert['side']).lower()}s"
    if kind == "order":
        amount = _usd(alert["value_usd"])
        return printable(
            f"{alert['symbol']}: {side[:-1]} of {amount} USD liquidated on {alert['exchange']} at {alert['price']}, "
            f"{_at(alert['timestamp'])} {basis}"
        )
    if kind == "cluster":
        where = f"{alert['low_price']:,.6g} to {alert['high_price']:,.6g}, {_usd(alert['usd'])} USD"
        how = "is near" if alert["state"] == "near" else "went through"
        far = f", {abs(alert['distance']):.2f} % away" if alert.get("distance") else ""
        return printable(
            f"{alert['coin']}: the price {alert['price']:,.6g} {how} a cluster of {side}, {where}{far} {basis}"
        )
    orders = f"{alert['cnt']} orders, {alert['exchanges']} exchanges"
    return printable(
        f"{alert['coin']}: cascade of {side}, {_usd(alert['usd'])} USD, {orders}, since {_at(alert['start'])}, "
        f"{alert['state']} {basis}"
    )


def _usd(value: Any) -> str:
    from liqdata.cli.output.table import amount

    return amount(value)


def _at(millis: int) -> str:
    return f"{datetime.fromtimestamp(millis / 1000, UTC):%H:%M:%S} UTC"


def _without_markdown(text: str) -> str:
    return "".join(f"\\{one}" if one in "\\*_~`|>#[]()" else one for one in text)
