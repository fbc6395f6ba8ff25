#!/usr/bin/env bash
# PyO3's Display swallows a Ctrl-C: `name.to_string()` of a Python str can be "<unprintable str object>".
#
# Seen with pyo3 0.30.1 and CPython 3.11.7, 2026-11-29. CPython's PyObject_Str handles pending signals before it looks
# at the object (Objects/object.c), so `str` of an exact str can raise KeyboardInterrupt. PyO3's Display calls it, writes
# the error to sys.unraisablehook, and goes on with a placeholder. A Rust extension that reads the names of columns with
# `to_string()` then reports a column as missing, and the interrupt is lost. `str()?` and `to_string_lossy()` keep it.
#
# Output seen:
#   Exception ignored in: 'side'
#   KeyboardInterrupt
#   to_string: <unprintable str object>, interrupted: False
#   str()?: interrupted: True
#   to_string_lossy: interrupted: True
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
cat > "$work/Cargo.toml" <<'TOML'
[package]
name = "shown"
version = "0.0.0"
edition = "2024"

[lib]
crate-type = ["cdylib"]

[dependencies]
pyo3 = { version = "=0.30.1", features = ["abi3-py311"] }
libc = "=0.2.177"
TOML
cat > "$work/src/lib.rs" <<'RUST'
use pyo3::prelude::*;
use pyo3::types::PyString;

fn interrupt() {
    // SAFETY: the handler is CPython's own, which only notes the signal.
    unsafe { libc::raise(libc::SIGINT) };
}

#[pymodule]
mod shown {
    use super::*;

    #[pyfunction]
    fn by_display(text: &Bound<'_, PyAny>) -> String {
        interrupt();
        text.to_string()
    }

    #[pyfunction]
    fn by_str(text: &Bound<'_, PyAny>) -> PyResult<String> {
        interrupt();
        Ok(text.str()?.to_string_lossy().into_owned())
    }

    #[pyfunction]
    fn by_lossy(text: &Bound<'_, PyString>) -> String {
        interrupt();
        text.to_string_lossy().into_owned()
    }
}
RUST
(cd "$work" && CARGO_TARGET_DIR=target PYO3_BUILD_EXTENSION_MODULE=1 cargo build --quiet)
cp "$work/target/debug/libshown.so" "$work/shown.so"

cd "$work"
python3 - <<'PYTHON'
import sys

import shown


def seen(read):
    """What it returns, and whether the interrupt gets out."""
    text = None
    try:
        text = read("side")
        for _ in range(3):
            pass
    except KeyboardInterrupt:
        return text, True
    return text, False


text, interrupted = seen(shown.by_display)
print(f"to_string: {text}, interrupted: {interrupted}")
_, interrupted_str = seen(shown.by_str)
print(f"str()?: interrupted: {interrupted_str}")
_, interrupted_lossy = seen(shown.by_lossy)
print(f"to_string_lossy: interrupted: {interrupted_lossy}")
as_seen = (text, interrupted, interrupted_str, interrupted_lossy) == ("<unprintable str object>", False, True, True)
sys.exit(0 if as_seen else "this has changed")
PYTHON
