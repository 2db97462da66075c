"""Runners and agents: each runner's own facts, conflicts of names, and folders that shadow installed packages."""

from __future__ import annotations

import difflib
import importlib.machinery
import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gym_anything._util import env_vars
from gym_anything._util.deadline import Deadline
from gym_anything.doctor.check import Check, Probe
from gym_anything.errors import GymAnythingError

PILLARS = ("gym_anything", "benchmarks", "agents")
PACKAGE = Path(__file__).resolve().parents[2]
_PREFIX = "GYM_ANYTHING_"
_LIST = "gym-anything compatibility  # which runners there are"


def runner_probes(locators: Sequence[str] = ()) -> list[Probe]:
    """Return a probe for every registered runner and for those given by locator: each answers for itself."""
    from gym_anything.runtime.runners.registry import known_runners

    names = [plugin.key for plugin in known_runners() if plugin.conflict is None]
    names += [name for name in locators if name not in names]
    return [Probe(f"runner:{name}", partial(_runner_rows, name)) for name in names]


def world_check(rows: Sequence[Check]) -> Check:
    """Sum up the runners' rows: one world that can be had is what is required."""
    runners = [row for row in rows if row.name.startswith("runner:")]
    usable = [row.name.removeprefix("runner:") for row in runners if row.ok]
    if usable:
        return Check("world", True, f"worlds can be had from: {', '.join(usable)}", True)
    reasons = "; ".join(f"{row.name.removeprefix('runner:')}: {row.detail}" for row in runners)
    fix = next((row.fix for row in runners if row.fix), "gym-anything compatibility")
    return Check("world", False, f"no runner can work here ({reasons or 'none is installed'})", True, fix)


def _runner_rows(name: str, _: Deadline) -> list[Check]:
    from gym_anything.runtime.runners.facts import runner_status
    from gym_anything.runtime.runners.registry import resolve_runner

    try:
        cls = resolve_runner(name)
    except GymAnythingError as error:
        return [Check(f"runner:{name}", False, str(error), fix=str(error.detail.get("fix", "")) or _LIST)]
    status = runner_status(cls)
    needs = [_need(name, str(need), facts) for need, facts in status.deps.items()]
    fix = next((row.fix for row in needs if not row.ok and row.fix), "") or _install_command(cls)
    fix = fix or _LIST
    detail = status.reason or "its own check says that it can work here"
    return [Check(f"runner:{name}", status.available, detail, fix=fix), *needs]


def _need(runner: str, need: str, facts: Any) -> Check:
    if not isinstance(facts, dict):
        return Check(f"need:{runner}:{need}", bool(facts), str(facts))
    return Check(
        f"need:{runner}:{need}",
        bool(facts.get("ok", facts.get("available", False))),
        str(facts.get("detail") or facts.get("reason") or ""),
        fix=str(facts.get("fix") or ""),
    )


def _install_command(cls: Any) -> str:
    try:
        steps = cls.install_plan() or []
        return " && ".join(str(step["command"]) for step in steps)
    except Exception:  # noqa: BLE001 - the boundary to foreign code; a plan that breaks is no plan
        return ""


def conflicts(_: Deadline) -> Iterator[Check]:
    """Look for names that two parties claim."""
    from gym_anything.agents.registry import AGENTS
    from gym_anything.runtime.runners.registry import RUNNERS

    found = [*RUNNERS.conflicts(), *AGENTS.conflicts()]
    if not found:
        yield Check("registry", True, f"{len(RUNNERS.keys())} runners and {len(AGENTS.keys())} agents, no conflict")
    for conflict in found:
        key = str(conflict.detail.get("key", ""))
        yield Check(f"registry:{key}", False, str(conflict), fix=_uninstall(conflict.detail.get("claims", ())))


def _uninstall(claims: Any) -> str:
    sources = [str(claim.get("source", "")) for claim in claims if isinstance(claim, dict)]
    packages = [source.removeprefix("entry point of ") for source in sources if source.startswith("entry point of ")]
    foreign = [package for package in packages if package != "gym-anything"]
    return f"pip uninstall {foreign[-1]}" if foreign else "gym-anything list  # and register one with replace=True"


def shadows(_: Deadline) -> Iterator[Check]:
    """Look whether the working directory hides an installed pillar package from ``python`` started in it."""
    here = Path.cwd()
    elsewhere = [entry for entry in sys.path if entry and Path(entry).resolve() != here]
    found = [name for name in PILLARS if _is_shadowed(name, here, elsewhere)]
    if not found:
        yield Check("shadowed-packages", True, f"nothing in {here} hides {', '.join(PILLARS)}")
    for name in found:
        detail = f"{here / name} hides the installed package {name!r} from Python programs started in this folder"
        yield Check(f"shadowed-packages:{name}", False, detail, fix=f"mv {name} my_{name}  # or work in another folder")


def _is_shadowed(name: str, here: Path, elsewhere: list[str]) -> bool:
    if not ((here / name).is_dir() or (here / f"{name}.py").is_file()):
        return False
    spec = importlib.machinery.PathFinder.find_spec(name, elsewhere)
    if spec is None:
        return False
    places = [Path(place).resolve() for place in spec.submodule_search_locations or ()]
    return (here / name).resolve() not in places


def environment(_: Deadline) -> Iterator[Check]:
    """Look at the variables that are set: unknown names, and values that cannot be used."""
    known = _known_variables()
    problems = []
    for name in sorted(os.environ):
        if name.startswith(_PREFIX) and name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            problems.append((name, f"nobody reads it{f'; did you mean {near[0]}?' if near else ''}"))
    for variable in env_vars.declared():
        try:
            variable.lookup()
        except GymAnythingError as error:
            problems.append((variable.name, str(error)))
    if not problems:
        count = sum(1 for name in os.environ if name in known)
        yield Check("environment", True, f"{count} variables of ours are set, and all can be used")
    for name, problem in problems:
        yield Check(f"environment:{name}", False, problem, fix=f"unset {name}")


def _known_variables() -> set[str]:
    """Every name in our sources: declaring happens on import, and doctor does not import everything."""
    known = {variable.name for variable in env_vars.declared()}
    for path in PACKAGE.rglob("*.py"):
        known.update(re.findall(r"GYM_ANYTHING_[A-Z0-9_]*[A-Z0-9]", path.read_text(encoding="utf-8")))
    return known
