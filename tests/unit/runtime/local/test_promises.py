"""What a local world says that it cannot enforce, and for which specs detection may choose it."""

from __future__ import annotations

from typing import Any

import pytest

from gym_anything.runtime.runners.local.facts import eligible
from gym_anything.runtime.runners.local.promises import unenforced
from gym_anything.specs.env_spec import EnvSpec

pytestmark = pytest.mark.unit


def spec_of(**fields: Any) -> EnvSpec:
    return EnvSpec.from_dict({"id": "e", "base": "debian-desktop", **fields})


def names(**fields: Any) -> list[str]:
    return [name for name, reason in unenforced(spec_of(**fields)) if reason]


def test_a_plain_desktop_is_kept_whole() -> None:
    assert names() == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"security": {"network_allowlist": ["example.org"]}}, "security.network_allowlist"),
        ({"security": {"cap_drop": ["ALL"]}}, "security.cap_drop"),
        ({"security": {"use_systemd": True}}, "security.use_systemd"),
        ({"image": "debian:12"}, "image"),
        ({"resources": {"gpu": 1}}, "resources.gpu"),
        (
            {"user_accounts": [{"name": "u", "permissions": {"network_access": False}}]},
            "user_accounts.u.permissions.network_access",
        ),
        (
            {"user_accounts": [{"name": "u", "permissions": {"max_memory": "1G"}}]},
            "user_accounts.u.permissions.max_memory",
        ),
        ({"runner_options": {"sandbox": False}}, "resources.net"),
    ],
)
def test_what_is_not_kept_is_named_with_a_reason(fields: dict[str, Any], expected: str) -> None:
    assert expected in names(**fields)


def test_a_promise_not_to_have_something_is_kept() -> None:
    assert names(security={"privileged": False, "use_systemd": False}, resources={"gpu": 0}) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"image": "debian:12"},
        {"dockerfile": "Dockerfile"},
        {"entrypoint": "/start.sh"},
        {"apptainer": {"image": "docker://x"}},
        {"os_type": "windows"},
        {"avd": {"api_level": 34}},
    ],
)
def test_a_spec_with_a_machine_of_its_own_is_not_for_us(fields: dict[str, Any]) -> None:
    assert not eligible(spec_of(**fields))


def test_our_preset_and_no_preset_are_for_us_and_others_are_not() -> None:
    bare = {"id": "e", "observation": [{"type": "rgb_screen"}], "action": [{"type": "mouse"}]}
    assert eligible(spec_of())
    assert eligible(EnvSpec.from_dict(bare))
    assert eligible(None)
    assert not eligible(EnvSpec.from_dict({"id": "e", "base": "ubuntu-gnome-systemd"}))
