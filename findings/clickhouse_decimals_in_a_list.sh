#!/usr/bin/env bash
# ClickHouse misses exact prices that are in a list after `IN`, though `=` finds each, and multiplies two such columns to a wrong number.
#
# Seen with chdb 4.4.0 (ClickHouse 26.9.2) on CPython 3.11.7, 2026-11-30. `=` compares a bare number of SQL well. The numbers of
# a list after `IN` are doubles, and those that are not the same as a decimal are dropped without a word. In quotes the numbers
# of a list are exact. Products and quotients of `Decimal(38, 18)` overflow without an error
# (the documentation says so of 128 bits, while smaller decimals raise): 300000 times 2 is 82.18.
#
# Output seen:
#   0.1 to 99.9 by one IN: 697 of 999; with =: 999; IN with quotes: 999
#   300000 * 2: 82.187118385488914070567097792643203072
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "chdb==4.4.0"
cd "$work"
venv/bin/python - <<'PYTHON'
import sys

import chdb


def asked(query):
    return str(chdb.query(query, "CSV")).strip().strip('"')


prices = [f"{number // 10}.{number % 10}" for number in range(1, 1000)]
rows = "(SELECT toDecimal128(toDecimal64(number, 1) / 10, 18) AS price FROM numbers(1, 999))"
lists = ", ".join(prices), ", ".join(f"'{price}'" for price in prices)
found = [int(asked(f"SELECT count() FROM {rows} WHERE price IN ({one_list})")) for one_list in lists]
equal = int(asked(f"SELECT countIf({' OR '.join(f'price = {price}' for price in prices)}) FROM {rows}"))
print(f"0.1 to 99.9 by one IN: {found[0]} of 999; with =: {equal}; IN with quotes: {found[1]}")
product = asked("SELECT toDecimal128('300000', 18) * toDecimal128('2', 18)")
print("300000 * 2:", product)
expected = ([697, 999], 999, "82.187118385488914070567097792643203072")
sys.exit(0 if (found, equal, product) == expected else "this has changed")
PYTHON
