"""Questions of markets on this machine that no endpoint has: their sentences and what their parameters mean."""

from __future__ import annotations

LOCAL = {
    "coverage": "who was listened to, exchange by exchange, and how much of the time",
    "gaps": "the stretches of time in which orders were missed",
    "bars": "price bars of a coin",
    "open_interest": "readings of a coin's open interest",
    "maps": "estimated maps as they were served",
}
