"""Atomic writing, locks, digests, clones, removal."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gym_anything._util import atomic_write, logs, reflink
from gym_anything._util import digest as digests
from gym_anything._util.deadline import Deadline
from gym_anything._util.digest import DigestCache
from gym_anything._util.locks import FileLock
from gym_anything._util.remove_tree import remove_tree
from gym_anything.errors import DeadlineExceeded

pytestmark = pytest.mark.unit


def test_a_file_is_replaced_whole_with_the_mode_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    atomic_write.write_json(path, {"b": 1, "a": "ä"}, mode=0o600)
    atomic_write.write_json(path, {"b": 2}, mode=0o640, durable=True)
    assert path.read_text() == '{\n  "b": 2\n}\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664)])
def test_a_file_without_a_mode_obeys_the_umask(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        atomic_write.write_bytes(tmp_path / "a", b"screen")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode


def test_a_failed_write_leaves_the_old_content_and_no_part(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.mkdir()
    with pytest.raises(OSError, match="directory"):
        atomic_write.write_text(path, "x")
    with pytest.raises(ValueError, match="JSON"):
        atomic_write.write_json(tmp_path / "b", float("nan"))
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_lock_excludes_even_within_one_process_and_names_its_holder(tmp_path: Path) -> None:
    with FileLock.acquire(tmp_path / "lock", deadline=Deadline.after(1)):
        assert FileLock.try_acquire(tmp_path / "lock") is None
        with pytest.raises(DeadlineExceeded, match=f"held by pid {os.getpid()}"):
            FileLock.acquire(tmp_path / "lock", deadline=Deadline.after(0))
    again = FileLock.try_acquire(tmp_path / "lock")
    assert again is not None
    again.release()
    again.release()
    assert not again.held


def test_shared_locks_live_together_and_exclude_an_exclusive_one(tmp_path: Path) -> None:
    one = FileLock.try_acquire(tmp_path / "lock", shared=True)
    two = FileLock.try_acquire(tmp_path / "lock", shared=True)
    assert one and two
    assert FileLock.try_acquire(tmp_path / "lock") is None
    one.release()
    two.release()


def test_a_lock_whose_file_was_removed_is_not_confused_with_its_successor(tmp_path: Path) -> None:
    first = FileLock.try_acquire(tmp_path / "lock")
    assert first is not None
    (tmp_path / "lock").unlink()
    second = FileLock.try_acquire(tmp_path / "lock")
    assert second is not None
    first.release(remove=True)
    assert (tmp_path / "lock").exists()
    second.release(remove=True)
    assert not (tmp_path / "lock").exists()


def test_a_lock_is_never_taken_through_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        FileLock.try_acquire(tmp_path / "lock")
    assert not (tmp_path / "elsewhere").exists()


def _settled(path: Path, seconds_ago: int = 60) -> None:
    """A file's times lie in the past, as those of content usually do; its ctime cannot be set, so the window is."""
    os.utime(path, (path.stat().st_mtime - seconds_ago,) * 2)


def test_a_digest_is_remembered_until_the_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "_SETTLED_NS", 0)
    reads: list[int] = []
    real = digests._hash
    monkeypatch.setattr(digests, "_hash", lambda fd: reads.append(fd) or real(fd))
    cache, path = DigestCache(), tmp_path / "a"
    path.write_bytes(b"one")
    first = cache.file(path)
    assert cache.file(path) == first
    assert len(reads) == 1
    path.write_bytes(b"two")
    _settled(path)
    assert cache.file(path) != first
    assert len(reads) == 2


def test_a_file_changed_a_moment_ago_is_not_remembered(tmp_path: Path) -> None:
    cache, path = DigestCache(), tmp_path / "a"
    for content in (b"1", b"2", b"3", b"4"):
        path.write_bytes(content)  # same size, perhaps the same time stamp
        assert cache.file(path) == DigestCache().file(path)
    assert not cache._known


TREES = st.dictionaries(
    st.lists(st.sampled_from(["a", "b", "ä ö", "a.b", "x" * 100]), min_size=1, max_size=3).map("/".join),
    st.binary(max_size=10),
    max_size=5,
)


