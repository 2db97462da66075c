"""The world's root file system: an overlay, and on it the little of the host that a world may see."""

from __future__ import annotations

import os
import stat
from functools import partial

from gym_anything.runtime.runners.local.sandbox import identity, kernel
from gym_anything.runtime.runners.local.sandbox.refusals import attempt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gym_anything.runtime.runners.local.sandbox.identity import IdRange
    from gym_anything.runtime.runners.local.sandbox.plan import FolderPlan, SandboxPlan

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
UPPER = "upper/fs"
"""What the world writes. ``upper`` belongs to the launcher's user, so that it can be moved without being entered."""
_SAFE = kernel.MS_NOSUID | kernel.MS_NODEV


class Trees:
    """Detached copies of all host mounts a world needs, made before the host goes out of sight."""

    __slots__ = ("binds", "devices", "layers")

    def __init__(self) -> None:
        self.binds: list[tuple[str, int]] = []
        self.layers: list[int] = []
        self.devices: list[tuple[str, int]] = []


def clone_sources(plan: SandboxPlan, ids: IdRange) -> Trees:
    """Open everything the plan shows from the host. As real root ids are mapped where the plan asks."""
    trees = Trees()
    spaces: dict[tuple[int, int], int] = {}
    may_map = ids.how == "root"

    def space(on_disk: int) -> int:
        key = (on_disk, ids.base_uid)
        if key not in spaces:
            spaces[key] = identity.mapping_namespace(on_disk, ids.base_uid, identity.COUNT)
        return spaces[key]

    try:
        for layer in plan["layers"]:
            foreign = may_map and layer["base_uid"] != ids.base_uid
            userns = space(layer["base_uid"]) if foreign else None
            trees.layers.append(kernel.clone_mount(layer["path"], recursive=False, userns_fd=userns))
        for bind in plan["binds"]:
            userns = space(0) if bind["map_ids"] and may_map else None
            trees.binds.append((bind["target"], _clone_bind(bind["source"], userns)))
        for name in DEVICES:
            trees.devices.append((f"/dev/{name}", attempt("devices", partial(_clone_device, name))))
    finally:
        for fd in spaces.values():
            os.close(fd)
    return trees


def _clone_device(name: str) -> int:
    return kernel.clone_mount(f"/dev/{name}", writable=True, devices=True)


def _clone_bind(source: str, userns_fd: int | None) -> int:
    """Clone one bind with all that is mounted below it; where one of these cannot map ids they stay the host's."""
    if userns_fd is not None:
        try:
            return kernel.clone_mount(source, userns_fd=userns_fd)
        except OSError:
            pass  # EINVAL: this file system does not know id-mapped mounts; plain bind below
    return kernel.clone_mount(source)


def build(plan: SandboxPlan, ids: IdRange, trees: Trees) -> None:
    """Mount the overlay, make it the root, and attach the rest. The working directory is the world's folder.

    The host's old root stays stacked under ours until ``leave_old_root``: mounting ``/proc`` needs one to be in sight.
    """
    home = f"gen{plan['generation']}"
    for name in ("skel", "work", "root", "lower"):
        os.makedirs(f"{home}/{name}")
    os.makedirs(UPPER, exist_ok=True)
    _write_skeleton(f"{home}/skel", plan, trees)
    lowers = []
    for number, fd in enumerate(trees.layers):
        os.mkdir(f"{home}/lower/{number}")
        kernel.attach_mount(fd, f"{home}/lower/{number}")
        lowers.append(f"{home}/lower/{number}")
    lowers.append(f"{home}/skel")
    options = f"lowerdir={':'.join(lowers)},upperdir={UPPER},workdir={home}/work,userxattr,volatile"
    attempt("overlay", lambda: kernel.mount("overlay", f"{home}/root", "overlay", kernel.MS_NODEV, options))
    os.chdir(f"{home}/root")
    kernel.pivot_root(".", ".")
    _mount_etc(trees)
    for target, fd in trees.binds:
        if not _under_etc(target):
            kernel.attach_mount(fd, target)
    _mount_own(plan, ids, trees)


def leave_old_root() -> None:
    """Let go of the host's root, which ``pivot_root`` left stacked at our working directory."""
    kernel.detach(".")
    os.chdir("/")


def _under_etc(path: str) -> bool:
    return path.startswith("/etc/")


def _mount_etc(trees: Trees) -> None:
    """Lock ``/etc`` read-only, then show the host's allowed parts in it."""
    kernel.attach_mount(kernel.clone_mount("/etc", recursive=False), "/etc")
    for target, fd in trees.binds:
        if _under_etc(target):
            kernel.attach_mount(fd, target)


def _mount_own(plan: SandboxPlan, ids: IdRange, trees: Trees) -> None:
    """Mount what belongs to this world alone: devices, terminals, run-time folders."""
    size = f"size={plan['tmpfs_mib']}m"
    kernel.mount("tmpfs", "/dev", "tmpfs", kernel.MS_NOSUID | kernel.MS_NOEXEC, "mode=755,size=64k")
    for target, fd in trees.devices:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o666))
        kernel.attach_mount(fd, target)
    for name in ("pts", "shm", "mqueue"):
        os.mkdir(f"/dev/{name}")
    gid = ",gid=5" if ids.count > 5 else ""
    kernel.mount(
        "devpts", "/dev/pts", "devpts", kernel.MS_NOSUID | kernel.MS_NOEXEC, f"newinstance,ptmxmode=666,mode=620{gid}"
    )
    os.symlink("pts/ptmx", "/dev/ptmx")
    for name, to in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(f"/proc/self/{to}" if "/" in to and not to.startswith("/") else to, f"/dev/{name}")
    kernel.mount("tmpfs", "/dev/shm", "tmpfs", _SAFE, f"mode=1777,size={plan['shm_mib']}m")
    kernel.mount("tmpfs", "/run", "tmpfs", _SAFE, f"mode=755,{size}")
    for folder in plan["folders"]:
        if folder["path"].startswith("/run/"):
            _make_folder(folder["path"], folder)
    for place in ("/tmp/.X11-unix", "/tmp/.ICE-unix"):
        kernel.mount("tmpfs", place, "tmpfs", _SAFE | kernel.MS_NOEXEC, "mode=1777,size=64k")


def _write_skeleton(skel: str, plan: SandboxPlan, trees: Trees) -> None:
    """Write the lowest layer: empty folders, generated files, and a place for every bind."""
    for folder in plan["folders"]:
        if not folder["path"].startswith("/run/"):
            _make_folder(f"{skel}{folder['path']}", folder)
    for file in plan["files"]:
        path = f"{skel}{file['path']}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if file["link_to"]:
            os.symlink(file["link_to"], path)
            continue
        with open(path, "w") as handle:
            handle.write(file["text"])
        os.chmod(path, file["mode"])
        os.chown(path, file["uid"], file["gid"])
    for target, fd in trees.binds:
        _make_place(f"{skel}{target}", stat.S_ISDIR(os.fstat(fd).st_mode))


def _make_folder(path: str, folder: FolderPlan) -> None:
    os.makedirs(path, exist_ok=True)
    os.chmod(path, folder["mode"])
    os.chown(path, folder["uid"], folder["gid"])


def _make_place(path: str, is_folder: bool) -> None:
    """Make an empty file or folder to mount on."""
    if is_folder:
        os.makedirs(path, exist_ok=True)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
