"""What the page about started pools shows is run as written."""

from __future__ import annotations

from pathlib import Path

import pytest

from gym_anything.pool.started.folder import find_pools
from tests.integration.pool.test_started import call
from tests.integration.pool.test_started import state as state
from tests.unit.docs.doc_snippets import command_lines, python_snippets, run_python

pytestmark = pytest.mark.real

PAGE = "docs/how-to/pool-process.md"


@pytest.mark.soak
def test_the_page_works_from_top_to_bottom(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_USER", raising=False)
    shown = command_lines(PAGE)
    drain = shown.index(["pool", "drain"])
    for words in shown[:drain]:
        call(*words)
    (example,) = python_snippets(PAGE)
    played: dict[str, object] = {}
    run_python(example, played)
    assert [reply.value["step"]["mouse"] for reply in played["played"]] == [{"left_click": [10, 10]}] * 2  # type: ignore[attr-defined]
    assert [len(reply.value["applied"]) for reply in played["judged"]] == [1, 1]  # type: ignore[attr-defined]
    for words in shown[drain:]:
        call(*words)
    assert find_pools() == [] and len(shown) == 8
