"""The look of the desktop."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from gym_anything.runtime.runners.local.options import LocalOptions
from gym_anything.runtime.session.desktop_files import APPLICATIONS, chromium_flags, desktop_files
from gym_anything.runtime.session.desktop_session import gradient
from gym_anything.runtime.session.x_wire import _mixed

pytestmark = pytest.mark.unit


def test_the_settings_of_the_window_manager_are_well_formed() -> None:
    files = desktop_files(APPLICATIONS, "/etc/x")
    for name in ("openbox.xml", "menu.xml"):
        ElementTree.fromstring(files[f"/etc/x/{name}"])


def test_every_application_is_in_the_menu_and_those_meant_for_it_in_the_panel() -> None:
    files = desktop_files(APPLICATIONS, "/etc/x")
    for app in APPLICATIONS:
        assert app.title in files["/etc/x/menu.xml"]
        assert (f"launcher_item_app = /etc/x/{app.key}.desktop" in files["/etc/x/tint2rc"]) == app.in_panel


def test_nothing_moves_by_itself() -> None:
    """S3: a still desktop settles."""
    settings = desktop_files((), "/etc/x")["/etc/gtk-3.0/settings.ini"]
    assert "gtk-cursor-blink=0" in settings and "gtk-enable-animations=0" in settings


def test_a_gradient_goes_through_its_colours() -> None:
    colours = [0x000000, 0x80FF00, 0xFFFFFF]
    assert [_mixed(colours, part) for part in (0.0, 0.5, 1.0)] == colours
    assert _mixed([0x123456], 0.7) == 0x123456


def test_a_picture_leaves_the_painting_to_its_program() -> None:
    assert gradient(LocalOptions(wallpaper="/a/b.png")) == []
    assert gradient(LocalOptions(wallpaper="#102030")) == [0x102030]


def test_chromium_runs_without_a_sandbox_of_its_own_only_where_the_world_forbids_it() -> None:
    assert "--no-sandbox" not in chromium_flags(LocalOptions(), wants_tree=False)
    assert "--no-sandbox" in chromium_flags(LocalOptions(), wants_tree=False, own_sandbox=False)
