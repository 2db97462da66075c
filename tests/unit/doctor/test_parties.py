"""Runners' own facts, conflicts, shadowed packages, unknown variables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.doctor.check import Check
from gym_anything.doctor.probes import parties
from gym_anything.runtime.runners.registry import register_runner, unregister_runner
from gym_anything.testing.fakes.world import FakeWorld
from tests.installed_distribution import write_distribution

pytestmark = pytest.mark.unit

SOON = Deadline.never()


class NeedsMuch(FakeWorld):
    @classmethod
    def doctor_status(cls) -> dict[str, Any]:
        deps = {"hypervisor": {"ok": False, "detail": "not found", "fix": "apt-get install qemu"}, "old style": True}
        return {"available": False, "reason": "no hypervisor", "deps": deps}


class Raises(FakeWorld):
    @classmethod
    def doctor_status(cls) -> dict[str, Any]:
        raise RuntimeError("boom")

    @classmethod
    def install_plan(cls) -> Any:
        raise RuntimeError("boom again")


class OnlyAPlan(FakeWorld):
    @classmethod
    def doctor_status(cls) -> dict[str, Any]:
        return {"available": False, "reason": "no", "deps": {}}

    @classmethod
    def install_plan(cls) -> Any:
        return [{"title": "a", "command": "one"}, {"title": "b", "command": "two"}]


def rows_of(locator: str) -> list[Check]:
    [probe] = [probe for probe in parties.runner_probes([locator]) if probe.name == f"runner:{locator}"]
    return list(probe.run(SOON))


def test_a_runner_given_by_locator_is_asked_and_its_needs_are_rows() -> None:
    name = f"{__name__}:NeedsMuch"
    first, *needs = rows_of(name)
    assert (first.name, first.ok, first.detail, first.required) == (f"runner:{name}", False, "no hypervisor", False)
    assert first.fix == "apt-get install qemu"
    assert [(row.name, row.ok) for row in needs] == [
        (f"need:{name}:hypervisor", False),
        (f"need:{name}:old style", True),
    ]


def test_a_registered_runner_is_asked_without_being_named() -> None:
    register_runner("doctors-test", FakeWorld)
    try:
        assert "runner:doctors-test" in [probe.name for probe in parties.runner_probes()]
    finally:
        unregister_runner("doctors-test")


def test_a_runner_whose_facts_break_is_a_row_like_any_other() -> None:
    [row] = rows_of(f"{__name__}:Raises")
    assert not row.ok and "boom" in row.detail and "again" not in row.fix


def test_a_runners_install_plan_is_its_fix_when_its_needs_know_none() -> None:
    [row] = rows_of(f"{__name__}:OnlyAPlan")
    assert row.fix == "one && two"


@pytest.mark.parametrize("locator", ["no.such:Runner", "os:path"])
def test_a_locator_that_leads_nowhere_is_a_row(locator: str) -> None:
    [row] = rows_of(locator)
    assert not row.ok and row.detail and row.fix


def test_a_foreign_claim_on_a_reserved_name_is_flagged_with_the_package_to_remove(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_distribution(tmp_path, "evil-runner", {"gym_anything.runners": {"local": "json:JSONDecoder"}})
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    rows = {row.name: row for row in parties.conflicts(SOON)}
    assert not rows["registry:local"].ok
    assert rows["registry:local"].fix == "pip uninstall evil-runner"
    assert "runner:local" not in [probe.name for probe in parties.runner_probes()]


def test_without_a_conflict_the_registry_is_fine() -> None:
    [row] = parties.conflicts(SOON)
    assert row.ok


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory of one's own, and an installed package ``benchmarks`` somewhere else."""
    (tmp_path / "site" / "benchmarks").mkdir(parents=True)
    (tmp_path / "site" / "benchmarks" / "__init__.py").touch()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    standard = [entry for entry in sys.path if "/lib/python" in entry and "site-packages" not in entry]  # nor our wheel
    monkeypatch.setattr(sys, "path", ["", str(tmp_path / "work"), str(tmp_path / "site"), *standard])
    return tmp_path


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_working_directory_that_hides_an_installed_package_is_flagged(elsewhere: Path, kind: str) -> None:
    if kind == "folder":
        (elsewhere / "work" / "benchmarks").mkdir()
    else:
        (elsewhere / "work" / "benchmarks.py").touch()
    [row] = parties.shadows(SOON)
    assert (row.name, row.ok) == ("shadowed-packages:benchmarks", False)
    assert "benchmarks" in row.fix


def test_nothing_is_flagged_where_nothing_is_hidden(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (elsewhere / "work" / "mine").mkdir()
    [row] = parties.shadows(SOON)
    assert row.ok
    monkeypatch.chdir(elsewhere / "site")  # the package itself lies here: nothing hides it
    [row] = parties.shadows(SOON)
    assert row.ok


def test_a_misspelt_variable_is_flagged_with_what_was_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GYM_ANYTHING_RUNER", "docker")
    rows = {row.name: row for row in parties.environment(SOON)}
    row = rows["environment:GYM_ANYTHING_RUNER"]
    assert not row.ok and "GYM_ANYTHING_RUNNER" in row.detail and row.fix == "unset GYM_ANYTHING_RUNER"


def test_a_variable_whose_value_cannot_be_used_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GYM_ANYTHING_TRACEBACK", "perhaps")
    import gym_anything.cli.main  # noqa: F401 - declares it

    rows = {row.name: row for row in parties.environment(SOON)}
    assert "perhaps" in rows["environment:GYM_ANYTHING_TRACEBACK"].detail
