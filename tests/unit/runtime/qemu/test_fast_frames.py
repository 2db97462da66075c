"""How pictures come is chosen by the seeds' variable, the spec, or not at all; what is not there is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from gym_anything.errors import MissingDependency, SettingInvalid, UnsupportedFeature
from gym_anything.runtime.qemu.emulator import HostEmulator
from gym_anything.runtime.qemu.fast_frames import chosen_frames, require_frames, require_qmp

pytestmark = pytest.mark.unit

NAME = "GYM_ANYTHING_QEMU_FAST_IO_BACKEND"


def test_the_environment_comes_before_the_spec_and_qmp_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)
    assert (chosen_frames(None), chosen_frames("dbus")) == ("qmp", "dbus")
    monkeypatch.setenv(NAME, "guest")
    assert chosen_frames("dbus") == "guest"


def test_a_word_that_is_no_backend_is_refused_with_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "vnc")
    with pytest.raises(SettingInvalid, match="qmp, dbus, guest"):
        chosen_frames(None)


def test_a_qemu_without_the_display_is_refused_with_the_packages_that_have_it(tmp_path: Path) -> None:
    program = tmp_path / "qemu"
    program.write_text("#!/bin/sh\nprintf 'Available display backend types:\\nnone\\ncurses\\n'\n")
    program.chmod(0o755)
    emulator = HostEmulator(str(program), "7.2.22")
    require_frames(emulator, "qmp")
    with pytest.raises(MissingDependency, match="qemu-system-modules-opengl"):
        require_frames(emulator, "dbus")


@pytest.mark.parametrize("backend", ["dbus", "guest"])
def test_guests_without_another_way_refuse_it_instead_of_ignoring_it(
    monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    monkeypatch.setenv(NAME, backend)
    with pytest.raises(UnsupportedFeature, match=f"Windows.*{NAME}|{NAME}.*Windows"):
        require_qmp("Windows")
    monkeypatch.setenv(NAME, "qmp")
    require_qmp("Windows")
