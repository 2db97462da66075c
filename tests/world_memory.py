"""What containers of any kind say of their memory."""

from __future__ import annotations

from gym_anything.runtime.runners.base import BaseRunner


def check_memory(runner: BaseRunner) -> None:
    """Check a running world's: what is only cached does not count; what a program holds, and files in memory, do."""
    before = runner.memory_mib()
    assert before is not None and 0 < before < 200
    hold = "{ head -c 100M /dev/zero; echo x > /tmp/holds; sleep 60; } | tail -c 100M >/dev/null 2>&1 & disown"
    assert runner.exec(hold, use_pty=False) == 0
    runner.exec("until [ -s /tmp/holds ]; do sleep 0.02; done", timeout=30)
    taken = runner.memory_mib()
    assert taken is not None and 90 < taken - before < 140
    runner.stop()
    assert runner.memory_mib() is None
