"""No reader ever sees a torn frame while the screen changes as fast as it can."""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt
import pytest

from gym_anything.runtime.desktop.client import DesktopClient
from tests.integration.desktop.conftest import OpenProbe
from tests.integration.desktop.screen import Screen, soon

pytestmark = pytest.mark.real


def is_whole(array: npt.NDArray[np.uint8]) -> bool:
    """Tell whether the picture is of one grey all over (a thin comb of it is looked at)."""
    first = array[0, 0, 0]
    return bool((array[::7, ::97] == first).all() and (array[-1, -1] == first).all())


def look(client: DesktopClient, probe_program: OpenProbe, reads: int) -> tuple[int, int, int]:
    """Read frames in three ways while the screen flips; return how many were torn, read and different."""
    probe = probe_program()
    stop = threading.Event()

    def flip() -> None:
        while not stop.is_set():
            probe.tell("flip 60 8000")

    flipping = threading.Thread(target=flip)
    flipping.start()
    torn, pictures = 0, set()
    try:
        kept = []
        for n in range(reads):
            if n % 3 == 0:
                array, picture = client.frame().array, n
            elif n % 3 == 1:
                array, picture = client.newest().array, n
            else:
                assert client._mapping is not None
                array, picture = client._mapping.read_newest()
                pictures.add(picture)
            kept = [*kept[-2:], array]
            torn += sum(not is_whole(one) for one in kept)
    finally:
        stop.set()
        flipping.join()
    return torn, reads, len(pictures)


def test_no_frame_is_torn(client: DesktopClient, open_probe: OpenProbe) -> None:
    """S1: by request, as newest, and read by seqlock; also while a view is kept."""
    torn, _, pictures = look(client, open_probe, 3000)
    assert torn == 0
    assert pictures > 10, "the screen did change"


def test_a_frame_shows_one_moment_of_all_that_is_drawn(client: DesktopClient, open_probe: OpenProbe) -> None:
    """The right half is never drawn before the left one, however small or large they are."""
    for box in [(100, 100, 40, 30), (0, 0, 1280, 800)]:
        probe = open_probe(box)
        x, y, width, height = box
        seen, until = set(), soon(60)
        while len(seen) <= 20:  # a slow machine draws them all between a few of our looks
            assert not until.expired(), "the screen did not change"
            probe.tell_only("pair 250")
            for _ in range(60):
                array = client.frame().array
                left = array[y : y + height : 5, x].astype(int)
                right = array[y : y + height : 5, x + width - 1].astype(int)
                assert (left == left[0, 0]).all() and (right == right[0, 0]).all()
                assert (left[0, 0] - right[0, 0]) % 256 <= 1, f"{left[0, 0]} beside {right[0, 0]}"
                seen.add(int(left[0, 0]))
            probe.await_done()


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_no_frame_of_a_hundred_thousand_is_torn(screen: Screen, client: DesktopClient, open_probe: OpenProbe) -> None:
    """S1."""
    torn, _, pictures = look(client, open_probe, 100_000)
    assert torn == 0 and pictures > 1000
