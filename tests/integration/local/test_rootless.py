"""An ordinary user has local worlds, too: with granted ids, and, with less, with one id only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.local.escapes import ESCAPES
from tests.ordinary_user import OrdinaryUser, facts, ordinary_user, what_lacks

pytestmark = [pytest.mark.real, pytest.mark.slow]

NAME = "ga-test-user"
PROGRAM = Path(__file__).with_name("rootless_program.py")


@pytest.fixture(scope="module")
def user(local_backend: None, require_backend: Callable[[str, bool, str], None]) -> Iterator[OrdinaryUser]:
    missing = what_lacks()
    require_backend("rootless", not missing, missing)
    with ordinary_user(NAME, PROGRAM) as made:
        yield made


def test_an_ordinary_users_world_works_and_holds(user: OrdinaryUser) -> None:
    """Hooks as root, sudo, files, a checkpoint; nobody gets out; nothing is left."""
    found = facts(user.run("world"))
    assert found["ids"] == "newuidmap"
    assert found["root"] == "0" and found["desktop"] == "1000" and found["sudo"] == "0"
    assert found["restored"] == "kept"
    assert found["held"] == len(ESCAPES), found["out"]
    assert found["left"] == []


def test_without_granted_ids_a_world_has_one_and_says_so(user: OrdinaryUser) -> None:
    saved = {name: Path(f"/etc/{name}").read_text() for name in ("subuid", "subgid")}
    try:
        for name, text in saved.items():
            Path(f"/etc/{name}").write_text(
                "".join(line for line in text.splitlines(True) if not line.startswith(NAME))
            )
        found = facts(user.run("world"))
    finally:
        for name, text in saved.items():
            Path(f"/etc/{name}").write_text(text)
    assert found["ids"] == "single"
    assert found["root"] == found["desktop"] == "0"
    assert any("one id" in str(note) for note in found["notes"])  # type: ignore[attr-defined]
    owned = {escape.name for escape in ESCAPES if " init" in escape.name} | {"reopen the log it writes to"}
    assert set(found["out"]) <= owned, "its root is the launcher's own user: only what that user started is open to it"  # type: ignore[call-overload]
    assert found["restored"] == "kept"
    assert found["left"] == []


def test_what_a_killed_user_leaves_is_collected(user: OrdinaryUser) -> None:
    """L3: also files that belong to the user's granted ids."""
    done = user.run("die")
    assert done.returncode == -9
    found = facts(user.run("collect"))
    assert (found["left"], found["failed"]) == ([], [])