def _build(folder: Path, tree: dict[str, bytes]) -> dict[str, bytes]:
    built: dict[str, bytes] = {}
    folder.mkdir()
    for name, content in tree.items():
        path = folder / name
        if path.is_dir() or any(parent.is_file() for parent in path.parents):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        built[name] = content
    return built


@given(TREES, TREES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_trees_have_equal_digests_exactly_when_their_content_is_equal(
    tmp_path_factory: pytest.TempPathFactory, one: dict[str, bytes], two: dict[str, bytes]
) -> None:
    """K5: keys cover content and do not depend on absolute paths."""
    folder = tmp_path_factory.mktemp("trees")
    built = [_build(folder / "one", one), _build(folder / "elsewhere", two)]
    same = digests.sha256_tree(folder / "one") == digests.sha256_tree(folder / "elsewhere")
    assert same == (built[0] == built[1])


def test_generated_files_do_not_count_but_links_modes_and_empty_folders_do(tmp_path: Path) -> None:
    seen = set()

    def look() -> None:
        seen.add(DigestCache().tree(tmp_path))

    (tmp_path / "f").write_bytes(b"x")
    look()
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "f.pyc").write_bytes(b"x")
    look()
    assert len(seen) == 1
    (tmp_path / "f").chmod(0o755)
    look()
    (tmp_path / "empty").mkdir()
    look()
    (tmp_path / "link").symlink_to("f")
    look()
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("g")
    look()
    assert len(seen) == 5


def test_only_regular_files_have_a_digest(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        DigestCache().file(tmp_path / "pipe")
    assert DigestCache().tree(tmp_path).startswith("sha256:")


def test_a_copy_is_exact_keeps_holes_and_mode_and_refuses_to_overwrite(tmp_path: Path) -> None:
    source = tmp_path / "disk"
    with source.open("wb") as file:
        file.truncate(64 << 20)
        file.seek(32 << 20)
        file.write(b"data" * 1000)
    source.chmod(0o640)
    reflink.copy_file(source, tmp_path / "copy")
    copy = (tmp_path / "copy").stat()
    assert copy.st_size == 64 << 20
    assert copy.st_blocks * 512 < 1 << 20
    assert stat.S_IMODE(copy.st_mode) == 0o640
    assert (tmp_path / "copy").read_bytes() == source.read_bytes()
    with pytest.raises(FileExistsError):
        reflink.copy_file(source, tmp_path / "copy")


def test_a_clone_is_tried_and_leaves_nothing_where_it_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 5000)
    could = reflink.clone_file(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").exists() == could == reflink.can_clone(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} - {"b"} == {"a"}


def test_removal_follows_no_link_and_opens_what_is_closed(tmp_path: Path) -> None:
    """N3."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    tree = tmp_path / "tree"
    (tree / "closed" / "inner").mkdir(parents=True)
    (tree / "link").symlink_to(outside)
    (tree / "closed" / "inner" / "f").write_text("x")
    os.mkfifo(tree / "pipe")
    (tree / "closed").chmod(0)
    remove_tree(tree)
    remove_tree(tree)
    assert not tree.exists()
    assert (outside / "kept").exists()
    (tmp_path / "just-a-link").symlink_to(outside)
    remove_tree(tmp_path / "just-a-link")
    assert (outside / "kept").exists()


def test_removal_does_not_depend_on_depth(tmp_path: Path) -> None:
    """A guest may leave a tree deeper than the path limit, the stack and the table of open files."""
    here = Path.cwd()
    (tmp_path / "deep").mkdir()
    os.chdir(tmp_path / "deep")
    try:
        for _ in range(1500):
            Path("x" * 50).mkdir()
            os.chdir("x" * 50)
    finally:
        os.chdir(here)
    remove_tree(tmp_path / "deep")
    assert not (tmp_path / "deep").exists()


def test_the_tail_of_a_log_is_bounded_and_never_fails(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert logs.tail(log) == ""
    log.write_bytes(b"\xff" + b"x" * 2_000_000 + b"\n" + b"\n".join(b"line %d" % n for n in range(100)) + b"\n")
    assert logs.tail(log, 3) == "line 97\nline 98\nline 99"
    assert len(logs.tail(log, 200)) < 200_000
    assert logs.tail(tmp_path) == ""
