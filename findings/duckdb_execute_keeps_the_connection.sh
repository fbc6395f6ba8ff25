#!/usr/bin/env bash
# After `execute(…).fetchone()` DuckDB 2 refuses `sql(…)` on the same connection, also on the connection of the module.
#
# Seen with duckdb 2.0.1 on CPython 3.11.7, 2026-11-30. One row of an answer with one row was read, as `SELECT count(*)` is usually
# asked. The result counts as unfinished until a fetch has returned nothing, and other work on the connection is refused, although
# another `execute` is allowed. Code for DuckDB 1 that mixes both calls fails at a place that has nothing to do with the cause.
# `fetchall()` instead of `fetchone()` ends the result.
#
# Output seen:
#   execute after fetchone: (2,)
#   sql after fetchone: ResourceInUseException
#   sql after fetchall: [(3,)]
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "duckdb==2.0.1"
cd "$work"
venv/bin/python - <<'PYTHON'
import sys

import duckdb


def sql(query):
    try:
        return str(duckdb.sql(query).fetchall())
    except duckdb.Error as error:
        return type(error).__name__


duckdb.execute("SELECT count(*) FROM range(3)").fetchone()
again = duckdb.execute("SELECT 2").fetchone()
print("execute after fetchone:", again)
refused = sql("SELECT 3")
print("sql after fetchone:", refused)
duckdb.execute("SELECT count(*) FROM range(3)").fetchall()
taken = sql("SELECT 3")
print("sql after fetchall:", taken)
sys.exit(0 if (again, refused, taken) == ((2,), "ResourceInUseException", "[(3,)]") else "this has changed")
PYTHON
