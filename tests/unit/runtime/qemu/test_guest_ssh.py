"""What a guest's ``sshd`` is told, and the key that must be there."""

from __future__ import annotations

from pathlib import Path

import pytest

from gym_anything.errors import SpecNotFound
from gym_anything.runtime.qemu.guest_ssh import public_key, server_settings
from gym_anything.specs.access import Ssh

pytestmark = pytest.mark.unit


def told(user: str, *, by_key: bool) -> dict[str, str]:
    lines = server_settings(user, 2222, by_key=by_key).splitlines()
    return dict(line.split(" ", 1) for line in lines)  # type: ignore[arg-type]


def test_one_account_is_let_in_by_one_way() -> None:
    settings = told("ga", by_key=False)
    assert (settings["Port"], settings["AllowUsers"], settings["PermitRootLogin"]) == ("2222", "ga", "no")
    assert (settings["PasswordAuthentication"], settings["PubkeyAuthentication"]) == ("yes", "no")
    settings = told("root", by_key=True)
    assert (settings["AllowUsers"], settings["PermitRootLogin"]) == ("root", "prohibit-password")
    assert (settings["PasswordAuthentication"], settings["PubkeyAuthentication"]) == ("no", "yes")


def test_no_setting_keeps_it_to_the_guests_loopback() -> None:
    """A forward reaches the guest by its network card."""
    assert "ListenAddress" not in told("ga", by_key=False)


def test_a_key_is_there_with_its_public_half(tmp_path: Path) -> None:
    key = tmp_path / "id"
    assert public_key(Ssh()) is None
    with pytest.raises(SpecNotFound, match="ssh-keygen"):
        public_key(Ssh(key_file=str(key)))
    key.write_text("private")
    with pytest.raises(SpecNotFound, match=r"id\.pub"):
        public_key(Ssh(key_file=str(key)))
    (tmp_path / "id.pub").write_text("ssh-ed25519 AAAA me")
    assert public_key(Ssh(key_file=str(key))) == b"ssh-ed25519 AAAA me"
