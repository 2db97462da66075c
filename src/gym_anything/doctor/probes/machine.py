"""KVM, namespaces, kernel limits, memory: what the machine and its kernel allow."""

from __future__ import annotations

import mmap
import os
import platform
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from gym_anything._util.deadline import Deadline
from gym_anything.doctor.check import Check
from gym_anything.doctor.trial import run_trial
from gym_anything.pool.host_limits import read_limits
from gym_anything.pool.host_process_limits import read_process_limits
from gym_anything.runtime.qemu.accelerator import try_kvm

_KVM_FIXES = {
    "open": "sudo usermod -aG kvm $USER && newgrp kvm",
    "missing": "sudo modprobe -a kvm kvm_intel kvm_amd",
}
_KVM_ELSEWHERE = "echo 'options kvm_intel nested=1' | sudo tee /etc/modprobe.d/kvm.conf  # on the host of this machine"


def kvm(deadline: Deadline) -> Iterable[Check]:
    """Boot a guest. Required by nothing: machines are emulated without it, some ten times slower."""
    trial = try_kvm(deadline)
    detail = trial.detail if trial.ok else f"{trial.detail}; QEMU machines are emulated (slow)"
    yield Check("kvm", trial.ok, detail, fix=_KVM_FIXES.get(trial.stage, _KVM_ELSEWHERE))


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


def limits(_: Deadline) -> Iterator[Check]:
    """Read the limits that a machine full of worlds meets first. None is required: one world needs little."""
    for state in read_limits():
        limit = state.limit
        if state.value is not None:
            detail = f"{state.value} ({limit.enough} is enough for hundreds of worlds: {limit.why})"
            yield Check(f"limit:{limit.name}", state.enough, detail, fix="sudo gym-anything host tune")
    for one in read_process_limits():
        now = "unlimited" if one.value is None else str(one.value)
        detail = f"{now} ({one.enough} is enough for hundreds of worlds: {one.why})"
        yield Check(f"limit:{one.name}", one.is_enough, detail, fix=one.fix)


_LARGE_PAGE = 2 << 20
_LARGE_PAGES_FIX = "echo advise | sudo tee /sys/kernel/mm/transparent_hugepage/shmem_enabled"


def large_pages(_: Deadline) -> Iterator[Check]:
    """Ask for shared memory in large pages and look whether it is. Required by nothing: frames come later without."""
    got = _large_shared_kib() > 0
    detail = (
        "shared memory comes in large pages"
        if got
        else (
            "shared memory comes in small pages; where first touches are slow (virtual machines), frames take up to "
            "several times as long after a rest"
        )
    )
    yield Check("large-pages", got, detail, fix=_LARGE_PAGES_FIX)


def _large_shared_kib() -> int:
    fd = os.memfd_create("gym-anything-doctor")
    try:
        os.truncate(fd, 4 * _LARGE_PAGE)
        with mmap.mmap(fd, 4 * _LARGE_PAGE) as memory:
            try:
                memory.madvise(mmap.MADV_HUGEPAGE)
            except OSError:
                return 0  # EINVAL: a kernel without large pages
            for offset in range(0, len(memory), _LARGE_PAGE):
                memory[offset] = 1
            mine = Path("/proc/self/smaps").read_text(encoding="utf-8").partition("gym-anything-doctor")[2]
            found = re.search(r"^ShmemPmdMapped:\s+(\d+)", mine, re.MULTILINE)
            return int(found[1]) if found else 0
    finally:
        os.close(fd)


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
