"""Forwarded ports as QEMU tells them, the bounded console, the choice of the accelerator."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.errors import BadWire
from gym_anything.runtime.qemu import accelerator
from gym_anything.runtime.qemu.console import ConsoleLog
from gym_anything.runtime.qemu.forwards import parse_forwards

pytestmark = pytest.mark.unit

USERNET = """\
Hub -1 (net0):
  Protocol[State]    FD  Source Address  Port   Dest. Address  Port RecvQ SendQ
  TCP[ESTABLISHED]   31       127.0.0.1 35321       10.0.2.15  7001     0     0
  TCP[HOST_FORWARD]  14       127.0.0.1 41999       10.0.2.15  7002     0     0
  TCP[HOST_FORWARD]  13       127.0.0.1 35321       10.0.2.15  7001     0     0
  UDP[236 sec]       18        10.0.2.15 44137        10.0.2.3    53     0     0
"""


def test_forwards_are_read_from_what_the_monitor_prints() -> None:
    assert parse_forwards(USERNET) == {7001: 35321, 7002: 41999}
    assert parse_forwards("") == {}


def test_a_forward_that_other_hosts_could_reach_is_refused() -> None:
    """N1: loopback by default."""
    with pytest.raises(BadWire, match="7001"):
        parse_forwards("  TCP[HOST_FORWARD]  13               * 35321       10.0.2.15  7001     0     0\n")


def test_a_console_keeps_its_newest_lines_and_no_more_than_its_bound(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    log = ConsoleLog(ours, tmp_path / "console.log", max_file_bytes=10_000)
    for number in range(5000):
        theirs.sendall(f"line {number}\n".encode())
    theirs.close()
    log._thread.join(5)
    assert log.tail(3).splitlines() == ["line 4997", "line 4998", "line 4999"]
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert len(sizes) == 2 and max(sizes) <= 10_000 + 65_536
    log.close()
    log.close()


def test_kvm_is_chosen_only_when_a_guest_ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    device, guest = tmp_path / "kvm", tmp_path / "guest.py"
    device.touch()
    monkeypatch.setattr(accelerator, "_DEVICE", device)
    monkeypatch.setattr(accelerator, "KVM_GUEST", guest)
    told = {}
    for name, program in {
        "ran": """print('{"ok": true, "stage": "halted", "detail": "a guest ran"}')""",
        "stopped": """print('{"ok": false, "stage": "run", "detail": "it stopped"}')""",
        "silent": "",
        "nonsense": "print('[]')",
    }.items():
        guest.write_text(program)
        told[name] = accelerator.try_kvm(Deadline.after(20))
    assert {name: trial.ok for name, trial in told.items()} == {
        "ran": True, "stopped": False, "silent": False, "nonsense": False
    }  # fmt: skip
    assert told["stopped"].detail == "it stopped"


def test_without_kvm_the_machine_is_emulated_and_the_reason_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(accelerator, "_DEVICE", tmp_path / "missing")
    accelerator.choose_accelerator.cache_clear()
    try:
        choice = accelerator.choose_accelerator()
        assert choice.accelerator == "tcg"
        assert "missing" in choice.reason
    finally:
        accelerator.choose_accelerator.cache_clear()
