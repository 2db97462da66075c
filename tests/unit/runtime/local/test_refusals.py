"""A host that refuses is told apart by the step it refuses, each with its fix."""

from __future__ import annotations

import errno

import pytest

from gym_anything.errors import MissingDependency
from gym_anything.runtime.runners.local import facts
from gym_anything.runtime.runners.local.options import LocalOptions
from gym_anything.runtime.runners.local.sandbox.refusals import Refusal, attempt

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("step", "hint"),
    [
        ("user namespace", "max_user_namespaces"),
        ("ids", "/etc/subuid"),
        ("overlay", "GYM_ANYTHING_STATE_DIR"),
        ("proc", "systempaths=unconfined"),
        ("devices", "/dev"),
        ("inner namespaces", "max_net_namespaces"),
    ],
)
def test_each_refused_step_has_its_fix(step: str, hint: str) -> None:
    def refuse() -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    with pytest.raises(Refusal) as caught:
        attempt(step, refuse)
    assert step in str(caught.value) and "not permitted" in str(caught.value)
    assert hint in caught.value.fix


def test_a_full_disk_is_not_blamed_on_the_file_system() -> None:
    def refuse() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        attempt("overlay", refuse)


def test_what_works_is_passed_on() -> None:
    assert attempt("proc", lambda: 7) == 7


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts.shutil, "which", lambda name, path: None if name == "tint2" else f"/usr/bin/{name}")
    with pytest.raises(MissingDependency, match="apt-get install --no-install-recommends tint2"):
        facts.require_programs(LocalOptions())
    facts.require_programs(LocalOptions(panel="none"))
