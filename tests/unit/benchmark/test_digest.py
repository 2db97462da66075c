"""The content digest of a task: a public format, so its value is computed here by hand."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from gym_anything.benchmark.digest import content_files, task_digest

pytestmark = pytest.mark.unit


def write(root: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def by_hand(*pairs: tuple[str, bytes]) -> str:
    total = hashlib.sha256()
    for name, content in pairs:
        total.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
    return "sha256:" + total.hexdigest()


def test_files_count_in_order_of_their_path_components(tmp_path: Path) -> None:
    root = write(tmp_path, {"a.txt": b"1", "a/z.txt": b"2", "a/b/c": b"", "B": b"3", "ä": b"4"})
    # As text "a.txt" < "a/…"; by components "a" < "a.txt".
    assert task_digest(root) == by_hand(("B", b"3"), ("a/b/c", b""), ("a/z.txt", b"2"), ("a.txt", b"1"), ("ä", b"4"))


def test_an_empty_folder_has_a_digest() -> None:
    assert by_hand() == "sha256:" + hashlib.sha256(b"").hexdigest()


def test_generated_files_never_count(tmp_path: Path) -> None:
    root = write(tmp_path, {"task.json": b"{}", "verifier.py": b"x", "lib/m.py": b"y"})
    before = task_digest(root)
    write(root, {"__pycache__/v.pyc": b"1", "lib/__pycache__/deep/x": b"2", "lib/m.pyc": b"3"})
    (root / "empty").mkdir()
    assert task_digest(root) == before


@pytest.mark.parametrize("change", ["content", "name", "added", "removed", "moved"])
def test_every_change_of_content_or_name_changes_it(tmp_path: Path, change: str) -> None:
    root = write(tmp_path, {"task.json": b"{}", "a/b": b"1"})
    before = task_digest(root)
    match change:
        case "content":
            (root / "a" / "b").write_bytes(b"2")
        case "name":
            (root / "a" / "b").rename(root / "a" / "c")
        case "added":
            (root / "c").write_bytes(b"")
        case "removed":
            (root / "a" / "b").unlink()
        case "moved":
            (root / "a" / "b").rename(root / "b")
    assert task_digest(root) != before


def test_place_times_and_modes_do_not_matter(tmp_path: Path) -> None:
    one = write(tmp_path / "one", {"task.json": b"{}", "s.sh": b"x"})
    two = write(tmp_path / "deep" / "two", {"s.sh": b"x", "task.json": b"{}"})
    (two / "s.sh").chmod(0o755)
    os.utime(two / "s.sh", (0, 0))
    assert task_digest(one) == task_digest(two)


def test_links_pipes_and_loops(tmp_path: Path) -> None:
    root = write(tmp_path / "t", {"real": b"1"})
    (root / "link").symlink_to("real")
    (root / "dangling").symlink_to("nowhere")
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "pipe")
    assert content_files(root) == [("link",), ("real",)]
    assert task_digest(root) == by_hand(("link", b"1"), ("real", b"1"))


def test_a_missing_folder_is_an_error_and_not_an_empty_digest(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        task_digest(tmp_path / "gone")
