"""The conformance suite can fail: each misbehaving world fails the check that is about its fault, and few others."""

from __future__ import annotations

import unittest
from pathlib import Path

import pytest

from gym_anything.testing import build_conformance_case
from gym_anything.testing.fakes import misbehaving

pytestmark = pytest.mark.real

SPEC = {
    "deterministic": True,
    "observation": [{"type": "rgb_screen", "resolution": [160, 120]}, {"type": "telemetry"}],
}
ACTIONS = [{"mouse": {"left_click": [7, 9]}}]


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here ends late by right, so waiting for it would only be slow."""
    monkeypatch.setattr("gym_anything.testing.leaks.GRACE_S", 0.5)


def failures_of(world: str, names: str = "", **options: object) -> set[str]:
    """Run the suite (or the tests whose name contains one of ``names``) over a world; return the names that fail."""
    case = build_conformance_case(
        f"gym_anything.testing.fakes.misbehaving:{world}",
        env_spec={**SPEC, "runner_options": options},
        actions=ACTIONS,
        start_limit_s=2,
    )
    found = unittest.defaultTestLoader.getTestCaseNames(case)
    wanted = [name for name in found if not names or any(part in name for part in names.split())]
    assert wanted, names
    result = unittest.TestResult()
    unittest.TestSuite(case(name) for name in wanted).run(result)
    return {_name_of(test) for test, _ in [*result.failures, *result.errors]}


def _name_of(test: object) -> str:
    case = getattr(test, "test_case", test)  # a failed subtest knows its test
    return getattr(case, "_testMethodName", str(test))


@pytest.mark.parametrize(
    ("world", "fault"),
    [
        ("NeverReadyWorld", "test_start_then_stop_leaves_nothing"),
        ("CrashingWorld", "test_every_input_is_done_or_refused"),
        ("SwallowingWorld", "test_an_unknown_action_is_not_ignored"),
        ("SwallowingWorld", "test_malformed_input_is_refused"),
        ("SwallowingWorld", "test_every_input_is_done_or_refused"),
        ("StaleWorld", "test_a_frame_follows_the_acknowledged_input"),
        ("BlackWorld", "test_a_frame_is_whole_and_of_the_declared_size"),
        ("StuckCounterWorld", "test_frames_are_numbered_and_timed_in_order"),
        ("UndeadWorld", "test_a_stopped_world_shows_no_old_frames"),
        ("LyingExitWorld", "test_exec_returns_the_exit_code"),
        ("LyingExitWorld", "test_a_hook_returns_its_exit_code"),
        ("EmptyHandedWorld", "test_a_missing_guest_file_is_said_to_be_missing"),
        ("StopOnceWorld", "test_stop_twice_does_nothing_more"),
        ("ForgetfulWorld", "test_a_restored_world_has_what_was_saved"),
        ("MoodyWorld", "test_the_same_seed_and_actions_show_the_same"),
        ("TypoBlindWorld", "test_a_misspelt_option_is_refused_by_name"),
        ("HeedlessWorld", "test_settle_leaves_out_the_boxes_it_is_given_and_names_them"),
        ("BoastfulWorld", "test_compatibility_and_abilities_agree"),
        ("EagerWorld", "test_building_a_runner_starts_nothing"),
        ("HungWorld", "test_abort_ends_the_injecting_of_actions"),
        ("HungStartWorld", "test_abort_ends_a_start"),
    ],
)
def test_a_fault_fails_its_check(world, fault):
    assert failures_of(world, fault) == {fault}


@pytest.mark.parametrize("kind", ["thread", "fd", "file"])
def test_what_a_world_leaves_behind_fails_the_life_cycle(kind):
    fault = "test_start_then_stop_leaves_nothing"
    assert failures_of("LeakingWorld", fault, misbehave=kind) == {fault}


@pytest.mark.parametrize(
    "world",
    [
        "BoastfulWorld",
        pytest.param("StuckCounterWorld", marks=pytest.mark.soak),
        pytest.param("TypoBlindWorld", marks=pytest.mark.soak),
        "EmptyHandedWorld",
    ],
)
def test_one_fault_fails_no_other_check(world):
    assert len(failures_of(world)) == 1


def test_a_slow_world_is_right():
    assert failures_of("SlowWorld", "done follow abort lifecycle stop") == set()


def test_every_misbehaving_world_is_tried_here():
    worlds = {
        name
        for name, value in vars(misbehaving).items()
        if isinstance(value, type)
        and issubclass(value, misbehaving.MisbehavingWorld)
        and value is not misbehaving.MisbehavingWorld
    }
    source = Path(__file__).read_text(encoding="utf-8")
    assert {name for name in worlds if f'"{name}"' not in source} == set()
