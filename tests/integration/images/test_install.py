"""The machinery of installations, by a medium of a few kilobytes on an emulated machine. No Windows, no Android."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gym_anything._util.state_dir import Run
from gym_anything._util.supervisor import Supervisor
from gym_anything.errors import Aborted, DeadlineExceeded, HostError, SpecInvalid
from gym_anything.runtime.images.install.recipe import InstallRecipe
from gym_anything.runtime.images.install.run import install
from gym_anything.runtime.images.prepared.store import PreparedStore
from gym_anything.testing.leaks import LeakCheck
from tests.integration.images.boot_medium import boot_medium, boot_program
from tests.unit.runtime.images.prepared_files import sha256

pytestmark = pytest.mark.real

Make = Callable[..., InstallRecipe]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, require_backend: Callable[[str, bool, str], None]) -> Make:
    """Return ``make(program, **changes)``: a recipe whose medium lies in the mirror ``tmp_path / "mirror"``."""
    there = shutil.which("qemu-system-x86_64") is not None and shutil.which("qemu-img") is not None
    require_backend("qemu", there, "not installed: apt-get install qemu-system-x86 qemu-utils")
    monkeypatch.setenv("GYM_ANYTHING_IMAGE_DIR", str(tmp_path / "images"))
    Supervisor.shared()  # stays for the whole session, so it is no leak of a test
    mirror = tmp_path / "mirror"
    mirror.mkdir()

    def recipe(program: bytes, **changes: object) -> InstallRecipe:
        medium = boot_medium(program)
        (mirror / "medium.iso").write_bytes(medium)
        folder = tmp_path / "recipe"
        folder.mkdir(exist_ok=True)
        url = "https://host.invalid/medium.iso"
        download = {
            "use": "cdrom",
            "file": "medium.iso",
            "url": url,
            "sha256": sha256(medium),
            "publisher": "this test",
        }
        data = {
            "name": "tiny",
            "about": "A test.",
            "os": "linux",
            "file": "base_tiny.qcow2",
            "run": "here",
            "downloads": [download],
            "machine": {"disk": "sata", "network": "none", "disk_gib": 1, "memory_mib": 64, "cpus": 1},
            "end": {"when": "poweroff", "least_mib": 1, "limit_min": 1},
            "folder": folder,
        }
        return InstallRecipe.model_validate({**data, **changes})

    return recipe


def nothing_left(tmp_path: Path) -> None:
    assert Run.current().worlds == []
    assert [path.name for path in PreparedStore().root.glob(".*") if path.suffix != ".lock"] == []


def test_a_system_installs_itself_and_its_image_is_kept(make: Make, tmp_path: Path, no_leaks: LeakCheck) -> None:
    recipe = make(boot_program())
    told: list[str] = []
    image = install(
        recipe,
        mirror=str(tmp_path / "mirror"),
        accelerator="tcg",
        progress=lambda stage, done, total: told.append(stage),
    )
    assert (image.name, image.path.name, image.record["kind"]) == ("tiny", "base_tiny.qcow2", "qcow2")
    assert image.path.stat().st_size > 2 << 20 and image.whole()
    assert image.record["downloads"] == {"medium.iso": recipe.medium.sha256}
    assert told[0] == "checking" and "installing" in told
    shutil.rmtree(tmp_path / "mirror")
    assert install(recipe).path == image.path, "what is there needs neither network nor KVM"
    assert PreparedStore().named("base_tiny.qcow2").sha256 == image.sha256
    nothing_left(tmp_path)


def test_a_medium_that_asks_for_a_key_gets_one_and_one_that_never_ends_is_ended_at_rest(
    make: Make, tmp_path: Path, no_leaks: LeakCheck
) -> None:
    recipe = make(
        boot_program(waits_for_key=True, switches_off=False),
        machine={"disk": "virtio", "network": "none", "disk_gib": 1, "memory_mib": 64, "cpus": 1},
        start={"key": "spc", "key_for_s": 4},
        end={"when": "quiet", "quiet_s": 2, "least_mib": 1, "limit_min": 1},
    )
    image = install(recipe, mirror=str(tmp_path / "mirror"), accelerator="tcg")
    assert image.path.stat().st_size > 2 << 20
    nothing_left(tmp_path)


def test_a_system_that_is_off_with_nothing_written_is_no_installation(make: Make, tmp_path: Path) -> None:
    recipe = make(boot_program(mib=1), end={"least_mib": 50, "limit_min": 1})
    with pytest.raises(HostError, match=r"after \d MiB were written: no installation[\s\S]*D"):
        install(recipe, mirror=str(tmp_path / "mirror"), accelerator="tcg")
    assert PreparedStore().all() == []
    nothing_left(tmp_path)


def test_an_installation_that_does_not_end_says_what_its_console_says(
    make: Make, tmp_path: Path, no_leaks: LeakCheck
) -> None:
    recipe = make(boot_program(switches_off=False), end={"limit_min": 0.1, "least_mib": 1})
    with pytest.raises(DeadlineExceeded, match=r"tiny to have installed itself[\s\S]*D"):
        install(recipe, mirror=str(tmp_path / "mirror"), accelerator="tcg")
    nothing_left(tmp_path)


def test_an_installation_can_be_given_up(make: Make, tmp_path: Path, no_leaks: LeakCheck) -> None:
    recipe = make(boot_program(switches_off=False))
    running = threading.Event()

    def told(stage: str, done: int, total: int | None) -> None:
        if stage == "installing" and done:
            running.set()

    with pytest.raises(Aborted):
        install(recipe, mirror=str(tmp_path / "mirror"), accelerator="tcg", progress=told, aborted=running.is_set)
    nothing_left(tmp_path)


def test_the_files_with_the_answers_are_on_a_disk_that_the_machine_has(make: Make, tmp_path: Path) -> None:
    (tmp_path / "recipe" / "answers" / "folder").mkdir(parents=True)
    (tmp_path / "recipe" / "answers" / "folder" / "setup.txt").write_text("hello")
    recipe = make(boot_program(), answers="usb")
    assert [name for name, _ in recipe.answer_files()] == ["folder/setup.txt"]
    assert install(recipe, mirror=str(tmp_path / "mirror"), accelerator="tcg").whole()


def test_a_medium_that_is_not_what_its_pin_says_is_never_started(make: Make, tmp_path: Path) -> None:
    recipe = make(boot_program())
    (tmp_path / "mirror" / "medium.iso").write_bytes(boot_medium(boot_program(mib=3)))
    with pytest.raises(SpecInvalid, match="its pin says"):
        install(recipe, mirror=str(tmp_path / "mirror"), accelerator="tcg")
    assert json.dumps([image.name for image in PreparedStore().all()]) == "[]"
    nothing_left(tmp_path)
