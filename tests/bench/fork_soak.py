"""Many forks of one saved world, one after the other: each is whole, and none is like another."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from gym_anything import make
from gym_anything.measure.fork_series import world_spec
from gym_anything.runtime.qemu.waiting import WaitingMachines

TASK = "fork-soak"
CANARIES = "/var/canary /dev/shm/canary"
PREPARE = (
    "dd if=/dev/urandom of=/var/canary bs=1M count=8 status=none; cp /var/canary /dev/shm/canary; sync; "
    f"sha256sum {CANARIES} /usr/bin/bash /usr/bin/chromium > /root/sums 2>/dev/null; sync"
)
LOOK = (
    "cat /etc/machine-id /sys/class/net/eth0/address; head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \\n'; echo; "
    "cat /proc/sys/kernel/random/uuid; date +%s.%N; "
    "echo 3 > /proc/sys/vm/drop_caches; sha256sum --check --quiet /root/sums > /dev/null 2>&1 && echo whole || echo broken; "
    "dmesg --level=emerg,alert,crit,err | grep -ic 'ext4\\|i/o error' ; "
    "ls /var/mine-* 2>/dev/null | wc -l; echo mine > /var/mine-$$; sync"
)
KINDS = ("machine_ids", "addresses", "random_numbers", "uuids")
CLOCK_S = 1.0


@dataclass
class SoakFound:
    """What was seen. ``repeated``: values that two forks had in common, by kind."""

    forks: int = 0
    broken: list[str] = field(default_factory=list)
    clock_off_s: list[float] = field(default_factory=list)
    seen: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in KINDS})

    @property
    def repeated(self) -> dict[str, int]:
        """Return how many values were not the first of their kind."""
        return {kind: len(values) - len(set(values)) for kind, values in self.seen.items()}

    def look(self, number: int, text: str, asked_at: float, answered_at: float) -> None:
        """Judge one fork by what it says."""
        *identity, clock, canary, errors, others = text.split()
        for kind, value in zip(KINDS, identity, strict=True):
            self.seen[kind].append(value)
        self.forks += 1
        now = float(clock)
        self.clock_off_s.append(round(max(asked_at - now, now - answered_at, 0.0), 4))
        if (canary, errors, others) != ("whole", "0", "0"):
            self.broken.append(f"fork {number}: canary {canary}, {errors} errors of the disk, {others} files of others")


def soak(count: int, artifacts: str) -> SoakFound:
    """Save a world with canaries in its disk and its memory, and look at ``count`` forks of it; leaves nothing."""
    found = SoakFound()
    with make(world_spec(1.0, artifacts)) as env:
        env.reset()
        runner: Any = env.runner
        runner.exec(PREPARE, use_pty=False)
        runner.set_checkpoint_key("post_task", task_id=TASK, use_savevm=True)
        runner.create_checkpoint()
        try:
            for number in range(count):
                runner.stop()
                runner.start_from_checkpoint()
                asked_at = time.time()
                found.look(number, runner.exec_capture(LOOK), asked_at, time.time())
                runner.capture_frame()  # from the first look on, the next one is made ahead
        finally:
            runner.stop()
            WaitingMachines.shared().end()
            runner.delete_checkpoint()
    return found
