"""KVM, namespaces, kernel limits, memory: what the machine and its kernel allow."""

from __future__ import annotations

import os
import platform
import resource
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything.doctor.check import Check
from gym_anything.doctor.trial import run_trial

_KVM_FIXES = {
    "open": "sudo usermod -aG kvm $USER && newgrp kvm",
    "missing": "sudo modprobe -a kvm kvm_intel kvm_amd",
}
_KVM_ELSEWHERE = "echo 'options kvm_intel nested=1' | sudo tee /etc/modprobe.d/kvm.conf  # on the host of this machine"


def kvm(deadline: Deadline) -> Iterable[Check]:
    """Boot a guest. Required by nothing: machines are emulated without it, some ten times slower."""
    if not Path("/dev/kvm").exists():
        yield Check("kvm", False, "there is no /dev/kvm; QEMU machines are emulated (slow)", fix=_KVM_FIXES["missing"])
        return
    result = run_trial("kvm_guest", deadline)
    detail = str(result["detail"]) if result["ok"] else f"{result['detail']}; QEMU machines are emulated (slow)"
    yield Check("kvm", bool(result["ok"]), detail, fix=_KVM_FIXES.get(str(result["stage"]), _KVM_ELSEWHERE))


_NAMESPACES = ("user", "mount", "pid", "network", "ipc", "uts")
_USER_SWITCHES = (
    ("/proc/sys/user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=15000"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
)


def namespaces(deadline: Deadline) -> Iterable[Check]:
    """Unshare every namespace of a sandbox and mount in it."""
    results = {str(kind): str(reason) for kind, reason in run_trial("namespaces", deadline).items()}
    missing = {kind: results.get(kind, "not reached") for kind in _NAMESPACES if results.get(kind) != ""}
    yield Check(
        "namespaces",
        not missing,
        "; ".join(f"{kind}: {reason}" for kind, reason in missing.items()) or ", ".join(_NAMESPACES),
        fix=_namespace_fix(),
    )
    mounts = {kind[6:]: reason for kind, reason in results.items() if kind.startswith("mount:")}
    bad = {kind: reason for kind, reason in mounts.items() if reason}
    yield Check(
        "sandbox-mounts",
        bool(mounts) and not bad,
        "; ".join(f"{kind}: {reason}" for kind, reason in bad.items()) or ", ".join(mounts) or "not reached",
        fix="docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined …  # in a container",
    )


def _namespace_fix() -> str:
    for path, bad, fix in _USER_SWITCHES:
        try:
            if Path(path).read_text(encoding="ascii").strip() == bad:
                return fix
        except OSError:
            continue
    return "docker run --security-opt seccomp=unconfined …  # in a container"


@dataclass(frozen=True, slots=True)
class _Limit:
    """A kernel limit: below ``enough`` it is the first to be met with very many worlds (a hundred and more)."""

    name: str
    enough: int
    why: str


_LIMITS = (
    _Limit("fs.aio-max-nr", 1_048_576, "each QEMU disk takes a share"),
    _Limit("fs.inotify.max_user_instances", 1024, "every desktop program watches folders"),
    _Limit("fs.inotify.max_user_watches", 524_288, "every desktop program watches folders"),
    _Limit("fs.file-max", 1_000_000, "open files of all worlds together"),
    _Limit("kernel.pid_max", 131_072, "processes and threads of all worlds together"),
    _Limit("kernel.threads-max", 100_000, "threads of all worlds together"),
    _Limit("vm.max_map_count", 65_530, "browsers map much"),
    _Limit("user.max_user_namespaces", 4096, "one and more for each sandboxed world"),
    _Limit("net.core.somaxconn", 1024, "connections that wait to be accepted"),
)
_NOFILE_ENOUGH = 65_536


def limits(_: Deadline) -> Iterator[Check]:
    """Read the limits that a machine full of worlds meets first. None is required: one world needs little."""
    for limit in _LIMITS:
        value = _sysctl(limit.name)
        if value is not None:
            detail = f"{value} ({limit.enough} is enough for hundreds of worlds: {limit.why})"
            fix = f"sudo sysctl -w {limit.name}={limit.enough}"
            yield Check(f"limit:{limit.name}", value >= limit.enough, detail, fix=fix)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    unlimited = hard == resource.RLIM_INFINITY
    yield Check(
        "limit:open-files",
        unlimited or hard >= _NOFILE_ENOUGH,
        "unlimited" if unlimited else f"{hard} ({_NOFILE_ENOUGH} is enough for hundreds of worlds)",
        fix=f"sudo prlimit --pid $$ --nofile={_NOFILE_ENOUGH}:{_NOFILE_ENOUGH}",
    )


def _sysctl(name: str) -> int | None:
    try:
        return int(Path("/proc/sys", *name.split(".")).read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return None


_WORLD_MIB = 1024


def memory(_: Deadline) -> Iterator[Check]:
    """Look at what is free for worlds."""
    sizes = {
        line.split(":")[0]: int(line.split()[1]) // 1024
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        if line.endswith("kB")
    }
    available = sizes.get("MemAvailable", 0)
    detail = f"{available} MiB available of {sizes.get('MemTotal', 0)} MiB, {os.cpu_count()} processors"
    fix = "ps -eo rss,pid,args --sort=-rss | head  # what takes the memory"
    yield Check("memory", available >= _WORLD_MIB, detail, fix=fix)
    yield Check(
        "platform",
        platform.system() == "Linux" and platform.machine() in ("x86_64", "aarch64"),
        f"{platform.system()} {platform.release()} on {platform.machine()}, Python {platform.python_version()}",
        required=False,
        fix="uname -a  # worlds on this machine need Linux; worlds elsewhere (cloud) do not",
    )
