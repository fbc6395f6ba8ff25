"""Features of a market at decision instants, and the check that a table of features looks at nothing later."""

from __future__ import annotations

from .lookahead import Lookahead, assert_no_lookahead, check_lookahead

__all__ = ["Lookahead", "assert_no_lookahead", "check_lookahead"]
