"""What the page about many worlds shows is run as written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gym_anything._util.reflink import can_clone
from gym_anything.cli.main import run_command_line
from gym_anything.pool import host_limits
from tests.conftest import RequireBackend
from tests.unit.docs.doc_snippets import command_lines, python_snippets, run_python

pytestmark = pytest.mark.real

PAGE = "docs/how-to/many-worlds.md"


def test_the_example_plays_episodes(capsys: pytest.CaptureFixture[str]) -> None:
    example, _ = python_snippets(PAGE)
    namespace: dict[str, object] = {}
    run_python(example, namespace)
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert len(namespace["judged"]) == 4  # type: ignore[arg-type]


def test_the_example_on_shards_plays_tasks_of_the_benchmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GYM_ANYTHING_RUNNER", "gym_anything.testing.fakes.world:FakeWorld")
    monkeypatch.setenv("GYM_ANYTHING_POST_TASK_SETTLE_SEC", "0")
    _, example = python_snippets(PAGE)
    (tmp_path / "benchmarks").symlink_to(Path("benchmarks").resolve())
    namespace: dict[str, object] = {}
    monkeypatch.chdir(tmp_path)  # where its artifacts go
    run_python(example, namespace)
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 2 and all("3)" in line for line in shown)
    assert all(reply.ok for reply in namespace["reports"])  # type: ignore[attr-defined]
    assert len(list(tmp_path.glob("**/summary.json"))) == 2


@pytest.mark.soak
def test_the_commands_work(
    require_backend: RequireBackend,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    require_backend("xfs", os.geteuid() == 0 and Path("/dev/loop-control").exists(), "needs root and loop devices")
    monkeypatch.setenv("GYM_ANYTHING_STATE_DIR", str(tmp_path / "state"))
    limit = tmp_path / "sys" / "fs" / "aio-max-nr"
    limit.parent.mkdir(parents=True)
    limit.write_text("65536\n")
    monkeypatch.setattr(host_limits, "SYSCTL_ROOT", tmp_path / "sys")
    expected = {"host check": 1, "host disk check": 0 if can_clone(Path("/var/tmp")) else 1}
    shown = command_lines(PAGE)
    assert len(shown) == 10
    for line in shown:
        command = [word.replace("/var/lib/replicas", str(tmp_path / "replicas")) for word in line]
        assert run_command_line(command) == expected.get(" ".join(line[: 3 if line[1] == "disk" else 2]), 0), command
        assert capsys.readouterr().out
    assert limit.read_text() == "65536\n" and not (tmp_path / "replicas.xfs").exists()
