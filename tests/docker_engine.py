"""A Docker engine of the tests' own: in namespaces of its own, so that nothing of it is left on this host.

Its network interfaces, firewall rules, mounts and processes end with it, however it ends. Its images are kept from run to
run, below ``~/.cache``, since a desktop takes seconds to load; processes that test at once have an engine each. What our
own images are made of is built before the first test begins, once on a machine: that takes minutes.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gym_anything._util.deadline import Deadline
from gym_anything._util.locks import FileLock
from gym_anything._util.supervised_process import StopPlan, SupervisedProcess
from gym_anything._util.supervisor import Supervisor
from gym_anything._util.waiting import wait_until
from gym_anything.errors import GymAnythingError
from gym_anything.runtime.images.recipe import load_recipe
from gym_anything.runtime.images.rootfs import build_rootfs, find_system, plan_build
from gym_anything.runtime.images.store import StoredImage
from gym_anything.runtime.runners.docker.images import LABEL
from gym_anything.runtime.runners.docker.vendor import Engine

_START_S = 60.0
_ALONE = ("unshare", "--net", "--mount", "--propagation", "slave", "--pid", "--fork", "--kill-child", "--mount-proc")
_REAPING = ("sh", "-c", '"$@" & wait $!', "sh")
"""The first process of a process namespace gets all orphans of it; a shell that waits reaps them, dockerd does not."""


def missing() -> str:
    """Say what this host lacks for an engine of the tests' own; empty when nothing."""
    if os.geteuid() != 0:
        return "only root can start an engine"
    lacking = [name for name in ("dockerd", "containerd", "runc", "unshare") if shutil.which(name) is None]
    return f"not installed: {', '.join(lacking)} (apt-get install docker.io)" if lacking else ""


GVISOR = "runsc"
_LISTENER = """
import socket, sys
listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
print("up", flush=True)
while True:
    listener.accept()
"""


