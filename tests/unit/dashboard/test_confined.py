"""No name and no link leads out of an experiment's folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gym_anything.dashboard.confined import NotInside, open_file

pytestmark = pytest.mark.unit


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("not yours")
    root = tmp_path / "exp"
    (root / "run" / "episode").mkdir(parents=True)
    (root / "run" / "episode" / "traj.jsonl").write_text("{}")
    return root


def test_a_plain_file_is_read(root: Path) -> None:
    with open_file(root, ["run", "episode", "traj.jsonl"]) as stream:
        assert stream.read() == b"{}"


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [".."],
        ["..", "secret"],
        ["run", "..", "..", "secret"],
        ["run", ""],
        ["run", "."],
        ["run", "../../secret"],
        ["/etc/passwd"],
        ["run\0", "x"],
        ["run", "\udcff\ud800"],
        ["run", "no such file"],
        ["run", "episode"],
        ["run", "x" * 5000],
    ],
    ids=repr,
)
def test_everything_else_is_refused(root: Path, parts: list[str]) -> None:
    with pytest.raises(NotInside):
        open_file(root, parts)


def test_links_are_refused_wherever_they_stand_on_the_way(root: Path, tmp_path: Path) -> None:
    (root / "link.txt").symlink_to(tmp_path / "secret")
    (root / "within.txt").symlink_to("run/episode/traj.jsonl")
    (root / "folder").symlink_to(tmp_path)
    for parts in (["link.txt"], ["within.txt"], ["folder", "secret"]):
        with pytest.raises(NotInside, match="links are not followed"):
            open_file(root, parts)


def test_a_pipe_is_refused_at_once(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(NotInside, match="no plain file"):
        open_file(root, ["pipe"])


def test_nothing_stays_open_after_a_refusal(root: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for parts in (["run", "episode", "none"], ["run", "none", "x"], ["run", "episode"]):
        with pytest.raises(NotInside):
            open_file(root, parts)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
