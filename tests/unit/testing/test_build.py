"""Building the conformance case: what goes in, and what becomes of known failures and missing backends."""

from __future__ import annotations

import subprocess
import sys
import unittest
from typing import Any

import pytest

from gym_anything.errors import SpecInvalid, UnknownPlugin
from gym_anything.testing import build_conformance_case
from gym_anything.testing.fakes.misbehaving import LyingExitWorld, StopOnceWorld
from gym_anything.testing.fakes.world import FakeWorld
from tests.unit.runtime.runners.minimal_runner import SixMethods

pytestmark = pytest.mark.real

FAKE = "gym_anything.testing.fakes.world:FakeWorld"
STOP_TWICE = "test_stop_twice_does_nothing_more"


class Absent(FakeWorld):
    """Not available here."""

    @classmethod
    def doctor_status(cls) -> dict[str, Any]:
        return {"available": False, "reason": "no dish on this roof", "deps": {}}


class Talkative(SixMethods):
    """Six methods; it shows what it was told."""

    def start(self, seed=None):
        self.told = []

    def inject_action(self, action):
        self.told.append(action)

    def capture_observation(self):
        return {"told": len(self.told)}


def run(case: type[unittest.TestCase], *names: str) -> unittest.TestResult:
    result = unittest.TestResult()
    unittest.TestSuite(case(name) for name in names or unittest.defaultTestLoader.getTestCaseNames(case)).run(result)
    return result


def test_it_takes_a_key_a_locator_or_a_class():
    for runner in (FAKE, FakeWorld):
        case = build_conformance_case(runner)
        assert issubclass(case, unittest.TestCase)
        assert case.__name__ == "FakeworldConformance"


def test_an_unknown_runner_or_a_wrong_spec_fails_at_once():
    with pytest.raises(UnknownPlugin):
        build_conformance_case("no_such_module_xyz:Runner")
    with pytest.raises(SpecInvalid, match="build_conformance_case"):
        build_conformance_case(FAKE, env_spec={"observation": []})


def test_the_given_spec_is_merged_over_a_minimal_one():
    case = build_conformance_case(FAKE, env_spec={"runner_options": {"boot_s": 0}, "recording": {"video_fps": 3}})
    spec = case.subject.spec()
    assert spec.runner_options == {"boot_s": 0}
    assert (spec.recording.enable, spec.recording.video_fps) == (False, 3)
    assert spec.observation_of("rgb_screen") is not None
    assert build_conformance_case(Talkative).subject.spec().observation_of("rgb_screen") is None


def test_a_world_of_six_methods_that_ignores_nothing_passes():
    result = run(build_conformance_case(Talkative, actions=[{"anything": 1}]))
    assert (result.failures, result.errors) == ([], [])
    assert result.testsRun > 40


def test_a_world_of_six_methods_that_ignores_everything_does_not():
    result = run(build_conformance_case(SixMethods))
    assert {test.id().rsplit(".", 1)[1].split(" ")[0] for test, _ in result.failures} == {
        "test_an_unknown_action_is_not_ignored",
    }


def test_a_known_failure_is_expected_and_its_passing_is_a_failure():
    known = {STOP_TWICE: "the second stop is being written"}
    bad = run(build_conformance_case(StopOnceWorld, known_failures=known), STOP_TWICE)
    assert len(bad.expectedFailures) == 1
    assert "already stopped" in bad.expectedFailures[0][1]
    assert bad.wasSuccessful()
    good = run(build_conformance_case(FAKE, known_failures=known), STOP_TWICE)
    assert len(good.unexpectedSuccesses) == 1
    assert not good.wasSuccessful()


def test_a_class_declares_its_own_known_failures():
    class Honest(LyingExitWorld):
        @classmethod
        def known_conformance_failures(cls):
            return {"test_exec_returns_the_exit_code": "exit codes are lost on the way"}

    result = run(build_conformance_case(Honest), "test_exec_returns_the_exit_code")
    assert len(result.expectedFailures) == 1
    assert "known failure: exit codes are lost on the way" in result.expectedFailures[0][1]


def test_a_known_failure_must_name_a_test():
    with pytest.raises(ValueError, match="names no test"):
        build_conformance_case(FAKE, known_failures={"test_no_such": "why"})


def test_a_missing_backend_is_skipped_with_its_own_reason(monkeypatch):
    monkeypatch.delenv("GYM_ANYTHING_TEST_REQUIRE", raising=False)
    result = run(build_conformance_case(Absent))
    assert result.errors == result.failures == []
    assert {reason for _, reason in result.skipped} == {f"{__name__}:Absent: no dish on this roof"}


@pytest.mark.parametrize("require", ["all", f"{__name__}:Absent"])
def test_a_required_backend_that_is_missing_fails(monkeypatch, require):
    monkeypatch.setenv("GYM_ANYTHING_TEST_REQUIRE", require)
    result = run(build_conformance_case(Absent))
    assert len(result.errors) == 1
    assert "no dish on this roof" in result.errors[0][1]


def test_it_runs_under_plain_unittest(tmp_path):
    (tmp_path / "test_mine.py").write_text(
        f"from gym_anything.testing import build_conformance_case\nMine = build_conformance_case({FAKE!r})\n"
    )
    ran = subprocess.run(
        [sys.executable, "-m", "unittest", "-q", "test_mine"],
        cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert "OK" in ran.stderr
