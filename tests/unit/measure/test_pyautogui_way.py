"""A library that does not import is said with its reason, and what libraries read is given back."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from gym_anything.measure import pyautogui_way
from gym_anything.measure.pyautogui_way import PyAutoGui
from gym_anything.measure.screen_environment import ScreenEnvironment, environment_for

pytestmark = pytest.mark.unit


def test_one_that_is_not_installed_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyautogui_way, "find_spec", lambda name: None)
    with PyAutoGui() as way:
        assert way.missing == "pyautogui is not installed; pip install 'gym-anything[bench]'"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import sys; sys.exit('NOTE: You must install tkinter')", "SystemExit: NOTE: You must install tkinter"),
        ("raise KeyError('DISPLAY')", "KeyError: 'DISPLAY'"),
        ("import no_such_module_at_all", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
    ],
)
def test_one_that_does_not_import_says_why(
    source: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyautogui.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pyautogui", raising=False)
    with PyAutoGui() as way:
        assert way.missing == f"pyautogui does not import: {said}"
    assert not {"pyautogui", "mouseinfo"} & set(sys.modules)


def test_one_that_is_interrupted_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyautogui.py").write_text("raise KeyboardInterrupt")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        PyAutoGui()
    sys.modules.pop("mouseinfo", None)


def test_variables_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":7")
    monkeypatch.delenv("XDG_SESSION_TYPE", raising=False)
    with ScreenEnvironment({"DISPLAY": ":9", "XDG_SESSION_TYPE": "x11"}):
        assert (os.environ["DISPLAY"], os.environ["XDG_SESSION_TYPE"]) == (":9", "x11")
    assert os.environ["DISPLAY"] == ":7" and "XDG_SESSION_TYPE" not in os.environ


def test_the_cookie_is_there_for_this_host_by_name_and_for_any(tmp_path: Path) -> None:
    env = environment_for({"DISPLAY": ":1234", "XAUTHORITY": "elsewhere"}, b"c" * 16, tmp_path)
    path = Path(env["XAUTHORITY"])
    assert env["DISPLAY"] == ":1234" and path.parent == tmp_path and path.stat().st_mode & 0o777 == 0o600

    def counted(data: bytes) -> bytes:
        return len(data).to_bytes(2, "big") + data

    cookie = counted(b"MIT-MAGIC-COOKIE-1") + counted(b"c" * 16)
    here = counted(socket.gethostname().encode()) + counted(b"1234")
    assert path.read_bytes() == b"\x01\x00" + here + cookie + b"\xff\xff" + counted(b"") + counted(b"") + cookie
