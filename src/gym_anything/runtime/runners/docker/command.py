"""From a spec to the request that makes its container: pure, so that it can be compared with a golden file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from gym_anything.runtime.container.inside import (
    HOME_OF_OURS,
    HOSTNAME,
    INIT_CAPABILITIES,
    IO,
    X_SOCKETS,
    guest_argv,
    has_network,
)
from gym_anything.runtime.session.environment import SUDO_SOCKET
from gym_anything.specs.env_spec import EnvSpec

_MAX_PROCESSES = 8192
_GIB = 1 << 30
_BESIDE_SYSTEMD = ("/bin/sh", "-c", '"$@" & exec /sbin/init', "sh")
"""Starts our program first, with the environment of the container, which no unit of systemd's would get."""
_OF_SYSTEMD = {"container": "docker"}
"""How systemd knows where it is. Source: systemd.io/CONTAINER_INTERFACE."""
_NO_TMP = "/etc/systemd/system/tmp.mount"
"""Masked: it would cover the folder of the X server's socket. /run is a tmpfs from the start, so systemd makes none."""


@dataclass(frozen=True)
class ContainerPlace:
    """What the request needs to know of this host.

    Attributes:
        io: the shared folder. x_sockets: the folder in it for the X server's socket.
        network: name of the network of worlds with ``resources.net``.
        hosts: names with the addresses that the world knows them by. dropped: capabilities taken away besides.
        seccomp: content of ``security.seccomp_profile``.
        labels, process_label: how the container and its processes are known to be ours.
    """

    io: str
    x_sockets: str
    guest_program: str
    desktop_program: str
    network: str
    labels: Mapping[str, str]
    process_label: Mapping[str, str]
    seccomp: str = ""
    hosts: Sequence[tuple[str, str]] = ()
    dropped: Sequence[str] = ()


def container_request(spec: EnvSpec, image: str, place: ContainerPlace, env: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of ``POST /containers/create``.

    Args: env: the environment of every program in the world; the image's own lies under it.
    Source: Docker Engine API v1.41.
    """
    systemd = spec.security.use_systemd
    variables = {**env, **place.process_label, **(_OF_SYSTEMD if systemd else {})}
    return {
        "Image": image,
        "Entrypoint": [*(_BESIDE_SYSTEMD if systemd else []), f"{HOME_OF_OURS}/ga-guest"],
        "Cmd": guest_argv(spec),
        "Env": [f"{name}={value}" for name, value in variables.items()],
        "User": "0:0",
        "WorkingDir": "/",
        "Hostname": HOSTNAME,
        "Labels": dict(place.labels),
        "Healthcheck": {"Test": ["NONE"]},
        "StopSignal": "SIGRTMIN+3" if systemd else "SIGTERM",
        "HostConfig": _host_config(spec, place),
    }


def _host_config(spec: EnvSpec, place: ContainerPlace) -> dict[str, Any]:
    security, resources = spec.security, spec.resources
    memory = None if resources.mem_gb is None else int(resources.mem_gb * _GIB)
    config: dict[str, Any] = {
        "Mounts": [*_own_mounts(place), *_spec_mounts(spec)],
        "NetworkMode": place.network if has_network(spec) else "none",
        "Tmpfs": {str(PurePosixPath(SUDO_SOCKET).parent): "rw,nosuid,nodev,noexec,size=64k,mode=755"},
        "ExtraHosts": [f"{HOSTNAME}:127.0.1.1", *(f"{name}:{address}" for name, address in place.hosts)],
        "PidsLimit": _MAX_PROCESSES,
        "ShmSize": max(64 << 20, (memory or 2 * _GIB) // 2),
        "Init": False,
        "AutoRemove": False,
        "Privileged": security.privileged,
        "CapDrop": [*security.cap_drop, *place.dropped],
        "CapAdd": _added_capabilities(security.cap_drop, security.cap_add),
        "SecurityOpt": [f"seccomp={place.seccomp}"] if place.seccomp else [],
        "Devices": [_device(text) for text in security.devices],
        "CgroupnsMode": "host" if security.cgroupns_host else "private",
        "LogConfig": {"Type": "json-file", "Config": {"max-size": "1m", "max-file": "1"}},
    }
    if resources.cpu is not None:
        config["NanoCpus"] = int(resources.cpu * 1e9)
    if memory is not None:
        config |= {"Memory": memory, "MemorySwap": memory}
    if resources.gpu:
        config["DeviceRequests"] = [{"Driver": "", "Count": resources.gpu, "Capabilities": [["gpu"]]}]
    if security.use_systemd:
        config["Mounts"].append(_bind("/dev/null", _NO_TMP, read_only=True))
    if security.tmpfs_run or security.use_systemd:
        config["Tmpfs"]["/run"] = "rw,nosuid,nodev,mode=755"
    if security.runtime is not None:
        config["Runtime"] = security.runtime
    if security.mount_cgroups:
        config["Mounts"].append(_bind("/sys/fs/cgroup", "/sys/fs/cgroup", read_only=False))
    return config


def _own_mounts(place: ContainerPlace) -> list[dict[str, Any]]:
    return [
        _bind(place.io, IO, read_only=False),
        _bind(place.x_sockets, X_SOCKETS, read_only=False),
        _bind(place.guest_program, f"{HOME_OF_OURS}/ga-guest", read_only=True),
        _bind(place.desktop_program, f"{HOME_OF_OURS}/ga-desktop", read_only=True),
    ]


def _spec_mounts(spec: EnvSpec) -> list[dict[str, Any]]:
    return [
        _bind(str(Path(mount.source).expanduser().absolute()), mount.target, read_only=mount.mode != "rw")
        for mount in spec.mounts
    ]


def _bind(source: str, target: str, *, read_only: bool) -> dict[str, Any]:
    return {"Type": "bind", "Source": source, "Target": target, "ReadOnly": read_only}


def _added_capabilities(dropped: Sequence[str], added: Sequence[str]) -> list[str]:
    """Return what is given, with what our init cannot do without where it was dropped."""
    names = {name.upper().removeprefix("CAP_") for name in dropped}
    needed = [name for name in INIT_CAPABILITIES if "ALL" in names or name in names]
    return list(dict.fromkeys([*added, *needed]))


def _device(text: str) -> dict[str, str]:
    """Read ``/dev/x``, ``/dev/x:/dev/y`` or ``/dev/x:/dev/y:rwm``."""
    parts = [*text.split(":"), "", ""]
    return {
        "PathOnHost": parts[0],
        "PathInContainer": parts[1] or parts[0],
        "CgroupPermissions": parts[2] or "rwm",
    }
