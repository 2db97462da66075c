"""pyarrow, an extra: the schemas of our tables, and files that are written a piece at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from gym_anything.data.columns import VERSION, Column
from gym_anything.errors import BenchmarkError, MissingExtra

VERSION_KEY = b"gym_anything.schema"


def pyarrow() -> Any:
    """Return pyarrow with ``pyarrow.parquet`` loaded. Raises: MissingExtra."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        fix = 'pip install "gym-anything[export]"'
        raise MissingExtra(f"Parquet files need an extra: {fix}", detail={"extra": "export", "fix": fix}) from error
    return pyarrow


def arrow_schema(columns: Sequence[Column], metadata: Mapping[bytes, bytes] | None = None) -> Any:
    """Return the Arrow schema of columns; each field carries its description."""
    pa = pyarrow()
    types = {
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
        "whole": pa.int64(),
        "number": pa.float64(),
        "flag": pa.bool_(),
        "time": pa.timestamp("us", tz="UTC"),
        "json": pa.string(),
        "seconds_by_name": pa.map_(pa.string(), pa.float64()),
    }
    fields = [pa.field(each.name, types[each.kind], metadata={b"about": each.about.encode()}) for each in columns]
    return pa.schema(fields, {VERSION_KEY: str(VERSION).encode(), **(metadata or {})})


class ParquetFile:
    """A Parquet file that grows by row groups; a context manager. Compressed with zstd."""

    def __init__(self, path: Path, schema: Any) -> None:
        """Open the file; nothing is written before the first rows."""
        self._pa = pyarrow()
        self._schema = schema
        self._maps = {each.name for each in schema if self._pa.types.is_map(each.type)}
        self._writer = self._pa.parquet.ParquetWriter(path, schema, compression="zstd")

    def __enter__(self) -> ParquetFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append rows as one group; none does nothing."""
        if rows:
            pairs = [{name: self._pairs(name, value) for name, value in row.items()} for row in rows]
            self._writer.write_table(self._pa.Table.from_pylist(pairs, schema=self._schema))

    def _pairs(self, name: str, value: Any) -> Any:
        """Return what Arrow takes: a map is pairs to it."""
        return list(value.items()) if name in self._maps else value

    def close(self) -> None:
        """Write the end of the file. Idempotent."""
        self._writer.close()


def read_rows(path: Path, columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Read back a table of ours, with the values that were written.

    Columns that a newer writer added are left out.
    Raises: BenchmarkError for a file of another kind, or of a version that this one does not know. MissingExtra.
    """
    pa = pyarrow()
    try:
        table = pa.parquet.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise BenchmarkError(f"{path} cannot be read: {error}", detail={"path": str(path)}) from error
    written = (table.schema.metadata or {}).get(VERSION_KEY, b"").decode("ascii", "replace")
    names = [each.name for each in columns]
    if written != str(VERSION) or not set(names) <= set(table.column_names):
        found = f"schema {written}" if written else "no table of gym-anything"
        raise BenchmarkError(f"{path} holds {found}; this version reads schema {VERSION}", detail={"path": str(path)})
    maps = [each.name for each in columns if each.kind == "seconds_by_name"]
    rows: list[dict[str, Any]] = table.select(names).to_pylist()
    for row in rows:
        row.update({name: dict(row[name]) for name in maps})
    return rows
