"""``build_conformance_case``: the suite for one runner, as a test case class."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gym_anything.errors import SpecInvalid
from gym_anything.runtime.runners.base import BaseRunner
from gym_anything.runtime.runners.registry import resolve_runner
from gym_anything.testing.conformance.case import ConformanceCase
from gym_anything.testing.conformance.checks_abort import AbortChecks
from gym_anything.testing.conformance.checks_actions import ActionChecks
from gym_anything.testing.conformance.checks_checkpoints import CheckpointChecks
from gym_anything.testing.conformance.checks_commands import HookChecks
from gym_anything.testing.conformance.checks_determinism import DeterminismChecks
from gym_anything.testing.conformance.checks_episode import EpisodeChecks
from gym_anything.testing.conformance.checks_facts import FactsChecks
from gym_anything.testing.conformance.checks_files import FileChecks
from gym_anything.testing.conformance.checks_forks import ForkChecks
from gym_anything.testing.conformance.checks_lifecycle import LifecycleChecks
from gym_anything.testing.conformance.checks_linux import LinuxChecks
from gym_anything.testing.conformance.checks_options import OptionsChecks
from gym_anything.testing.conformance.checks_screen import ObservationChecks, ScreenChecks
from gym_anything.testing.conformance.checks_time import TimeChecks
from gym_anything.testing.conformance.subject import Subject, frozen_actions, merged, minimal_env, plain

CHECKS: tuple[type[ConformanceCase], ...] = (
    FactsChecks,
    OptionsChecks,
    LifecycleChecks,
    HookChecks,
    LinuxChecks,
    FileChecks,
    ActionChecks,
    ScreenChecks,
    ObservationChecks,
    TimeChecks,
    AbortChecks,
    DeterminismChecks,
    CheckpointChecks,
    ForkChecks,
    EpisodeChecks,
)


def build_conformance_case(
    runner: str | type[BaseRunner],
    *,
    env_spec: Mapping[str, Any] | Any = None,
    task_spec: Mapping[str, Any] | Any = None,
    actions: Sequence[Mapping[str, Any]] | None = None,
    restored: bool = False,
    known_failures: Mapping[str, str] | None = None,
    start_limit_s: float = 300.0,
) -> type[unittest.TestCase]:
    """Return a test case class that holds a runner to its contract; for pytest and unittest alike.

    Assign it to a name in a test module of your own::

        IsaacConformance = build_conformance_case("robobench.isaac:IsaacSimRunner", actions=[{"action": "step_sim"}])

    A check that does not apply is skipped with the reason. A runner whose ``doctor_status`` says it is not available is
    skipped as a whole, or fails where ``GYM_ANYTHING_TEST_REQUIRE`` names it.

    Args:
        runner: a key, a locator or the class itself.
        env_spec: merged over a minimal valid spec (objects merge, lists and scalars replace): what the world shows and
            takes, its ``runner_options``, ``deterministic``.
        task_spec: a task for the checks that run an episode.
        actions: actions of the world's own that must be done.
        restored: bring worlds up from a checkpoint instead of from nothing.
        known_failures: ``{test name: reason}`` on top of the class's own ``known_conformance_failures()``. Such a test
            counts as an expected failure; when it passes, that is a failure.
        start_limit_s: how long a start may take.
    Raises: the errors of ``resolve_runner``; SpecInvalid for a spec that is none; ValueError for a known failure that
        names no test.
    """
    cls = resolve_runner(runner)
    reference = runner if isinstance(runner, str) else f"{cls.__module__}:{cls.__qualname__}"
    given = plain(env_spec) if env_spec is not None else {}
    subject = Subject(
        cls=cls,
        reference=reference,
        env_data=merged(minimal_env(cls, reference), given),
        task_data=plain(task_spec) if task_spec is not None else None,
        actions=frozen_actions(actions),
        restored=restored,
        start_limit_s=start_limit_s,
        known_failures={**cls.known_conformance_failures(), **(known_failures or {})},
        declared_observations="observation" in given,
    )
    try:
        subject.spec()
    except SpecInvalid as error:
        error.message = f"build_conformance_case({reference!r}): {error.message}"
        raise
    name = "".join(part.capitalize() for part in cls.__name__.split("_")) + ("Restored" if restored else "")
    case = type(f"{name}Conformance", CHECKS, {"subject": subject, "__doc__": f"The runner contract for {reference}."})
    for test in unittest.defaultTestLoader.getTestCaseNames(case):
        setattr(case, test, _distrustful(getattr(case, test)))
    _mark_known_failures(case, subject.known_failures)
    return case


def _distrustful(method: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a test that drops the shared world when it fails: who knows what state it is in."""

    @functools.wraps(method)
    def test(self: Any) -> None:
        try:
            method(self)
        except unittest.SkipTest:
            raise
        except BaseException:
            self._drop_shared()
            raise

    return test


def _mark_known_failures(case: type[unittest.TestCase], known: Mapping[str, str]) -> None:
    """Turn the named tests into expected failures that carry their reason."""
    for test, reason in known.items():
        method = getattr(case, test, None)
        if not test.startswith("test_") or method is None:
            raise ValueError(f"known failure {test!r} names no test of the suite")
        setattr(case, test, unittest.expectedFailure(_with_reason(method, reason)))


def _with_reason(method: Callable[[Any], None], reason: str) -> Callable[[Any], None]:
    """Return a test that fails with the declared reason in front."""

    @functools.wraps(method)
    def test(self: Any) -> None:
        try:
            method(self)
        except unittest.SkipTest:
            raise
        except Exception as error:
            raise AssertionError(f"known failure: {reason}: {error}") from error
        finally:
            self.doCleanups()  # here, so that what fails in them counts as the known failure, too

    return test
