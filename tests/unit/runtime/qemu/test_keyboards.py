"""Which hands: the environment first, then the spec, then the guest's fast keyboard; in fast mode only."""

from __future__ import annotations

import pytest

from gym_anything.errors import SettingInvalid, SpecInvalid
from gym_anything.runtime.qemu.keyboards import BACKEND, KEY_GAP_MS, KEY_HOLD_MS, chosen_hands

pytestmark = pytest.mark.unit


def test_the_settings_are_those_of_the_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (BACKEND, KEY_HOLD_MS, KEY_GAP_MS):
        monkeypatch.delenv(variable.name, raising=False)
    assert (BACKEND.get(), KEY_HOLD_MS.get(), KEY_GAP_MS.get()) == ("uinput", 5, 10)
    assert KEY_HOLD_MS.name == "GYM_ANYTHING_QEMU_QMP_KEY_HOLD_MS"
    assert KEY_GAP_MS.name == "GYM_ANYTHING_QEMU_QMP_KEY_GAP_MS"


def test_the_environment_is_asked_before_the_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(BACKEND.name, raising=False)
    assert chosen_hands(None, fast_io=True, by_guest=False, devices="xhci") == "uinput"
    assert chosen_hands("virtio", fast_io=True, by_guest=False, devices="virtio") == "virtio"
    monkeypatch.setenv(BACKEND.name, "qmp-experimental")
    assert chosen_hands("virtio", fast_io=True, by_guest=False, devices="virtio") == "qmp-experimental"


def test_without_fast_mode_and_with_the_guests_own_pictures_input_goes_by_the_guest() -> None:
    assert chosen_hands("virtio", fast_io=False, by_guest=False, devices="virtio") == "guest"
    assert chosen_hands("virtio", fast_io=True, by_guest=True, devices="virtio") == "guest"


def test_a_keyboard_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(BACKEND.name, raising=False)
    with pytest.raises(SpecInvalid, match="input_devices"):
        chosen_hands("virtio", fast_io=True, by_guest=False, devices="xhci")
    monkeypatch.setenv(BACKEND.name, "ps2")
    with pytest.raises(SettingInvalid, match="uinput, qmp-experimental, virtio"):
        chosen_hands(None, fast_io=True, by_guest=False, devices="xhci")
