"""Apptainer's command lines: pure, so that they can be compared with golden files.

Source: ``apptainer help instance start``, ``exec``, ``build`` of 1.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_CONTAINED = ("tmp", "home", "cwd", "hostfs", "bind-paths")
"""What an instance of ours does not take from the host even so: with ``contain`` alone /tmp and the home would lie in
64 MiB of memory."""
ALL_CAPABILITIES = (
    "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
    "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER",
    "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE",
    "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP",
    "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF",
    "CHECKPOINT_RESTORE",
)  # fmt: skip
"""Source: linux/capability.h. What is not given is dropped by name: with ``--no-privs`` no setuid program works."""
_MAKE_POINTS = (
    'while [ "$1" != -- ]; do mkdir -p "$1" || exit; shift; done; shift; '
    'for p in "$@"; do mkdir -p "${p%/*}/" && { [ -e "$p" ] || : > "$p"; } || exit; done'
)


@dataclass(frozen=True)
class Bind:
    """A folder or file of the host that the instance sees. Apptainer reads ``:`` and ``,`` in paths as its own."""

    source: str
    target: str
    read_only: bool = False
    is_file: bool = False

    def text(self) -> str:
        """Return it as ``--mount`` wants it: a line of comma-separated values, so that any path is possible."""
        words = [
            "type=bind",
            f"source={self.source}",
            f"destination={self.target}",
            *(["ro"] if self.read_only else []),
        ]
        return ",".join(_csv(word) for word in words)


@dataclass(frozen=True)
class Instance:
    """One instance.

    Attributes:
        name: letters, digits, ``-``. image: SIF or sandbox folder.
        layers: overlay folders that are only read, the lowest first. overlay: where it writes; empty for nowhere.
        binds: see ``Bind``. plain_binds: as a user writes them, ``source[:target[:options]]``.
        contain: none of the host's home, /tmp, /dev. contain_all: also no environment, processes, IPC.
        network: False gives it a network of its own with nothing but loopback.
        capabilities: what its root may do; None: all that the caller may. fakeroot: root in a user namespace.
        gpu: pass NVIDIA's devices and libraries through.
        extra_start, extra_exec: further arguments, as a user writes them.
        workdir: where programs start; empty for the image's own.
        config: apptainer's settings in another file than its own; empty for its own.
    """

    name: str
    image: str
    layers: Sequence[str] = ()
    overlay: str = ""
    binds: Sequence[Bind] = ()
    plain_binds: Sequence[str] = ()
    contain: bool = True
    contain_all: bool = False
    network: bool = False
    hostname: str = ""
    capabilities: Sequence[str] | None = None
    fakeroot: bool = False
    gpu: bool = False
    workdir: str = ""
    config: str = ""
    extra_start: Sequence[str] = ()
    extra_exec: Sequence[str] = ()


def start_argv(program: str, instance: Instance) -> list[str]:
    """Return ``apptainer instance start``; it returns when the instance is up."""
    argv = [*_quiet(program, instance), "instance", "start", "--no-eval", *_world(instance)]
    if not instance.network:
        argv += ["--net", "--network", "none"]
    if instance.hostname:
        argv += ["--uts", "--hostname", instance.hostname]
    argv += ["--nv"] if instance.gpu else []
    for bind in instance.binds:
        argv += ["--mount", bind.text()]
    for text in instance.plain_binds:
        argv += ["--bind", text]
    return [*argv, *instance.extra_start, instance.image, instance.name]


def mount_points_argv(program: str, instance: Instance) -> list[str]:
    """Return the command line that makes the mount points of all binds in the overlay.

    Where one is missing apptainer makes it and its parents in a layer of its own, and a home with a mount point in it
    would belong to root.
    """
    files = [bind.target for bind in instance.binds if bind.is_file]
    folders = [bind.target for bind in instance.binds if not bind.is_file]
    argv = [*_quiet(program, instance), "exec", *_world(instance), "--pwd", "/", instance.image]
    return [*argv, "/bin/sh", "-c", _MAKE_POINTS, "sh", *folders, "--", *files]


def exec_argv(program: str, instance: Instance, inside: Sequence[str]) -> list[str]:
    """Return ``apptainer exec`` of a program in the running instance; it ends with that program."""
    argv = [*_quiet(program, instance), "exec", "--no-eval"]
    if instance.contain or instance.contain_all:
        argv.append("--cleanenv")
    argv += _rights(instance)
    # The caller's own working folder does not exist in there.
    argv += ["--pwd", instance.workdir or "/"]
    return [*argv, *instance.extra_exec, f"instance://{instance.name}", *inside]


def build_argv(program: str, source: str, target: str, *, sandbox: bool = False, fakeroot: bool = False) -> list[str]:
    """Return ``apptainer build`` of a SIF, or of a sandbox folder.

    Args: source: a definition file, a sandbox folder, or an address (``docker-archive:…``, ``docker://…``).
    """
    argv = [program, "--silent", "build", "--disable-cache"]
    argv += [*(["--sandbox"] if sandbox else []), *(["--fakeroot"] if fakeroot else [])]
    return [*argv, target, source]


def environment(inside: Mapping[str, str], *, config_dir: str) -> dict[str, str]:
    """Return the environment of ``apptainer`` that gives these variables to programs inside.

    Args: config_dir: where it notes its instances; each world has its own.
    """
    return {"APPTAINER_CONFIGDIR": config_dir, **{f"APPTAINERENV_{name}": value for name, value in inside.items()}}


def _quiet(program: str, instance: Instance) -> list[str]:
    return [program, *(["--config", instance.config] if instance.config else []), "--silent"]


def _world(instance: Instance) -> list[str]:
    """Return what decides over the file system and the rights in it."""
    argv = []
    if instance.contain_all:
        argv.append("--containall")
    elif instance.contain:
        argv += ["--contain", "--ipc"]
    if instance.contain or instance.contain_all:
        argv += ["--cleanenv", "--no-mount", ",".join(_CONTAINED)]
    argv += _rights(instance)
    for layer in instance.layers:
        argv += ["--overlay", f"{layer}:ro"]
    return [*argv, *(["--overlay", instance.overlay] if instance.overlay else [])]


def _rights(instance: Instance) -> list[str]:
    argv = ["--fakeroot"] if instance.fakeroot else []
    if instance.capabilities is None:
        return argv or ["--keep-privs"]
    others = [name for name in ALL_CAPABILITIES if name not in instance.capabilities]
    argv += ["--drop-caps", _caps(others)]
    if instance.fakeroot:  # has them all to begin with, and setuid programs work
        return argv
    return ["--allow-setuid", *argv, *(["--add-caps", _caps(instance.capabilities)] if instance.capabilities else [])]


def _caps(names: Sequence[str]) -> str:
    return ",".join(f"CAP_{name}" for name in names)


def _csv(word: str) -> str:
    return '"' + word.replace('"', '""') + '"' if set(word) & set(',"') else word
