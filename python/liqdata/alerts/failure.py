"""A delivery that may succeed later."""

from __future__ import annotations

__all__ = ["Again"]


class Again(ValueError):
    """A delivery failed, and the same alert may be delivered later.

    Parameters
    ----------
    message : str
        What failed.
    wait : float, optional
        Seconds that the receiver asks to wait.
    """

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait
