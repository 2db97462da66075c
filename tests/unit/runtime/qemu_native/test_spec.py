"""What the QEMU runner says about a spec before anything is started, and which templates fit which machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gym_anything.errors import CheckpointError, CheckpointStale
from gym_anything.runtime.checkpoints.store import Checkpoint
from gym_anything.runtime.qemu.emulator import HostEmulator
from gym_anything.runtime.qemu.image.disk import StoredDisk
from gym_anything.runtime.qemu.machine_plan import MachinePlan
from gym_anything.runtime.qemu.templates import check_fits
from gym_anything.runtime.runners.qemu_native.runner import QemuNativeRunner
from gym_anything.specs.env_spec import EnvSpec

pytestmark = pytest.mark.unit


def spec_of(**fields: Any) -> EnvSpec:
    screen = {"type": "rgb_screen", "resolution": fields.pop("resolution", [1280, 800])}
    return EnvSpec.from_dict({"id": "a@1", "observation": [screen], "action": [{"type": "mouse"}], **fields})


def unenforced(**fields: Any) -> dict[str, str]:
    return dict(QemuNativeRunner.unenforced_fields(spec_of(**fields)))


def test_a_plain_spec_is_fine() -> None:
    spec = spec_of(base="debian-desktop")
    assert QemuNativeRunner.validate_options(spec) == []
    assert QemuNativeRunner.unenforced_fields(spec) == []
    assert QemuNativeRunner.autodetect_eligible(spec)


def test_a_wrong_option_is_named_with_the_near_one() -> None:
    [sentence] = QemuNativeRunner.validate_options(spec_of(runner_options={"beginn": "boot"}))
    assert "beginn" in sentence and "'begin'" in sentence


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"os_type": "macos"}, "os_type"),
        ({"resolution": [1366, 768]}, "resolution"),
        ({"resolution": [3840, 2160]}, "resolution"),
        ({"image": "debian-dekstop-vm"}, "debian-desktop-vm"),
    ],
)
def test_what_no_machine_can_be_is_an_error_at_load(fields: dict[str, Any], word: str) -> None:
    [sentence] = QemuNativeRunner.validate_options(spec_of(**fields))
    assert word in sentence


def test_what_is_not_enforced_is_told_with_its_reason() -> None:
    found = unenforced(
        resources={"cpu": 2, "gpu": 1, "net": True},
        security={"network_allowlist": ["example.org"], "cap_drop": ["NET_RAW"]},
        vnc={"enable": True, "view_only": True},
        dockerfile="Dockerfile",
    )
    assert set(found) == {
        "resources.gpu",
        "security.network_allowlist",
        "security.cap_drop",
        "vnc.view_only",
        "dockerfile",
    }


def test_a_spec_with_another_kind_of_machine_is_not_chosen_by_itself() -> None:
    assert not QemuNativeRunner.autodetect_eligible(spec_of(dockerfile="Dockerfile"))
    assert not QemuNativeRunner.autodetect_eligible(spec_of(image="debian:12"))


DISK = StoredDisk(
    Path("/disk"),
    {
        "rootfs": "r",
        "programs": {},
        "filling": 1,
        "kernel": "k",
        "initrd": "i",
        "command_line": "quiet",
        "disk_mib": 16,
    },
)
PLAN = MachinePlan(DISK, HostEmulator("/usr/bin/qemu", "7.2.22"), "tcg", 2, 1024, (1280, 800), False)


def template_of(plan: MachinePlan) -> Checkpoint:
    return Checkpoint("key", Path("/templates/key"), {"machine": plan.facts()})


def test_a_template_fits_the_machine_it_is_of() -> None:
    check_fits(template_of(PLAN), PLAN)


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"emulator": HostEmulator("/usr/bin/qemu", "10.0.0")}, "emulator"),
        ({"cpus": 4}, "topology.cpus"),
        ({"memory_mib": 2048}, "topology.memory_mib"),
        ({"accelerator": "kvm"}, "topology.cpu"),
        ({"screen": (800, 600)}, "topology.screen"),
        ({"disk": StoredDisk(Path("/disk"), {**DISK.record, "rootfs": "other"})}, "disk.rootfs"),
    ],
)
def test_a_template_of_another_machine_is_refused_with_the_difference(change: dict[str, Any], difference: str) -> None:
    """K3: refused with the difference named, never tried: QEMU says "completed" to some, and the guest is dead."""
    fields = {name: getattr(PLAN, name) for name in PLAN.__dataclass_fields__}
    with pytest.raises(CheckpointStale, match=difference):
        check_fits(template_of(MachinePlan(**{**fields, **change})), PLAN)


def test_a_clone_may_reach_the_network_where_its_template_did_not() -> None:
    fields = {name: getattr(PLAN, name) for name in PLAN.__dataclass_fields__}
    check_fits(template_of(MachinePlan(**{**fields, "outside": True})), PLAN)


def test_a_template_that_does_not_say_what_it_is_of_is_refused() -> None:
    with pytest.raises(CheckpointError):
        check_fits(Checkpoint("key", Path("/templates/key"), {}), PLAN)
