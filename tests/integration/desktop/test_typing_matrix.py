"""A sample of the typing matrix: every application, every script, `us` and another layout by turns.

The whole of it, 7,000 texts, is run by ``tests/bench/figure_typing_matrix.py``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.conftest import RequireBackend
from tests.integration.desktop.screen import XVFB, XVNC
from tests.integration.desktop.typing_matrix.target import Target
from tests.integration.desktop.typing_matrix.targets import TARGETS
from tests.integration.desktop.typing_matrix.texts import CJK, LAYOUTS, LENGTH, SCRIPTS
from tests.integration.desktop.typing_matrix.trials import opened, trials

pytestmark = [pytest.mark.real, pytest.mark.slow]

SERVERS = {"gtk": XVFB, "office": XVFB}


# the office with another toolkit is for the long runs; its own is typed into in both
@pytest.fixture(
    params=[pytest.param(name, marks=pytest.mark.soak) if name == "office_gtk3" else name for name in TARGETS]
)
def target(request: pytest.FixtureRequest, desktop_program: Path, require_backend: RequireBackend) -> Iterator[Target]:
    kind = TARGETS[request.param]
    missing = kind.missing()
    require_backend(f"typing-{kind.name}", not missing, missing)
    with (
        tempfile.TemporaryDirectory(prefix="ga-typing-") as folder,
        opened(kind, desktop_program, Path(folder), SERVERS.get(kind.name, XVNC)) as target,
    ):
        yield target


def test_any_text_arrives_exactly_in_every_application_and_layout(target: Target) -> None:
    """T1, T2, T4, T7."""
    for turn, script in enumerate(SCRIPTS):
        other = LAYOUTS[1 + turn % 3]
        for layout in ("us", other) if target.is_quick else ("us" if turn % 2 else other,):
            for trial in trials(target, layout, script, 1, seed=turn):
                assert trial.exact, f"{script}, {layout}: {trial.difference()}"


def test_the_texts_are_what_the_matrix_asks_for() -> None:
    random = Random(1)
    texts = {script: [make(random) for _ in range(50)] for script, make in SCRIPTS.items()}
    assert {len(text) for many in texts.values() for text in many} == {LENGTH}
    assert len(set("".join(texts["cjk"]))) >= 3000 and len(CJK) > 20000
    assert all(text.endswith("\n\n") for text in texts["mixed"])
    emoji = "".join(texts["emoji"])
    assert {"\u200d", "\ufe0f", "\U0001f3fd", "\U0001f1e9", "\U000e0073"} <= set(emoji)
    assert {"\u0301", "\t", "<", ">", '"', "α"} <= set("".join(texts["mixed"]))
