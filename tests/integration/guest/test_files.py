from __future__ import annotations

import io
import os
import tarfile
import threading
import time
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.errors import DeadlineExceeded, GuestCommandFailed, GuestFileNotFound
from gym_anything.runtime.guest.channel import GuestChannel
from gym_anything.runtime.guest.exchange import Exchange
from tests.integration.guest.world import World, soon

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("nothing_left")]


@pytest.mark.parametrize("size", [0, 1, 65536, 65537, 10_000_000])
def test_a_file_goes_in_and_comes_back_the_same(channel: GuestChannel, world: World, size: int) -> None:
    data = os.urandom(size)
    path = str(world.folder / "data")
    channel.put_file(data, path, deadline=soon())
    assert channel.get_file(path, deadline=soon()) == data
    assert channel.stat(path, deadline=soon()).size == size


def test_names_with_spaces_and_any_letters_work(channel: GuestChannel, world: World, tmp_path: Path) -> None:
    """N12: paths with spaces and non-ASCII letters work."""
    path = str(world.folder / "a b" / "größe 日本 '\"$(x)" / "-rf\nx")
    source = tmp_path / "in put é"
    source.write_bytes(b"content")
    channel.put_file(source, path, deadline=soon())
    channel.get_file(path, tmp_path / "sub folder" / "øut", deadline=soon())
    assert (tmp_path / "sub folder" / "øut").read_bytes() == b"content"
    names = [file.name for file in channel.list_folder(str(world.folder / "a b"), deadline=soon())]
    assert names == ["größe 日本 '\"$(x)"]


@pytest.mark.usefixtures("as_root")
def test_a_file_gets_its_owner_and_mode_and_so_do_folders_made_for_it(channel: GuestChannel, world: World) -> None:
    path = str(world.home / "new" / "deep" / "file")
    channel.put_file(b"x", path, mode=0o640, owner="ga", deadline=soon())
    file = channel.stat(path, deadline=soon())
    assert (file.mode & 0o7777, file.uid, file.gid) == (0o640, 1000, 1000)
    folder = channel.stat(str(world.home / "new"), deadline=soon())
    assert (folder.mode & 0o7777, folder.uid) == (0o755, 1000)
    with pytest.raises(GuestCommandFailed, match="no such user"):
        channel.put_file(b"x", path, owner="nobody-here", deadline=soon())


def test_a_file_that_is_not_there_is_a_missing_file(channel: GuestChannel, world: World, tmp_path: Path) -> None:
    missing = str(world.folder / "missing")
    with pytest.raises(FileNotFoundError, match="missing"):
        channel.get_file(missing, deadline=soon())
    with pytest.raises(GuestFileNotFound):
        channel.get_file(missing, tmp_path / "out", deadline=soon())
    assert list(tmp_path.iterdir()) == []
    for call in (channel.stat, channel.remove, channel.list_folder):
        with pytest.raises(GuestFileNotFound):
            call(missing, deadline=soon())
    assert not channel.exists(missing, deadline=soon())


def test_what_is_not_a_file_is_refused_and_never_hangs(channel: GuestChannel, world: World) -> None:
    pipe = str(world.folder / "pipe")
    os.mkfifo(pipe)
    for path in (str(world.folder), pipe, "/dev/zero"):
        with pytest.raises(GuestCommandFailed, match="not a file"):
            channel.get_file(path, deadline=soon(5))
    with pytest.raises(GuestCommandFailed, match="Is a directory"):
        channel.put_file(b"x", str(world.folder), deadline=soon(5))


def test_a_file_without_a_size_is_read_whole(channel: GuestChannel) -> None:
    assert b"root:x:0:0" in channel.get_file("/etc/passwd", deadline=soon())
    assert channel.get_file("/proc/version", deadline=soon()).startswith(b"Linux version")


def test_a_file_in_use_is_replaced_whole(channel: GuestChannel, world: World) -> None:
    path = str(world.folder / "used")
    channel.put_file(b"old" * 1000, path, deadline=soon())
    with Path(path).open("rb") as old:
        channel.put_file(b"new", path, deadline=soon())
        assert old.read() == b"old" * 1000
    assert Path(path).read_bytes() == b"new"


def test_a_file_that_is_a_mount_is_written_in_place(channel: GuestChannel) -> None:
    content = channel.get_file("/etc/group", deadline=soon())
    channel.put_file(content + b"added:x:950:\n", "/etc/group", deadline=soon())
    assert channel.get_file("/etc/group", deadline=soon()).endswith(b"added:x:950:\n")
    assert not [file.name for file in channel.list_folder("/etc", deadline=soon()) if file.name.startswith(".ga-put")]


def test_a_put_that_is_broken_off_leaves_nothing(world: World) -> None:
    channel = world.connect()
    started = threading.Event()

    def endless() -> object:
        while True:
            started.set()
            yield b"x" * 65536
            time.sleep(0.01)

    def put() -> None:
        exchange = Exchange(channel._connection, "write", soon())
        path = os.fsencode(world.folder / "half")
        exchange.request("PUT", flags=0, deadline_ms=0, mode=0o644, owner=b"", path=path)
        with pytest.raises(Exception, match="aborted"):
            exchange.finish(source=endless())  # type: ignore[arg-type]

    thread = threading.Thread(target=put)
    thread.start()
    started.wait()
    wait_until(lambda: any(world.folder.glob(".ga-put-*")), deadline=soon(), awaited="the unfinished file")
    channel.abort()
    thread.join()
    channel.close()
    wait_until(lambda: not any(world.folder.glob(".ga-put-*")), deadline=soon(), awaited="the clean-up")
    assert not (world.folder / "half").exists()


