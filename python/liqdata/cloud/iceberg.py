"""Registration of exported files in an Iceberg catalog, without a copy."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from liqdata.errors import ArchiveError, BadQuery

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from .manifest import ArchiveFile

_NAMESPACE = "liqdata"
_ORIGIN = "liqdata.export"  # the property of a table that names the export


class Registered(NamedTuple):
    """The number of files that were added to the tables of a catalog and dropped from them."""

    added: int
    dropped: int


def checked_catalog(catalog: object) -> str | None:
    """Check the name or address of a catalog, and that pyiceberg is installed."""
    if catalog is None:
        return None
    if not isinstance(catalog, str) or not catalog.strip():
        msg = (
            f"iceberg: {catalog!r} is not allowed; allowed: the name of a catalog of pyiceberg, NAME.NAMESPACE, or "
            "an address such as sqlite:////data/catalog.db or https://catalog.example"
        )
        raise BadQuery(msg, parameter="iceberg")
    try:
        import_module("pyiceberg.catalog")
    except ImportError as error:
        msg = 'iceberg: a catalog needs pyiceberg: pip install "liqdata[iceberg]"'
        raise ImportError(msg) from error
    return catalog


def register(catalog: str, folder: Path, address: str, files: Iterable[ArchiveFile]) -> Registered:
    """Make the tables of a catalog list exactly the files that are in use at the address of an export."""
    if address.startswith("file:"):
        address = f"file://{unquote(urlsplit(address).path)}"  # pyiceberg decodes nothing
    wanted: dict[str, list[ArchiveFile]] = {}
    for file in files:
        # A superseded file has another place, where other engines do not read it.
        if file.is_sound and file.place == file.path:
            wanted.setdefault(_table_name(file.path), []).append(file)
    errors: Any = import_module("pyiceberg.exceptions")
    try:
        loaded, namespace = _load(catalog, address)
        loaded.create_namespace_if_not_exists(namespace)
        known = {name[-1] for name in loaded.list_tables(namespace)}
        done = [
            _update(loaded, f"{namespace}.{name}", folder, address, wanted.get(name, []))
            for name in sorted(wanted.keys() | (known & _names(known)))
        ]
    except (ArchiveError, BadQuery):
        raise
    except (ValueError, OSError, errors.RESTError, errors.CommitFailedException, errors.NoSuchTableError) as error:
        msg = f"{catalog}: {error}; the files are exported, but the catalog is unchanged"
        raise ArchiveError(msg, path=catalog) from error
    return Registered(sum(added for added, _ in done), sum(dropped for _, dropped in done))


def _table_name(path: str) -> str:
    """The table of a file; bars and totals of each length have their own, because a file does not say its interval."""
    parts = path.split("/")
    interval = parts[1].removeprefix("interval=")
    return parts[0] if interval == parts[1] else f"{parts[0]}_{interval}"


def _names(known: set[str]) -> set[str]:
    """The names that an export may have given, so that a table without remaining files is emptied."""
    plain = {"orders", "open_interest", "maps", "positions"}
    return {one for one in known if one in plain or one.startswith(("bars_", "totals_"))}


def _load(catalog: str, address: str) -> tuple[Any, str]:
    load_catalog = import_module("pyiceberg.catalog").load_catalog
    if "://" in catalog:
        return load_catalog("liqdata", uri=catalog, warehouse=f"{address}/iceberg"), _NAMESPACE
    name, _, namespace = catalog.partition(".")
    return load_catalog(name), namespace or _NAMESPACE


def _update(catalog: Any, name: str, folder: Path, address: str, files: list[ArchiveFile]) -> tuple[int, int]:
    """Add the new files of a table and drop the others in one commit."""
    if not catalog.table_exists(name):
        schema = import_module("pyarrow.parquet").read_schema(os.path.join(folder, files[0].path))  # noqa: PTH118
        table = catalog.create_table(name, schema=schema, properties={_ORIGIN: address})
    else:
        table = catalog.load_table(name)
        origin = table.properties.get(_ORIGIN)
        if origin != address:
            msg = f"{name} lists the files of {origin or 'another program'}; allowed: a namespace for each export"
            raise BadQuery(f"iceberg: {msg}", parameter="iceberg")
    listed = {task.file.file_path: task.file for task in table.scan().plan_files()}
    wanted = {f"{address}/{file.path}" for file in files}
    added, gone = sorted(wanted - listed.keys()), sorted(listed.keys() - wanted)
    if added or gone:
        with table.transaction() as change:
            if gone:
                with change.update_snapshot().overwrite() as snapshot:
                    for path in gone:
                        snapshot.delete_data_file(listed[path])
            if added:
                change.add_files(added, check_duplicate_files=False)
    return len(added), len(gone)
