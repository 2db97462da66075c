"""How the service and its clients begin and end, and who waits for whom."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import Click, Drag, Move, TypeText
from gym_anything.errors import (
    Aborted,
    GymAnythingError,
    InputDeliveryUnknown,
    StateError,
    Unauthorized,
    Unreachable,
    WorldLost,
)
from gym_anything.runtime.desktop.client import DesktopClient
from tests.integration.desktop.conftest import OpenProbe, StartScreen, on_xorg_too
from tests.integration.desktop.screen import XVFB, XVNC, Screen, soon

pytestmark = pytest.mark.real

EXIT_USAGE, EXIT_X_LOST, EXIT_X_LACKS = 2, 3, 4


class Blocked:
    """A call that blocks in a thread of its own."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.error: BaseException | None = None
        self.began = threading.Event()
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self.began.wait(5)

    def _run(self) -> None:
        self.began.set()
        try:
            self._call()
        except GymAnythingError as error:
            self.error = error

    def join(self, seconds: float) -> BaseException | None:
        """Return what it raised; it must have ended within the time."""
        self._thread.join(seconds)
        assert not self._thread.is_alive(), "still blocked"
        return self.error


def long_drags(client: DesktopClient) -> Callable[[], object]:
    """Return a call that takes many seconds."""
    return lambda: client.send([Drag("left", (0, 0), (1200, 700))] * 200)


def test_a_frame_does_not_wait_for_anybodys_typing_dragging_or_settling(screen: Screen, client: DesktopClient) -> None:
    other = screen.client()
    busy = [Blocked(long_drags(client)), Blocked(lambda: client.settle(5000, 60000))]
    times = []
    for _ in range(50):
        for one in (client, other):
            began = time.monotonic()
            one.frame()
            times.append(time.monotonic() - began)
    assert sorted(times)[len(times) // 2] < 0.05
    client.abort()
    assert all(isinstance(call.join(1), Aborted) for call in busy)


@pytest.mark.parametrize("what", ["send", "settle", "frame", "waiting for another's turn"])
def test_abort_ends_every_blocked_call_within_a_second(screen: Screen, client: DesktopClient, what: str) -> None:
    calls: dict[str, Callable[[], object]] = {
        "send": long_drags(client),
        "settle": lambda: client.settle(3_000_000, 3_000_000),
        "frame": client.frame,
        "waiting for another's turn": client.pointer,
    }
    if what == "frame":
        os.kill(screen.service.pid, signal.SIGSTOP)
    blocked = [Blocked(long_drags(client))] if what.startswith("waiting") else []
    blocked.append(Blocked(calls[what]))
    with pytest.raises(AssertionError, match="still blocked"):
        blocked[-1].join(0.2)
    began = time.monotonic()
    client.abort()
    assert [type(call.join(1)) for call in blocked] == [Aborted] * len(blocked)
    assert time.monotonic() - began < 1
    for call in (client.frame, client.newest, client.pointer, client.settle, lambda: client.send([Move(1, 1)])):
        with pytest.raises(Aborted):
            call()


def test_a_service_goes_on_after_a_client_was_aborted_in_the_middle(
    screen: Screen, client: DesktopClient, open_probe: OpenProbe
) -> None:
    probe = open_probe()
    call = Blocked(long_drags(client))
    probe.await_events(1, "button press")
    client.abort()
    call.join(1)
    other = screen.client()
    assert other.send([Click("left", 3, 4)]).pointer == (3, 4)
    presses, releases = probe.await_events(2, "button press"), probe.await_events(2, "button release")
    wait_until(
        lambda: len(probe.of("button press")) == len(probe.of("button release")), deadline=soon(2), awaited="all"
    )
    assert len(presses) < 50 and len(releases) < 50, "it stopped dragging"


def test_a_missed_deadline_leaves_delivery_unknown_and_the_client_usable(client: DesktopClient) -> None:
    with pytest.raises(InputDeliveryUnknown):
        client.send([Drag("left", (0, 0), (1200, 700))] * 50, deadline=soon(0.3))
    assert client.send([Move(9, 9)]).pointer == (9, 9)
    assert client.frame().width == 1280


@on_xorg_too
@pytest.mark.parametrize("victim", ["server", "service"])
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_death_is_a_typed_error_at_once(
    screen: Screen, client: DesktopClient, victim: str, how: signal.Signals
) -> None:
    """L9: the world is lost, whoever died and however; also for calls that were blocked."""
    kept = client.frame()
    before = kept.array.copy()
    blocked = [Blocked(lambda: client.settle(3_000_000, 3_000_000)), Blocked(long_drags(client))]
    began = time.monotonic()
    (screen.server if victim == "server" else screen.service).send_signal(how)
    for call in blocked:
        assert type(call.join(3)) in (WorldLost, InputDeliveryUnknown)
    assert time.monotonic() - began < 3
    for _attempt in range(2):
        for ask in (client.frame, client.pointer, lambda: client.send([Move(1, 1)]), client.settle):
            with pytest.raises(WorldLost):
                ask()
    assert (kept.array == before).all(), "a frame that was handed out stays"
    if victim == "server":
        assert screen.service.wait(5) == EXIT_X_LOST
        assert "X server is gone" in screen.log("ga-desktop")
    if how == signal.SIGTERM or victim == "server":
        screen.service.wait(5)
        assert not screen.socket.exists()


def test_a_wrong_token_is_refused_on_both_sides(screen: Screen) -> None:
    for token in (b"x" * 32, None):
        with pytest.raises(Unauthorized):
            DesktopClient.connect(screen.socket, deadline=soon(), token=token)
    assert screen.client().frame().width == 1280


def test_without_a_token_only_the_same_user_is_let_in(start_screen: StartScreen) -> None:
    screen = start_screen(start_service=False)
    path = screen.folder / "open.sock"
    screen.start([screen.program, "--display", screen.display, "--socket", path])
    with DesktopClient.connect(path, deadline=soon()) as client:
        assert client.frame().height == 800
    assert path.stat().st_mode & 0o777 == 0o600
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    screen.folder.parent.chmod(0o711)
    screen.folder.chmod(0o711)
    path.chmod(0o666)
    script = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(path)!r}); print(s.recv(200))"
    as_nobody = subprocess.run(
        ["setpriv", "--reuid", "65534", "--clear-groups", "/usr/bin/python3", "-c", script],
        capture_output=True,
        text=True,
    )
    assert "may not connect" in as_nobody.stdout, as_nobody.stderr


