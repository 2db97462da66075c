"""Apptainer worlds without a desktop: what they see of the host, what they may, what stays when they end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything.cli.main import run_command_line
from gym_anything.errors import Aborted, MissingDependency, SpecInvalid, SpecNotFound, WorldLost, WorldStartFailed
from gym_anything.runtime.apptainer.built_image import Image, ensure_image
from gym_anything.runtime.apptainer.program import PROGRAM
from gym_anything.runtime.images.recipe import load_recipe
from gym_anything.runtime.images.rootfs import find_system, plan_build
from gym_anything.runtime.images.store import StoredImage
from gym_anything.runtime.limits import hindrance
from gym_anything.runtime.runners.apptainer.runner import ApptainerRunner
from gym_anything.testing.leaks import LeakCheck
from tests.integration.apptainer.conftest import MakeRunner
from tests.world_memory import check_memory

pytestmark = pytest.mark.real

OURS = "debian-minimal"


def built_image() -> StoredImage:
    found = find_system(plan_build(load_recipe(OURS)))
    assert found is not None
    return found


def said(runner: ApptainerRunner, command: str) -> str:
    return runner.exec_capture(command).strip()


def test_a_world_has_root_the_desktop_s_user_and_none_of_the_host_s_files(make_shell: MakeRunner) -> None:
    here = Path.home() / ".cache"
    runner = make_shell()
    assert said(runner, "id -u; id -un ga; su ga -c 'sudo -n id -u'; hostname").split() == ["0", "ga", "0", "desktop"]
    assert runner.exec(f"test -e {here}") != 0 and runner.exec("test -w /etc && test -w /home/ga") == 0
    assert runner.exec("touch /tmp/x", user="ga") == 0
    assert said(runner, "ps -e -o args= | head -1") == "appinit"


def test_mounts_have_their_mode_and_leave_the_owner_of_what_is_around_them(
    make_shell: MakeRunner, tmp_path: Path
) -> None:
    (tmp_path / "in, put").mkdir()
    (tmp_path / "in, put" / "word").write_text("hello")
    (tmp_path / "out").mkdir()
    (tmp_path / "file").write_text("one file")
    runner = make_shell(
        mounts=[
            {"source": str(tmp_path / "in, put"), "target": "/workspace/deep/in"},
            {"source": str(tmp_path / "out"), "target": "/home/ga/out", "mode": "rw"},
            {"source": str(tmp_path / "file"), "target": "/etc/one.conf"},
        ]
    )
    assert said(runner, "cat /workspace/deep/in/word /etc/one.conf") == "helloone file"
    assert runner.exec("touch /workspace/deep/in/x") != 0
    assert runner.exec("echo back > /home/ga/out/answer") == 0
    assert (tmp_path / "out" / "answer").read_text() == "back\n"
    assert said(runner, "stat -c %U /home/ga") == "ga" and runner.exec("touch /home/ga/mine", user="ga") == 0


def test_variables_of_the_spec_are_there_and_the_host_s_are_not(
    make_shell: MakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOST_ONLY", "x")
    runner = make_shell(apptainer={"env": {"COLOUR": "red, 'blue' $HOME"}})
    assert said(runner, 'printf %s "$COLOUR:${HOST_ONLY-none}"') == "red, 'blue' $HOME:none"


def test_root_of_a_world_has_few_capabilities_and_its_users_none(make_shell: MakeRunner) -> None:
    effective = "grep CapEff /proc/self/status"
    runner = make_shell(security={"cap_drop": ["ALL"]})
    assert int(said(runner, effective).split()[1], 16) == sum(1 << number for number in (0, 1, 3, 5, 6, 7))
    assert int(said(runner, f"su ga -c '{effective}'").split()[1], 16) == 0
    assert runner.exec("mount -t tmpfs none /mnt") != 0


def test_a_world_without_a_network_has_nothing_but_loopback(make_shell: MakeRunner) -> None:
    runner = make_shell()
    assert said(runner, "tail -n +3 /proc/net/dev | cut -d: -f1").split() == ["lo"]


def test_a_world_with_a_network_has_a_way_out_of_its_own(make_shell: MakeRunner) -> None:
    runner = make_shell(resources={"net": True})
    assert "00000000" in said(runner, "awk 'NR > 1 {print $2}' /proc/net/route").split()
    assert said(runner, "readlink /proc/self/ns/net") != str(Path("/proc/self/ns/net").readlink())


def test_what_a_world_writes_goes_with_it(make_shell: MakeRunner, minimal_image: Path, no_leaks: LeakCheck) -> None:
    runner = make_shell()
    assert runner.exec("echo mark > /etc/mark && rm /etc/issue") == 0
    runner.stop()
    assert not (minimal_image / "etc" / "mark").exists() and (minimal_image / "etc" / "issue").exists()
    runner.start()
    assert runner.exec("test ! -e /etc/mark && test -e /etc/issue") == 0
    runner.stop()


def test_a_checkpoint_keeps_files_deletions_and_replaced_folders_and_others_lie_on_it(
    make_shell: MakeRunner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """K7"""
    monkeypatch.setenv("GYM_ANYTHING_APPTAINER_CACHE", str(tmp_path))
    runner = make_shell()
    runner.set_checkpoint_key("pre_start")
    assert runner.checkpoint_exists() is False
    runner.exec("echo one > /root/one; rm /etc/issue; mkdir /srv/d; touch /srv/d/old /tmp/t; sleep 1000 &")
    assert runner.create_checkpoint() is True
    assert runner.exec("test -e /root/one && test ! -e /etc/issue && test -e /tmp/t") == 0
    assert runner.exec("pgrep -x sleep") != 0  # it restarted from what it saved
    runner.exec("rm -r /srv/d; mkdir /srv/d; echo two > /srv/d/new")
    runner.set_checkpoint_key("post_start")
    runner.create_checkpoint()
    runner.exec("echo gone > /root/gone")
    runner.stop()
    assert runner.start_from_checkpoint() is True
    assert said(runner, "cat /root/one /srv/d/new; ls /srv/d /root") == "one\ntwo\n/root:\none\n\n/srv/d:\nnew"
    runner.stop()
    runner.set_checkpoint_key("pre_start")
    runner.start_from_checkpoint()
    assert said(runner, "ls /srv/d") == "old"


def test_an_entry_point_runs_as_the_user_it_is_for(make_shell: MakeRunner) -> None:
    runner = make_shell(entrypoint="id -un > /tmp/who; sleep 1000", security={"user": "ga"})
    assert said(runner, "until [ -s /tmp/who ]; do sleep 0.01; done; cat /tmp/who") == "ga"


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_an_image_of_ours_is_written_as_a_sif_file_and_a_world_runs_in_it(
    make_shell: MakeRunner, minimal_image: Path, tmp_path: Path
) -> None:
    written = tmp_path / "minimal.sif"
    assert run_command_line(["image", "build", OURS, "--format", "apptainer-sif", "--output", str(written)]) == 0
    assert written.is_file() and written.stat().st_size < 100 << 20
    runner = make_shell(apptainer={"sif": str(written)})
    assert said(runner, "stat -c %U /home/ga; touch /etc/mark; ls /etc/mark").split() == ["ga", "/etc/mark"]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_definition_is_built_once_for_its_content_into_a_sif_file(
    make_shell: MakeRunner, minimal_image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPTAINER_MKSQUASHFS_ARGS", "-noI -noD -noF -noX")  # to compress takes most of a build
    recipe = tmp_path / "tiny.def"
    recipe.write_text(f"Bootstrap: localimage\nFrom: {minimal_image}\n%environment\n    export COLOUR=green\n")
    told: list[str] = []
    wish = {"sif": None, "definition": str(recipe), "cache_dir": str(tmp_path / "cache")}
    runner = make_shell(apptainer=wish)
    assert said(runner, "echo $COLOUR; touch /etc/mark; ls /etc/mark").split() == ["green", "/etc/mark"]
    runner.stop()
    runner.set_reporter(lambda event, **facts: told.append(event))
    runner.start()
    assert "image" not in told and runner.exec("test ! -e /etc/mark") == 0
    (sif,) = (tmp_path / "cache").glob("tiny-*.sif")
    assert sif.is_file()


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"apptainer": {"sif": "/nowhere.sif"}}, SpecNotFound, "/nowhere.sif does not exist"),
        ({"apptainer": {"sif": "/etc/hostname"}}, WorldStartFailed, "could not open image|image format"),
        ({"apptainer": {"extra_start_args": ["--no-such"]}}, WorldStartFailed, "no-such"),
        ({"mounts": [{"source": "/nowhere/x", "target": "/x"}]}, SpecNotFound, "/nowhere/x does not exist"),
        ({"mounts": [{"source": "/etc", "target": "/run/gym-anything"}]}, SpecInvalid, "keeps it for itself"),
    ],
)
def test_what_cannot_be_started_says_why_and_leaves_nothing(
    make_shell: MakeRunner, fields: dict[str, object], error: type[Exception], words: str, no_leaks: LeakCheck
) -> None:
    with pytest.raises(error, match=words):
        make_shell(**fields)


def test_what_a_killed_build_has_left_goes_with_the_next_one(minimal_image: Path, tmp_path: Path) -> None:
    left = tmp_path / f".{minimal_image.name}-abcdef"
    (left / "half").mkdir(parents=True)
    image = Image(tmp_path / minimal_image.name, stored=built_image())
    ensure_image(image, Deadline.after(100), lambda event, **facts: None, lambda: False)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [minimal_image.name]
    assert (image.path / ".singularity.d").is_dir() and (image.path / "etc" / "shadow").stat().st_mode & 0o777 == 0o640
    assert (image.path / "home" / "ga").stat().st_uid == 1000


def test_a_build_that_is_given_up_leaves_nothing(minimal_image: Path, tmp_path: Path, no_leaks: LeakCheck) -> None:
    image = Image(tmp_path / "given-up", stored=built_image())
    with pytest.raises(Aborted):
        ensure_image(image, Deadline.after(100), lambda event, **facts: None, lambda: True)
    assert [path for path in tmp_path.iterdir() if not path.name.endswith(".lock")] == []


def test_a_definition_that_cannot_be_built_says_why(make_shell: MakeRunner, tmp_path: Path) -> None:
    recipe = tmp_path / "broken.def"
    recipe.write_text("Bootstrap: localimage\nFrom: /nowhere/at/all\n")
    with pytest.raises(WorldStartFailed, match="/nowhere/at/all") as caught:
        make_shell(apptainer={"sif": None, "definition": str(recipe), "cache_dir": str(tmp_path / "cache")})
    assert caught.value.detail["log_tail"] and not list((tmp_path / "cache").glob("*.sif"))


def test_an_instance_that_is_killed_is_a_lost_world(make_shell: MakeRunner) -> None:
    """L9"""
    runner = make_shell()
    assert runner._world is not None and runner._world._keeper is not None
    runner._world._keeper.signal(9)
    with pytest.raises(WorldLost):
        runner.exec("sleep 20")


def test_no_apptainer_is_a_missing_dependency_with_the_fix(
    make_shell: MakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PROGRAM.name, "/nowhere/apptainer")
    with pytest.raises(MissingDependency) as caught:
        make_shell()
    assert "apptainer" in caught.value.detail["fix"] and ApptainerRunner.doctor_status()["available"] is False


def test_cpu_memory_and_processes_are_limited_where_the_host_has_control_groups(
    make_shell: MakeRunner, require_backend: Callable[[str, bool, str], None]
) -> None:
    """L10: a command that takes more memory than there is dies, and the world lives."""
    lacking = hindrance("memory") or hindrance("cpu")
    require_backend("cgroups", not lacking, lacking)
    asked = {"mem_gb": 0.125, "cpu": 0.5}
    runner = make_shell(resources=asked)
    assert runner.exec("head -c 400M /dev/zero | tail", use_pty=False) != 0
    assert said(runner, "echo alive") == "alive"
    assert runner._world is not None
    groups = list(runner._world.groups.folders)
    inside = {line.split(":")[2] for line in said(runner, "cat /proc/self/cgroup").splitlines()}
    assert all(any(path.endswith(folder.name) for path in inside) for folder in groups) and groups
    unkept = [name for name, _ in ApptainerRunner.unenforced_fields(runner.spec)]
    assert "resources.mem_gb" not in unkept and "resources.cpu" not in unkept
    runner.stop()
    assert not any(folder.exists() for folder in groups)


def test_what_a_world_takes_is_known_while_it_runs(make_shell: MakeRunner) -> None:
    check_memory(make_shell())
