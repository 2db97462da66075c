"""What an ordinary user's apptainer is told, and what he is told when something lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from gym_anything.runtime.apptainer import rootless

pytestmark = pytest.mark.unit


def test_the_overlay_is_made_by_a_program_whatever_the_settings_say() -> None:
    theirs = "allow setuid = yes\n# enable overlay = no\nenable overlay = yes\nmount sys = no\n"
    assert rootless.with_driver(theirs) == (
        "allow setuid = yes\n# enable overlay = no\nenable overlay = driver\nmount sys = no\n"
    )
    assert rootless.with_driver("mount sys = no").endswith("\nenable overlay = driver\n")


def test_the_largest_range_granted_to_a_user_counts(tmp_path: Path) -> None:
    table = tmp_path / "subuid"
    assert rootless._granted(table, "eve") == 0
    table.write_text("adam:1:99999\neve:100000:1000\neve:200000:65536\nbroken\n")
    assert rootless._granted(table, "eve") == 65536


def test_what_is_not_installed_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rootless, "SEARCH", "/nowhere")
    lacking = rootless.lacking()
    assert lacking["fuse-overlayfs is not installed"].endswith("fuse-overlayfs")
