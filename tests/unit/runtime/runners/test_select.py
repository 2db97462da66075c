"""The choice of a runner, the facts asked of it, and its word on a spec: safe from whatever a class answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gym_anything.errors import MissingDependency, MissingExtra, PluginError, SpecInvalid, UnknownPlugin
from gym_anything.runtime.runners import facts, registry, select, spec_check
from gym_anything.runtime.runners.checkpoint_options import without_volatile
from gym_anything.runtime.runners.spec_promises import declared_promises
from gym_anything.specs.env_spec import EnvSpec
from tests.unit.runtime.runners.minimal_runner import SixMethods, bare_spec

pytestmark = pytest.mark.unit


class Willing(SixMethods):
    """May be detected."""

    @classmethod
    def platform_priority(cls):
        return 50


class Eager(Willing):
    """Wants it more."""

    @classmethod
    def platform_priority(cls):
        return 60


class Unavailable(Eager):
    """Wants it, but cannot."""

    @classmethod
    def doctor_status(cls):
        return {"available": False, "reason": "no such kernel feature", "deps": {}}


class Ineligible(Eager):
    """Wants it, but not for this spec."""

    @classmethod
    def autodetect_eligible(cls, spec=None):
        return False

    @classmethod
    def ineligible_reason(cls, spec):
        return "it needs an image"


class Broken(Eager):
    """Raises whatever it is asked."""

    @classmethod
    def autodetect_eligible(cls, spec=None):
        raise RuntimeError("boom")

    @classmethod
    def doctor_status(cls):
        raise RuntimeError("boom")

    @classmethod
    def compatibility(cls):
        raise RuntimeError("boom")

    @classmethod
    def validate_options(cls, spec):
        raise RuntimeError("boom")

    @classmethod
    def unenforced_fields(cls, spec):
        raise RuntimeError("boom")


@pytest.fixture
def runners(monkeypatch: pytest.MonkeyPatch):
    """Have only the runners that the test registers: no entry point is seen."""
    monkeypatch.setattr(registry.RUNNERS, "_entry_points", lambda: [])
    monkeypatch.setattr(registry.RUNNERS, "_from_code", {})
    return registry.register_runner


def chosen(spec: Any = None, env: dict[str, str] | None = None, **more: Any) -> tuple[str, str]:
    choice = select.choose_runner(spec or bare_spec(), env or {}, **more)
    return choice.name, choice.source


def test_the_variable_wins_over_the_spec_and_the_argument_over_both(runners):
    runners("one", Willing)
    runners("two", Eager)
    runners("three", SixMethods)
    spec = bare_spec(runner="one")
    assert chosen(spec) == ("one", "file")
    assert chosen(spec, {"GYM_ANYTHING_RUNNER": "two"}) == ("two", "environment")
    assert chosen(spec, {"GYM_ANYTHING_RUNNER": "two"}, argument="three") == ("three", "argument")
    assert chosen(spec, {"GYM_ANYTHING_RUNNER": "  "}) == ("one", "file")


def test_a_named_runner_that_is_missing_is_an_error_and_no_other_is_taken(runners):
    runners("one", Willing)
    with pytest.raises(MissingExtra, match=r"gym-anything\[docker\]"):
        chosen(bare_spec(runner="docker"))
    with pytest.raises(UnknownPlugin):
        chosen(bare_spec(), {"GYM_ANYTHING_RUNNER": "no-such"})


def test_detection_takes_the_highest_priority_that_is_available_and_eligible(runners):
    runners("low", Willing)
    runners("high", Eager)
    assert chosen() == ("high", "detection")
    runners("best", Unavailable)
    runners("other", Ineligible)
    choice = select.choose_runner(bare_spec(), {})
    assert choice.name == "high"
    assert choice.reasons["other"] == "it needs an image"
    assert select.choose_runner(bare_spec(), {}).cls is Eager


def test_equal_priorities_are_decided_by_name(runners):
    runners("b", Willing)
    runners("a", Eager.__mro__[1])
    assert chosen()[0] == "a"


def test_a_runner_of_priority_zero_is_never_detected(runners):
    runners("fake", SixMethods)
    with pytest.raises(MissingDependency, match="fake: never chosen by itself"):
        chosen()


def test_when_nothing_fits_each_candidates_reason_is_told(runners):
    runners("fake", SixMethods)
    runners("best", Unavailable)
    runners("other", Ineligible)
    runners("sick", Broken)
    runners("gone", "no_such_module_xyz:Runner")
    with pytest.raises(MissingDependency) as caught:
        chosen()
    reasons = caught.value.detail["reasons"]
    assert reasons["best"] == "no such kernel feature"
    assert reasons["other"] == "it needs an image"
    assert "boom" in reasons["sick"]
    assert "no_such_module_xyz" in reasons["gone"]
    assert reasons["docker"] == 'not installed: pip install "gym-anything[docker]"'
    assert all(reason in str(caught.value) for reason in reasons.values())
    json.dumps(caught.value.to_wire())


def test_a_broken_runner_does_not_end_detection(runners):
    runners("sick", Broken)
    runners("well", Willing)
    assert chosen() == ("well", "detection")


# --- the registry of runners -------------------------------------------------------------------------------------


def test_a_class_passes_through_and_is_checked():
    assert registry.resolve_runner(Willing) is Willing
    with pytest.raises(PluginError, match="not a subclass"):
        registry.resolve_runner(dict)


def test_a_class_that_lacks_methods_is_refused_with_their_names(runners):
    class Half(SixMethods.__mro__[1]):
        def start(self, seed=None):
            pass

    runners("half", Half)
    with pytest.raises(PluginError, match="inject_action"):
        registry.resolve_runner("half")


def test_our_bundled_runner_is_found_by_its_entry_point():
    assert any(row.key == "local" and row.conflict is None for row in registry.known_runners())


def test_every_reserved_name_of_the_contract_is_reserved():
    names = "docker qemu qemu_native avd avd_native avf apptainer modal modal_native use_computer sandweave local"
    assert set(registry.RESERVED) == set(names.split())


# --- facts -------------------------------------------------------------------------------------------------------


def test_a_doctor_that_raises_counts_as_no():
    status = facts.runner_status(Broken)
    assert not status.available
    assert "boom" in (status.reason or "")


@pytest.mark.parametrize("answer", [None, {}, "yes", {"available": False}])
def test_a_doctors_nonsense_counts_as_no(answer):
    class Odd(SixMethods):
        @classmethod
        def doctor_status(cls):
            return answer

    status = facts.runner_status(Odd)
    assert not status.available
    assert status.reason


def test_a_row_may_be_a_dict_and_what_it_leaves_out_is_derived():
    class Rowed(SixMethods):
        @classmethod
        def compatibility(cls):
            return {"savevm": True, "platforms": ["mars"], "gravity": 0.38, "notes": ["dusty"]}

        def supports_fast_io(self):
            return True

    row = facts.get_runner_compatibility(Rowed)
    assert (row.savevm, row.fast_io, row.platforms, row.notes) == (True, None, ("mars",), ("dusty", "gravity: 0.38"))
    assert row.runner == "Rowed"
    json.dumps(row.to_dict())


def test_the_matrix_survives_what_cannot_be_used(runners):
    runners("well", Willing)
    runners("sick", Broken)
    runners("gone", "no_such_module_xyz:Runner")
    runners("torn", Willing)
    runners("torn", Eager)
    matrix = facts.get_runner_compatibility_matrix()
    assert set(matrix) == {"well", "sick", "gone", "torn"}
    assert matrix["well"].notes == ()
    assert "boom" in matrix["sick"].notes[0]
    assert "no_such_module_xyz" in matrix["gone"].notes[0]
    assert "more than once" in matrix["torn"].notes[0]


# --- its word on a spec ------------------------------------------------------------------------------------------


def env_spec(**fields: Any) -> EnvSpec:
    base = {"id": "e@1", "observation": [{"type": "telemetry"}], "action": [{"type": "drive"}]}
    return EnvSpec.from_dict({**base, **fields})


def test_wrong_options_are_one_error_that_names_them():
    class Strict(SixMethods):
        @classmethod
        def validate_options(cls, spec):
            return [f"unknown option {name!r}" for name in spec.runner_options]

    check = spec_check.check_spec("strict", Strict, env_spec(runner_options={"a": 1, "b": 2}))
    with pytest.raises(SpecInvalid, match="unknown option 'a'; unknown option 'b'") as caught:
        check.raise_for_errors()
    assert caught.value.detail["key"] == "runner_options"
    spec_check.check_spec("strict", Strict, env_spec()).raise_for_errors()


def test_a_check_that_raises_is_an_error_not_a_pass():
    check = spec_check.check_spec("sick", Broken, env_spec())
    assert len(check.errors) == 2
    with pytest.raises(SpecInvalid, match="boom"):
        check.raise_for_errors()


def test_what_a_runner_does_not_say_it_enforces_is_reported():
    spec = env_spec(security={"network_allowlist": ["example.test"]}, resources={"cpu": 2, "net": False})
    fields = [item.field for item in spec_check.check_spec("six", SixMethods, spec).unenforced]
    assert fields == ["resources.cpu", "resources.net", "security.network_allowlist"]
    assert "not enforced by six" in str(spec_check.check_spec("six", SixMethods, spec).unenforced[0])


def test_a_spec_that_promises_nothing_has_nothing_to_enforce():
    assert declared_promises(env_spec()) == []
    assert declared_promises(env_spec(vnc={"enable": False}, security={"secrets_ref": "s.json"})) == []
    assert declared_promises(env_spec(security={"network_allowlist": []})) == ["security.network_allowlist"]


def test_volatile_options_leave_a_checkpoint_key():
    class Volatile(SixMethods):
        @classmethod
        def volatile_option_paths(cls):
            return ("service_network.id", "memory.reservation", "tag")

    options = {
        "service_network": {"id": "n", "aliases": ["a"]},
        "memory": {"reservation": "8GiB"},
        "tag": "x",
        "keep": 1,
    }
    data = env_spec(runner_options=options).to_dict()
    left = without_volatile(Volatile, data)["runner_options"]
    assert left == {"service_network": {"aliases": ["a"]}, "keep": 1}
    assert data["runner_options"] == options, "the spec's own data must not change"
