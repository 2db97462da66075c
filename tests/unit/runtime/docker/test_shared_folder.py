"""The folder that a world shares with us: sockets are found, links are not followed, nothing stays open."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.errors import Aborted, DeadlineExceeded
from gym_anything.runtime.container.shared_folder import SharedFolder
from gym_anything.runtime.runners.docker.calls import EngineCalls

pytestmark = pytest.mark.unit


@pytest.fixture
def folder(tmp_path: Path) -> SharedFolder:
    return SharedFolder(tmp_path / "io")


def soon() -> Deadline:
    return Deadline.after(5)


def test_a_socket_is_reached_by_a_path_that_means_exactly_it(folder: SharedFolder) -> None:
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as caller:
        listener.bind(str(folder.path / "vnc" / "socket"))
        listener.listen()
        path = folder.await_socket("vnc/socket", deadline=soon(), awaited="it")
        (folder.path / "vnc" / "socket").unlink()  # whatever lies there now, the path still means the first
        caller.connect(path)
    folder.close()


@pytest.mark.parametrize("link", ["desktop/socket", "desktop"])
def test_a_link_is_not_followed(folder: SharedFolder, tmp_path: Path, link: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "socket").touch()
    place = folder.path / link
    if place.is_dir():
        place.rmdir()
    place.symlink_to(tmp_path / "elsewhere" if link == "desktop" else tmp_path / "elsewhere" / "socket")
    with pytest.raises(OSError, match="openat2"):
        folder.await_socket("desktop/socket", deadline=soon(), awaited="it")
    folder.close()


def test_what_never_comes_is_named(folder: SharedFolder) -> None:
    with pytest.raises(DeadlineExceeded, match="the X server"):
        folder.await_socket("x11/X1", deadline=Deadline.after(0), awaited="the X server")
    folder.close()


def test_closing_closes_every_descriptor_and_ends_waits(folder: SharedFolder) -> None:
    assert Path(f"/proc/self/fd/{folder._folder}").readlink() == folder.path
    (folder.path / "guest.sock").touch()
    folder.await_socket("guest.sock", deadline=soon(), awaited="it")
    folder.close()
    folder.close()
    assert not [fd for fd in Path("/proc/self/fd").iterdir() if os.path.realpath(fd).startswith(str(folder.path))]
    with pytest.raises(OSError, match="closed"):
        folder.await_socket("guest.sock", deadline=soon(), awaited="it")


def test_a_secret_is_for_root_only_and_can_be_forgotten(folder: SharedFolder) -> None:
    folder.put_secret("token", b"secret")
    assert (folder.path / "token").stat().st_mode & 0o777 == 0o400
    folder.forget("token")
    folder.forget("token")
    assert not (folder.path / "token").exists()
    folder.close()


def test_a_call_of_the_engine_gives_its_answer_or_its_error() -> None:
    calls = EngineCalls(threading.Event())
    assert calls.make(lambda: 42, doing="answer", deadline=soon()) == 42
    with pytest.raises(LookupError):
        calls.make(lambda: {}["x"], doing="fail", deadline=soon())


def test_a_call_that_hangs_is_left_alone_when_the_world_ends_and_waited_for_later() -> None:
    ended, goes_on = threading.Event(), threading.Event()
    calls = EngineCalls(ended)
    threading.Timer(0.05, ended.set).start()
    with pytest.raises(Aborted):
        calls.make(goes_on.wait, doing="hang", deadline=soon())
    assert calls.finish(Deadline.after(0)) is False
    removed = threading.Event()
    calls.after_all(removed.set)
    assert not removed.is_set()
    goes_on.set()
    assert calls.finish(soon()) is True
    assert removed.wait(5)
    with pytest.raises(Aborted):
        calls.make(lambda: 1, doing="another", deadline=soon())
