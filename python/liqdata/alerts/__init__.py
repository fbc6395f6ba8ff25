"""Alerts: messages about large cascades and orders, clusters near the price, and lost coverage.

:func:`watch` polls a source and sends an alert for each :class:`Rule` that applies to each :class:`Sender`. The command
``liqdata watch`` does the same. The guide *Watch with an alert* has the services, their formats and the signature.

Examples
--------
>>> from liqdata import alerts
>>> rules = [alerts.Rule("cascade", 5_000_000, symbol="BTC"), alerts.Rule("coverage")]
>>> alerts.Sender(webhook="https://hooks.slack.com/services/T0/B0/secret")
Sender(webhook of hooks.slack.com, slack)
"""

from __future__ import annotations

from .polling import watch
from .rule import Rule
from .sender import Sender

__all__ = ["Rule", "Sender", "watch"]
