"""Doctor on this machine: it tries, it is quick, it leaves nothing, and it says what is wrong when something is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gym_anything._util import proc
from gym_anything._util.deadline import Deadline
from gym_anything.doctor import trial
from gym_anything.doctor.probes import desktop, machine, programs, storage
from gym_anything.errors import DeadlineExceeded, HostError
from gym_anything.runtime.desktop import private_screen
from gym_anything.runtime.native.locate import native_program
from gym_anything.runtime.qemu.accelerator import KVM_GUEST
from gym_anything.testing.leaks import LeakCheck

pytestmark = pytest.mark.real

RequireBackend = Callable[[str, bool, str], None]


def doctor(*argv: str, **env: str) -> tuple[int, dict[str, Any], float]:
    began = time.monotonic()
    result = subprocess.run(
        [sys.executable, "-m", "gym_anything.cli.main", "doctor", "--json", *argv],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert result.stdout, result.stderr
    return result.returncode, json.loads(result.stdout), time.monotonic() - began


def rows(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in document["checks"]}


def soon() -> Deadline:
    return Deadline.after(30)


def test_everything_is_tried_in_six_seconds_and_each_failure_has_a_fix(tmp_path: Path) -> None:
    native_program("ga-desktop")  # a build in a checkout is not what is measured
    code, document, seconds = doctor(GYM_ANYTHING_STATE_DIR=str(tmp_path))
    assert seconds < 6
    assert set(document) == {"ok", "checks"}
    for row in document["checks"]:
        assert {"name", "ok", "detail", "required"} <= set(row)
        assert row["ok"] or row["fix"].strip(), row
    assert code == (0 if document["ok"] else 1)
    tried = {name.partition(":")[0] for name in rows(document)}
    wanted = "world runner state-folder loopback-ports x-server desktop-frame desktop-input kvm large-pages reflink namespaces"
    assert set(wanted.split()) | {"limit", "native", "video-encoder", "registry", "shadowed-packages"} <= tried
    assert list(tmp_path.iterdir()) == []


def test_a_machine_without_an_x_server_is_told_what_to_install(tmp_path: Path) -> None:
    """The path holds Python alone."""
    (tmp_path / "bin").mkdir()
    code, document, _ = doctor(PATH=str(tmp_path / "bin"), GYM_ANYTHING_STATE_DIR=str(tmp_path / "state"))
    row = rows(document)["x-server"]
    assert not row["ok"] and not row["required"]
    assert "apt-get install" in row["fix"] and "tigervnc" in row["fix"]
    assert code in (0, 1)


def test_a_state_folder_that_cannot_be_used_fails_what_is_required(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, document, _ = doctor(GYM_ANYTHING_STATE_DIR=str(tmp_path / "file"))
    assert code == 1 and document["ok"] is False
    row = rows(document)["state-folder"]
    assert not row["ok"] and row["required"] and "GYM_ANYTHING_STATE_DIR" in row["fix"]


def test_a_runner_that_cannot_work_is_a_row_and_one_that_hangs_does_not_hang_doctor(tmp_path: Path) -> None:
    (tmp_path / "slow_party.py").write_text(
        "import time\nfrom gym_anything.testing.fakes.world import FakeWorld\n"
        "class Slow(FakeWorld):\n    @classmethod\n    def doctor_status(cls): time.sleep(600)\n"
    )
    env = {"PYTHONPATH": str(tmp_path), "GYM_ANYTHING_STATE_DIR": str(tmp_path / "state")}
    _, document, seconds = doctor("--runner", "slow_party:Slow", "--runner", "no.such:Runner", "--limit", "3", **env)
    assert seconds < 10
    found = rows(document)
    assert "no answer within 3 s" in found["runner:slow_party:Slow"]["detail"]
    assert not found["runner:no.such:Runner"]["ok"]


def test_doctor_for_people_shows_failures_and_fixes(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "gym_anything.cli.main", "doctor"],
        env={**os.environ, "GYM_ANYTHING_STATE_DIR": str(tmp_path), "GYM_ANYTHING_RUNER": "x"},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert "environment:GYM_ANYTHING_RUNER" in result.stdout
    assert "unset GYM_ANYTHING_RUNER" in result.stdout
    assert "Traceback" not in result.stdout + result.stderr


# --- the probes one by one ---------------------------------------------------------------------------------------


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GYM_ANYTHING_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.mark.parametrize("server", ["Xvnc", "Xvfb"])
def test_a_picture_is_seen_and_a_click_arrives_on_each_x_server(
    server: str, monkeypatch: pytest.MonkeyPatch, require_backend: RequireBackend
) -> None:
    """P7, S4, S5: ready means a picture seen, delivered means an event received."""
    require_backend(server.lower(), shutil.which(server) is not None, f"{server} is not installed")
    native_program("ga-desktop")
    monkeypatch.setattr(desktop, "SERVERS", {server: private_screen.SERVERS[server]})
    list(desktop.desktop(soon()))  # the supervisor starts with the first
    with LeakCheck():
        checks = list(desktop.desktop(soon()))
    assert [(check.name, check.ok) for check in checks] == [
        ("x-server", True),
        ("desktop-frame", True),
        ("desktop-input", True),
    ]
    assert server in checks[0].detail


def test_an_x_server_that_dies_is_a_row_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, require_backend: RequireBackend
) -> None:
    require_backend("xvfb", shutil.which("Xvfb") is not None, "Xvfb is not installed")
    monkeypatch.setattr(desktop, "SERVERS", {"Xvfb": ""})
    monkeypatch.setitem(private_screen.SERVERS, "Xvfb", "-no-such-option")
    [check] = desktop.desktop(soon())
    assert not check.ok and "no-such-option" in check.detail and "apt-get install" in check.fix


def test_kvm_is_judged_by_a_guest_that_runs_within_its_bound() -> None:
    """Whatever this machine can do, the answer comes in time and says what was seen."""
    began = time.monotonic()
    [check] = machine.kvm(Deadline.after(10))
    assert time.monotonic() - began < 5
    assert check.ok or check.fix


def test_large_pages_are_seen_where_the_kernel_lends_them() -> None:
    setting = Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
    chosen = setting.read_text().partition("[")[2].partition("]")[0] if setting.exists() else "never"
    [check] = machine.large_pages(Deadline.after(10))
    assert check.ok == (chosen not in ("never", "deny")), chosen
    assert check.ok or "shmem_enabled" in check.fix


def test_the_test_guest_runs_where_a_processor_runs_guests(require_backend: RequireBackend, tmp_path: Path) -> None:
    """The guest without what an emulator lacks: even the emulator of a host that virtualises by page tables runs it."""
    require_backend("kvm-device", os.access("/dev/kvm", os.R_OK | os.W_OK), "no usable /dev/kvm")
    source = KVM_GUEST.read_text()
    easy = source.replace('"0f57c0"', '"909090"').replace('"b980f0fa02"', '"b900010000"')
    assert easy != source
    (tmp_path / "kvm_guest.py").write_text(easy)
    result = subprocess.run(
        [sys.executable, "-I", "-S", tmp_path / "kvm_guest.py"], capture_output=True, text=True, timeout=20, check=True
    )
    assert json.loads(result.stdout) == {"ok": True, "stage": "halted", "detail": "a guest ran"}


def test_a_guest_that_never_ends_is_ended_by_its_bound(require_backend: RequireBackend, tmp_path: Path) -> None:
    require_backend("kvm-device", os.access("/dev/kvm", os.R_OK | os.W_OK), "no usable /dev/kvm")
    source = KVM_GUEST.read_text()
    (tmp_path / "kvm_guest.py").write_text(source.replace('"0f57c0"', '"ebfe90"'))  # jmp to itself
    result = subprocess.run(
        [sys.executable, "-I", "-S", tmp_path / "kvm_guest.py"], capture_output=True, text=True, timeout=20, check=True
    )
    assert json.loads(result.stdout)["stage"] == "hang"


def test_namespaces_are_really_unshared(require_backend: RequireBackend) -> None:
    checks = {check.name: check for check in machine.namespaces(soon())}
    require_backend("namespaces", checks["namespaces"].ok, checks["namespaces"].detail)
    assert "user, mount, pid, network" in checks["namespaces"].detail
    assert checks["sandbox-mounts"].ok, checks["sandbox-mounts"].detail


def test_a_trial_that_hangs_is_ended_and_one_that_dies_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(trial, "TRIALS", tmp_path)
    number = f"{600_000 + os.getpid()}"
    (tmp_path / "hang.py").write_text(f"import time\nprint('so far', flush=True)\ntime.sleep({number})")
    (tmp_path / "die.py").write_text("import os\nprint('oh dear', flush=True)\nos.abort()")
    with pytest.raises(DeadlineExceeded, match="so far"):
        trial.run_trial("hang", Deadline.after(0.5))
    with pytest.raises(HostError, match=r"ended with -6.*oh dear"):
        trial.run_trial("die", soon())
    assert not [pid for pid in proc.pids() if str(tmp_path) in " ".join(proc.command_line(pid))]


def test_limits_memory_and_the_rest_are_read_from_the_kernel(state: Path) -> None:
    names = {check.name for check in machine.limits(soon())}
    assert {"limit:fs.aio-max-nr", "limit:fs.inotify.max_user_instances", "limit:open-files"} <= names
    for probe in (storage.state_folder, storage.shared_memory, storage.loopback, storage.processes, machine.memory):
        for check in probe(soon()):
            assert check.ok, check
    for check in (*storage.reflinks(soon()), *storage.leftovers(soon())):
        assert check.ok or check.fix
    assert not list(state.glob("*reflink*"))


def test_two_pictures_are_really_encoded() -> None:
    [check] = programs.encoder(soon())
    assert check.ok, check.detail


@pytest.mark.soak
@pytest.mark.slow
def test_fix_builds_the_native_programs(tmp_path: Path, require_backend: RequireBackend) -> None:
    require_backend("compiler", shutil.which("cc") is not None and shutil.which("make") is not None, "no cc or make")
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "GYM_ANYTHING_STATE_DIR": str(tmp_path / "state")}
    _, document, _ = doctor("--fix", "--limit", "20", **env)
    found = rows(document)
    for name in ("ga-guest", "ga-desktop"):
        assert found[f"build:{name}"]["ok"], found[f"build:{name}"]
        assert str(tmp_path) in found[f"native:{name}"]["detail"]


def test_fix_without_a_compiler_names_the_package_line(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "GYM_ANYTHING_STATE_DIR": str(tmp_path / "state")}
    code, document, _ = doctor("--fix", PATH=str(tmp_path / "bin"), **env)
    row = rows(document)["build:ga-guest"]
    assert code == 1 and not row["ok"]
    assert "apt-get install" in row["fix"] and "gcc" in row["fix"]
