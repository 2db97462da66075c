"""The page that says of every piece how it is tested: by the real thing, by a stand-in, or not here at all."""

from __future__ import annotations

from dataclasses import dataclass

from tools.field_docs import table_cell

REAL, STANDIN, NOT_HERE = "real", "stand-in", "not run here"
_INTRODUCTION = """\
# What is tested, and by what

* **real**: a test starts the very thing and looks at what came of it.
* **stand-in**: the other side is played by a program of the tests that speaks its protocol; our side is the real one.
* **not run here**: written to its documentation, checked as far as it goes without the thing itself, never run.

Where a backend is missing, its tests are skipped with the reason; in CI (`GYM_ANYTHING_TEST_REQUIRE=all`) that fails. Tests marked
`soak` run in the long runs. What is missing altogether stands in [status.md](../status.md).
"""


@dataclass(frozen=True, slots=True)
class Piece:
    """One row.

    Attributes:
        what: the piece.
        how: REAL, STANDIN or NOT_HERE.
        by: with what, or what is checked instead.
        tests: paths of the tests.
    """

    what: str
    how: str
    by: str
    tests: tuple[str, ...] = ()


HOUSE = (
    Piece("supervisor, state folder, collection after `kill -9`", REAL, "processes of the tests, killed at all points",
          ("tests/integration/supervisor", "tests/integration/cache", "tests/e2e/test_interrupts.py")),
    Piece("doctor", REAL, "what it says of this machine is tried", ("tests/integration/doctor",)),
    Piece("native programs: build, cache, wheel", REAL, "the compiler of this machine", ("tests/integration/native",)),
    Piece("`ga-guest`: commands, files, accounts, terminals", REAL, "in sandboxes, containers and machines; under the sanitizers, too",
          ("tests/integration/guest", "native/tests")),
    Piece("`local` worlds, as root", REAL, "Xvnc, openbox, tint2, bubblewrap, Debian 12", ("tests/integration/local", "tests/conformance/test_local_runner.py")),
    Piece("`local` worlds, as an ordinary user", REAL, "user namespaces, Debian 12", ("tests/integration/local/test_rootless.py",)),
    Piece("`local` worlds on other systems than Debian", NOT_HERE, "doctor says what is missing"),
    Piece("episodes, hooks, artifacts, recording", REAL, "local worlds; every failure by worlds that misbehave",
          ("tests/e2e/test_episode_local.py", "tests/integration/episode", "tests/unit/episode")),
    Piece("verdicts", REAL, "processes of their own that hang, die, eat memory", ("tests/integration/verification",)),
    Piece("judges and agents that ask models", STANDIN, "the official SDKs; endpoints played by a server of the tests, shapes from the SDKs' types",
          ("tests/integration/models", "tests/integration/agents", "tests/integration/verification/test_vision_judges.py")),
    Piece("real models of any provider", NOT_HERE, "", ()),
    Piece("agents `replay`, `human`, an external program", REAL, "a pseudo-terminal, a page asked over HTTP, a process", ("tests/integration/agents",)),
    Piece("benchmarks, agents, command line", REAL, "`desktop_basics` with its oracles and near misses",
          ("tests/e2e/test_desktop_basics.py", "tests/integration/benchmark")),
    Piece("exports", REAL, "`pyarrow` and `datasets` read them", ("tests/unit/data", "tests/integration/data")),
    Piece("the viewer's pages and its server", REAL, "the system's Chromium, over HTTP on loopback", ("tests/unit/dashboard", "tests/integration/dashboard")),
    Piece("specs of public environments", REAL, "a corpus beside the checkout is loaded; none of its software is run", ("tests/integration/test_corpus.py",)),
    Piece("environments in the shape of public ones", REAL, "three, played fresh and restored", ("tests/e2e/test_corpus_shape.py",)),
    Piece("parties of strangers: runner, agent, benchmark, judge", REAL, "through every public door; a desktop that only the contract gives away",
          ("tests/test_stranger_party.py", "tests/test_stranger_party_cli.py", "tests/integration/measure/test_input_latency.py")),
    Piece("the wheel", REAL, "built and installed into a fresh environment", ("tests/e2e/test_wheel.py",)),
)  # fmt: skip
DESKTOP = (
    Piece("capture on Xvnc, Xvfb, Xorg", REAL, "the servers of Debian 12", ("tests/integration/desktop/test_frames.py",)),
    Piece("compositors", REAL, "xcompmgr, picom", ("tests/integration/desktop/test_compositor.py",)),
    Piece("screens that change size, several heads", REAL, "RandR", ("tests/integration/desktop/test_randr.py", "tests/integration/desktop/test_heads.py")),
    Piece("rotated screens", NOT_HERE, "no X server here can rotate"),
    Piece("input by XTest, clicks, drags, wheel", REAL, "GTK, Qt, LibreOffice, Chromium, xterm",
          ("tests/integration/desktop/test_pointer.py", "tests/integration/desktop/test_applications.py")),
    Piece("text of seven scripts on four layouts", REAL, "a sample; all of it in the long runs", ("tests/integration/desktop/test_typing_matrix.py",)),
    Piece("settle", REAL, "applications that blink, hang, repaint", ("tests/integration/desktop/test_settle.py", "tests/integration/desktop/test_blinks.py")),
    Piece("pixel conversion on x86", REAL, "vectorised and plain agree", ("native/ga-desktop/tests",)),
    Piece("pixel conversion on ARM", STANDIN, "an emulated processor (qemu-user)", ("native/ga-desktop/tests",)),
    Piece("a desktop on another host", STANDIN, "TCP and TLS over loopback; cuts and delays made by the tests", ("tests/integration/desktop/test_gate_program.py", "tests/e2e/test_far_desktop_page.py")),
    Piece("`bench desktop`: ways in use elsewhere", REAL, "xdotool, scrot, ImageMagick, Pillow, pyautogui", ("tests/integration/measure/test_bench_desktop.py",)),
)  # fmt: skip
WORLDS = (
    Piece("images from Debian packages", REAL, "built twice, compared, booted", ("tests/integration/images",)),
    Piece("prepared images from a release URL", STANDIN, "a server of the tests that cuts and lies", ("tests/integration/images/test_import.py",)),
    Piece("systems that install themselves: the machinery", STANDIN, "a boot medium of a few kilobytes on an emulated machine", ("tests/integration/images/test_install.py",)),
    Piece("recipes of Windows, Android, Ubuntu", NOT_HERE, "read, pinned, their answer files parsed", ("tests/unit/runtime/images/test_install_recipe.py",)),
    Piece("Dockerfiles of the presets", NOT_HERE, "linted; building them needs a registry", ("tests/unit/runtime/images/test_preset_recipes.py",)),
    Piece("`docker` worlds", REAL, "a dockerd of the tests' own; `DOCKER_HOST`", ("tests/conformance/test_docker_runner.py", "tests/integration/docker")),
    Piece("`docker` worlds of an ordinary user, systemd as first process", REAL, "the group `docker`; an image with systemd",
          ("tests/integration/docker/test_ordinary_user.py", "tests/integration/docker/test_runtimes.py")),
    Piece("gVisor (`runsc`) as Docker's runtime", REAL, "worlds without a screen, platform ptrace", ("tests/integration/docker/test_runtimes.py",)),
    Piece("`sysbox-runc`, GPUs in containers, rootless dockerd, Docker Desktop", NOT_HERE, "what is asked of the engine", ("tests/unit/runtime/docker",)),
    Piece("`apptainer` worlds, as root", REAL, "Apptainer 1.4.5: SIF, sandbox, definition", ("tests/conformance/test_apptainer_runner.py", "tests/integration/apptainer")),
    Piece("`apptainer` worlds of an ordinary user", REAL, "user namespaces, granted ids", ("tests/integration/apptainer/test_rootless.py",)),
    Piece("Apptainer with `--nv`, set-uid installations", NOT_HERE, "the command line", ("tests/unit/runtime/apptainer",)),
    Piece("`qemu_native`: Linux machines, forks, checkpoints", REAL, "QEMU 7.2, emulated (TCG)", ("tests/conformance/test_qemu_runner.py", "tests/integration/qemu")),
    Piece("`qemu`: the same inside Apptainer", REAL, "an image with QEMU", ("tests/conformance/test_qemu_in_apptainer_runner.py", "tests/integration/qemu/test_in_apptainer.py")),
    Piece("KVM", NOT_HERE, "the probe guest, which finds that it runs nothing here", ("tests/integration/qemu/test_making.py",)),
    Piece("pictures: QMP, D-Bus display, desktop service in the guest", REAL, "each way in the same machine",
          ("tests/integration/qemu/test_fast_frames.py", "tests/integration/qemu/test_dbus_display.py")),
    Piece("input: USB tablet, uinput keyboard, QMP keys", REAL, "events counted in the guest", ("tests/integration/qemu/test_fast_input.py",)),
    Piece("`env.fork` of running machines", REAL, "in mid-task, forks of forks, after a kill", ("tests/integration/qemu/test_env_fork.py",)),
    Piece("Windows guests", STANDIN, "QEMU, its screen and input are real; Windows' SSH server is played", ("tests/integration/qemu/test_other_guests.py", "tests/integration/guest/test_windows_ssh.py")),
    Piece("Android guests in QEMU", STANDIN, "QEMU, its screen and input are real; `adbd` is played", ("tests/integration/qemu/test_other_guests.py", "tests/integration/guest/test_adb.py")),
    Piece("`bench input-latency` with its evidence", REAL, "local, docker, apptainer, qemu_native, a stranger's runner", ("tests/integration/measure/test_input_latency.py",)),
    Piece("the same tasks in every world", REAL, "each world by its own test; one table by `make worlds`, which is no step of CI yet", ("tests/e2e/test_desktop_basics_docker.py", "tests/e2e/test_desktop_basics_apptainer.py", "tests/e2e/test_desktop_basics_qemu.py")),
    Piece("`avd`, `avd_native`, `avf`, `modal`, `modal_native`, `use_computer`, `sandweave`", NOT_HERE, "their names are reserved; choosing one says so", ("tests/unit/plugins",)),
)  # fmt: skip
MANY = (
    Piece("replicas, pool, guard, data server: their shape", STANDIN, "simulated worlds with drawn latencies and faults; real processes as shards",
          ("tests/integration/pool", "tests/unit/pool", "tests/integration/measure/test_bench_chaos.py")),
    Piece("real environments as worlds of a pool", REAL, "local desktops", ("tests/integration/pool/test_environment_world.py",)),
    Piece("disks by reflink and layers", REAL, "XFS on a loop file, QEMU's layers", ("tests/integration/pool/test_disks.py",)),
    Piece("units that refresh a node", NOT_HERE, "decided with a clock of the tests, checked by `systemd-analyze`; no host was rebooted",
          ("tests/integration/pool/test_refresh.py",)),
    Piece("Gymnasium `Env` and `VectorEnv`", REAL, "`check_env`, on a fake world and on local desktops", ("tests/integration/integrations",)),
)  # fmt: skip
SECTIONS = {
    "The house, and a first episode": HOUSE,
    "Exact and fast: the desktop service": DESKTOP,
    "Containers and virtual machines": WORLDS,
    "A hundred replicas": MANY,
}
PIECES = tuple(piece for pieces in SECTIONS.values() for piece in pieces)


def tested_page() -> str:
    """Render the tables."""
    lines = [_INTRODUCTION]
    for title, pieces in SECTIONS.items():
        lines += [f"## {title}\n", "| piece | tested | by | tests |", "|---|---|---|---|"]
        for piece in pieces:
            how = piece.how if piece.how == REAL else f"**{piece.how}**"
            tests = ", ".join(f"`{path}`" for path in piece.tests)
            lines.append(f"| {table_cell(piece.what)} | {how} | {table_cell(piece.by)} | {tests} |")
        lines.append("")
    return "\n".join(lines)
