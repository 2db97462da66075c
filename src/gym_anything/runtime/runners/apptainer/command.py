"""From a spec to its instance: pure, so that it can be compared with a golden file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from gym_anything.runtime.apptainer.command import Bind, Instance
from gym_anything.runtime.container.inside import (
    HOME_OF_OURS,
    HOSTNAME,
    INIT_CAPABILITIES,
    IO,
    X_SOCKETS,
    guest_argv,
)
from gym_anything.runtime.session.environment import SUDO_SOCKET
from gym_anything.specs.apptainer import Apptainer
from gym_anything.specs.env_objects import Mount
from gym_anything.specs.env_spec import EnvSpec

CAPABILITIES = (
    *INIT_CAPABILITIES, "AUDIT_WRITE", "FSETID", "MKNOD", "NET_BIND_SERVICE", "NET_RAW", "SETFCAP", "SETPCAP",
    "SYS_CHROOT",
)  # fmt: skip
"""What root of a world may do: what container engines give, too. Source: moby's default list."""
ALL = "ALL"
_BEGIN = 'mkdir -p "$1" && shift && exec "$@"'


@dataclass(frozen=True)
class InstancePlace:
    """What the instance needs to know of this host.

    Attributes:
        name: of the instance. image: SIF or sandbox folder.
        io: the shared folder. x_sockets: the folder in it for the X server's socket. hosts: its ``/etc/hosts``.
        overlay: where it writes. layers: checkpoints under that, the oldest first.
        files: sources of mounts that are no folders, as the spec has them.
        as_root: the caller is root of this host. config: see ``Instance``.
    """

    name: str
    image: str
    io: str
    x_sockets: str
    hosts: str
    overlay: str
    guest_program: str
    desktop_program: str
    layers: Sequence[str] = ()
    files: Sequence[str] = ()
    as_root: bool = True
    config: str = ""


def wanted(spec: EnvSpec) -> Apptainer:
    """Return the spec's own wishes, or the defaults."""
    return spec.apptainer or Apptainer()


def instance_of(spec: EnvSpec, place: InstancePlace) -> Instance:
    """Return the instance of a spec. It never has the host's network: what it may reach is joined to its own."""
    wish = wanted(spec)
    return Instance(
        name=place.name,
        image=place.image,
        layers=[*wish.overlays, *place.layers],
        overlay=place.overlay,
        binds=[*_own_binds(place), *_spec_binds(spec, place.files)],
        plain_binds=wish.binds,
        contain=wish.contain,
        contain_all=wish.contain_all,
        hostname=HOSTNAME,
        capabilities=None if spec.security.privileged else capabilities(spec),
        fakeroot=not place.as_root,
        gpu=wish.enable_gpu or spec.resources.gpu > 0,
        workdir=wish.workdir or "",
        config=place.config,
        extra_start=wish.extra_start_args,
        extra_exec=wish.extra_exec_args,
    )


def init_argv(spec: EnvSpec) -> list[str]:
    """Return the program that runs in the instance for as long as the world lives: our ``ga-guest``."""
    folder = str(PurePosixPath(SUDO_SOCKET).parent)
    return ["/bin/sh", "-c", _BEGIN, "sh", folder, f"{HOME_OF_OURS}/ga-guest", *guest_argv(spec)]


def inside_env(spec: EnvSpec, base: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of every program in the world; the image's own lies under it."""
    return {**base, **wanted(spec).env}


def capabilities(spec: EnvSpec) -> list[str]:
    """Return what root of the world may do; our init keeps what it cannot do without."""
    dropped = {_plain(name) for name in spec.security.cap_drop}
    added = [_plain(name) for name in spec.security.cap_add]
    kept = [name for name in CAPABILITIES if ALL not in dropped and name not in dropped]
    return list(dict.fromkeys([*kept, *(name for name in added if name != ALL), *INIT_CAPABILITIES]))


def _plain(name: str) -> str:
    return name.upper().removeprefix("CAP_")


def _own_binds(place: InstancePlace) -> list[Bind]:
    return [
        Bind(place.io, IO),
        Bind(place.x_sockets, X_SOCKETS),
        Bind(place.hosts, "/etc/hosts", is_file=True),
        Bind(place.guest_program, f"{HOME_OF_OURS}/ga-guest", read_only=True, is_file=True),
        Bind(place.desktop_program, f"{HOME_OF_OURS}/ga-desktop", read_only=True, is_file=True),
    ]


def _spec_binds(spec: EnvSpec, files: Sequence[str]) -> list[Bind]:
    mounts = [_mount(mount, mount.source in files) for mount in spec.mounts]
    return [*mounts, *(_device(text) for text in spec.security.devices)]


def _mount(mount: Mount, is_file: bool) -> Bind:
    source = Path(mount.source).expanduser().absolute()
    return Bind(str(source), mount.target, read_only=mount.mode != "rw", is_file=is_file)


def _device(text: str) -> Bind:
    """Read ``/dev/x`` or ``/dev/x:/dev/y``; what follows a second colon are rights, which a bind has not."""
    parts = text.split(":")
    return Bind(parts[0], parts[1] if len(parts) > 1 and parts[1] else parts[0], is_file=True)
