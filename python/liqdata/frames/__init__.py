"""Tables of pandas, polars and Arrow: as-of joins, prices that callers pass, import order."""
