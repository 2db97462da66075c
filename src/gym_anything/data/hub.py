"""``--format hf``: a folder that ``datasets.load_dataset`` takes and the Hugging Face hub shows.

Parquet shards with the pictures in them, and a card. The features are in each file's schema the way ``datasets`` keeps
them, and in the card, so that pictures come back as images.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import yaml

from gym_anything.data.arrow import ParquetFile, arrow_schema, pyarrow
from gym_anything.data.chat import Conversation
from gym_anything.data.columns import Column, Kind
from gym_anything.data.examples import FACT_COLUMNS, example_of, facts_of
from gym_anything.data.trajectory import Trajectory

_GROUP_BYTES = 64 * 2**20
_SHARD_BYTES = 400 * 2**20
_DTYPES: Mapping[Kind, str] = {"text": "string", "whole": "int64", "number": "float64"}


class HubWriter:
    """Writes trajectories as a data set; a context manager."""

    def __init__(self, folder: Path, *, allow_missing: bool = False) -> None:
        """Args: allow_missing: see ``example_of``. Raises: MissingExtra."""
        self._folder = folder
        self._allow_missing = allow_missing
        self._schema = _schema()
        (folder / "data").mkdir()
        self._file: ParquetFile | None = None
        self._shards: list[Path] = []
        self._rows: list[dict[str, Any]] = []
        self._waiting_bytes = self._shard_bytes = 0
        self._examples = 0

    def __enter__(self) -> HubWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        try:
            if kind is None:
                self._flush()
        finally:
            self._close_shard()
        if kind is None:
            self._name_shards()
            (self._folder / "README.md").write_text(_card(self._examples), encoding="utf-8")

    def add(self, trajectory: Trajectory) -> str | None:
        """Write one; returns why it cannot be in this format, or None."""
        talk = example_of(trajectory, allow_missing=self._allow_missing)
        if isinstance(talk, str):
            return talk
        row = _row(trajectory, talk)
        self._rows.append(row)
        self._examples += 1
        self._waiting_bytes += sum(len(image["bytes"]) for image in row["images"])
        if self._waiting_bytes >= _GROUP_BYTES:
            self._flush()
        return None

    def _flush(self) -> None:
        """Write what waits; a file that has grown large is closed. There is one file at least."""
        if self._file is None:
            if not self._rows and self._shards:
                return
            self._shards.append(self._folder / "data" / f"{len(self._shards)}.parquet")
            self._file = ParquetFile(self._shards[-1], self._schema)
        self._file.write(self._rows)
        self._shard_bytes += self._waiting_bytes
        self._rows, self._waiting_bytes = [], 0
        if self._shard_bytes >= _SHARD_BYTES:
            self._close_shard()

    def _close_shard(self) -> None:
        file, self._file, self._shard_bytes = self._file, None, 0
        if file is not None:
            file.close()

    def _name_shards(self) -> None:
        for number, path in enumerate(self._shards):
            path.rename(path.with_name(f"train-{number:05d}-of-{len(self._shards):05d}.parquet"))


def _row(trajectory: Trajectory, talk: Conversation) -> dict[str, Any]:
    messages = [
        {
            "role": message["role"],
            "content": [{"type": part["type"], "text": part.get("text")} for part in message["content"]],
        }
        for message in talk.messages
    ]
    images = [{"bytes": picture.read_bytes(), "path": picture.name} for picture in talk.pictures]
    return {"messages": messages, "images": images, **facts_of(trajectory, talk)}


def _schema() -> Any:
    pa = pyarrow()
    part = pa.struct([("type", pa.string()), ("text", pa.string())])
    message = pa.struct([("role", pa.string()), ("content", pa.list_(part))])
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    features = json.dumps({"info": {"features": _features()}})
    facts = arrow_schema(FACT_COLUMNS, {b"huggingface": features.encode()})
    chat = [pa.field("messages", pa.list_(message)), pa.field("images", pa.list_(image))]
    return pa.schema([*chat, *facts], facts.metadata)


def _features() -> dict[str, Any]:
    """Return the features as ``datasets`` writes them into a schema; a list is spelt as every version reads it."""
    text = {"dtype": "string", "_type": "Value"}
    part = {"type": text, "text": text}
    found: dict[str, Any] = {
        "messages": [{"role": text, "content": [part]}],
        "images": {"feature": {"_type": "Image"}, "_type": "Sequence"},
    }
    for column in FACT_COLUMNS:
        if column.kind == "texts":
            found[column.name] = {"feature": text, "_type": "Sequence"}
        else:
            found[column.name] = {"dtype": _DTYPES[column.kind], "_type": "Value"}
    return found


def _card(examples: int) -> str:
    facts = [_card_feature(column) for column in FACT_COLUMNS]
    part = [{"name": "type", "dtype": "string"}, {"name": "text", "dtype": "string"}]
    messages = [{"name": "role", "dtype": "string"}, {"name": "content", "list": part}]
    head = {
        "dataset_info": {
            "features": [{"name": "messages", "list": messages}, {"name": "images", "sequence": "image"}, *facts],
        },
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": "data/train-*"}]}],
    }
    about = "\n".join(f"| `{column.name}` | {column.about} |" for column in FACT_COLUMNS)
    return f"""---
{yaml.safe_dump(head, sort_keys=False)}---

# Trajectories of computer use

{examples} episodes, exported by gym-anything: conversations with the screenshots that the agent saw.

| column | meaning |
|---|---|
| `messages` | system, user and assistant; each image part of a user stands for the next of `images` |
| `images` | the screenshots, guest pixels |
{about}
"""


def _card_feature(column: Column) -> dict[str, Any]:
    if column.kind == "texts":
        return {"name": column.name, "sequence": "string"}
    return {"name": column.name, "dtype": _DTYPES[column.kind]}
