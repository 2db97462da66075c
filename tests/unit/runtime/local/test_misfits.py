"""What a spec asks for that no local world can be is said when it is loaded."""

from __future__ import annotations

from typing import Any

import pytest

from gym_anything.runtime.runners.local.misfits import misfits
from gym_anything.runtime.runners.local.runner import LocalRunner
from gym_anything.specs.env_spec import EnvSpec

pytestmark = pytest.mark.unit


def found(**fields: Any) -> list[str]:
    return misfits(EnvSpec.from_dict({"id": "e", "base": "debian-desktop", **fields}))


def account(name: str = "bob", **permissions: Any) -> list[dict[str, Any]]:
    return [{"name": name, "permissions": permissions}]


def test_an_ordinary_spec_fits() -> None:
    users = [
        {"name": "ga", "uid": 1234},
        *account("Jörg Müller", home_dir="/srv/jörg", home_permissions="0700", shell="/bin/sh"),
    ]
    mounts = [{"source": "x", "target": target} for target in ("/workspace", "/etc/app/settings", "/home/ga/x")]
    assert found(user_accounts=users, mounts=mounts) == []


@pytest.mark.parametrize("name", ["root", "nobody", "www-data"])
def test_an_account_of_the_system_cannot_be_given_again(name: str) -> None:
    assert found(user_accounts=account(name)) == [
        f"user_accounts[0].name: {name!r} is an account of the system; choose another name"
    ]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("home_dir", "home/bob", "absolute"),
        ("home_dir", "/home/b:ob", "absolute"),
        ("home_dir", "/etc", "keeps /etc for itself"),
        ("home_dir", "/proc/1", "keeps /proc/1 for itself"),
        ("shell", "bash", "absolute"),
        ("home_permissions", "rwx", "octal"),
        ("home_permissions", 989, "octal"),
    ],
)
def test_what_would_break_the_account_files_is_refused(field: str, value: Any, said: str) -> None:
    [sentence] = found(user_accounts=account(**{field: value}))
    assert sentence.startswith(f"user_accounts[0].permissions.{field}: ") and said in sentence


@pytest.mark.parametrize("uid", [0, 65534, 10_000_000])
def test_ids_outside_the_world_are_refused(uid: int) -> None:
    [sentence] = found(user_accounts=[{"name": "bob", "uid": uid}])
    assert sentence.startswith("user_accounts[0].uid: ")


def test_two_accounts_of_one_name_are_refused() -> None:
    assert found(user_accounts=[*account(), *account()]) == ["user_accounts[1].name: there is an account 'bob' already"]


@pytest.mark.parametrize("target", ["/", "//etc/", "/usr", "/usr/lib", "/proc/self", "/dev/shm", "/workspace/../etc"])
def test_places_of_the_world_itself_are_refused_and_named(target: str) -> None:
    [sentence] = found(mounts=[{"source": "x", "target": target}])
    assert sentence.startswith("mounts[0].target: ") and target in sentence


def test_the_runner_says_it_when_the_spec_is_loaded() -> None:
    spec = EnvSpec.from_dict({"id": "e", "base": "debian-desktop", "user_accounts": account("root")})
    assert LocalRunner.validate_options(spec) == misfits(spec) != []
