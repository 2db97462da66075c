"""Which process of a world its network is joined by."""

from __future__ import annotations

import pytest

from gym_anything._util import proc
from gym_anything.errors import WorldStartFailed
from gym_anything.runtime import pasta

pytestmark = pytest.mark.unit


def test_a_list_of_children_that_lacks_some_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = iter([[], [7], [7, 8]])
    monkeypatch.setattr(proc, "children", lambda pid: next(lists))
    monkeypatch.setattr(proc, "command_line", lambda pid: ["Xvnc", ":1"] if pid == 8 else ["openbox"])
    assert pasta.program_inside(1) == 8


def test_a_world_without_an_x_server_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proc, "children", lambda pid: [])
    monkeypatch.setattr(pasta, "_INSIDE_S", 0.05)
    with pytest.raises(WorldStartFailed, match="X server"):
        pasta.program_inside(1)
