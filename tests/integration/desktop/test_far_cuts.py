"""A line that is cut again and again changes nothing: frames stay exact, each input is done once, and an end is an end."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gym_anything._util import ports
from gym_anything._util.deadline import Deadline
from gym_anything._util.waiting import wait_until
from gym_anything.actions.model import Buttons, Click, Drag, KeysDown, Move, PressKeys
from gym_anything.errors import (
    Aborted,
    GymAnythingError,
    InputDeliveryUnknown,
    InputNotDelivered,
    RemoteError,
    SessionLost,
    StateError,
    Unreachable,
    WorldLost,
)
from gym_anything.runtime.desktop.far_client import FarDesktop
from tests.integration.desktop.far_screen import FarScreen
from tests.integration.desktop.screen import Probe, soon
from tests.integration.desktop.test_life import Blocked

pytestmark = pytest.mark.real

without_tls = pytest.mark.parametrize("far_screen", ["plain"], indirect=True)
"""Where TLS makes no difference."""

HOLD_S = 5.0
"""What is held down stays so for this long after a cut (``HOLD_MS`` of the gate)."""


@pytest.fixture
def probe(far_screen: FarScreen, probe_program: Path) -> Probe:
    """A window over the whole screen."""
    return Probe(far_screen.screen, probe_program, (0, 0, 1280, 800))


def through_cuts(far_screen: FarScreen, probe: Probe, cuts: int, limit_s: float) -> None:
    """Click, look and compare while the line is cut at any byte, in both directions, in order or by reset."""
    chance = random.Random(11)
    line = far_screen.line(seed=12)
    far, near = far_screen.client(line), far_screen.screen.client()
    line.cut_every(1, 20_000)
    sent: list[tuple[int, int]] = []
    deadline = Deadline.after(limit_s)
    while line.cuts < cuts:
        assert not deadline.expired(), f"{line.cuts} cuts"
        if len(sent) % 100 == 0:
            probe.tell("fill 000000 0 0 1280 800")  # or the picture outgrows what passes between two cuts
        place = (chance.randrange(1280), chance.randrange(800))
        ack = far.send([Click("left", *place)])
        sent.append(place)
        assert (ack.number, ack.pointer) == (len(sent), place)
        if chance.random() < 0.5:
            probe.tell(f"fill {chance.randrange(1 << 24):06x} {place[0]} {place[1]} {chance.randrange(1, 40)} 20")
        frame = far.frame()
        assert frame.after_input == len(sent)
        np.testing.assert_array_equal(frame.array, near.frame().array)
    line.calm()
    presses = probe.await_events(len(sent), "button press")
    assert [(int(event[3]), int(event[4])) for event in presses] == sent
    assert len(probe.await_events(len(sent), "button release")) == len(sent)


def test_through_hundreds_of_cuts_frames_are_exact_and_each_input_is_done_once(
    far_screen: FarScreen, probe: Probe
) -> None:
    """N7: a resend is answered, not repeated."""
    through_cuts(far_screen, probe, 220, 60)


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_through_thousands_of_cuts(far_screen: FarScreen, probe: Probe) -> None:
    """N7."""
    through_cuts(far_screen, probe, 3000, 800)


def test_a_batch_that_is_being_done_goes_on_through_a_cut(far_screen: FarScreen, probe: Probe) -> None:
    line = far_screen.line()
    far = far_screen.client(line)
    answers: list[object] = []
    sending = threading.Thread(target=lambda: answers.append(far.send([Drag("left", (5, 5), (900, 700))] * 3)))
    sending.start()
    for count in (1, 2):
        probe.await_events(count, "button press")
        line.cut()
    sending.join(20)
    assert answers and answers[0].pointer == (900, 700)  # type: ignore[attr-defined]
    probe.tell("sync")
    assert len(probe.of("button press")) == len(probe.of("button release")) == 3


@without_tls
def test_what_is_held_stays_so_through_a_short_cut(far_screen: FarScreen, probe: Probe) -> None:
    line = far_screen.line()
    far = far_screen.client(line)
    probe.tell("keyboard")
    far.send([KeysDown(("Shift_L",)), Buttons((("left", True),))])
    line.cut()
    far.send([Move(300, 300), PressKeys(("a",))])
    events = probe.await_events(2, "key press")
    assert events[1][3] == "257", "the key came with Shift (1) and the left button (256) held"
    assert not probe.of("button release")


@without_tls
def test_after_a_long_cut_what_was_held_is_released_and_the_next_input_says_so(
    far_screen: FarScreen, probe: Probe
) -> None:
    line = far_screen.line()
    far = far_screen.client(line)
    far.send([Buttons((("left", True),))])
    probe.await_events(1, "button press")
    line.cut()
    probe.await_events(1, "button release")
    assert far.pointer() is not None
    line.cut()  # what the gate has said once is not forgotten
    with pytest.raises(InputNotDelivered, match="hold them again"):
        far.send([Move(7, 7)])
    assert far.send([Move(8, 8)]).pointer == (8, 8)


@without_tls
def test_a_missed_deadline_leaves_delivery_unknown_stops_the_input_and_the_client_usable(
    far_screen: FarScreen, probe: Probe
) -> None:
    far = far_screen.client()
    began = time.monotonic()
    with pytest.raises(InputDeliveryUnknown):
        far.send([Drag("left", (0, 0), (1200, 700))] * 50, deadline=soon(0.5))
    assert time.monotonic() - began < 1.5
    assert far.send([Move(9, 9)]).pointer == (9, 9)
    wait_until(
        lambda: probe.tell("sync") or len(probe.of("button press")) == len(probe.of("button release")),  # type: ignore[func-returns-value]
        deadline=soon(3),
        awaited="release",
    )
    assert 1 <= len(probe.of("button press")) < 20, "it stopped dragging"
    assert far.frame().width == 1280


def calls(far: FarDesktop) -> dict[str, Callable[[], object]]:
    return {"frame": far.frame, "pointer": far.pointer, "send": lambda: far.send([Move(1, 1)]), "settle": far.settle}


@without_tls
def test_a_gate_that_is_gone_is_said_within_the_deadline(far_screen: FarScreen) -> None:
    far = far_screen.client()
    kept = far.frame()
    far_screen.gate.process.signal(9)
    far_screen.door.close()
    for name, call in {
        "frame": lambda: far.frame(deadline=soon(0.3)),
        "pointer": lambda: far.pointer(deadline=soon(0.3)),
        "settle": lambda: far.settle(deadline=soon(0.3)),
    }.items():
        began = time.monotonic()
        with pytest.raises(Unreachable, match="see that it runs"):
            call()
        assert time.monotonic() - began < 1.5, name
    with pytest.raises((InputDeliveryUnknown, Unreachable)):
        far.send([Move(1, 1)], deadline=soon(0.3))
    with pytest.raises(Unreachable):
        far.send([Move(1, 1)], deadline=soon(0.3))
    assert kept.array.shape == (800, 1280, 3)


@without_tls
def test_an_input_under_way_when_the_gate_dies_is_of_unknown_delivery(far_screen: FarScreen, probe: Probe) -> None:
    far = far_screen.client()
    call = Blocked(lambda: far.send([Drag("left", (0, 0), (1200, 700))] * 20, deadline=soon(1)))
    probe.await_events(1, "button press")
    far_screen.gate.process.signal(9)
    assert isinstance(call.join(3), InputDeliveryUnknown)


@without_tls
def test_another_gate_at_the_same_place_does_not_know_the_session(far_screen: FarScreen) -> None:
    far = far_screen.client()
    far.frame()
    token = far_screen.gate.address.token
    far_screen.gate.process.signal(9)
    far_screen.gate.process.wait(soon())
    far_screen.start_gate(token)
    for _attempt in range(2):
        for name, call in calls(far).items():
            with pytest.raises((SessionLost, InputDeliveryUnknown)) as caught:
                call()
            if name == "frame":
                assert isinstance(caught.value, SessionLost) and "connect anew" in str(caught.value)
    assert far_screen.client().frame().width == 1280


@without_tls
@pytest.mark.parametrize("victim", ["server", "service"])
def test_a_desktop_that_dies_is_a_lost_world(far_screen: FarScreen, victim: str) -> None:
    """L9: through the gate as beside it; for blocked calls at once, for later ones always."""
    far = far_screen.client()
    kept = far.frame()
    before = kept.array.copy()
    blocked = [
        Blocked(lambda: far.settle(3_000_000, 3_000_000)),
        Blocked(lambda: far.send([Drag("left", (0, 0), (1200, 700))] * 200)),
    ]
    for call in blocked:
        with pytest.raises(AssertionError, match="still blocked"):
            call.join(0.2)
    began = time.monotonic()
    (far_screen.screen.server if victim == "server" else far_screen.screen.service).kill()
    assert isinstance(blocked[0].join(3), WorldLost)
    assert isinstance(blocked[1].join(3), InputDeliveryUnknown | WorldLost)
    assert time.monotonic() - began < 3
    for _attempt in range(2):
        for call in calls(far).values():
            with pytest.raises(WorldLost):
                call()
    assert far_screen.gate.process.wait(soon(5)) == 3
    assert (kept.array == before).all(), "a frame that was handed out stays"


@pytest.mark.parametrize(
    "what", ["send", "settle", "frame", "reconnecting", "a silent opening", "waiting for another's turn"]
)
def test_abort_ends_every_blocked_call_within_a_second(far_screen: FarScreen, what: str) -> None:
    line = far_screen.line()
    far = far_screen.client(line)
    drags = [Drag("left", (0, 0), (1200, 700))] * 200
    blocked = []
    if what == "send" or what.startswith("waiting"):
        blocked.append(Blocked(lambda: far.send(drags)))
    if what.startswith("waiting"):
        blocked.append(Blocked(far.pointer))
    if what == "settle":
        blocked.append(Blocked(lambda: far.settle(3_000_000, 3_000_000)))
    if what == "frame":
        far_screen.gate.process.signal(19)  # SIGSTOP
        blocked.append(Blocked(far.frame))
    if what == "reconnecting":
        line.close()
        blocked.append(Blocked(far.frame))
    silent = ports.bind_loopback(listen=True)
    if what == "a silent opening":
        line.lead_to(silent.getsockname())
        blocked.append(Blocked(far.frame))
    with pytest.raises(AssertionError, match="still blocked"):
        blocked[-1].join(0.3)
    began = time.monotonic()
    far.abort()
    assert [type(call.join(1)) for call in blocked] == [Aborted] * len(blocked)
    assert time.monotonic() - began < 1
    for call in calls(far).values():
        with pytest.raises(Aborted):
            call()
    far_screen.gate.process.signal(18)  # SIGCONT
    silent.close()


@without_tls
def test_close_is_idempotent_final_and_releases_what_was_held(far_screen: FarScreen, probe: Probe) -> None:
    far = far_screen.client()
    frame = far.frame()
    far.send([Buttons((("left", True),))])
    began = time.monotonic()
    far.close()
    far.close()
    probe.await_events(1, "button release")
    assert time.monotonic() - began < HOLD_S / 2, "it did not wait for the gate to notice"
    assert frame.array.shape == (800, 1280, 3)
    with pytest.raises(StateError, match="closed"):
        far.frame()


def test_clients_leave_nothing_behind(far_screen: FarScreen) -> None:
    """40 clients, each with a frame in its hands: descriptors and threads are as before, here and in the gate."""
    far_screen.client().frame()

    def held() -> tuple[int, int, int]:
        return (
            sum(1 for _ in Path(f"/proc/{far_screen.gate.process.pid}/fd").iterdir()),
            sum(1 for _ in Path("/proc/self/fd").iterdir()),
            threading.active_count(),
        )

    before = held()
    for _ in range(40):
        with FarDesktop.connect(far_screen.gate.address, deadline=soon()) as far:
            far.frame()
            far.send([Move(5, 5)])
            far.settle(0, 10)
    wait_until(lambda: held() == before, deadline=soon(5), awaited="as before", status=lambda: f"{before} {held()}")


@without_tls
def test_a_cut_is_no_reason_to_give_up_nor_to_hide(far_screen: FarScreen) -> None:
    """While the line is down calls wait; when it is back they go on, and the gate is not asked twice for one thing."""
    line = far_screen.line()
    far = far_screen.client(line)
    far.frame()
    line.cut_every(1, 1)
    found: list[object] = []

    def ask() -> None:
        try:
            found.append(far.frame(deadline=soon(10)))
        except (GymAnythingError, RemoteError) as error:
            found.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join(0.5)
    assert asking.is_alive() and not found
    line.calm()
    asking.join(10)
    assert getattr(found[0], "width", found) == 1280
