"""Which accelerator a machine gets: KVM where a guest really runs on it, else emulation, said aloud."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything.runtime.qemu.machine_spec import Accelerator

KVM_GUEST = Path(__file__).with_name("kvm_guest.py")
_DEVICE = Path("/dev/kvm")
_LIMIT_S = 10.0


@dataclass(frozen=True, slots=True)
class KvmTrial:
    """What became of a test guest: whether it ran, how far it got, and that in words."""

    ok: bool
    stage: str
    detail: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The accelerator, and for people why it is not the quick one."""

    accelerator: Accelerator
    reason: str = ""


def try_kvm(deadline: Deadline) -> KvmTrial:
    """Boot a guest of ten instructions on ``/dev/kvm``, in a process of its own, since it could hang.

    Opening the device says nothing: there are hosts on which it opens and every stock guest hangs.
    """
    if not _DEVICE.exists():
        return KvmTrial(False, "missing", f"there is no {_DEVICE}")
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(KVM_GUEST)],
            capture_output=True,
            text=True,
            timeout=min(deadline.remaining(), _LIMIT_S),
            check=False,
        )
        answer = json.loads(done.stdout)
        return KvmTrial(bool(answer["ok"]), str(answer["stage"]), str(answer["detail"]))
    except subprocess.TimeoutExpired:
        return KvmTrial(False, "hang", "it opens, but a test guest never came to its end")
    except (OSError, ValueError, KeyError, TypeError) as error:
        return KvmTrial(False, "trial", f"the test guest told nothing: {error}")


@lru_cache(maxsize=1)
def choose_accelerator() -> Choice:
    """Choose by trial; asked once in a process."""
    trial = try_kvm(Deadline.after(_LIMIT_S))
    if trial.ok:
        return Choice("kvm")
    return Choice("tcg", f"KVM is not usable ({trial.detail}): the machine is emulated, some ten times slower")
