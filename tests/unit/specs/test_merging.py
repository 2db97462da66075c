"""Presets under files: objects merge, observations and actions by type, everything else is replaced."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gym_anything.specs import EnvSpec
from gym_anything.specs.merging import merged
from gym_anything.specs.preset import PRESET_FOLDER, preset_about, preset_data, preset_names

pytestmark = pytest.mark.unit

NAMES = {
    "x11-lite", "ubuntu-gnome", "ubuntu-gnome-systemd", "ubuntu-gnome-systemd_highres",
    "ubuntu-gnome-systemd_highres_gimp", "browser-chrome", "apptainer-xfce-gpu", "windows-11", "android-14",
    "android-avd-34", "android-avd-35", "macos", "debian-desktop",
}  # fmt: skip


def test_the_presets_are_those_of_the_contract() -> None:
    assert set(preset_names()) == NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_preset_alone_makes_a_valid_environment(name: str) -> None:
    spec = EnvSpec.from_dict({"id": "x", "base": name})
    assert spec.base == name and spec.version == "1.0" and spec.screen_size is not None
    assert {"mouse", "keyboard"} <= {a.type for a in spec.action}
    assert not ({"id", "version", "base"} & set(preset_data(name))), "identity belongs to the environment"
    assert preset_about(name)


def test_a_preset_is_handed_out_as_a_copy() -> None:
    preset_data("windows-11")["resources"]["cpu"] = 99
    assert preset_data("windows-11")["resources"]["cpu"] == 4


@pytest.mark.parametrize(
    ("under", "over", "expected"),
    [
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, {"a": 2, "b": 3}, {"a": 2, "b": 3}),
        (
            {"o": {"x": 1, "p": {"q": 1}}},
            {"o": {"y": 2, "p": {"r": 2}}},
            {"o": {"x": 1, "y": 2, "p": {"q": 1, "r": 2}}},
        ),
        ({"l": [1, 2]}, {"l": [3]}, {"l": [3]}),
        ({"l": [1]}, {"l": []}, {"l": []}),
        ({"o": {"x": 1}}, {"o": None}, {"o": None}),
        ({"o": {"x": 1}}, {"o": [1]}, {"o": [1]}),
        (
            {"observation": [{"type": "s", "fps": 10, "r": [1, 2]}, {"type": "audio", "n": 1}]},
            {"observation": [{"type": "tree"}, {"type": "s", "r": [3, 4]}]},
            {"observation": [{"type": "s", "fps": 10, "r": [3, 4]}, {"type": "audio", "n": 1}, {"type": "tree"}]},
        ),
        (
            {"action": [{"type": "mouse"}]},
            {"action": [{"type": "keyboard"}, {"type": "mouse", "events": ["move"]}]},
            {"action": [{"type": "mouse", "events": ["move"]}, {"type": "keyboard"}]},
        ),
        ({"observation": [{"type": "s"}]}, {"observation": ["broken"]}, {"observation": [{"type": "s"}, "broken"]}),
    ],
)
def test_merging_gives(under: dict[str, Any], over: dict[str, Any], expected: dict[str, Any]) -> None:
    before = json.dumps([under, over])
    assert merged(under, over) == expected
    assert json.dumps([under, over]) == before, "neither side is changed"


def test_an_environment_inherits_sound_only_by_the_item_wise_merge() -> None:
    spec = EnvSpec.from_dict(
        {"id": "x", "base": "ubuntu-gnome-systemd", "observation": [{"type": "rgb_screen", "resolution": [800, 600]}]}
    )
    screen, sound = spec.observation
    assert (screen.type, screen.resolution, screen.fps) == ("rgb_screen", (800, 600), 10)
    assert (sound.type, sound.sample_rate) == ("audio_waveform", 16000)


def test_the_operating_system_may_come_from_the_preset_alone() -> None:
    assert EnvSpec.from_dict({"id": "x", "base": "windows-11"}).os_type == "windows"
    assert EnvSpec.from_dict({"id": "x", "base": "android-14"}).runner == "qemu"


def test_null_takes_a_presets_value_away() -> None:
    spec = EnvSpec.from_dict({"id": "x", "base": "x11-lite", "hooks": None, "entrypoint": None})
    assert spec.hooks.pre_start is None and spec.entrypoint is None


def test_what_to_dict_wrote_is_not_merged_again() -> None:
    whole = EnvSpec.from_dict({"id": "x", "base": "ubuntu-gnome-systemd"})
    silent = whole.with_overrides({"observation": [{"type": "rgb_screen"}]})
    assert [o.type for o in silent.observation] == ["rgb_screen"], "an override replaces the list"
    again = EnvSpec.from_dict(silent.to_dict())
    assert again == silent and again.to_dict() == silent.to_dict()


def test_an_override_of_base_chooses_the_other_preset() -> None:
    from gym_anything.specs.loading import checked_env

    spec, _ = checked_env({"id": "x", "base": "windows-11"}, {"base": "android-14"})
    assert (spec.base, spec.os_type, spec.runner) == ("android-14", "android", "qemu")


def test_preset_files_are_tidy() -> None:
    for path in PRESET_FOLDER.iterdir():
        assert path.suffix == ".json"
        data = json.loads(path.read_text(encoding="utf-8"))
        assert data["about"].endswith(".")
