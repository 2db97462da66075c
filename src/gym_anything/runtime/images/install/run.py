"""Installing: downloads checked, a machine that runs until the system is there, the image kept like an imported one."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_anything._util import logs
from gym_anything._util.deadline import Deadline
from gym_anything._util.digest import SHARED
from gym_anything._util.reflink import copy_file
from gym_anything._util.state_dir import Run, WorldDir
from gym_anything._util.supervised_process import StopPlan, SupervisedProcess
from gym_anything._util.supervisor import Supervisor
from gym_anything._util.waiting import wait_until
from gym_anything.errors import HostError, WorldLost, WorldStartFailed
from gym_anything.runtime.images.install.command import InstallFiles, install_argv
from gym_anything.runtime.images.install.iso9660 import read_file
from gym_anything.runtime.images.install.needs import firmware, require_needs
from gym_anything.runtime.images.install.recipe import Download, InstallRecipe
from gym_anything.runtime.images.prepared.download import Progress, no_progress
from gym_anything.runtime.images.prepared.importing import fetch_pinned
from gym_anything.runtime.images.prepared.store import PreparedImage, PreparedStore
from gym_anything.runtime.qemu.program import IMAGE_TOOL, SYSTEM, require_program
from gym_anything.runtime.qemu.qmp import QmpClient

_CALL_S = 30.0
_CONVERT_S = 3600.0
_LOOK_S = 1.0


def install(
    recipe: InstallRecipe,
    *,
    mirror: str | None = None,
    store: PreparedStore | None = None,
    force: bool = False,
    accelerator: str | None = None,
    progress: Progress = no_progress,
    aborted: Callable[[], bool] = lambda: False,
) -> PreparedImage:
    """Return the image of a recipe, installed when it is not there (or with ``force``).

    Args:
        mirror: folder or URL that the downloads are taken from instead; their pins stay.
        accelerator: ``tcg`` emulates, for systems that are small enough; None asks for KVM.
        progress: told the stage; while the system installs itself, the bytes that it has written.
    Takes from minutes to hours. Raises: MissingDependency (all that is missing), SpecInvalid, HostError, Unreachable,
        DeadlineExceeded with the end of the console, Aborted. Nothing but finished downloads is left then.
    """
    store = store or PreparedStore()
    pin = recipe.digest()
    if not force and (known := store.pinned(pin)) is not None:
        return known
    require_needs(recipe, accelerator=accelerator)
    files = {download.file: _have(download, mirror, store, progress) for download in recipe.downloads}
    with store.importing(pin, aborted) as work:
        if not force and (known := store.pinned(pin)) is not None:
            return known
        place = Run.current().new_world("install", recipe=recipe.name)
        try:
            done = _Installation(recipe, files, place, work.staging, accelerator or "kvm", progress)
            image = done.run(aborted)
        finally:
            Supervisor.shared().stop_world(place.id)
            place.remove()
        return store.publish(work.staging, _record(recipe, image, pin))


def _have(download: Download, mirror: str | None, store: PreparedStore, progress: Progress) -> Path:
    assert download.sha256 is not None  # require_needs has seen to it
    place = download.url
    if mirror is not None:
        place = f"{mirror.rstrip('/')}/{download.file}"
    return fetch_pinned(place, download.sha256, download.file, store=store, progress=progress)


def _record(recipe: InstallRecipe, image: Path, pin: str) -> dict[str, Any]:
    return {
        "name": recipe.name,
        "version": pin[:12],
        "about": recipe.about,
        "kind": "qcow2",
        "file": recipe.file,
        "sha256": SHARED.file(image).hex(),
        "bytes": image.stat().st_size,
        "source": f"installed by the recipe {recipe.name}",
        "archive_sha256": recipe.medium.sha256,
        "downloads": {download.file: download.sha256 for download in recipe.downloads},
        "pins": [pin],
        "imported_at": time.time(),
    }


@dataclass
class _Installation:
    """One run of the machine."""

    recipe: InstallRecipe
    downloads: dict[str, Path]
    place: WorldDir
    staging: Path
    accelerator: str
    progress: Progress

    def run(self, aborted: Callable[[], bool]) -> Path:
        """Install and return the image, flattened and checked."""
        files = self._files()
        self.progress("installing", 0, None)
        process = self._start(files)
        deadline = Deadline.after(self.recipe.end.limit_min * 60)
        monitor = self._monitor(files.monitor, process, deadline)
        try:
            self._press_keys(monitor, aborted)
            self._until_done(process, monitor, files, deadline, aborted)
        finally:
            monitor.close()
        process.stop(Deadline.after(_CALL_S))
        image = self.staging / self.recipe.file
        self._image_tool("convert", "-f", "qcow2", "-O", "qcow2", str(files.disk), str(image))
        files.disk.unlink()
        self._image_tool("check", str(image))
        return image

    def _files(self) -> InstallFiles:
        recipe, scratch = self.recipe, self.place.path
        medium = self.downloads[recipe.medium.file]
        disk = self.staging / "installing.qcow2"
        size = f"{recipe.machine.disk_gib}G"
        if recipe.medium.use == "disk":
            self._image_tool("convert", "-O", "qcow2", str(medium), str(disk))
            self._image_tool("resize", "-q", str(disk), size)
        else:
            self._image_tool("create", "-q", "-f", "qcow2", str(disk), size)
        kernel = None
        if recipe.start.kernel is not None and recipe.start.initrd is not None:
            kernel = (scratch / "kernel", scratch / "initrd")
            kernel[0].write_bytes(read_file(medium, recipe.start.kernel))
            kernel[1].write_bytes(read_file(medium, recipe.start.initrd))
        return InstallFiles(
            disk=disk,
            cdrom=medium if recipe.medium.use == "cdrom" else None,
            answers=self._answers(scratch / "answers"),
            firmware=self._own_firmware(scratch),
            kernel=kernel,
            monitor=self.place.socket_path("monitor"),
            console=scratch / "console.log",
            vnc=self.place.socket_path("vnc"),
        )

    def _answers(self, folder: Path) -> Path | None:
        if self.recipe.answers == "none":
            return None
        folder.mkdir()
        for name, path in self.recipe.answer_files():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        for download in self.recipe.downloads:
            if download.use == "answers":
                copy_file(self.downloads[download.file], folder / download.file)
        return folder

    def _own_firmware(self, scratch: Path) -> tuple[Path, Path] | None:
        pair = firmware() if self.recipe.machine.firmware == "uefi" else None
        if pair is None:
            return None
        shutil.copyfile(pair[1], scratch / "firmware.fd")
        return pair[0], scratch / "firmware.fd"

    def _start(self, files: InstallFiles) -> SupervisedProcess:
        argv = install_argv(require_program(SYSTEM), self.recipe, files, accelerator=self.accelerator)
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": str(self.place.path), **self.place.env}
        with (self.place.path / "qemu.log").open("ab") as log:
            name = f"the installation of {self.recipe.name}"
            stop = StopPlan(signal=15, grace_s=_CALL_S)
            return Supervisor.shared().spawn(argv, name=name, env=env, stderr=log.fileno(), stop=stop)

    def _monitor(self, path: Path, process: SupervisedProcess, deadline: Deadline) -> QmpClient:
        near = deadline.tightened(_CALL_S)
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(_CALL_S)

        def up() -> bool:
            if process.returncode is not None:
                raise WorldStartFailed(f"QEMU did not start: {self._log()}")
            try:
                sock.connect(str(path))
            except (FileNotFoundError, ConnectionRefusedError):  # the socket's file is there before it listens
                return False
            return True

        try:
            wait_until(up, deadline=near, awaited="QEMU's monitor", log_tail=self._log)
            monitor = QmpClient(sock, self._log)
        except BaseException:
            sock.close()
            raise
        try:
            monitor.open(near)
        except BaseException:
            monitor.close()
            raise
        return monitor

    def _press_keys(self, monitor: QmpClient, aborted: Callable[[], bool]) -> None:
        """Press the key once a second, for firmware that asks for any key for some seconds."""
        start = self.recipe.start
        if start.key is None:
            return
        keys = {"keys": [{"type": "qcode", "data": start.key}]}
        ended = time.monotonic() + start.key_for_s
        while time.monotonic() < ended:
            monitor.execute("send-key", keys, deadline=Deadline.after(_CALL_S))
            pause = Deadline.after(_LOOK_S)
            wait_until(pause.expired, deadline=pause, awaited="the next key", poll_s=0.2, aborted=aborted)

    def _until_done(
        self,
        process: SupervisedProcess,
        monitor: QmpClient,
        files: InstallFiles,
        deadline: Deadline,
        aborted: Callable[[], bool],
    ) -> None:
        end, written, since = self.recipe.end, -1, time.monotonic()

        def done() -> bool:
            nonlocal written, since
            if process.returncode is not None:
                return True
            now = files.disk.stat().st_blocks * 512
            if now != written:
                written, since = now, time.monotonic()
                self.progress("installing", now, None)
            quiet = end.when == "quiet" and time.monotonic() - since >= end.quiet_s
            return quiet and now >= end.least_mib << 20

        awaited = f"{self.recipe.name} to have installed itself"
        wait_until(done, deadline=deadline, awaited=awaited, poll_s=_LOOK_S, log_tail=self._console, aborted=aborted)
        if process.returncode is None:
            with contextlib.suppress(WorldLost):  # it may be gone before its answer is
                monitor.execute("quit", deadline=Deadline.after(_CALL_S))
            process.wait(Deadline.after(_CALL_S))
        if process.returncode != 0:
            raise HostError(f"QEMU ended with {process.returncode} during the installation: {self._log()}")
        size = files.disk.stat().st_blocks * 512
        if size < end.least_mib << 20:
            raise HostError(
                f"{self.recipe.name} switched itself off after {size >> 20} MiB were written: no installation; "
                f"end of its console:\n{self._console()}",
                detail={"log_tail": self._console()},
            )

    def _image_tool(self, *words: str) -> None:
        argv = [require_program(IMAGE_TOOL), *words]
        try:
            done = subprocess.run(argv, capture_output=True, text=True, timeout=_CONVERT_S, check=False)
        except subprocess.TimeoutExpired as error:
            raise HostError(f"qemu-img {words[0]} has not ended after {_CONVERT_S:.0f} s") from error
        if done.returncode != 0:
            raise HostError(f"qemu-img {words[0]} failed: {done.stderr.strip()}")

    def _log(self) -> str:
        return logs.tail(self.place.path / "qemu.log", 15)

    def _console(self) -> str:
        return logs.tail(self.place.path / "console.log", 15)
