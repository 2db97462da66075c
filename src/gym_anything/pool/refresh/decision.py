"""What the refresh of a host does next. Pure: facts and the record of what was begun in, a decision and a record out.

::

    SERVING --due and idle, or overdue--> DRAINING --nothing left--> REBOOTING --another boot--> RETURNING --> SERVING
                                           |    ^                     |    |                         ^
                                           |    +--something started--+    |                         |
                                           +--others' worlds stay----------+--no reboot came---------+

Tasks of pools get their time (``drain_limit_s``), then their pool is stopped. Worlds that belong to no pool are never
ended: the reboot is put off instead.

Source: the OSGym paper's node refresh; every 48 h as scale.md has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any

HOUR_S = 3600.0


class Phase(Enum):
    """How far a refresh is."""

    SERVING = "serving"
    DRAINING = "draining"
    REBOOTING = "rebooting"
    RETURNING = "returning"


class Act(Enum):
    """What is to be done now."""

    WAIT = "wait"
    DRAIN = "drain"
    STOP = "stop"
    REBOOT = "reboot"
    RETURN = "return"


@dataclass(frozen=True, slots=True)
class RefreshRules:
    """When a host is refreshed.

    Attributes:
        every_s: after so long since its boot.
        idle_s: it must have been idle for so long.
        patience_s: so long after it was due it drains although it is never idle.
        drain_limit_s: how long tasks may take to end.
        reboot_limit_s: a reboot that was asked for and did not come within this has failed.
    """

    every_s: float = 48 * HOUR_S
    idle_s: float = 600.0
    patience_s: float = 24 * HOUR_S
    drain_limit_s: float = 6 * HOUR_S
    reboot_limit_s: float = 0.5 * HOUR_S


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What is the case.

    Attributes:
        now: seconds since 1970. up_s: since the boot. boot: which boot it is.
        pools: that run. tasks: at work on them. others: worlds of no pool.
    """

    now: float
    up_s: float
    boot: str
    pools: int = 0
    tasks: int = 0
    others: int = 0


@dataclass(frozen=True, slots=True)
class RefreshRecord:
    """What was begun; outlives the reboot.

    Attributes:
        phase, since: how far it is, and since when. boot: in which the reboot was asked for.
        idle_since: since when every look found the host idle. pools: how to start again what was drained.
        put_off_until: no new drain before.
    """

    phase: Phase = Phase.SERVING
    since: float = 0.0
    boot: str = ""
    idle_since: float | None = None
    pools: tuple[Mapping[str, Any], ...] = ()
    put_off_until: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {**asdict(self), "phase": self.phase.value, "pools": [dict(one) for one in self.pools]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RefreshRecord:
        """Rebuild from ``to_dict``. Raises: ValueError, TypeError, KeyError."""
        return cls(**{**data, "phase": Phase(data["phase"]), "pools": tuple(dict(one) for one in data["pools"])})


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done now, and why."""

    act: Act
    reason: str


def decide(
    facts: HostFacts, record: RefreshRecord, rules: RefreshRules = RefreshRules()
) -> tuple[Decision, RefreshRecord]:
    """Return what to do, and the record to keep before it is done. The pools to take up are the caller's to note."""
    idle = facts.tasks == 0 and facts.others == 0
    idle_since = (record.idle_since if record.idle_since is not None else facts.now) if idle else None
    record = replace(record, idle_since=idle_since)
    if record.phase is Phase.DRAINING:
        return _draining(facts, record, rules)
    if record.phase is Phase.REBOOTING:
        return _rebooting(facts, record, rules)
    if record.phase is Phase.RETURNING:
        return Decision(Act.RETURN, f"{len(record.pools)} pools are to be taken up again"), record
    return _serving(facts, record, rules)


def _serving(facts: HostFacts, record: RefreshRecord, rules: RefreshRules) -> tuple[Decision, RefreshRecord]:
    overdue_s = facts.up_s - rules.every_s
    if overdue_s < 0:
        return _wait(f"the host is refreshed in {_span(-overdue_s)}"), record
    if facts.now < record.put_off_until:
        return _wait(f"put off for another {_span(record.put_off_until - facts.now)}"), record
    idle_s = None if record.idle_since is None else facts.now - record.idle_since
    if idle_s is not None and idle_s >= rules.idle_s:
        return _drain(f"up for {_span(facts.up_s)}, idle for {_span(idle_s)}", facts, record)
    if overdue_s >= rules.patience_s:
        return _drain(f"up for {_span(facts.up_s)} and never idle", facts, record)
    if idle_s is not None:
        return _wait(f"due; idle only for {_span(idle_s)}"), record
    return _wait(f"due, but at work: {facts.tasks} tasks, {facts.others} worlds of no pool"), record


def _draining(facts: HostFacts, record: RefreshRecord, rules: RefreshRules) -> tuple[Decision, RefreshRecord]:
    late = facts.now - record.since >= rules.drain_limit_s
    if facts.others and late:
        reason = f"{facts.others} worlds of no pool do not end, and are not ours to end: put off"
        put_off = facts.now + rules.patience_s
        return Decision(Act.RETURN, reason), _go(record, Phase.RETURNING, facts, put_off_until=put_off)
    if facts.pools and late:
        return Decision(Act.STOP, f"{facts.tasks} tasks did not end within {_span(rules.drain_limit_s)}"), record
    if facts.pools or facts.others:
        return Decision(Act.DRAIN, f"{facts.tasks} tasks and {facts.others} worlds of no pool are to end"), record
    return Decision(Act.REBOOT, "nothing is at work"), _go(record, Phase.REBOOTING, facts, boot=facts.boot)


def _rebooting(facts: HostFacts, record: RefreshRecord, rules: RefreshRules) -> tuple[Decision, RefreshRecord]:
    if facts.boot != record.boot:
        return Decision(Act.RETURN, "the host has booted anew"), _go(record, Phase.RETURNING, facts)
    if facts.pools or facts.others:
        return Decision(Act.DRAIN, "something was started meanwhile"), _go(record, Phase.DRAINING, facts)
    if facts.now - record.since < rules.reboot_limit_s:
        return Decision(Act.REBOOT, "a reboot was asked for"), record
    put_off = facts.now + rules.patience_s
    reason = f"no reboot came within {_span(rules.reboot_limit_s)}: put off"
    return Decision(Act.RETURN, reason), _go(record, Phase.RETURNING, facts, put_off_until=put_off)


def served(record: RefreshRecord, failed: tuple[Mapping[str, Any], ...], now: float) -> RefreshRecord:
    """Return the record after a return: what could not be taken up is tried again."""
    phase = Phase.RETURNING if failed else Phase.SERVING
    return RefreshRecord(phase, now, pools=failed, put_off_until=record.put_off_until)


def _drain(reason: str, facts: HostFacts, record: RefreshRecord) -> tuple[Decision, RefreshRecord]:
    return Decision(Act.DRAIN, reason), _go(record, Phase.DRAINING, facts)


def _go(record: RefreshRecord, phase: Phase, facts: HostFacts, **changes: Any) -> RefreshRecord:
    return replace(record, phase=phase, since=facts.now, **changes)


def _wait(reason: str) -> Decision:
    return Decision(Act.WAIT, reason)


def _span(seconds: float) -> str:
    return f"{seconds / HOUR_S:.1f} h" if seconds >= HOUR_S else f"{seconds / 60:.0f} min"
