"""What the page about Gymnasium shows is run as written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import RequireBackend
from tests.e2e.local_world import require_local_world
from tests.unit.docs.doc_snippets import python_snippets, run_python

pytest.importorskip("gymnasium")
pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(300)]


def test_the_examples_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    require_backend: RequireBackend,
) -> None:
    require_local_world(require_backend)
    monkeypatch.chdir(tmp_path)
    single, many = python_snippets("docs/how-to/gymnasium.md")
    run_python(single, {})
    said = capsys.readouterr().out.splitlines()
    assert said[0] and said[1] == "True failed"
    run_python(many, {})
    assert capsys.readouterr().out.strip() == "(2, 1080, 1920, 3) None"