def test_nothing_there_is_said_when_the_deadline_passes(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="no desktop service listens"):
        DesktopClient.connect(tmp_path / "nothing.sock", deadline=soon(0.2))


def test_a_client_may_come_before_the_service_and_the_service_before_the_x_server(
    start_screen: StartScreen,
) -> None:
    screen = start_screen(start_service=False)
    number = next(n for n in range(300, 400) if not Path(f"/tmp/.X11-unix/X{n}").exists())
    screen.display = f":{number}"
    screen.start_service("--wait-display", "20")
    connected: list[DesktopClient] = []
    waiting = threading.Thread(target=lambda: connected.append(screen.client()))
    waiting.start()
    screen.start([XVFB, screen.display, "-screen", "0", "640x480x24", "-nolisten", "tcp"])
    waiting.join(20)
    assert connected[0].frame().width == 640


def test_a_listening_socket_can_be_handed_over(start_screen: StartScreen) -> None:
    """L4: nothing to race for."""
    screen = start_screen(start_service=False)
    path = screen.folder / "given.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        number = listening.fileno()
        argv = [screen.program, "--display", screen.display, "--listen-fd", str(number)]
        screen.start(argv, pass_fds=[number])
        with DesktopClient.connect(path, deadline=soon()) as client:
            assert client.frame().width == 1280


