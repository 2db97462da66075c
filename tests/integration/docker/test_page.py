"""What the pages about containers and images show is run as written."""

from __future__ import annotations

from pathlib import Path

import pytest

from gym_anything.cli.main import run_command_line
from tests.docker_engine import TestEngine
from tests.unit.docs.doc_snippets import command_lines, python_snippets, run_python

pytestmark = pytest.mark.real


def test_the_container_page_s_example_steps_in_a_container(
    docker_desktop: TestEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = python_snippets("docs/how-to/docker.md")
    namespace: dict[str, object] = {}
    run_python(example, namespace)
    assert capsys.readouterr().out.endswith("(720, 1280, 3)\n") and namespace["done"] is False


def test_the_image_page_s_commands_know_what_is_built(minimal_image: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = command_lines("docs/how-to/images.md")
    assert shown[1] == ["image", "build", "debian-minimal"]
    for command in (shown[0], shown[2]):
        assert run_command_line(command) == 0
        assert "debian-minimal" in capsys.readouterr().out
