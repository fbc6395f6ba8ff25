"""The options of ``liqdata serve``: from the command line, and from a file."""

from __future__ import annotations

import os
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from liqdata.errors import BadQuery
from liqdata.files.safe_open import check_plain, read_text
from liqdata.server import Limits, limits_of

# Types of the options in the TOML file, by name.
_KINDS: dict[str, type] = {
    "host": str,
    "port": int,
    "public": bool,
    "access_log": bool,
    "page": bool,
    "open": bool,
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
    """Build the arguments of :func:`liqdata.serve`.

    Parameters
    ----------
    given : dict
        The options of the command line; absent ones are ``None`` or empty.

    Returns
    -------
    dict
        Keyword arguments of :func:`liqdata.serve`.
    """
    settings = _read(given["config"]) if given["config"] else {}
    limits: dict[str, object] = dict(settings.pop("limit", {}))
    for name in _KINDS:
        value = given[name]
        if value is None or value == ():
            continue
        if name == "limit":
            limits |= dict(_limit(text) for text in value)
        else:
            settings[name] = value
    if proxies := settings.pop("trusted_proxy", None):
        limits["trusted_proxies"] = proxies
    certificate, key = settings.pop("certificate", None), settings.pop("key", None)
    if (certificate is None) != (key is None):
        missing = "certificate" if certificate is None else "key"
        msg = f"{missing}: TLS needs both; name the certificate chain and its private key (--certificate, --key)"
        raise BadQuery(msg, parameter=missing)
    file = settings.pop("token_file", None)
    # Check the files before a collector or a market starts.
    for name, path in (("token-file", file), ("certificate", certificate), ("key", key)):
        _readable(name, path)
    return {
        "host": settings.get("host", "127.0.0.1"),
        "port": settings.get("port", 0),
        "public": settings.get("public", False),
        "access_log": settings.get("access_log", False),
        "page": settings.get("page", True),
        "open": settings.get("open", False),
        "token": Path(file) if file is not None else None,
        "tls": (certificate, key) if certificate is not None else None,
        "hosts": settings.get("allow_host", ()),
        "origins": settings.get("origin", ()),
        "limits": limits_of(limits),
    }


def token(name: str) -> tuple[str, str]:
    """Create a token and its line for the token file.

    Parameters
    ----------
    name : str
        Owner of the token.

    Returns
    -------
    tuple of str
        The token, which is not stored anywhere, and its line for the token file.
    """
    import hashlib
    import secrets

    if not name.isprintable():
        msg = f"name: {name!r} is not allowed; allowed: one line of visible characters"
        raise BadQuery(msg, parameter="name")
    made = secrets.token_urlsafe(32)
    digest = f"sha256:{hashlib.sha256(made.encode()).hexdigest()}"
    return made, f"{digest}  # {name}" if name else digest


def append_token(file: Path, line: str) -> None:
    """Append a line to a token file; a new file is readable only by its owner.

    Parameters
    ----------
    file : Path
        The token file.
    line : str
        The line from :func:`token`.
    """
    if not file.parent.is_dir():
        msg = f"add: there is no folder {file.parent} for {file}; allowed: a file in an existing folder"
        raise BadQuery(msg, parameter="add")
    if file.exists():
        check_plain(file)
    with os.fdopen(os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "r+b") as tokens:
        before = tokens.read()
        # If the file does not end with a line break, add one first.
        begin = "" if not before or before.endswith(b"\n") else "\n"
        tokens.write(f"{begin}{line}\n".encode())


def _readable(name: str, file: str | Path | None) -> None:
    if file is None:
        return
    try:
        check_plain(file)
        Path(file).open("rb").close()
    except OSError as error:
        msg = f"{name}: {file} cannot be read: {error.strerror}; allowed: a file of this machine"
        raise BadQuery(msg, parameter=name.replace("-", "_")) from None


def _read(file: Path) -> dict[str, Any]:
    """Read the options in a TOML file; paths in the file are relative to its folder."""
    try:
        settings = tomllib.loads(read_text(file))
    except OSError as error:
        msg = f"config: {file} cannot be read: {error.strerror}; allowed: a file of TOML"
        raise BadQuery(msg, parameter="config") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"config: {file} is not TOML in UTF-8: {error}"
        raise BadQuery(msg, parameter="config") from None
    for name, value in settings.items():
        kind = _KINDS.get(name)
        if kind is None:
            msg = f"config: {file}: {name!r} is not an option of a server; allowed: {', '.join(_KINDS)}"
            raise BadQuery(msg, parameter="config")
        if type(value) is not kind:
            msg = f"config: {file}: {name}: {value!r} is not allowed; allowed: {_TOML[kind]}"
            raise BadQuery(msg, parameter="config")
    for name in ("token_file", "certificate", "key"):
        if name in settings:
            settings[name] = file.parent / settings[name]
    return settings


def _limit(text: str) -> tuple[str, object]:
    """Parse a limit such as ``NAME=VALUE``."""
    name, sign, value = text.partition("=")
    kinds = {field.name: field.type for field in fields(Limits) if field.name != "trusted_proxies"}
    if not sign or name not in kinds:
        msg = f"limit: {text!r} is not allowed; allowed: NAME=VALUE with one of the names {', '.join(kinds)}"
        raise BadQuery(msg, parameter="limit")
    try:
        return name, float(value) if kinds[name] == "float" else int(value)
    except ValueError:
        allowed = "a number of seconds" if kinds[name] == "float" else "a whole number"
        msg = f"limit: {name}: {value!r} is not a number; allowed: {allowed}"
        raise BadQuery(msg, parameter="limit") from None
