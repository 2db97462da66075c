"""Every example of docs/reference/actions.md is an action, and the page leaves no key of the contract out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gym_anything.actions.keys import canonical_key
from gym_anything.actions.parse import BUTTON_CHANGES, KEYBOARD_KEYS, MOUSE_KEYS, parse_action

pytestmark = pytest.mark.unit

PAGE = (Path(__file__).parents[3] / "docs/reference/actions.md").read_text("utf-8")
EXAMPLES = [line for block in re.findall(r"```json\n(.*?)```", PAGE, re.S) for line in block.splitlines()]


@pytest.mark.parametrize("line", EXAMPLES)
def test_every_example_parses(line: str) -> None:
    action = parse_action(json.loads(line), screen=(1920, 1080))
    assert parse_action(action.to_raw(), screen=(1920, 1080)) == action


def test_every_key_of_the_contract_has_an_example() -> None:
    shown = " ".join(EXAMPLES)
    assert not [key for key in (*MOUSE_KEYS, *KEYBOARD_KEYS) if f'"{key}"' not in shown]
    assert all(name.partition("_")[0] in PAGE for name in BUTTON_CHANGES)


def test_every_key_name_in_the_text_is_a_key() -> None:
    names = re.findall(r"\(`([A-Za-z_.]+)`(?:, `([A-Za-z_.]+)`)?\)", PAGE)
    named = [name for pair in names for name in pair if name]
    assert len(named) >= 8
    for name in named:
        canonical_key(name)


def test_the_python_of_the_page_runs() -> None:
    (source,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    exec(compile(source, "actions.md", "exec"), {})
