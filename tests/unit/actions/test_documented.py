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
EXAMPLES = re.findall(r"^\| `(\{.*\})` \|", PAGE, re.M)


@pytest.mark.parametrize("line", EXAMPLES)
def test_every_example_parses(line: str) -> None:
    action = parse_action(json.loads(line), screen=(1920, 1080))
    assert parse_action(action.to_raw(), screen=(1920, 1080)) == action


def test_every_key_of_the_contract_has_an_example() -> None:
    shown = " ".join(EXAMPLES)
    assert not [key for key in (*MOUSE_KEYS, *KEYBOARD_KEYS) if f'"{key}"' not in shown]
    assert all(name.partition("_")[0] in PAGE for name in BUTTON_CHANGES)


def documented_names() -> list[tuple[str, str]]:
    """Return each key and each of its documented names, with the prefix that its section names."""
    found, prefix = [], ""
    for line in PAGE.splitlines():
        if line.startswith("### "):
            prefix = "".join(re.findall(r"prefix `(\w+)`", line))
        if row := re.match(r"\| `(\w+)` \| (`[^|]*`) \|", line):
            found += [(row[1], prefix + name) for name in re.findall(r"`([^`]+)`", row[2])]
    return found


def test_every_name_of_a_key_means_that_key() -> None:
    names = documented_names()
    assert len(names) >= 100
    wrong = [(key, name) for key, name in names if canonical_key(name) != key]
    assert wrong == [("minus", "hyphen")]  # an X11 name of its own, which wins over another vocabulary's
