"""The systemd units of the refresh: what they say, and how they are put in place and taken away.

Two things run as root: ``systemctl reboot``, and what root has set for worlds and the reboot has taken, applied again
before the pools return. All that decides and drains runs as the user whose pools they are.
"""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gym_anything._util import atomic_write
from gym_anything._util.state_dir import STATE_DIR, state_root
from gym_anything.errors import HostError, SettingInvalid

UNIT_FOLDER = Path("/etc/systemd/system")
REFRESH, TIMER, RETURN = "gym-anything-refresh.service", "gym-anything-refresh.timer", "gym-anything-return.service"
RESTORE = "gym-anything-restore.service"
NAMES = (TIMER, REFRESH, RETURN, RESTORE)
_SYSTEMCTL_S = 60.0


@dataclass(frozen=True, slots=True)
class UnitPlan:
    """What the units are for.

    Attributes:
        program: argv of the command line, absolute. user: whose pools they are. state: the state folder.
        root_state: the state folder of root, which keeps what was tuned and prepared; None: the same.
    """

    program: tuple[str, ...]
    user: str
    state: Path
    root_state: Path | None = None

    def units(self) -> dict[str, str]:
        """Return each unit's file name and text. Raises: SettingInvalid for what a unit cannot say."""
        # pools that these units start live within them; what systemd gives a service by itself is short for hundreds of
        # worlds. The second number is its own limit of open files, which is not lowered.
        who = [f"User={_plain(self.user)}", _state_line(self.state), "TasksMax=infinity", "LimitNOFILE=65536:524288"]
        needs = [f"Requires={RESTORE}", f"After={RESTORE}"]  # no pool returns to a host that lacks what it had
        return {
            RESTORE: self._restore(),
            REFRESH: _text(
                Unit=["Description=Drain the pools of Gym-Anything and reboot, when it is time", *needs],
                Service=[
                    "Type=oneshot",
                    *who,
                    "# 0: reboot now. 1: not now. 255: something is wrong, and the unit fails.",
                    f"ExecCondition={self._argv('host', 'refresh', '--step')}",
                    "ExecStart=+systemctl reboot",
                    "# Pools that are taken up again because no reboot comes outlive this unit.",
                    "KillMode=process",
                    "TimeoutStartSec=30min",
                ],
            ),
            TIMER: _text(
                Unit=["Description=Look whether it is time to refresh this host"],
                Timer=["OnBootSec=15min", "OnCalendar=*:0/15", "RandomizedDelaySec=2min"],
                Install=["WantedBy=timers.target"],
            ),
            RETURN: _text(
                Unit=[
                    "Description=Take up the pools of Gym-Anything that a refresh has drained",
                    "After=network-online.target",
                    "Wants=network-online.target",
                    *needs,
                ],
                Service=[
                    "Type=oneshot",
                    "RemainAfterExit=yes",
                    *who,
                    f"ExecStart={self._argv('host', 'refresh', '--return')}",
                    f"ExecStop={self._argv('pool', 'stop', '--all')}",
                    "TimeoutStartSec=30min",
                    "TimeoutStopSec=10min",
                ],
                Install=["WantedBy=multi-user.target"],
            ),
        }

    def _restore(self) -> str:
        return _text(
            Unit=[
                "Description=Apply again what Gym-Anything has set on this host, and a boot has taken",
                "# To stop it would stop the pools that need it.",
                "RefuseManualStop=yes",
            ],
            Service=[
                "Type=oneshot",
                "RemainAfterExit=yes",
                _state_line(self.root_state or self.state),
                f"ExecStart={self._argv('host', 'restore')}",
                "TimeoutStartSec=15min",
            ],
            Install=["WantedBy=multi-user.target"],
        )

    def _argv(self, *words: str) -> str:
        return " ".join(quoted(word) for word in (*self.program, *words))


def quoted(word: str, *, command: bool = True) -> str:
    """Return a word as systemd reads it back unchanged. Raises: SettingInvalid for one with a line break.

    Args: command: in a command line, where ``$`` begins a variable.
    Source: systemd.service(5), "Command lines"; systemd.unit(5), "Specifiers"; systemd.exec(5), ``Environment=``.
    """
    if "\n" in word or "\r" in word or "\0" in word:
        raise SettingInvalid(f"{word!r} cannot stand in a unit", detail={"setting": "unit"})
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{text.replace("$", "$$") if command else text}"'


def install(plan: UnitPlan, folder: Path = UNIT_FOLDER) -> None:
    """Write the units and have systemd take them up. Needs root. Raises: HostError."""
    _check_systemd()
    try:
        for name, text in plan.units().items():
            atomic_write.write_text(folder / name, text, mode=0o644)
    except OSError as error:
        raise HostError(
            f"the units cannot be written: {error}; this needs root", detail={"path": str(folder)}
        ) from error
    for argv in install_commands():
        _run(argv)


def uninstall(folder: Path = UNIT_FOLDER) -> list[Path]:
    """Have systemd forget the units and remove them; return those that there were. Needs root. Raises: HostError."""
    there = [folder / name for name in NAMES if (folder / name).exists()]
    if not there:
        return []
    _check_systemd()
    for path in there:
        if path.name != REFRESH:  # the timer starts it; what has returned and what it needs go on
            _run(["systemctl", "disable", *(["--now"] if path.name == TIMER else []), path.name])
    for path in there:
        path.unlink()
    _run(["systemctl", "daemon-reload"])
    return there


def install_commands() -> list[list[str]]:
    """Return what is run once the units are written."""
    return [
        ["systemctl", "daemon-reload"],
        ["systemctl", "enable", RESTORE, RETURN],
        ["systemctl", "enable", "--now", TIMER],
    ]


def _check_systemd() -> None:
    if not Path("/run/systemd/system").is_dir():
        raise HostError("systemd does not run here; the units can be printed, not installed")


def _run(argv: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=_SYSTEMCTL_S, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostError(f"{' '.join(argv)}: {error}") from error
    if done.returncode:
        raise HostError(f"{' '.join(argv)}: {done.stderr.strip() or f'exit code {done.returncode}'}")


def _state_line(state: Path) -> str:
    return f"Environment={quoted(f'GYM_ANYTHING_STATE_DIR={state}', command=False)}"


def _plain(user: str) -> str:
    if not user or any(not (letter.isalnum() or letter in "._-@") for letter in user) or user.startswith("-"):
        raise SettingInvalid(f"{user!r} is no user's name", detail={"setting": "user"})
    return user


def _text(**sections: list[str]) -> str:
    written = [f"[{name}]\n" + "".join(f"{line}\n" for line in lines) for name, lines in sections.items()]
    return "# Made by `gym-anything host refresh`; made anew by each install.\n" + "\n".join(written)


def default_user(environ: os._Environ[str] | dict[str, str]) -> str:
    """Return who called, also through sudo."""
    import getpass

    return environ.get("SUDO_USER") or getpass.getuser()


def state_of(user: str) -> Path:
    """Return the state folder of a user: the one that is set, ours when it is we, else the one in the user's home.

    Raises: SettingInvalid for nobody's name; HostError when our own cannot be made.
    """
    try:
        entry = pwd.getpwnam(user)
    except KeyError as error:
        raise SettingInvalid(f"{user!r} is no user of this host", detail={"setting": "user"}) from error
    if STATE_DIR.get() is not None or entry.pw_uid == os.geteuid():
        return state_root()
    return Path(entry.pw_dir) / ".local" / "state" / "gym-anything"
