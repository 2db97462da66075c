"""Running probes side by side within one bound; a probe that hangs or breaks is a row like any other."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from gym_anything._util.deadline import Deadline
from gym_anything.doctor.check import Check, Probe, Report

LIMIT_S = 5.0
"""For all probes together, and for the start of the command that asks: with the print it stays below six seconds."""
_FIX_SLOW = "gym-anything doctor --limit 60"


def examine(probes: Sequence[Probe], *, limit_s: float = LIMIT_S) -> Report:
    """Run all probes at once and return their rows in the order of the probes, at the latest after ``limit_s``."""
    deadline = Deadline.after(limit_s)
    trials = [_Trial(probe, deadline) for probe in probes]
    for trial in trials:
        trial.thread.join(deadline.remaining())
    return Report(tuple(check for trial in trials for check in trial.checks(limit_s)))


class _Trial:
    def __init__(self, probe: Probe, deadline: Deadline) -> None:
        self._probe = probe
        self._deadline = deadline.tightened(deadline.remaining() * 0.9)  # its own diagnosis says more than ours
        self._checks: tuple[Check, ...] | None = None
        # A daemon: a probe that never returns must not keep the command from ending.
        self.thread = threading.Thread(target=self._run, name=f"doctor-{probe.name}", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self._checks = tuple(self._probe.run(self._deadline))
        except Exception as error:  # noqa: BLE001 - the boundary to whatever a host may do to a probe
            detail = f"the probe failed: {type(error).__name__}: {error}"
            fix = str(getattr(error, "detail", {}).get("fix", ""))
            self._checks = (Check(self._probe.name, False, detail, self._probe.required, fix),)

    def checks(self, limit_s: float) -> tuple[Check, ...]:
        if self._checks is not None:
            return self._checks
        detail = f"no answer within {limit_s:g} s"
        return (Check(self._probe.name, False, detail, self._probe.required, _FIX_SLOW),)
