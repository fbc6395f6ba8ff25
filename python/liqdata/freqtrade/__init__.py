"""Features in a strategy of freqtrade: :func:`add_features`."""

from .indicators import add_features

__all__ = ["add_features"]
