"""A world without a sandbox, for who asks for it outright: the same desktop, as this user, on this host.

Its files (home, sockets, settings) lie in the world's folder and go with it. What it does elsewhere stays done.
"""

from __future__ import annotations

import os
import pwd
import secrets
import struct
from pathlib import Path

from gym_anything.runtime.runners.local.command import HostView, WorldPlace
from gym_anything.runtime.runners.local.options import LocalOptions
from gym_anything.runtime.runners.local.sandbox.plan import DirectPlan
from gym_anything.runtime.session.accounts import Account
from gym_anything.runtime.session.desktop_files import desktop_files
from gym_anything.runtime.session.desktop_session import FREE_DISPLAY, SessionPlace, session_plan
from gym_anything.specs.env_spec import EnvSpec

_FAMILY_WILD = 0xFFFF
_HOME_FOLDERS = ("Desktop", "Documents", "Downloads", ".config", ".cache")
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "XDG_DATA_DIRS", "LD_LIBRARY_PATH")


def direct_plan(spec: EnvSpec, options: LocalOptions, host: HostView, place: WorldPlace) -> DirectPlan:
    """Return what the launcher needs, after the world's own folders and settings were written."""
    folder = Path(place.folder)
    account = own_account(folder)
    session = SessionPlace(
        display=FREE_DISPLAY,
        runtime=str(folder / "run"),
        config=str(folder / "config"),
        vnc_socket=str(vnc_socket(folder)),
        desktop_program=host.desktop_program,
        xauthority=str(folder / "run" / "Xauthority"),
        clean_locks=False,
    )
    _write_files(folder, host, session)
    env = {**direct_env(account, session), **dict(place.label)}
    return DirectPlan(
        world_dir=place.folder,
        cgroups=list(place.cgroups),
        guest_program=host.guest_program,
        guest_argv=["serve", "--listen-fd", "@guest", "--token-fd", "@token"],
        waiter=host.waiter_program,
        env=env,
        session=session_plan(spec, options, account, session, env, switch_user=False),
    )


def own_account(folder: Path) -> Account:
    """Return this user, with a home in the world's folder."""
    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        name = str(os.geteuid())
    return Account(name=name, uid=os.geteuid(), gid=os.getegid(), home=str(folder / "home"), login_shell="/bin/bash")


def vnc_socket(folder: Path) -> Path:
    """Return where the X server of a world serves VNC."""
    return folder / "run" / "vnc"


def direct_env(account: Account, place: SessionPlace) -> dict[str, str]:
    """Return the environment of all programs of the world: little of ours, nothing of this user's own session."""
    env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {
        **env,
        "HOME": account.home,
        "USER": account.name,
        "LOGNAME": account.name,
        "SHELL": account.login_shell,
        "TERM": "xterm-256color",
        "XAUTHORITY": place.xauthority,
        "XDG_RUNTIME_DIR": place.runtime,
        "XDG_CURRENT_DESKTOP": "openbox",
        "XDG_SESSION_TYPE": "x11",
        "DBUS_SESSION_BUS_ADDRESS": f"unix:path={place.runtime}/bus",
        "QT_ACCESSIBILITY": "1",
        "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
        "ACCESSIBILITY_ENABLED": "1",
    }


def _write_files(folder: Path, host: HostView, place: SessionPlace) -> None:
    for name in _HOME_FOLDERS:
        (folder / "home" / name).mkdir(parents=True, exist_ok=True)
    Path(place.runtime).mkdir(mode=0o700, exist_ok=True)
    for path, text in desktop_files(host.applications, place.config, str(folder / "home" / ".config")).items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    authority = Path(place.xauthority)
    authority.touch(mode=0o600)
    authority.write_bytes(xauthority(secrets.token_bytes(16)))


def xauthority(cookie: bytes) -> bytes:
    """Return an X authority file with one key, for every display on every host (the file is read by one world only).

    Source: Xau library, file format: big-endian family, then address, number, name and data, each with its length.
    """
    name = b"MIT-MAGIC-COOKIE-1"
    fields = (b"", b"", name, cookie)
    return struct.pack(">H", _FAMILY_WILD) + b"".join(struct.pack(">H", len(part)) + part for part in fields)
