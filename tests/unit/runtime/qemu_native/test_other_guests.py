"""Specs for Windows and Android: what they become, what is refused, which runner is chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gym_anything.errors import MissingDependency, SpecInvalid
from gym_anything.runtime.images.prepared.store import PreparedStore
from gym_anything.runtime.qemu.cache import CACHE
from gym_anything.runtime.qemu.machine_spec import DiskLayer
from gym_anything.runtime.qemu.other_images import existing_image
from gym_anything.runtime.runners import select
from gym_anything.runtime.runners.facts import RunnerStatus
from gym_anything.runtime.runners.qemu_native.in_apptainer import OtherGuestInApptainerRunner, QemuApptainerRunner
from gym_anything.runtime.runners.qemu_native.other_guest import OtherGuestRunner
from gym_anything.runtime.runners.qemu_native.other_lines import hook_line, with_environment
from gym_anything.runtime.runners.qemu_native.other_machines import hardware_of, machine_of
from gym_anything.runtime.runners.qemu_native.other_options import FAMILIES, image_of
from gym_anything.runtime.runners.qemu_native.runner import QemuNativeRunner
from gym_anything.runtime.runners.select import choose_runner
from gym_anything.specs.env_spec import EnvSpec
from gym_anything.specs.loading import load_env
from gym_anything.specs.preset import preset_names

pytestmark = pytest.mark.unit

IMAGE_DIR = "GYM_ANYTHING_IMAGE_DIR"
IMAGES = {"windows": "base_windows_11.qcow2", "android": "base_android_14.qcow2"}


def spec_of(base: str, **fields: Any) -> EnvSpec:
    return EnvSpec.from_dict({"id": "a@1", "base": base, **fields})


def test_the_presets_say_what_their_machines_are() -> None:
    windows, android = spec_of("windows-11"), spec_of("android-14")
    assert (image_of(windows), image_of(android)) == tuple(IMAGES.values())
    for spec, port in ((windows, 22), (android, 5555)):
        machine = machine_of(
            spec,
            name="m",
            layers=(DiskLayer(Path("/base")),),
            accelerator="tcg",
            guest_port=port,
            screen=(1920, 1080),
            vnc_socket=None,
        )
        assert (machine.family, machine.cpus) == (spec.os_type, spec.resources.cpu)
        assert machine.ram_mib == spec.resources.mem_gb * 1024  # type: ignore[operator]
        assert machine.network.outside and machine.network.guest_ports == (port,)
    assert hardware_of(windows)[1] and not hardware_of(android)[1]


def test_options_change_what_the_guest_finds() -> None:
    hardware, by_uefi = hardware_of(
        spec_of("windows-11", runner_options={"disk_bus": "scsi", "network_card": "virtio", "firmware": "bios"})
    )
    assert (hardware.disk_bus, hardware.network_card, by_uefi) == ("scsi", "virtio", False)


@pytest.mark.parametrize("base", ["windows-11", "android-14"])
def test_the_presets_are_fine_and_tell_what_is_not_kept(base: str) -> None:
    spec = spec_of(base)
    assert QemuNativeRunner.validate_options(spec) == []
    told = dict(QemuNativeRunner.unenforced_fields(spec))
    assert set(told) <= {"security.user", "security.privileged", "user_accounts", "ssh.shell", "adb.host_port"}
    assert all(told.values())


@pytest.mark.parametrize(
    ("fields", "word"),
    [({"runner_options": {"disk": "scsi"}}, "disk_bus"), ({"apks": ["a.apk"]}, "apks")],
)
def test_what_no_such_world_can_be_is_an_error_at_load(fields: dict[str, Any], word: str) -> None:
    [sentence] = QemuNativeRunner.validate_options(spec_of("windows-11", **fields))
    assert word in sentence


def test_the_class_of_a_world_follows_its_system() -> None:
    windows, linux = spec_of("windows-11"), spec_of("debian-desktop")
    assert type(QemuNativeRunner(windows)) is OtherGuestRunner
    assert type(QemuApptainerRunner(windows)) is OtherGuestInApptainerRunner
    assert type(QemuNativeRunner(linux)) is QemuNativeRunner
    assert type(QemuApptainerRunner(linux)) is QemuApptainerRunner
    assert QemuApptainerRunner(windows).get_runtime_info().runner_name == "qemu"
    assert not QemuNativeRunner(windows).supports_checkpoint_caching()


def test_mounts_are_found_by_the_guests_own_spelling(tmp_path: Path) -> None:
    mounts = [{"source": str(tmp_path), "target": "/workspace/scripts"}]
    assert QemuNativeRunner(spec_of("windows-11", mounts=mounts)).to_container_path(tmp_path / "a/b.ps1") == (
        "\\workspace\\scripts\\a\\b.ps1"
    )
    assert QemuNativeRunner(spec_of("android-14", mounts=mounts)).to_container_path(tmp_path) == "/workspace/scripts"


def test_an_environment_is_set_by_the_guests_own_shell() -> None:
    env = {"A": "it's $x", "B": ""}
    assert with_environment("dir", env, "windows") == "$env:A='it''s $x'\n$env:B=''\ndir"
    assert with_environment("ls", env, "android") == "export A='it'\"'\"'s $x'\nexport B=''\nls"
    with pytest.raises(SpecInvalid, match="PATH;x"):
        with_environment("ls", {"PATH;x": "1"}, "android")


def test_a_script_on_androids_shared_storage_is_run_by_its_shell() -> None:
    assert hook_line("/sdcard/scripts/a.sh x", "android") == "sh /sdcard/scripts/a.sh x"
    for line in ("sh /sdcard/a.sh", "/data/local/tmp/a.sh", "am start x"):
        assert hook_line(line, "android") == line
    assert hook_line("/sdcard/a", "windows") == "/sdcard/a"


def other_envs(corpus: Path) -> list[EnvSpec]:
    found = [load_env(file.parent).spec for file in sorted(corpus.glob("benchmarks/*/environments/*/env.*"))]
    return [spec for spec in found if spec.os_type in FAMILIES and spec.avd is None]


@pytest.mark.real
def test_real_environments_get_a_qemu_runner_or_the_reason_why_not(
    corpus_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every Windows and Android environment of the corpus: chosen where its image is there, else told what is missing."""
    monkeypatch.setenv(CACHE.name, str(tmp_path))
    monkeypatch.setenv(IMAGE_DIR, str(tmp_path / "images"))
    monkeypatch.setattr(select, "runner_status", lambda cls: RunnerStatus(True))
    specs = other_envs(corpus_dir / "corpus")
    assert {spec.os_type for spec in specs} == set(FAMILIES)
    for spec in specs:
        image = tmp_path / IMAGES[spec.os_type]
        image.unlink(missing_ok=True)
        if spec.runner is None:
            with pytest.raises(MissingDependency, match=image.name):
                choose_runner(spec, {})
        image.write_bytes(b"")
        choice = choose_runner(spec, {})
        assert choice.cls in (QemuNativeRunner, QemuApptainerRunner), spec.id
        assert choice.cls.validate_options(spec) == [], spec.id


def test_every_preset_for_other_systems_names_an_image_that_is_looked_for() -> None:
    for name in preset_names():
        spec = spec_of(name)
        if spec.os_type in FAMILIES and spec.avd is None:
            assert image_of(spec) == IMAGES[spec.os_type]


def test_an_image_that_was_imported_is_found_by_its_files_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE.name, str(tmp_path / "cache"))
    monkeypatch.setenv(IMAGE_DIR, str(tmp_path / "images"))
    store, digest = PreparedStore(), "ab" * 32
    with store.importing(digest) as work:
        (work.staging / IMAGES["windows"]).write_bytes(b"image")
        record = {"name": "windows-11", "kind": "qcow2", "file": IMAGES["windows"], "sha256": digest, "bytes": 5}
        image = store.publish(work.staging, {**record, "pins": [digest], "imported_at": 1.0})
    assert existing_image(image_of(spec_of("windows-11")), "windows") == image.path
    assert existing_image("windows-11", "windows") == image.path
    assert QemuNativeRunner.autodetect_eligible(spec_of("windows-11"))
    assert not QemuNativeRunner.autodetect_eligible(spec_of("android-14"))
