"""A world in a user namespace with one mapped user: root inside is nobody special outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.errors import GuestCommandFailed
from tests.integration.guest.conftest import StartWorld
from tests.integration.guest.world import soon

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("nothing_left")]


def test_the_only_user_works_and_others_are_refused_clearly(start_world: StartWorld) -> None:
    world = start_world(rootless=True)
    with world.connect() as channel:
        assert channel.exec(["id", "-u"], deadline=soon()).stdout == b"0\n"
        assert channel.exec(["sudo", "id", "-u"], deadline=soon()).stdout == b"0\n"
        with pytest.raises(GuestCommandFailed, match="cannot become the user 'ga'"):
            channel.exec(["id"], user="ga", deadline=soon())
        channel.put_file(b"x", str(world.folder / "file"), deadline=soon())
        assert (world.folder / "file").read_bytes() == b"x"
        with pytest.raises(GuestCommandFailed, match="Invalid argument"):
            channel.put_file(b"x", str(world.folder / "other"), owner="ga", deadline=soon())
        assert not (world.folder / "other").exists()


def test_deadlines_terminals_and_the_end_work(start_world: StartWorld) -> None:
    world = start_world(rootless=True)
    with world.connect() as channel:
        result = channel.exec(["sh", "-c", "setsid sleep 6001 & sleep 6002"], deadline=Deadline.after(0.5))
        assert result.timed_out
        assert channel.exec(["pgrep", "-f", "sleep 600[12]"], deadline=soon()).stdout == b""
        channel.shutdown(deadline=soon())
    assert world.process.wait(10) == 0


def test_the_hosts_clock_cannot_be_set(start_world: StartWorld) -> None:
    world = start_world(rootless=True)
    with world.connect() as channel, pytest.raises(GuestCommandFailed, match="cannot set the clock"):
        channel.set_clock(0.0, deadline=soon())
    with world.connect() as channel, pytest.raises(GuestCommandFailed, match="cannot set the clock"):
        channel.awaken(0.0, "0" * 32, b"", deadline=soon()).finish()


def test_it_is_small(start_world: StartWorld) -> None:
    """The share of a world's memory that its init takes."""
    world = start_world(rootless=True)
    with world.connect() as channel:
        channel.exec(["true"], deadline=soon())
        lines = Path(f"/proc/{world.init_pid()}/smaps_rollup").read_text().splitlines()
        pss_kib = next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        print(f"ga-guest: PSS {pss_kib} KiB")
        assert pss_kib < 4096 or channel.guest.build == "sanitize"
