"""The refresh of this host: its facts, the record on disk, and what the decisions mean here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gym_anything._util import atomic_write, labels, proc
from gym_anything._util.deadline import Deadline
from gym_anything._util.labels import Owner
from gym_anything._util.locks import FileLock
from gym_anything._util.logs import logger
from gym_anything._util.state_dir import MANIFEST
from gym_anything.errors import GymAnythingError, HostError
from gym_anything.pool.refresh.decision import (
    Act,
    Decision,
    HostFacts,
    Phase,
    RefreshRecord,
    RefreshRules,
    decide,
    served,
)
from gym_anything.pool.started.asking import ask
from gym_anything.pool.started.folder import KIND, PoolEntry, find_pools

RULES = RefreshRules()
_RECORD = "node-refresh.json"
_LOCK_S = 10.0
_START_S = 1200.0
_LOG = logger("pool.refresh")


def look(root: Path, rules: RefreshRules = RULES) -> tuple[Decision, HostFacts, RefreshRecord]:
    """Return what a step would do, and do nothing. Raises: HostError."""
    record = read_record(root)
    facts = read_facts(root)
    return decide(facts, record, rules)[0], facts, record


def step(root: Path, rules: RefreshRules = RULES) -> Decision:
    """Do the next thing; the reboot itself is the caller's. Blocks: until pools are up again. Raises: HostError."""
    with FileLock.acquire(root / f"{_RECORD}.lock", deadline=Deadline.after(_LOCK_S)):
        before = read_record(root)
        pools = find_pools()
        decision, record = decide(read_facts(root), before, rules)
        if record.phase is Phase.DRAINING and before.phase is not Phase.DRAINING:
            recipes = {one["name"]: one for one in (*record.pools, *map(_recipe, pools))}
            record = replace(record, pools=tuple(recipes.values()))
        _write_record(root, record)
        if decision.act in (Act.DRAIN, Act.STOP):
            _ask_all(pools, "drain" if decision.act is Act.DRAIN else "stop")
        elif decision.act is Act.RETURN:
            _take_up(root, record)
        return decision


def take_up(root: Path) -> Decision:
    """Start again what a refresh has drained, when this is another boot; else do nothing. Raises: as ``step``."""
    if read_record(root).phase in (Phase.REBOOTING, Phase.RETURNING):
        return step(root)
    return Decision(Act.WAIT, "nothing was drained")


def read_facts(root: Path) -> HostFacts:
    """Read what is the case on this host."""
    pools = find_pools()
    leases = 0
    for entry in pools:
        try:
            leases += int(ask(entry, "status")["leases"])
        except GymAnythingError:
            leases += 1  # it does not answer: it counts as at work
    others = _others(root, {entry.pid for entry in pools})
    up_s = proc.uptime_ticks() / proc.CLOCK_TICKS_PER_S
    return HostFacts(time.time(), up_s, proc.boot_id(), len(pools), leases, others)


def read_record(root: Path) -> RefreshRecord:
    """Return the record of this host. Raises: HostError when it cannot be read."""
    path = root / _RECORD
    try:
        return RefreshRecord.from_dict(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return RefreshRecord()
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise HostError(
            f"{path} does not say how far the refresh is: {error}. Start the pools by hand, then remove the file.",
            detail={"path": str(path)},
        ) from error


def _write_record(root: Path, record: RefreshRecord) -> None:
    atomic_write.write_json(root / _RECORD, record.to_dict(), mode=0o600, durable=True)


def _others(root: Path, pool_pids: set[int]) -> int:
    """Count the worlds of live processes that no pool has started."""
    count = 0
    for manifest in root.glob(f"r*/w*/{MANIFEST}"):
        try:
            owner = Owner.parse(json.loads((manifest.parent.parent / MANIFEST).read_bytes())["owner"])
            kind = json.loads(manifest.read_bytes()).get("runner")
        except (OSError, ValueError, KeyError, AttributeError):
            continue  # it ends at this moment
        if owner is None or owner.is_dead() or kind == KIND:
            continue
        count += not pool_pids & {owner.pid, *proc.ancestors(owner.pid)}
    return count


def _recipe(entry: PoolEntry) -> dict[str, Any]:
    return {"name": entry.name, **{key: entry.facts.get(key) for key in ("words", "env", "cwd")}}


def _ask_all(pools: list[PoolEntry], what: str) -> None:
    for entry in pools:
        try:
            ask(entry, what)
        except GymAnythingError as error:  # it ends at this moment, or the next step finds it again
            _LOG.warning("pool %s: %s: %s", entry.name, what, error)


def _take_up(root: Path, record: RefreshRecord) -> None:
    running = {entry.name for entry in find_pools()}
    failed = []
    problems = []
    for recipe in record.pools:
        if recipe["name"] not in running and (problem := _start(recipe)):
            failed.append(recipe)
            problems.append(f"pool {recipe['name']}: {problem}")
    _write_record(root, served(record, tuple(failed), time.time()))
    if problems:
        raise HostError("not taken up again: " + "; ".join(problems))


def _start(recipe: Mapping[str, Any]) -> str:
    """Start a pool as it was started; return what went wrong, "" for nothing."""
    argv = [sys.executable, "-P", "-m", "gym_anything.cli.main", *map(str, recipe["words"])]
    argv += [] if recipe["env"] is None else ["--", str(recipe["env"])]
    environment = {key: value for key, value in os.environ.items() if key != labels.ENV_NAME}
    try:
        done = subprocess.run(
            argv,
            cwd=recipe["cwd"],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_START_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.strip()[-500:] or f"exit code {done.returncode}"