def test_folders_are_made_listed_and_removed(channel: GuestChannel, world: World) -> None:
    base = str(world.folder / "tree")
    channel.make_folder(f"{base}/a/b", mode=0o700, deadline=soon())
    channel.make_folder(f"{base}/a/b", mode=0o755, deadline=soon())
    channel.put_file(b"12345", f"{base}/a/file", deadline=soon())
    Path(f"{base}/a/link").symlink_to("/etc")
    listing = {file.name: file for file in channel.list_folder(f"{base}/a", deadline=soon())}
    assert list(listing) == ["b", "file", "link"]
    assert listing["b"].mode & 0o7777 == 0o700 and listing["file"].size == 5
    assert listing["link"].link_target == "/etc"
    with pytest.raises(GuestCommandFailed, match="not empty"):
        channel.remove(base, deadline=soon())
    channel.remove(base, tree=True, deadline=soon())
    assert not Path(base).exists() and Path("/etc/passwd").exists()


def _make_tree(root: Path) -> None:
    (root / "empty").mkdir(parents=True)
    (root / ("long-" * 40)).mkdir()
    (root / ("long-" * 40) / ("name-" * 40)).write_bytes(b"deep")
    (root / "text é.txt").write_bytes(b"hello\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "big").write_bytes(os.urandom(3_000_001))
    (root / "link").symlink_to("text é.txt")


def _describe(root: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = str(path.readlink())
        elif path.is_dir():
            found[name] = "folder"
        else:
            found[name] = (path.read_bytes(), path.stat().st_mode & 0o777, int(path.stat().st_mtime))
    return found


def test_a_tree_goes_in_and_comes_back_the_same(channel: GuestChannel, world: World, tmp_path: Path) -> None:
    _make_tree(tmp_path / "in")
    target = str(world.folder / "some" / "where")
    channel.put_tree(tmp_path / "in", target, deadline=soon())
    assert _describe(Path(target)) == _describe(tmp_path / "in")
    assert channel.get_tree(target, tmp_path / "out", deadline=soon()) == []
    assert _describe(tmp_path / "out") == _describe(tmp_path / "in")


@pytest.mark.usefixtures("as_root")
def test_a_tree_belongs_to_the_named_user(channel: GuestChannel, world: World, tmp_path: Path) -> None:
    _make_tree(tmp_path / "in")
    channel.put_tree(tmp_path / "in", str(world.home / "tree"), owner="ga", deadline=soon())
    found = channel.exec(["find", str(world.home / "tree"), "!", "-user", "ga"], deadline=soon())
    assert found.ok and found.stdout == b""


def test_what_leads_out_of_the_target_stays_out_and_is_named(
    channel: GuestChannel, world: World, tmp_path: Path
) -> None:
    """N4: tar extraction uses the data filter."""
    tree = world.folder / "hostile"
    tree.mkdir()
    (tree / "good").write_text("good")
    (tree / "absolute").symlink_to("/etc/shadow")
    (tree / "outside").symlink_to("../../../../etc/shadow")
    os.mkfifo(tree / "pipe")
    left_out = channel.get_tree(str(tree), tmp_path / "out", deadline=soon())
    assert sorted(left_out) == ["absolute", "outside"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["good"]


def _tar(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for info, data in members:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def _link(name: str, target: str) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, target
    return info, b""


@pytest.mark.parametrize(
    ("archive", "words"),
    [
        (_tar((tarfile.TarInfo("../escaped"), b"x")), "leads outside"),
        (_tar((tarfile.TarInfo("/tmp/escaped"), b"x")), "absolute name"),
        (_tar(_link("out", ".."), (tarfile.TarInfo("out/escaped"), b"x")), "cannot enter"),
        (_tar((tarfile.TarInfo("ok"), b"x" * 5000))[:2000], "cut short"),
        (b"not a tar" * 100, "checksum|bad number"),
    ],
)
def test_a_hostile_archive_does_not_leave_its_folder(
    channel: GuestChannel, world: World, archive: bytes, words: str
) -> None:
    """N4, on the guest's side."""
    exchange = Exchange(channel._connection, "unpack", soon())
    target = os.fsencode(world.folder / "target" / "inner")
    exchange.request("TAR_PUT", deadline_ms=5000, owner=b"root", path=target)
    with pytest.raises(GuestCommandFailed, match=words):
        exchange.finish(source=iter([archive]))
    assert not (world.folder / "target" / "escaped").exists() and not Path("/tmp/escaped").exists()


def test_a_file_operation_ends_at_its_deadline(channel: GuestChannel, world: World) -> None:
    def slow() -> object:
        yield b"x"
        time.sleep(0.6)
        yield b"y"

    exchange = Exchange(channel._connection, "write slowly", Deadline.after(0.3))
    path = os.fsencode(world.folder / "slow")
    exchange.request("PUT", flags=0, deadline_ms=300, mode=0o644, owner=b"", path=path)
    with pytest.raises(DeadlineExceeded):
        exchange.finish(source=slow())  # type: ignore[arg-type]
    wait_until(lambda: not any(world.folder.glob("*slow*")), deadline=soon(), awaited="no file")
    assert channel.ping(deadline=soon()) < 5


def test_a_full_disk_is_an_error_and_leaves_nothing(channel: GuestChannel, world: World) -> None:
    small = str(world.folder / "small")
    assert channel.exec(["sh", "-c", f"mkdir {small} && mount -t tmpfs -o size=1m t {small}"], deadline=soon()).ok
    with pytest.raises(GuestCommandFailed, match="No space left"):
        channel.put_file(b"x" * 3_000_000, f"{small}/big", deadline=soon())
    assert channel.list_folder(small, deadline=soon()) == []
