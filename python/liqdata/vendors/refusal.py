"""Refusals of vendors: the code in the body is read first, whatever the HTTP status is."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from liqdata.errors import LiqdataError, Refused, UnexpectedReply

from .reply import Get, Node, Reply, parsed

if TYPE_CHECKING:
    from collections.abc import Callable

    from .service import Access, Flow

_SMALL = 4096  # bytes; a larger body is data
_PLAN = re.compile(r"upgrade|plan|level|subscri|permission|access denied|vip|quota", re.IGNORECASE)
_KEY = re.compile(r"key|unauthori[sz]ed|auth\b|token|credential|login", re.IGNORECASE)
_EXCERPT = 2048
_NO_PATH, _TOO_MANY, _PAYMENT, _SERVER_ERROR = 404, 429, 402, 500
_KIND = "_kind"


def get(
    access: Access,
    request: Get,
    verdict: Callable[[Node], tuple[str, str] | None],
    plan: Callable[[], Flow[str]] | None = None,
) -> Flow[Reply]:
    """Send a request; a refusal becomes :class:`~liqdata.Refused` that says what it would need.

    Parameters
    ----------
    access : Access
        The vendor.
    request : Get
        The request.
    verdict : callable
        The code and the reason in a body that refuses, else ``None``.
    plan : callable, optional
        A question for the plan of the key, which is asked after a refusal for the plan only.
    """
    try:
        reply = yield request
    except Refused as error:
        body = _json(error.body)
        said = verdict(body) if body is not None else None
        code, reason = said or ("", "")
        raise (
            yield from _refused(
                access, request, status=error.status, code=code, reason=reason, body=error.body, plan=plan, error=error
            )
        ) from None
    if len(reply.body) <= _SMALL and (body := _json(reply.body)) is not None:
        said = verdict(body)
        if said is not None:
            text = reply.body[:_EXCERPT].decode("utf-8", "replace")
            raise (
                yield from _refused(
                    access, request, status=reply.status, code=said[0], reason=said[1], body=text, plan=plan, error=None
                )
            )
    return reply


def _json(body: str | bytes) -> Node | None:
    try:
        return parsed(body.encode() if isinstance(body, str) else body)
    except UnexpectedReply:
        return None


def _refused(
    access: Access,
    request: Get,
    *,
    status: int,
    code: str,
    reason: str,
    body: str,
    plan: Callable[[], Flow[str]] | None,
    error: Refused | None,
) -> Flow[Refused]:
    """The error for a refusal."""
    kind = kind_of(status, code, reason)
    if kind == "other" and error is not None:
        return error
    stated = f"{json.dumps(reason)} (HTTP {status}{f', code {code}' if code else ''})"
    what = {
        "plan": "the plan of the key is too small",
        "key": "the key is missing, wrong or expired",
        "either": "the key is wrong, or its plan is too small",
        "path": "the service has no such path; this is not a matter of the plan",
        "throttled": "too many requests",
        "other": "the request is not accepted",
    }[kind]
    if kind == "plan":
        if plan is not None:
            # Without an answer, the refusal stands without the name of the plan.
            with suppress(LiqdataError):
                what = f"the plan of the key, {yield from plan()}, is too small"
        if request.needs:
            what += f"; this needs {request.needs}"
    elif kind in {"key", "either"} and request.needs:
        what += f" (this needs {request.needs})"
    msg = f"{access.vendor} at {access.core.base_url} refused {request.path}: {what}: {stated}"
    found = Refused(msg, status=status, body=body, retry_after=None if error is None else error.retry_after)
    found.__dict__[_KIND] = kind
    return found


def is_unknown(error: Refused) -> bool:
    """Whether a refusal is neither of the key, nor of its plan, nor of the limit, but of what was asked."""
    return error.__dict__.get(_KIND, "other") == "other" and error.status < _SERVER_ERROR


def kind_of(status: int, code: str, reason: str) -> str:
    """The kind of a refusal: ``plan``, ``key``, ``either`` of them, ``path``, ``throttled`` or ``other``.

    The words decide before the code, and the code before the HTTP status.
    """
    if code == "429" or (not code and status == _TOO_MANY):
        found = "throttled"
    elif code == "-3":
        found = "either"
    elif re.search(r"upgrade", reason, re.IGNORECASE):
        found = "plan"
    elif _KEY.search(reason):
        found = "key"
    elif _PLAN.search(reason) or code in {"40001", "40003"} or status == _PAYMENT:
        found = "plan"
    elif code == "404" or status == _NO_PATH:
        found = "path"
    elif "401" in {code, str(status)}:
        found = "key"
    else:
        found = "other"
    return found


def scalar(node: Node | None) -> str:
    """A code that may be sent as text or as a number, as text; empty if it is not sent."""
    return "" if node is None or isinstance(node.value, dict | list | bool) else str(node.value)


def words(node: Node, *names: str) -> str:
    """The first text under these names; empty if there is none."""
    found: Any = node.value
    for name in names:
        if isinstance(found, dict) and isinstance(found.get(name), str):
            return str(found[name])
    return ""