def test_a_leftover_socket_is_replaced_and_a_living_one_is_not(start_screen: StartScreen) -> None:
    screen = start_screen()
    screen.client()
    second = screen.start_service()
    assert second.wait(10) == 1
    assert "cannot listen" in screen.log("ga-desktop")
    screen.service.kill()
    screen.service.wait(5)
    assert screen.socket.exists()
    screen.start_service()
    assert screen.client().frame().width == 1280


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], EXIT_USAGE, "usage"),
        (["--display", ":1"], EXIT_USAGE, "usage"),
        (["--display", ":1", "--socket", "a", "--listen-fd", "3"], EXIT_USAGE, "usage"),
        (["--display", ":1", "--socket", "a", "--frobnicate"], EXIT_USAGE, "usage"),
        (["--display", ":1", "--socket", "a", "--wait-display", "soon"], EXIT_USAGE, "not a number"),
        (["--display", ":1", "--socket", "a", "more"], EXIT_USAGE, "usage"),
        (["--display", ":91", "--socket", "a"], EXIT_X_LOST, "no X server answers"),
        (["--display", "nonsense", "--socket", "a"], EXIT_X_LOST, "no X server answers"),
    ],
)
def test_a_bad_command_line_is_explained(desktop_program: Path, arguments: list[str], code: int, said: str) -> None:
    env = {key: value for key, value in os.environ.items() if key != "DISPLAY"}
    run = subprocess.run([desktop_program, *arguments], capture_output=True, text=True, env=env, timeout=20)
    assert (run.returncode, said in run.stderr) == (code, True), run.stderr


@pytest.mark.parametrize("extension", ["XTEST", "DAMAGE"])
def test_an_x_server_that_lacks_something_is_refused_by_name(start_screen: StartScreen, extension: str) -> None:
    screen = start_screen(server=XVFB, server_options=["-extension", extension], start_service=False)
    service = screen.start_service()
    assert service.wait(10) == EXIT_X_LACKS
    assert extension in screen.log("ga-desktop")


def test_clients_leave_nothing_behind(start_screen: StartScreen) -> None:
    """200 clients, each with frames in its hands: descriptors and threads are as before, here and in the service."""
    screen = start_screen(server=XVNC)
    first = screen.client()
    first.frame()
    first.frame()  # by now the service has closed what it sent along with the first

    def held() -> tuple[int, int, int]:
        return (
            sum(1 for _ in Path(f"/proc/{screen.service.pid}/fd").iterdir()),
            sum(1 for _ in Path("/proc/self/fd").iterdir()),
            threading.active_count(),
        )

    before = held()
    for _ in range(200):
        with DesktopClient.connect(screen.socket, deadline=soon(), token=screen.token) as client:
            client.frame()
            client.send([Move(5, 5)])
            client.settle(0, 10)
    wait_until(lambda: held() == before, deadline=soon(5), awaited="as before", status=lambda: f"{before} {held()}")


def test_an_idle_service_uses_no_processor_time(screen: Screen, client: DesktopClient) -> None:
    client.frame()
    client.send([TypeText("a")])

    def ticks() -> int:
        fields = Path(f"/proc/{screen.service.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    wait_until(lambda: client.settle(500, 5000).settled, deadline=soon(), awaited="calm")
    used, began = ticks(), time.monotonic()
    client.settle(3000, 3000)
    assert time.monotonic() - began >= 2.9
    assert ticks() - used <= 1


def test_too_many_connections_are_refused_and_the_others_go_on(screen: Screen, client: DesktopClient) -> None:
    clients = [client]
    with pytest.raises(GymAnythingError, match="too many connections"):
        for _ in range(40):
            clients.append(DesktopClient.connect(screen.socket, deadline=soon(), token=screen.token))
            clients[-1].frame()
    assert len(clients) >= 8
    for one in clients:
        assert one.frame().width == 1280
        one.close()
    wait_until(lambda: _connects(screen), deadline=soon(5), awaited="room again")


def _connects(screen: Screen) -> bool:
    try:
        with DesktopClient.connect(screen.socket, deadline=soon(), token=screen.token) as client:
            return client.frame().width == 1280
    except GymAnythingError:
        return False


def test_close_is_idempotent_and_final(client: DesktopClient) -> None:
    frame = client.frame()
    client.close()
    client.close()
    assert frame.array.shape == (800, 1280, 3)
    with pytest.raises(StateError, match="closed"):
        client.frame()
