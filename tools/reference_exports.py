"""The page of what exports hold, from the columns' own descriptions."""

from __future__ import annotations

from collections.abc import Sequence

from gym_anything.data import chat
from gym_anything.data.columns import EPISODE_COLUMNS, KINDS, STEP_COLUMNS, VERSION, Column
from gym_anything.data.examples import FACT_COLUMNS

_INTRODUCTION = f"""\
# Exports

What `gym-anything export` writes; how to use it: [export.md](../how-to/export.md). Schema of the tables: version {VERSION}
(in each Parquet file's metadata, `gym_anything.schema`). Schema of the chat formats: version {chat.VERSION} (column `schema`).
A column may be added under the same version; one that goes or changes its meaning is a new version.
"""
_CHAT = """\
| column | type | meaning |
|---|---|---|
| `messages` | list of `{role, content}` | `role`: `system`, `user` or `assistant`; `content`: list of `{type, text}`; `type`: `text`, or `image`, which stands for the next of `images` |
| `images` | sft: list of string; hf: list of image | the pictures; sft: paths below the folder; hf: `{bytes, path}`, which `datasets` opens |
"""


def exports_page() -> str:
    """Render the columns of every format."""
    return "\n".join(
        (
            _INTRODUCTION,
            "## `sft` (`train.jsonl`) and `hf` (`data/train-*.parquet`): one episode a line or row\n",
            _CHAT + _rows(FACT_COLUMNS),
            "## `parquet`: `episodes.parquet`\n",
            _table(EPISODE_COLUMNS),
            "## `parquet`: `steps.parquet`\n",
            _table(STEP_COLUMNS),
        )
    )


def _table(columns: Sequence[Column]) -> str:
    return "| column | type | meaning |\n|---|---|---|\n" + _rows(columns)


def _rows(columns: Sequence[Column]) -> str:
    return "".join(f"| `{each.name}` | {KINDS[each.kind]} | {each.about} |\n" for each in columns)
