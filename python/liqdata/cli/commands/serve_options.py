"""The options of ``liqdata serve``: from the command line, and from a file."""

from __future__ import annotations

import os
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from liqdata.errors import BadQuery
from liqdata.server import Limits, limits_of

# By the names of the file, which are those of the command line.
_KINDS: dict[str, type] = {
    "host": str,
    "port": int,
    "public": bool,
    "access_log": bool,
    "token_file": str,
    "certificate": str,
    "key": str,
    "allow_host": list,
    "origin": list,
    "limit": dict,
    "trusted_proxy": list,
}
_TOML = {str: "text", int: "a whole number", bool: "true or false", list: "a list of texts", dict: "a table"}


def options(given: dict[str, Any]) -> dict[str, Any]:
    """What :func:`liqdata.serve` is told.

    Parameters
    ----------
    given : dict
        The options of the command line; those that are left out are ``None`` or empty.

    Returns
    -------
    dict
        Its keyword arguments.
    """
    told = _read(given["config"]) if given["config"] else {}
    limits: dict[str, object] = dict(told.pop("limit", {}))
    for name in _KINDS:
        value = given[name]
        if value is None or value == ():
            continue
        if name == "limit":
            limits |= dict(_limit(text) for text in value)
        else:
            told[name] = value
    if proxies := told.pop("trusted_proxy", None):
        limits["trusted_proxies"] = proxies
    certificate, key = told.pop("certificate", None), told.pop("key", None)
    if (certificate is None) != (key is None):
        missing = "certificate" if certificate is None else "key"
        msg = f"{missing}: TLS needs both; name the certificate chain and its private key (--certificate, --key)"
        raise BadQuery(msg, parameter=missing)
    file = told.pop("token_file", None)
    # Before a collector or a market is begun that a file nobody can read would end.
    for name, path in (("token-file", file), ("certificate", certificate), ("key", key)):
        _readable(name, path)
    return {
        "host": told.get("host", "127.0.0.1"),
        "port": told.get("port", 0),
        "public": told.get("public", False),
        "access_log": told.get("access_log", False),
        "token": Path(file) if file is not None else None,
        "tls": (certificate, key) if certificate is not None else None,
        "hosts": told.get("allow_host", ()),
        "origins": told.get("origin", ()),
        "limits": limits_of(limits),
    }


def token(name: str) -> tuple[str, str]:
    """A new token, and the line that stands for it in a file.

    Parameters
    ----------
    name : str
        Whose it is.

    Returns
    -------
    tuple of str
        The token, which is not kept anywhere, and the line.
    """
    import hashlib
    import secrets

    if not name.isprintable():
        msg = f"name: {name!r} is not allowed; allowed: one line of visible characters"
        raise BadQuery(msg, parameter="name")
    made = secrets.token_urlsafe(32)
    digest = f"sha256:{hashlib.sha256(made.encode()).hexdigest()}"
    return made, f"{digest}  # {name}" if name else digest


def added(file: Path, line: str) -> None:
    """Add a line to a file of tokens; a new file is for its owner's eyes alone.

    Parameters
    ----------
    file : Path
        The file. What stands in it stays.
    line : str
        What :func:`token` returned.
    """
    if not file.parent.is_dir():
        msg = f"add: there is no folder {file.parent} for {file}; allowed: a file in a folder that is there"
        raise BadQuery(msg, parameter="add")
    with os.fdopen(os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "r+b") as kept:
        before = kept.read()
        # A last line without its end would swallow this one.
        begin = "" if not before or before.endswith(b"\n") else "\n"
        kept.write(f"{begin}{line}\n".encode())


def _readable(name: str, file: str | Path | None) -> None:
    if file is None:
        return
    try:
        Path(file).open("rb").close()
    except OSError as error:
        msg = f"{name}: {file} cannot be read: {error.strerror}; allowed: a file of this machine"
        raise BadQuery(msg, parameter=name.replace("-", "_")) from None


def _read(file: Path) -> dict[str, Any]:
    """The options of a file; paths in it are relative to its folder."""
    try:
        told = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        msg = f"config: {file} cannot be read: {error.strerror}; allowed: a file of TOML"
        raise BadQuery(msg, parameter="config") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"config: {file} is no TOML in UTF-8: {error}"
        raise BadQuery(msg, parameter="config") from None
    for name, value in told.items():
        kind = _KINDS.get(name)
        if kind is None:
            msg = f"config: {file}: {name!r} is no option of a server; allowed: {', '.join(_KINDS)}"
            raise BadQuery(msg, parameter="config")
        if type(value) is not kind:
            msg = f"config: {file}: {name}: {value!r} is not allowed; allowed: {_TOML[kind]}"
            raise BadQuery(msg, parameter="config")
    for name in ("token_file", "certificate", "key"):
        if name in told:
            told[name] = file.parent / told[name]
    return told


def _limit(text: str) -> tuple[str, object]:
    """One ``NAME=VALUE``."""
    name, sign, value = text.partition("=")
    kinds = {field.name: field.type for field in fields(Limits) if field.name != "trusted_proxies"}
    if not sign or name not in kinds:
        msg = f"limit: {text!r} is not allowed; allowed: NAME=VALUE with a name out of {', '.join(kinds)}"
        raise BadQuery(msg, parameter="limit")
    try:
        return name, int(value) if kinds[name] == "int" else float(value)
    except ValueError:
        msg = f"limit: {name}: {value!r} is no number; allowed: such as {name}={getattr(Limits(), name)}"
        raise BadQuery(msg, parameter="limit") from None
