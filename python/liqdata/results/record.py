"""Answers that are one object: totals of windows, levels and max pain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from liqdata.calls.traceback import public_call
from liqdata.errors import BadQuery

from .json_form import schema_of
from .record_text import as_html, as_text

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from liqdata.types import Units

__all__ = ["Record", "frame"]

_OTHER_SPELLINGS = {"1d": ("24h", "d1"), "24h": ("d1",), "7d": ("d7",), "1w": ("7d", "d7"), "30d": ("1M",)}
_WINDOWS = {"1h", "4h", "12h", "24h"}
"""The keys that ``overview`` always has."""
_TIME = "updatedAt"


class Record(dict[str, Any]):
    """The answer of ``overview``, ``levels`` or ``maxpain``: a dict with the keys of the contract.

    Everything that a source says beyond the contract is an attribute. Other spellings of a window or range find its
    key: ``overview["1d"]`` is ``overview["24h"]``. Records are equal if their keys and values are.

    Parameters
    ----------
    values : mapping
        The keys of the contract and their values.

    Attributes
    ----------
    meta : dict
        As :attr:`liqdata.Rows.meta`. Realised totals have ``covered``, the covered share of their period (0 to 1, the
        mean over exchanges), ``covered_windows``, that of each window, and ``data_from``, the instant from which on
        orders are known. Estimates have ``explain``.
    units : str
        ``"usd"``, or ``"relative"`` for an estimate without open interest.
    simulated : bool or None
        Whether the market is simulated; ``None`` if unknown.
    within : dict or None
        Of ``maxpain``: USD by side within 1, 2, 5 and 10 % of the price, if the source says so.

    Examples
    --------
    >>> import liqdata
    >>> totals = liqdata.demo().overview()
    >>> list(totals), totals.units, totals.simulated
    (['1h', '4h', '12h', '24h'], 'usd', True)
    >>> totals.meta["covered"]
    0.99375
    """

    meta: dict[str, Any]
    units: Units
    simulated: bool | None
    within: dict[str, Any] | None = None

    def __init__(
        self,
        values: Mapping[str, Any],
        *,
        meta: dict[str, Any] | None = None,
        units: Units = "usd",
        simulated: bool | None = None,
    ) -> None:
        super().__init__(values)
        self.meta = {} if meta is None else meta
        self.units = units
        self.simulated = simulated

    def __missing__(self, name: object) -> Any:
        for other in _OTHER_SPELLINGS.get(str(name), ()):
            if other in self:
                return self[other]
        if str(name) not in _WINDOWS and set(self) >= _WINDOWS:
            windows = ", ".join(map(repr, sorted(_WINDOWS, key=lambda window: int(window[:-1]))))
            others = "overview(range=, start=, end=) adds others"
            msg = f"{name!r} is not a window of these totals; allowed: {windows}; {others}"
            raise KeyError(msg)
        raise KeyError(name)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """The schema of pydantic: a record is checked by its class and written as a dict."""
        return schema_of(cls, dict)

    def __repr__(self) -> str:
        """A table for a terminal; ``dict(record)`` has the exact values."""
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def to_pandas(self) -> pd.DataFrame:
        """Convert to a pandas frame of one row.

        Returns
        -------
        pandas.DataFrame
            A column for each value, named by its keys: ``d1_long_price`` for ``["d1"]["long"]["price"]``.
            ``updatedAt`` is ``datetime64[ms, UTC]``.

        Examples
        --------
        >>> import liqdata
        >>> row = liqdata.demo().maxpain("BTC").to_pandas()
        >>> len(row), "d1_long_price" in row.columns
        (1, True)
        """
        return _frame([self], None)

    def to_polars(self) -> pl.DataFrame:
        """Convert to a polars frame of one row.

        Returns
        -------
        polars.DataFrame
            The columns of :meth:`to_pandas`; ``updatedAt`` is ``Datetime("ms", "UTC")``.

        Examples
        --------
        >>> import liqdata
        >>> liqdata.demo().overview().to_polars().columns[:2]
        ['1h_long_usd', '1h_short_usd']
        """
        import polars as pl

        made = pl.DataFrame({name: [value] for name, value in flat(self).items()})
        if _TIME not in made.columns:
            return made
        return made.with_columns(pl.col(_TIME).cast(pl.Datetime("ms", "UTC")))


@public_call
def frame(answers: Mapping[str, Record]) -> pd.DataFrame:
    """Put the answers about several symbols into one pandas frame.

    Parameters
    ----------
    answers : mapping of str to Record
        What ``levels`` or ``maxpain`` return for several symbols.

    Returns
    -------
    pandas.DataFrame
        One row for each symbol, which is the index. The columns are those of :meth:`Record.to_pandas`; a value that an
        answer does not have is NaN.

    Raises
    ------
    BadQuery
        If it is not a mapping of records.

    Examples
    --------
    >>> import liqdata
    >>> rows = liqdata.frame(liqdata.demo().maxpain(["BTC", "ETH"]))
    >>> list(rows.index), bool((rows["d1_long_price"] < rows["price"]).all())
    (['BTC', 'ETH'], True)
    """
    allowed = 'records by symbol, such as those of maxpain(["BTC", "ETH"])'
    if not isinstance(answers, Mapping):
        msg = f"answers: a {type(answers).__name__} is not allowed; allowed: {allowed}"
        raise BadQuery(msg, parameter="answers")
    for symbol, answer in answers.items():
        if not isinstance(answer, Mapping):
            msg = f"answers: that of {symbol!r} is a {type(answer).__name__}; allowed: {allowed}"
            raise BadQuery(msg, parameter="answers")
    return _frame(list(answers.values()), list(answers))


def flat(values: Mapping[str, Any], *above: str) -> dict[str, Any]:
    """The values of nested mappings by their joined keys."""
    made: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            made |= flat(value, *above, name)
        else:
            made["_".join((*above, name))] = value
    return made


def _frame(records: list[Mapping[str, Any]], index: list[str] | None) -> pd.DataFrame:
    import pandas as pd

    made = pd.DataFrame([flat(one) for one in records], index=index)
    if _TIME in made.columns:
        made[_TIME] = pd.to_datetime(made[_TIME], unit="ms", utc=True).astype("datetime64[ms, UTC]")
    simulated = [getattr(one, "simulated", None) for one in records]
    if records and all(simulated):
        made.attrs["simulated"] = True
    return made
