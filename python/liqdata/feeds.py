"""Decoders of exchange messages: they convert raw frames to rows with common columns.

This module opens no connections. ``docs/reference/feeds.md`` lists every exchange, the meaning of its prices and which
liquidations it publishes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from . import _core
from .calls.arguments import instant
from .calls.progress import bar, checked_progress
from .calls.traceback import public_call
from .errors import BadQuery, UnexpectedReply
from .results.rows import Rows

if TYPE_CHECKING:
    from .types import Instant, Instrument, LiquidationRow, Progress

__all__ = ["decode"]

_FIELDS = ("base", "quote", "kind", "contract_size")
_SHAPE = '{native_id: {"base": …, "quote": …, "kind": "linear" or "inverse", "contract_size": …}}, all of it text'


@public_call
def decode(
    exchange: str,
    frame: str | bytes | Sequence[str | bytes],
    *,
    received_at: Instant | Sequence[Instant | None] | None = None,
    instruments: Mapping[str, Instrument] | None = None,
    progress: Progress = False,
) -> Rows[LiquidationRow]:
    """Decode one or many frames of an exchange into liquidation events.

    A frame is a WebSocket message (also gzipped) or the body of a REST reply; its content shows which of the two.
    Acknowledgements, pings, heartbeats, known channels without liquidations and ordinary trades give no rows. Bybit's
    topic ``liquidation``, which Bybit retired in 2025, is still decoded.

    Parameters
    ----------
    exchange : str
        ``binance``, ``bybit``, ``okx``, ``gate``, ``bitget``, ``htx``, ``aster``, ``deribit``, ``kraken``, ``bitmex``,
        ``bitfinex``, ``dydx``, ``coinex``, ``lighter``, ``lighter_rh``, ``pacifica``, ``extended`` or ``orderly``;
        ``gateio``, ``huobi`` and ``myokx`` are aliases. BitMEX closed on 2026-09-23; its past frames are decoded.
    frame : str or bytes, or a sequence of them
        The frame as received. Many frames in one call are decoded several times faster.
    received_at : int, datetime or str, or a sequence of them, optional
        When the frame, or each frame, was received. BitMEX sends no event time, so its rows have this instant as
        ``timestamp``.
    instruments : mapping, optional
        ``{native_id: {"base", "quote", "kind", "contract_size"}}``, all text. ``kind`` is ``"linear"`` (the contract
        size is in base units) or ``"inverse"`` (in USD). Needed where an exchange sends quantities in contracts (OKX,
        Gate, coin-margined contracts of Binance, Bybit and HTX, BitMEX except XBTUSD), for the market names of Lighter,
        and for REST bodies of Bitget, which have quantities in lots. REST bodies of Kraken and dYdX do not name their
        market: pass exactly one instrument.
    progress : bool or callable
        Show a progress bar of many frames (needs tqdm; on a terminal or in a notebook), or call a function with the
        number of frames done and the total (``None`` if unknown).

    Returns
    -------
    Rows
        One row per event, in the order of the frames: ``exchange``, ``symbol``, ``coin``, ``side`` of the liquidated
        position, ``price``, ``price_kind``, ``qty`` (base units), ``value_usd``, ``timestamp``, ``received_at``,
        ``native_id``, ``sampled`` (the exchange does not publish every liquidation), ``dedupe_key`` and ``group_id``.
        ``qty`` and ``value_usd`` are ``None`` if the multiplier of the contract is unknown. ``group_id`` is equal for
        all fills of one order or position, and ``None`` if the exchange does not identify them. ``dedupe_key``
        identifies an event: it is the same if the event arrives again, and differs for events with another time, price,
        quantity, side or id.

    Raises
    ------
    BadQuery
        For an exchange without a decoder, and for ``instruments`` or ``received_at`` of the wrong shape.
    UnexpectedReply
        If a frame does not have a format that the exchange uses, or belongs to an unknown channel, or to a channel of
        liquidations without a decoder, such as a retired one. ``path`` is the place of the error in the frame; for many
        frames it starts with the index of the frame.

    Examples
    --------
    >>> from liqdata import feeds
    >>> frame = '''{"topic": "allLiquidation.SOLUSDT", "type": "snapshot", "ts": 1790000000500, "data": [
    ...     {"T": 1790000000000, "s": "SOLUSDT", "S": "Buy", "v": "2.5", "p": "180.40"}]}'''
    >>> row = feeds.decode("bybit", frame)[0]
    >>> row["side"], row["price_kind"], row["value_usd"]
    ('LONG', 'bankruptcy', Decimal('451'))
    """
    if not isinstance(exchange, str):
        msg = f"exchange: {exchange!r} is not the name of an exchange; allowed: text such as 'binance'"
        raise BadQuery(msg, parameter="exchange")
    checked_progress(progress)
    known = None if instruments is None else _instruments(instruments)
    if isinstance(frame, (list, tuple)):
        frames = [one if type(one) is bytes else _bytes(one) for one in frame]
        times = _times(received_at, len(frames))
        with contextlib.closing(bar(wanted=progress, total=len(frames), what="frames", unit=" frames")) as shown:
            table = _core.decode_all(exchange, frames, times, known, None if progress is False else shown.update)
        return Rows(table, meta={"source": "frames", "exchange": exchange})
    received = None if received_at is None else _time(received_at)
    raw = frame if type(frame) is bytes else _bytes(frame)
    table = _core.decode(exchange, raw, received, known)
    return Rows(table, meta={"source": "frame", "exchange": exchange})


def _times(received_at: Instant | Sequence[Instant | None] | None, count: int) -> list[int | None]:
    """When each frame was received."""
    if received_at is None:
        return []
    if isinstance(received_at, (list, tuple)):
        if len(received_at) != count:
            msg = f"received_at: {len(received_at)} instants for {count} frames; allowed: one for each, or one"
            raise BadQuery(msg, parameter="received_at")
        return [None if one is None else _time(one) for one in received_at]
    return [_time(received_at)] * count


def _time(received_at: Any) -> int | None:
    return instant(received_at, "received_at")


def _bytes(frame: object) -> bytes:
    if isinstance(frame, bytes):
        return frame
    if isinstance(frame, (bytearray, memoryview)):
        return bytes(frame)
    if not isinstance(frame, str):
        msg = f"frame: {type(frame).__name__} is not a frame; allowed: str or bytes, or a list of them"
        raise BadQuery(msg, parameter="frame")
    try:
        return frame.encode()
    except UnicodeEncodeError as error:
        msg = f"the frame: is not text that UTF-8 can encode: {error}"
        raise UnexpectedReply(msg, path="") from error


def _instruments(given: object) -> list[tuple[str, str, str, str, str]]:
    if not isinstance(given, Mapping):
        raise _misshapen(f"{type(given).__name__} is not a mapping")
    return [(_name(native_id), *_fields(native_id, fields)) for native_id, fields in given.items()]


def _name(native_id: object) -> str:
    if isinstance(native_id, str):
        return native_id
    raise _misshapen(f"{native_id!r} is not the text of a native id")


def _fields(native_id: str, fields: Any) -> tuple[str, str, str, str]:
    if not isinstance(fields, Mapping):
        raise _misshapen(f"{native_id!r}: {type(fields).__name__} is not a mapping")
    base, quote, kind, size = (_field(native_id, fields, name) for name in _FIELDS)
    return base, quote, kind, size


def _field(native_id: str, fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if isinstance(value, str):
        return value
    if name == "contract_size" and isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return str(value)
    what = "is missing" if value is None else f"{value!r} is no text"
    raise _misshapen(f"{native_id!r}: {name} {what}")


def _misshapen(what: str) -> BadQuery:
    return BadQuery(f"instruments: {what}; allowed: {_SHAPE}", parameter="instruments")
