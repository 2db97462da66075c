"""The whole examination: all probes there are, in the order they are reported."""

from __future__ import annotations

from collections.abc import Sequence

from gym_anything.doctor.check import Check, Probe, Report
from gym_anything.doctor.examination import LIMIT_S, examine
from gym_anything.doctor.probes import desktop, machine, parties, programs, storage
from gym_anything.runtime.runners.select import RUNNER_VARIABLE


def diagnose(locators: Sequence[str] = (), *, limit_s: float = LIMIT_S) -> Report:
    """Try everything and report it, at the latest after ``limit_s``.

    Args: locators: runners to ask besides the registered ones (``pkg.mod:Class``); the one that the environment
        names is always asked.
    """
    report = examine(probes(locators), limit_s=limit_s)
    return Report((parties.world_check(report.checks), *report.checks))


def probes(locators: Sequence[str] = ()) -> list[Probe]:
    """Return every probe, in the order of the report."""
    chosen = RUNNER_VARIABLE.get()
    return [
        *parties.runner_probes([*locators, *([chosen] if chosen else [])]),
        Probe("state-folder", storage.state_folder, required=True),
        Probe("supervisor", storage.processes, required=True),
        Probe("loopback-ports", storage.loopback, required=True),
        Probe("shared-memory", storage.shared_memory, required=True),
        Probe("native", programs.native_programs),
        Probe("x-server", desktop.desktop),
        Probe("namespaces", machine.namespaces),
        Probe("kvm", machine.kvm),
        Probe("large-pages", machine.large_pages),
        Probe("reflink", storage.reflinks),
        Probe("video-encoder", programs.encoder),
        Probe("memory", machine.memory),
        Probe("limits", machine.limits),
        Probe("registry", parties.conflicts),
        Probe("shadowed-packages", parties.shadows),
        Probe("environment", parties.environment),
        Probe("leftovers", storage.leftovers),
    ]


def is_checkout() -> bool:
    """Tell whether we run from a source checkout."""
    return programs.is_checkout()


def repair() -> list[Check]:
    """Do what ``doctor --fix`` does by itself: build our native programs. System packages are left to their owner."""
    return programs.repair()
