"""Accounts: numbers, groups and the files that name them."""

from __future__ import annotations

import pytest

from gym_anything.runtime.session.accounts import decide_accounts, hashed
from gym_anything.specs.accounts import Permissions, UserAccount

pytestmark = pytest.mark.unit


def test_the_desktop_user_is_always_there_with_sudo() -> None:
    people = decide_accounts([])
    assert (people.desktop.name, people.desktop.uid, people.desktop.home) == ("ga", 1000, "/home/ga")
    assert people.desktop.may_sudo
    assert "ga:x:1000:1000:ga:/home/ga:/bin/bash" in people.passwd().splitlines()
    assert "sudo:x:27:ga" in people.group().splitlines()


def test_the_spec_may_describe_the_desktop_user() -> None:
    user = UserAccount(name="ga", uid=1234, permissions=Permissions(home_dir="/srv/ga", home_permissions="700"))
    desktop = decide_accounts([user]).desktop
    assert (desktop.uid, desktop.gid, desktop.home, desktop.home_mode) == (1234, 1234, "/srv/ga", 0o700)


def test_numbers_do_not_collide() -> None:
    users = [UserAccount(name="a"), UserAccount(name="b", uid=1000), UserAccount(name="c")]
    people = decide_accounts(users)
    numbers = [account.uid for account in people.accounts]
    assert len(set(numbers)) == len(numbers)
    assert next(account.uid for account in people.accounts if account.name == "b") == 1000


def test_system_users_get_low_numbers() -> None:
    people = decide_accounts([UserAccount(name="svc", permissions=Permissions(system_user=True, login_shell=False))])
    account = people.accounts[1]
    assert account.uid < 1000
    assert account.login_shell == "/usr/sbin/nologin"


def test_unknown_groups_are_made_and_joined() -> None:
    people = decide_accounts([UserAccount(name="bob", permissions=Permissions(groups=("docker", "research")))])
    bob = people.accounts[1]
    assert {people.groups["docker"], people.groups["research"]} <= set(bob.groups)
    assert "research:x:900:bob" in people.group().splitlines()
    assert not bob.may_sudo


def test_with_one_id_everybody_is_that_one() -> None:
    people = decide_accounts([UserAccount(name="bob")], single_id=True)
    assert {account.uid for account in people.accounts} == {0}
    assert {account.groups for account in people.accounts} == {()}


def test_passwords_are_hashed_and_absent_ones_match_nothing() -> None:
    shadow = decide_accounts([UserAccount(name="bob", password=None)]).shadow()
    assert "password123" not in shadow
    lines = dict(line.split(":")[:2] for line in shadow.splitlines())
    assert lines["bob"] == lines["root"] == "*"
    assert lines["ga"].startswith("$6$") or lines["ga"] == "*"
    assert hashed("a") != hashed("a") or hashed("a") == "*"


def test_a_password_is_not_in_a_repr() -> None:
    """N1: no secret in logs."""
    people = decide_accounts([UserAccount(name="bob", password="hunter2")])
    assert "hunter2" not in repr(people)
