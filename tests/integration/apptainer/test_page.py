"""What the page about Apptainer shows is run as written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.docs.doc_snippets import python_snippets, run_python

pytestmark = pytest.mark.real


def test_the_page_s_example_steps_in_an_instance(
    apptainer_desktop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = python_snippets("docs/how-to/apptainer.md")
    namespace: dict[str, object] = {}
    run_python(example, namespace)
    assert capsys.readouterr().out.endswith("(720, 1280, 3)\n") and namespace["done"] is False
