"""From a spec to the plan of its sandbox: pure, so that it can be compared with a golden file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from gym_anything.runtime.limits import MAX_PROCESSES
from gym_anything.runtime.runners.local.options import LocalOptions
from gym_anything.runtime.runners.local.sandbox.launch import INIT_COPY
from gym_anything.runtime.runners.local.sandbox.plan import (
    BindPlan,
    FilePlan,
    FolderPlan,
    IdsPlan,
    LayerPlan,
    SandboxPlan,
)
from gym_anything.runtime.session import environment
from gym_anything.runtime.session.accounts import Account, AccountFiles, decide_accounts
from gym_anything.runtime.session.desktop_files import FOLDER, Application, chromium_flags, desktop_files
from gym_anything.runtime.session.desktop_session import DESKTOP_NAME, SessionPlace, display_of, session_plan
from gym_anything.specs.env_spec import EnvSpec

HOME_OF_OURS = "/opt/gym-anything"
"""Where our own programs lie in the world."""
VNC_SOCKET = "/run/ga-vnc/socket"
_PATH = f"{HOME_OF_OURS}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/games"
_EMPTY_FOLDERS = (
    "/dev", "/etc", "/home", "/media", "/mnt", "/opt", "/proc", "/run", "/srv", "/sys", "/usr", "/var", "/var/cache",
    "/var/lib", "/var/log", "/var/mail", "/var/spool", "/workspace",
)  # fmt: skip
_OPEN_FOLDERS = ("/tmp", "/tmp/.X11-unix", "/tmp/.ICE-unix", "/var/tmp")


@dataclass(frozen=True)
class HostView:
    """What the plan needs to know of the host."""

    binds: Sequence[BindPlan]
    links: dict[str, str]
    applications: Sequence[Application]
    chromium: dict[str, str]
    guest_program: str
    desktop_program: str
    waiter_program: str
    resolv_conf: str = ""
    single_id: bool = False
    has_sudo: bool = False


@dataclass(frozen=True)
class WorldPlace:
    """Where one world lies and what it is built on."""

    folder: str
    ids: IdsPlan
    generation: int = 0
    layers: Sequence[LayerPlan] = ()
    cgroups: Sequence[str] = ()
    mounts: Sequence[BindPlan] = ()
    label: tuple[tuple[str, str], ...] = ()


def sandbox_plan(spec: EnvSpec, options: LocalOptions, host: HostView, place: WorldPlace) -> SandboxPlan:
    """Return everything the launcher needs to build this world."""
    people = decide_accounts(spec.user_accounts, single_id=host.single_id)
    init = f"{HOME_OF_OURS}/init/ga-guest"
    ours = [
        BindPlan(source=f"{place.folder}/gen{place.generation}/{INIT_COPY}", target=init, map_ids=False),
        BindPlan(source=host.guest_program, target=f"{HOME_OF_OURS}/ga-guest", map_ids=True),
        BindPlan(source=host.desktop_program, target=f"{HOME_OF_OURS}/ga-desktop", map_ids=True),
    ]
    if host.has_sudo:
        ours.append(BindPlan(source=host.guest_program, target="/usr/bin/sudo", map_ids=True))
    memory_mib = int((spec.resources.mem_gb or 2) * 1024)
    return SandboxPlan(
        world_dir=place.folder,
        generation=place.generation,
        ids=place.ids,
        hostname=DESKTOP_NAME,
        layers=list(place.layers),
        binds=[*host.binds, *ours, *place.mounts],
        folders=_folders(people),
        files=_files(spec, options, host, people),
        tmpfs_mib=max(64, memory_mib // 4),
        shm_mib=max(64, memory_mib // 2),
        cgroups=list(place.cgroups),
        rlimits={"RLIMIT_CORE": 0, "RLIMIT_NPROC": MAX_PROCESSES},
        init_source=host.guest_program,
        guest_program=init,
        guest_argv=guest_argv(people),
        waiter=host.waiter_program,
        env={**base_env(people.desktop), **dict(place.label)},
        session=session_plan(
            spec,
            options,
            people.desktop,
            session_place(people.desktop),
            {**base_env(people.desktop), **environment.desktop_env(people.desktop)},
            switch_user=not host.single_id,
        ),
    )


def session_place(desktop: Account) -> SessionPlace:
    """Return where the session of a sandbox has its things."""
    return SessionPlace(
        display=display_of(desktop),
        runtime=environment.runtime_folder(desktop),
        config=FOLDER,
        vnc_socket=VNC_SOCKET,
        desktop_program=f"{HOME_OF_OURS}/ga-desktop",
    )


def guest_argv(people: AccountFiles) -> list[str]:
    """Return the arguments of ``ga-guest``; who may ``sudo`` is decided by the number of the user."""
    argv = ["init", "--listen-fd", "@guest", "--token-fd", "@token", "--sudo-socket", environment.SUDO_SOCKET]
    for account in people.accounts:
        if account.may_sudo:
            argv += ["--sudo-uid", str(account.uid)]
    return argv


def base_env(desktop: Account) -> dict[str, str]:
    """Return the environment of every program in the world."""
    return {"PATH": _PATH, **environment.base_env(desktop)}


def _folders(people: AccountFiles) -> list[FolderPlan]:
    folders = [FolderPlan(path=path, uid=0, gid=0, mode=0o755) for path in _EMPTY_FOLDERS]
    folders += [FolderPlan(path=path, uid=0, gid=0, mode=0o1777) for path in _OPEN_FOLDERS]
    folders.append(FolderPlan(path="/root", uid=0, gid=0, mode=0o700))
    for account in people.accounts:
        if account.make_home:
            folders.append(_owned(account.home, account, account.home_mode))
    desktop = people.desktop
    folders += [_owned(f"{desktop.home}/{name}", desktop) for name in ("Desktop", "Documents", "Downloads", ".config")]
    folders.append(FolderPlan(path="/run/ga-guest", uid=0, gid=0, mode=0o755))
    folders.append(_owned("/run/ga-vnc", desktop))
    folders.append(_owned(f"/run/user/{desktop.uid}", desktop, 0o700))
    return folders


def _owned(path: str, account: Account, mode: int = 0o755) -> FolderPlan:
    return FolderPlan(path=path, uid=account.uid, gid=account.gid, mode=mode)


def _files(spec: EnvSpec, options: LocalOptions, host: HostView, people: AccountFiles) -> list[FilePlan]:
    """Return the generated files and links of the skeleton."""
    machine_id = hashlib.sha256(f"gym-anything {spec.id}".encode()).hexdigest()[:32]
    texts = {
        "/etc/passwd": people.passwd(),
        "/etc/group": people.group(),
        "/etc/hostname": f"{DESKTOP_NAME}\n",
        "/etc/hosts": f"127.0.0.1 localhost {DESKTOP_NAME}\n::1 localhost ip6-localhost\n",
        "/etc/resolv.conf": host.resolv_conf,
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
        "services: files\nprotocols: files\n",
        "/etc/machine-id": f"{machine_id}\n",
        "/etc/environment": f'PATH="{_PATH}"\n',
        "/etc/profile": _profile(people),
        "/etc/subuid": "",
        "/etc/subgid": "",
        **desktop_files(host.applications, FOLDER),
        **host.chromium,
        "/etc/chromium.d/gym-anything": chromium_flags(options, wants_tree=spec.observation_of("ui_tree") is not None),
    }
    files = [_file(path, text) for path, text in texts.items()]
    shadow_gid = 0 if host.single_id else 42
    files.append(_file("/etc/shadow", people.shadow(), mode=0o640, gid=shadow_gid))
    files.append(_file("/etc/gshadow", people.gshadow(), mode=0o640, gid=shadow_gid))
    links = {**host.links, "/etc/mtab": "../proc/self/mounts", f"{HOME_OF_OURS}/bin/sudo": "../ga-guest"}
    files += [_file(path, link_to=target) for path, target in links.items()]
    desktop = people.desktop
    files.append(_file(f"{desktop.home}/.bashrc", _BASHRC, uid=desktop.uid, gid=desktop.gid))
    return files


def _file(path: str, text: str = "", *, link_to: str = "", mode: int = 0o644, uid: int = 0, gid: int = 0) -> FilePlan:
    return FilePlan(path=path, text=text, link_to=link_to, mode=mode, uid=uid, gid=gid)


def _profile(people: AccountFiles) -> str:
    """Return ``/etc/profile``."""
    lines = [f'export PATH="{_PATH}"', *environment.profile_lines(people)]
    lines.append('for script in /etc/profile.d/*.sh; do [ -r "$script" ] && . "$script"; done; unset script')
    return "\n".join(lines) + "\n"


_BASHRC = """\
case $- in *i*) ;; *) return ;; esac
PS1='\\u@\\h:\\w\\$ '
alias ls='ls --color=auto'
alias ll='ls -l'
"""
