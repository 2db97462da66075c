"""Accounts are added to what an image brings; what is there keeps its numbers, since files belong to them."""

from __future__ import annotations

import pytest

from gym_anything.runtime.session.account_texts import AccountTexts, accounts_in, with_accounts
from gym_anything.specs.accounts import Permissions, UserAccount

pytestmark = pytest.mark.unit

PRESENT = AccountTexts(
    passwd="root:x:0:0:root:/root:/bin/bash\nnode:x:1000:1000::/home/node:/bin/sh\n",
    group="root:x:0:\nsudo:x:27:node\nnode:x:1000:\n",
    shadow="root:*:1:0:99999:7:::\nnode:$6$old$hash:1:0:99999:7:::\n",
    gshadow="root:*::\nsudo:*::node\n",
)


def added(*users: UserAccount, present: AccountTexts = PRESENT) -> AccountTexts:
    return with_accounts(present, accounts_in(present, users), salt="salt")


def test_the_desktop_s_user_is_added_with_numbers_that_nobody_has() -> None:
    texts = added()
    assert texts.passwd.splitlines()[-1] == "ga:x:1001:1001:ga:/home/ga:/bin/bash"
    assert "sudo:x:27:node,ga" in texts.group.splitlines()
    assert "sudo:!::node,ga" in texts.gshadow.splitlines()
    assert texts.shadow.splitlines()[-1].startswith("ga:$6$salt$")


def test_who_is_there_keeps_his_numbers_and_his_password() -> None:
    texts = added(UserAccount(name="node", permissions=Permissions(groups=("audio",), shell="/bin/bash")))
    assert "node:x:1000:1000:node:/home/node:/bin/bash" in texts.passwd.splitlines()
    assert "node:$6$old$hash:1:0:99999:7:::" in texts.shadow.splitlines()
    assert any(line.startswith("audio:x:") and line.endswith(":node") for line in texts.group.splitlines())


def test_an_image_that_has_the_desktop_s_user_is_left_as_it_is() -> None:
    first = added()
    again = added(present=first)
    assert again == first


def test_a_password_of_the_spec_replaces_the_old_one() -> None:
    texts = added(UserAccount(name="node", password="new"))
    line = next(line for line in texts.shadow.splitlines() if line.startswith("node:"))
    assert line.startswith("node:$6$salt$") and "old" not in line


def test_a_system_without_shadow_files_gets_them() -> None:
    texts = added(present=AccountTexts(passwd="root:x:0:0:root:/root:/bin/sh\n", group="root:x:0:\n"))
    assert texts.shadow.startswith("\n") is False and texts.shadow.splitlines()[0].startswith("ga:")
    assert texts.passwd.splitlines()[-1].startswith("ga:x:1000:1000:")