class TestEngine:
    """A running engine: ``host`` is its ``DOCKER_HOST``."""

    __test__ = False

    def __init__(self, data: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="ga-dockerd-"))
        self.host = f"unix://{self._folder}/docker.sock"
        self._data = data
        self._process: SupervisedProcess | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        argv = [*_ALONE, *_REAPING, "dockerd", "--data-root", str(self._data), "--exec-root", f"{self._folder}/exec"]
        argv += ["--host", self.host, "--pidfile", f"{self._folder}/pid", "--storage-driver", "overlay2"]
        argv += self._gvisor()
        log = self._folder / "dockerd.log"
        with log.open("wb") as file:
            self._process = Supervisor.shared().spawn(
                argv, name="dockerd of the tests", stdout=file.fileno(), stderr=file.fileno(),
                env={**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}, stop=StopPlan(grace_s=15),
            )  # fmt: skip
        wait_until(
            self._answers, deadline=Deadline.after(_START_S), awaited="the engine of the tests",
            log_tail=lambda: log.read_text(errors="replace")[-1500:],
        )  # fmt: skip

    def _gvisor(self) -> list[str]:
        """Return the arguments that give it gVisor as a further runtime, where that is installed.

        By ptrace, since nothing more may be had of a machine's processor; without the network and the control groups
        that it would set up in namespaces that are not the engine's. ``host-uds`` lets a world make sockets in the
        folder that it shares with us.
        """
        program = shutil.which("runsc")
        if program is None:
            return []
        script = self._folder / GVISOR
        flags = "--platform=ptrace --network=none --ignore-cgroups --host-uds=all"
        script.write_text(f'#!/bin/sh\nexec {program} {flags} "$@"\n')
        script.chmod(0o755)
        return ["--add-runtime", f"{GVISOR}={script}"]

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.returncode is not None:
            pytest.fail(f"dockerd ended: {(self._folder / 'dockerd.log').read_text(errors='replace')[-1500:]}")
        if not (self._folder / "docker.sock").exists():
            return False
        try:
            engine = Engine.connect(timeout_s=5)
        except GymAnythingError:
            return False
        for row in engine.labelled("gym-anything.run"):  # of a run that was killed
            engine.remove(str(row["Id"]))
        engine._client.prune_images(filters={"label": [LABEL], "dangling": False})  # built or saved by earlier tests
        engine.close()
        return True

    def let_in(self) -> None:
        """Let users of the group ``docker`` reach it."""
        self._folder.chmod(0o711)

    def inside(self, *argv: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the engine's network: to its worlds, that is the outside."""
        return subprocess.run([*self._enter(), *argv], capture_output=True, text=True, timeout=30, check=False)

    @contextmanager
    def outside(self, address: str, port: int) -> Iterator[None]:
        """Let somebody listen at an address that worlds can reach only by the network's way out."""
        for words in ("link set lo up", f"address replace {address}/32 dev lo"):
            done = self.inside("ip", *words.split())
            assert done.returncode == 0, done.stderr
        argv = [*self._enter(), sys.executable, "-I", "-c", _LISTENER, address, str(port)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as server:
            try:
                assert server.stdout is not None and server.stdout.readline() == b"up\n"
                yield
            finally:
                server.kill()

    def _enter(self) -> list[str]:
        assert self._process is not None
        first = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()[0]
        return ["nsenter", "--net", "--target", first]

    def stop(self) -> None:
        """Stop it and remove its folder."""
        if self._process is not None:
            self._process.stop(Deadline.after(30))
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def running_engine() -> Iterator[TestEngine]:
    """Run an engine for the block, named by ``DOCKER_HOST``, on the first store of images that nobody else uses."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gym-anything" / "test-docker"
    root.mkdir(parents=True, exist_ok=True)
    number, lock = next(_free_stores(root))
    engine = TestEngine(root / str(number))
    before = os.environ.get("DOCKER_HOST")
    os.environ["DOCKER_HOST"] = engine.host
    try:
        engine.start()
        yield engine
    finally:
        if before is None:
            del os.environ["DOCKER_HOST"]
        else:
            os.environ["DOCKER_HOST"] = before
        engine.stop()
        lock.release()


def _free_stores(root: Path) -> Iterator[tuple[int, FileLock]]:
    for number in itertools.count(1):
        lock = FileLock.try_acquire(root / f"{number}.lock")
        if lock is not None:
            yield number, lock


@pytest.fixture(scope="session")
def docker_engine(require_backend: Callable[[str, bool, str], None]) -> Iterator[TestEngine]:
    """A running engine, for as long as the session lasts."""
    reason = missing()
    require_backend("docker", not reason, reason)
    with running_engine() as engine:
        yield engine


IMAGES = {"docker_desktop": "debian-desktop", "minimal_image": "debian-minimal", "qemu_image": "qemu"}
"""Fixture -> the image that it needs."""


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build what is missing before the clock of any test runs."""
    wanted = {name for item in session.items for name in getattr(item, "fixturenames", ()) if name in IMAGES}
    if missing() or shutil.which("mmdebstrap") is None or session.config.option.collectonly:
        return
    for fixture in sorted(wanted):
        plan = plan_build(load_recipe(IMAGES[fixture]))
        if find_system(plan) is None:
            print(f"building the image {plan.recipe.name}, once on this machine …", flush=True)
            build_rootfs(plan)


def built(name: str, require_backend: Callable[[str, bool, str], None]) -> StoredImage:
    """Return an image of ours."""
    found = find_system(plan_build(load_recipe(name)))
    require_backend("mmdebstrap", found is not None, "not installed: apt-get install mmdebstrap")
    assert found is not None
    return found


@pytest.fixture(scope="session")
def docker_desktop(docker_engine: TestEngine, require_backend: Callable[[str, bool, str], None]) -> TestEngine:
    """The engine, once our desktop image is built on this machine."""
    built("debian-desktop", require_backend)
    return docker_engine
