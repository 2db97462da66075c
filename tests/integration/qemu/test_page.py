"""The how-to pages on virtual machines and on forks, run as written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.docs.doc_snippets import python_snippets, run_python

pytestmark = pytest.mark.real


def test_the_pages_example_plays_in_a_machine(
    qemu_backend: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = python_snippets("docs/how-to/virtual-machine.md")
    namespace: dict[str, object] = {}
    run_python(example, namespace)
    assert namespace["obs"]["screen"]["image"].size == (1280, 800)  # type: ignore[index]
    assert str(namespace["kernel"]).strip().endswith("-amd64")


def test_the_example_of_forks_plays(qemu_backend: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = python_snippets("docs/how-to/fork.md")
    namespace: dict[str, object] = {}
    run_python(example, namespace)
    assert namespace["steps"] == [1, 1]
    assert len(list((tmp_path / "artifacts").glob("*/summary.json"))) == 3
