#!/usr/bin/env bash
# openapi-generator's Rust client has no place for the nulls of a list of numbers: `Vec<f64>` for items that may be null.
#
# Seen with openapi-generator 7.26.0 (openapi-generator-cli of PyPI) and OpenJDK 17 on CPython 3.11.7, 2026-11-30. A property of
# the type `["number", "null"]` becomes an `Option`, the same type as items of an array does not. A reply with one null in a
# list, such as a series with a gap, is then refused as a whole by `serde`, although the document allows it.
#
# Output seen:
#   level: pub level: Option<f64>,
#   levels: pub levels: Vec<f64>,
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "openapi-generator-cli==7.26.0"
cd "$work"
cat > api.json <<'JSON'
{
  "openapi": "3.1.0",
  "info": {"title": "series", "version": "1"},
  "paths": {},
  "components": {
    "schemas": {
      "Series": {
        "type": "object",
        "required": ["level", "levels"],
        "properties": {
          "level": {"type": ["number", "null"]},
          "levels": {"type": "array", "items": {"type": ["number", "null"]}}
        }
      }
    }
  }
}
JSON
venv/bin/openapi-generator-cli generate -i api.json -g rust -o made --global-property=models >log 2>&1 || { cat log; exit 1; }
level=$(grep -o "pub level: .*" made/src/models/series.rs)
levels=$(grep -o "pub levels: .*" made/src/models/series.rs)
echo "level: $level"
echo "levels: $levels"
if [ "$level $levels" != "pub level: Option<f64>, pub levels: Vec<f64>," ]; then
    echo "this has changed" >&2
    exit 1
fi
