"""The environment of a world's programs: display, session bus, accessibility, who may become root. Pure."""

from __future__ import annotations

import shlex

from gym_anything.runtime.session.accounts import Account, AccountFiles
from gym_anything.runtime.session.desktop_session import display_of

SUDO_SOCKET = "/run/ga-guest/root.sock"
"""Where the root service of ``ga-guest init`` is asked for ``sudo``."""


def runtime_folder(desktop: Account) -> str:
    """Return the folder of the session's sockets."""
    return f"/run/user/{desktop.uid}"


def base_env(desktop: Account) -> dict[str, str]:
    """Return what every program in the world gets (``PATH`` is the world's own business)."""
    return {
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "DISPLAY": f":{display_of(desktop)}",
        "XDG_CURRENT_DESKTOP": "openbox",
        "XDG_SESSION_TYPE": "x11",
        "DBUS_SESSION_BUS_ADDRESS": f"unix:path={runtime_folder(desktop)}/bus",
        "GA_SUDO_SOCKET": SUDO_SOCKET,
        # Toolkits build an accessibility tree only where somebody seems to ask for one.
        "QT_ACCESSIBILITY": "1",
        "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
        "ACCESSIBILITY_ENABLED": "1",
    }


def desktop_env(desktop: Account) -> dict[str, str]:
    """Return what the desktop's own programs, and all that is started from them, get besides."""
    return {
        "HOME": desktop.home,
        "USER": desktop.name,
        "LOGNAME": desktop.name,
        "SHELL": desktop.login_shell,
        "XDG_RUNTIME_DIR": runtime_folder(desktop),
        **dict(desktop.env),
    }


def profile_lines(people: AccountFiles) -> list[str]:
    """Return lines for a login shell's start (every hook runs in one): what is not set yet, as ``base_env`` has it.

    Each account's own ``env_vars`` come on top, by name: numbers may be shared.
    """
    lines = [f'export {name}="${{{name}-{value}}}"' for name, value in base_env(people.desktop).items()]
    lines.append('case "${USER-}" in')
    for account in people.accounts:
        if account.env:
            exports = "; ".join(
                f"export {name}={shlex.quote(value)}" for name, value in account.env if name.isidentifier()
            )
            lines.append(f"{shlex.quote(account.name)}) {exports} ;;")
    return [*lines, "esac"]
